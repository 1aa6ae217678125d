"""The sweeper as a program: `python -m worker.sweeping`."""
