"""How long is known whose session an ended one was."""

from datetime import timedelta

KEEP_ENDED = timedelta(days=30)
