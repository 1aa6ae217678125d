"""The worker: the Celery task that does jobs, and the sweeper that recovers lost ones."""
