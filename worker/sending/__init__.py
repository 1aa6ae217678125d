"""The sender as a program: `python -m worker.sending`."""
