"""How the processes of an installation are started, and what each may know."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from app.settings import PREFIX, ROOT, Settings, variable
from app.supervisor import Child

ENDING_SECONDS = 10  # that a web process may take to end once it waits for no request any more
NOT_FOR_ANY = {"migration_database_url", "migration_database_password"}
NOT_FOR_WORKERS = NOT_FOR_ANY | {"oidc_client_secret", "metrics_token"}
NOT_FOR_WEB = NOT_FOR_ANY | {
    "private_storage", "s3_private_bucket", "s3_private_access_key", "s3_private_secret_key",
    "smtp_user", "smtp_password",
}  # fmt: skip
COUNTING_FOLDER, COUNTING_NAME = (
    "PROMETHEUS_MULTIPROC_DIR",
    "PROMETHEUS_PROCESS",
)  # prometheus_client reads the first


@dataclass(frozen=True, slots=True)
class Counting:
    """Where web processes that share a port count together, and the name of this one, which its successor has, too."""

    folder: Path
    name: str


def web_command(listener: socket.socket) -> list[str]:
    """A web server on a socket that it inherits."""
    return [sys.executable, "-m", "app.serving", str(listener.fileno())]


def worker_command(settings: Settings) -> list[str]:
    """A worker, which starts a sweeper of its own; several may run."""
    return [
        sys.executable, "-m", "worker", "--app", "worker.main", "worker",
        "--concurrency", str(settings.workers), "--without-gossip", "--without-mingle",
    ]  # fmt: skip


def sweeper_command() -> list[str]:
    """The sweeper alone."""
    return [sys.executable, "-m", "worker.sweeping"]


@contextmanager
def counted_together(settings: Settings) -> Iterator[Path | None]:
    """A folder in which web processes that share a port count; none for one process, which counts by itself."""
    if settings.web_processes == 1:
        yield None
        return
    with TemporaryDirectory(prefix="heldout-counters-") as folder:
        yield Path(folder)


def counting_of_this_process() -> Counting | None:
    """Where this process counts with others; none where it counts by itself."""
    folder, name = (os.environ.get(each) for each in (COUNTING_FOLDER, COUNTING_NAME))
    return Counting(Path(folder), name) if folder and name else None


def web_child(
    settings: Settings, listener: socket.socket, name: str = "web", counting: Path | None = None
) -> Child:
    """A web server as a supervisor starts it: it knows everything but where the private storage is."""
    known = {COUNTING_FOLDER: str(counting), COUNTING_NAME: name} if counting else {}
    return Child(
        name,
        web_command(listener),
        web_environment(settings) | known,
        settings.data / "logs" / f"{name}.log",
        stop_timeout=timedelta(seconds=settings.stop_seconds + ENDING_SECONDS),
        pass_fds=(listener.fileno(),),
        directory=ROOT,
    )


def worker_child(settings: Settings) -> Child:
    """A worker as a supervisor starts it."""
    return Child(
        "worker",
        worker_command(settings),
        environment_of(settings, without=NOT_FOR_WORKERS),
        settings.data / "logs" / "worker.log",
        directory=ROOT,
    )


def web_environment(settings: Settings) -> dict[str, str]:
    """What a web server is started with.

    Its threads would each keep an arena of the C library's malloc that never shrinks: with two arenas for all of them a process
    that has drawn large pages stays at 223 MB instead of 284 (with forty threads; there are eight now).
    """
    return environment_of(settings, without=NOT_FOR_WEB) | {"MALLOC_ARENA_MAX": "2"}


def environment_of(settings: Settings, *, without: set[str]) -> dict[str, str]:
    """What is inherited but our own variables, and the settings in their place."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith((PREFIX, COUNTING_FOLDER, COUNTING_NAME))
    }
    ours = {
        variable(name): str(value)
        for name, value in settings.model_dump(mode="json", exclude_none=True).items()
        if name not in without
    }
    return inherited | {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"} | ours
