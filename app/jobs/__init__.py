"""Queued work: one table of jobs, with one way to claim, extend, retry and give up.

Other packages add jobs with `queue`, show people where their runs stand with `places`, and know of workers by `workers`. What
a kind of job does is decided where all packages are known, in `app.operations.handlers`.
"""
