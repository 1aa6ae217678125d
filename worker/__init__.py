"""The Celery application: one envelope per job."""
