"""HTTP without domain words: middleware, dependencies of routes, forms, answers to errors, tables, charts.

Routes elsewhere use `dependencies` (platform, actor, permissions, limits, `render`) and `forms`.
"""
