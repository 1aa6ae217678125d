"""HTTP code without domain knowledge: middleware, route dependencies, forms, error responses, tables, charts.

Routes of other packages use `dependencies` (platform, actor, permissions, limits, `render`) and `forms`.
"""
