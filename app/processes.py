"""How the processes of an installation are started, and what each may know."""

import os
import sys
from collections.abc import Mapping

from app.settings import Settings

PRIVATE = "HELDOUT_PRIVATE_STORAGE"  # never in the web process's environment


def web_command(settings: Settings) -> list[str]:
    """The web server."""
    return [
        sys.executable, "-m", "uvicorn", "app.main:create_app", "--factory", "--host", settings.host,
        "--port", str(settings.port), "--no-server-header", "--no-access-log", "--timeout-keep-alive", "30",
        "--timeout-graceful-shutdown", "5", "--log-level", "warning",
    ]  # fmt: skip


def worker_command(settings: Settings) -> list[str]:
    """A worker with its clock; several may run, the sweep is done by one at a time."""
    return [
        sys.executable, "-m", "celery", "--app", "worker.main", "worker", "--beat",
        "--schedule", str(settings.data / "beat"), "--concurrency", str(settings.workers),
        "--without-gossip", "--without-mingle",
    ]  # fmt: skip


def environment(shared: Mapping[str, str], *, private: str | None) -> dict[str, str]:
    """The environment of a process: ours, what all processes share, and the private storage only where it is needed."""
    inherited = {name: value for name, value in os.environ.items() if name != PRIVATE}
    own = {PRIVATE: private} if private is not None else {}
    return inherited | {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"} | dict(shared) | own
