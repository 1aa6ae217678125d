"""A worker with another scorer version."""

import scoring

vars(scoring)["SCORER"] = "next"

from worker.main import celery  # noqa: E402 - after the version has changed

__all__ = ["celery"]
