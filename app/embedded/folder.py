"""The folder of an embedded installation.

lock            held by the one installation that runs here
servers.lock    held by its servers, which inherit it and may outlive it for a moment
secrets.json    generated passwords, which only the owner can read
postgres/       the database; postgres.new/ while it is being made
valkey/         the queue
logs/           output of the processes, kept short
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from pathlib import Path

from app.data_folder import ANOTHER_FOLDER, exclusive, is_locked_within, opened, write_private
from app.embedded.errors import EmbeddedError

SHUTDOWN_TIMEOUT = timedelta(
    seconds=30
)  # servers of an installation that was killed still write out their data


@dataclass(frozen=True, slots=True)
class Secrets:
    """Generated passwords."""

    superuser: str
    owner: str  # of the tables
    database: str
    broker: str


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
def open_folder(data: Path) -> Iterator[Folder]:
    """Open a folder, made if there is none; raises while another installation or its servers run on it."""
    data = data.absolute()
    with exclusive(data), opened(data / "servers.lock") as servers:
        if not is_locked_within(servers, SHUTDOWN_TIMEOUT.total_seconds()):
            raise EmbeddedError(f"{data} is in use: servers of an earlier run have not ended yet")
        yield Folder(data, servers, _secrets_of(data))


def read_secrets(data: Path) -> Secrets:
    """The secrets of a folder that has been opened before."""
    path = data / "secrets.json"
    try:
        return Secrets(**json.loads(path.read_text("utf-8")))
    except (TypeError, ValueError):
        raise EmbeddedError(
            f"{path} was not written by this version of heldout: start the version that wrote it, "
            f"move {data} away, or {ANOTHER_FOLDER}"
        ) from None


def _secrets_of(data: Path) -> Secrets:
    path = data / "secrets.json"
    if path.exists():
        return read_secrets(data)
    if (data / "postgres").exists():
        raise EmbeddedError(f"{path} is missing: it holds the passwords of the database in this folder")
    generated = Secrets(*(secrets.token_urlsafe(32) for _ in fields(Secrets)))
    unfinished = data / "secrets.json.new"
    write_private(unfinished, json.dumps(asdict(generated), indent=2) + "\n")
    unfinished.rename(path)
    return generated
