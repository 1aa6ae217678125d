"""Background jobs: one table, with one way to claim, extend, retry and give up.

Other packages add jobs with `queue`, show the positions of runs with `places`, and query workers with `workers`.
`worker.handlers`, which can import all packages, defines what each kind of job does.
"""
