"""The folder of an embedded installation.

lock            held by the one installation that runs here
servers.lock    held by its servers, which inherit it and may outlive it for a moment
secrets.json    generated passwords and the signing key, for the owner alone
postgres/       the database; postgres.new/ while it is being made
valkey/         the queue
logs/           what the processes say
"""

import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from app.embedded.errors import EmbeddedError

FAREWELL = timedelta(
    seconds=30
)  # servers of an installation that was killed are still writing out their data


@dataclass(frozen=True, slots=True)
class Secrets:
    """What one installation must not tell."""

    superuser: str
    database: str
    broker: str
    signing_key: str


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that is ours alone; `lock` is the file descriptor that its servers inherit."""

    path: Path
    lock: int
    secrets: Secrets

    def log(self, name: str) -> Path:
        """Where a process of this name writes."""
        return self.path / "logs" / f"{name}.log"


@contextmanager
def opened(data: Path) -> Iterator[Folder]:
    """Open a folder, made if there is none; raises EmbeddedError while another installation runs on it."""
    data = data.absolute()
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _open(data / "lock") as ours, _open(data / "servers.lock") as servers:
        if not _locked(ours):
            holder = os.pread(ours, 20, 0).decode()
            raise EmbeddedError(f"{data} is in use: another installation (process {holder}) runs on it")
        os.ftruncate(ours, 0)
        os.pwrite(ours, str(os.getpid()).encode(), 0)
        _await_farewell(servers, data)
        yield Folder(data, servers, _secrets_of(data))


def read_secrets(data: Path) -> Secrets:
    """The secrets of a folder that has been opened before."""
    return Secrets(**json.loads((data / "secrets.json").read_text("utf-8")))


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, and see it on the disk."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _open(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _await_farewell(lock: int, data: Path) -> None:
    """Wait for servers that have outlived the installation that started them, and take their lock."""
    give_up = time.monotonic() + FAREWELL.total_seconds()
    while not _locked(lock):
        if time.monotonic() > give_up:
            raise EmbeddedError(f"{data} is in use: servers of an earlier run have not ended yet")
        time.sleep(0.05)


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _secrets_of(data: Path) -> Secrets:
    path = data / "secrets.json"
    if path.exists():
        return read_secrets(data)
    if (data / "postgres").exists():
        raise EmbeddedError(f"{path} is missing: without it nobody can open the database beside it")
    generated = Secrets(*(secrets.token_urlsafe(32) for _ in range(4)))
    unfinished = data / "secrets.json.new"
    write_private(unfinished, json.dumps(asdict(generated), indent=2) + "\n")
    unfinished.rename(path)
    return generated
