"""The worker: Celery tasks that score, and the sweeper that finds what was lost."""
