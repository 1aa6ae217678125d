"""The formats in which organisers bring annotation: one small reader for each, all into `AnnotatedSet`.

`recognition` says which format a role's files have and reads them; `pictures` matches pictures with images.
"""
