"""A server program out of a wheel, started on a free port."""

import importlib.util
import os
import socket
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from app.embedded.errors import EmbeddedError
from app.supervisor import Child, NotReadyError, Supervisor

HOST = "127.0.0.1"
CLEAN_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}  # none of the user's PG… variables
PORTS_TRIED = 5
RECOVERY = timedelta(minutes=5)  # after a crash a server first replays what it had promised


def program_of(package: str, pattern: str) -> Path:
    """A program of a wheel, found without importing the package."""
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in Path(folder).glob(pattern):
            return path
    raise EmbeddedError(
        f"the package {package} has no program for this system: "
        "install it, or set HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL"
    )


def start_on_free_port(
    processes: Supervisor, child: Callable[[int], Child], ready: Callable[[int], bool]
) -> int:
    """Start the child for a free port, for another one if some program was quicker; returns the port."""
    for left in reversed(range(PORTS_TRIED)):
        port = _free_port()
        try:
            processes.start(child(port), partial(ready, port), RECOVERY)
        except NotReadyError:
            if left == 0 or not _answers(port):
                raise
        else:
            break
    return port


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
