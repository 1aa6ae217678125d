"""How the processes of an installation are started, and what each may know."""

import os
import sys
from pathlib import Path

from app.settings import Settings
from app.supervisor import Child

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
        # keeps nothing on the disk, where two workers of one folder would meet
        "--scheduler", "celery.beat:Scheduler",
        "--concurrency", str(settings.workers), "--without-gossip", "--without-mingle",
    ]  # fmt: skip


def web_child(settings: Settings) -> Child:
    """The web server as a supervisor starts it: it knows everything but where the private storage is."""
    return Child(
        "web",
        web_command(settings),
        _environment(settings, private=None),
        settings.data / "logs" / "web.log",
    )


def worker_child(settings: Settings) -> Child:
    """A worker as a supervisor starts it."""
    return Child(
        "worker",
        worker_command(settings),
        _environment(settings, private=settings.private_storage),
        settings.data / "logs" / "worker.log",
    )


def _environment(settings: Settings, *, private: Path | None) -> dict[str, str]:
    """What is inherited, and the settings; the private storage only where it is needed."""
    inherited = {name: value for name, value in os.environ.items() if name != PRIVATE}
    shared = {
        f"HELDOUT_{name.upper()}": str(value)
        for name, value in settings.model_dump(mode="json").items()
        if value is not None and name != "private_storage"
    }
    own = {PRIVATE: str(private)} if private is not None else {}
    return inherited | {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"} | shared | own
