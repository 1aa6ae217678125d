"""How the processes of an installation are started, and which settings each one gets."""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from app.core.settings import PREFIX, ROOT, Settings, variable
from app.operations.serving import listen
from app.operations.supervisor import Child, interrupted_by_signals, supervised

ENDING_SECONDS = 10  # for a web process to exit once it has no more requests
NOT_FOR_ANY = {"migration_database_url", "migration_database_password"}
OF_WEB = {"login_providers", "passwords", "registration", "metrics_token"}
OF_TRUTH = {"private_storage", "s3_private_bucket", "s3_private_access_key", "s3_private_secret_key"}
OF_MAIL = {"smtp_user", "smtp_password"}
NOT_FOR_WEB = NOT_FOR_ANY | OF_TRUTH | OF_MAIL
NOT_FOR_WORKERS = NOT_FOR_ANY | OF_WEB | OF_MAIL
NOT_FOR_SENDERS = NOT_FOR_ANY | OF_TRUTH | (OF_WEB - {"passwords"})  # mail says how to log in
COUNTERS = "PROMETHEUS_MULTIPROC_DIR"  # of prometheus_client: a folder for counters shared by processes
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - only used with unique names


def web_command(listener: socket.socket) -> list[str]:
    """Return the command of a web server on an inherited socket."""
    return [sys.executable, "-m", "app.operations.serving", str(listener.fileno())]


def worker_command(settings: Settings) -> list[str]:
    """Return the command of a worker, which starts its own sweeper; several may run."""
    return [
        sys.executable, "-m", "worker", "--app", "worker.main", "worker",
        "--concurrency", str(settings.workers), "--without-gossip", "--without-mingle",
    ]  # fmt: skip


def sender_command() -> list[str]:
    """Return the command of a sender; several may run."""
    return [sys.executable, "-m", "worker.sending"]


def sweeper_command() -> list[str]:
    """Return the command of a standalone sweeper."""
    return [sys.executable, "-m", "worker.sweeping"]


def sweeper_child(worker: int, slots: int) -> Child:
    """Return the sweeper of the worker with this process ID; it reports the worker alive and ends with it."""
    options = ["--worker", str(worker), "--slots", str(slots)]
    return Child("sweeper", [*sweeper_command(), *options], os.environ, log=None)


@contextmanager
def shared_counters_folder(settings: Settings) -> Iterator[Path | None]:
    """Yield a folder for the counters that web processes share; None if there is only one process.

    It is in memory if possible: a full disk would crash the processes that write to it.
    """
    if settings.web_processes == 1:
        yield None
        return
    memory = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with TemporaryDirectory(prefix="heldout-counters-", dir=memory) as folder:
        yield Path(folder)


def web_child(
    settings: Settings, listener: socket.socket, name: str = "web", counters: Path | None = None
) -> Child:
    """Return a web server for a supervisor; it gets all settings but the secrets of workers, such as the private storage."""
    return Child(
        name,
        web_command(listener),
        web_environment(settings) | ({COUNTERS: str(counters)} if counters else {}),
        settings.data / "logs" / f"{name}.log",
        stop_timeout=timedelta(seconds=settings.stop_seconds + ENDING_SECONDS),
        pass_fds=(listener.fileno(),),
        directory=ROOT,
    )


def worker_child(settings: Settings) -> Child:
    """Return a worker for a supervisor."""
    return Child(
        "worker",
        worker_command(settings),
        environment_of(settings, without=NOT_FOR_WORKERS),
        settings.data / "logs" / "worker.log",
        directory=ROOT,
    )


def sender_child(settings: Settings) -> Child:
    """Return a sender for a supervisor; it gets no settings of ground truth."""
    return Child(
        "sender",
        sender_command(),
        environment_of(settings, without=NOT_FOR_SENDERS),
        settings.data / "logs" / "sender.log",
        directory=ROOT,
    )


def web_environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a web server.

    By default each thread keeps its own malloc arena, which never shrinks. With two arenas for all threads, a process that
    has rendered large pages stays at 223 MB instead of 284 MB (measured with forty threads; there are eight now).
    """
    return environment_of(settings, without=NOT_FOR_WEB) | {"MALLOC_ARENA_MAX": "2"}


def serve(settings: Settings, console: Console) -> None:
    """Serve until a signal; if there are several processes, restart those that die.

    Raises ListenError.
    """
    listener = listen(settings)
    if settings.web_processes == 1:
        listener.set_inheritable(True)
        environment = web_environment(settings)
        os.execve(sys.executable, web_command(listener), environment)  # noqa: S606 - becomes that process
    report: Callable[[str], None] = console.print
    try:
        with (
            interrupted_by_signals(),
            shared_counters_folder(settings) as counters,
            supervised(report) as processes,
        ):
            for number in range(1, settings.web_processes + 1):
                child = web_child(settings, listener, f"web-{number}", counters)
                processes.start(replace(child, log=None), lambda: True)
            try:
                signal.pause()
            finally:
                listener.close()  # before they stop, or new connections would wait until they have
    except KeyboardInterrupt:
        return


def environment_of(settings: Settings, *, without: set[str]) -> dict[str, str]:
    """Return the inherited environment, with our own variables replaced by the given settings.

    Defaults are left out, so that a process knows which settings somebody has set.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith((PREFIX, COUNTERS))}
    ours = {
        variable(name): value if isinstance(value, str) else json.dumps(value)
        for name, value in settings.model_dump(mode="json", exclude_none=True, exclude_unset=True).items()
        if name not in without
    }
    return inherited | {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"} | ours
