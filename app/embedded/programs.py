"""What both embedded servers need to be started."""

import importlib.util
import os
import socket
from datetime import timedelta
from pathlib import Path

from app.data_folder import InstallationError

HOST = "127.0.0.1"
CLEAN_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}  # none of the user's PG… variables
RECOVERY = timedelta(minutes=5)  # after a crash a server first replays its log


def program_of(package: str, pattern: str) -> Path:
    """A program of a wheel, found without importing the package."""
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in Path(folder).glob(pattern):
            return path
    raise InstallationError(
        f"the package {package} has no program for this system: "
        "install it, or set HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL"
    )


def free_port() -> int:
    """A port that no program listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
