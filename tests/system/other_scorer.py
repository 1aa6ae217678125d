"""A worker with another scorer version."""

import heldout_scoring

vars(heldout_scoring)["SCORER"] = "next"

from worker.main import celery  # noqa: E402 - after the version has changed

__all__ = ["celery"]
