"""The data folder of an installation.

lock                held by the one installation that uses the folder
servers.lock        also held by its embedded servers, which may briefly outlive it
installation.json   tells commands how to reach the installation while it runs
secrets.json        generated passwords of the embedded servers
postgres/           the embedded database; postgres.new/ while it is being created
valkey/             the embedded queue
logs/               output of the processes
"""

import errno
import fcntl
import json
import os
import pwd
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO

from app.core.settings import Settings

NOTE = "installation.json"
EMBEDDED_DATABASE = "postgres"
ANOTHER_FOLDER = "name another folder with HELDOUT_DATA"
LOCK_SECONDS = 1.0  # a command that checks whether an installation runs holds the lock for a moment
SHUTDOWN_SECONDS = 30.0  # after an installation is killed, its servers still write out their data


class InstallationError(Exception):
    """An installation cannot be started or found; the message says why and what to change."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Generated passwords."""

    superuser: str
    owner: str  # of the tables
    database: str
    broker: str


@contextmanager
def lock_data_folder(data: Path) -> Iterator[int]:
    """Lock a data folder, created if missing, for this installation; yield the lock that its servers inherit.

    Raises InstallationError if another installation or its servers use it, or if other users own it or can read it.
    """
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = data.stat()
    if found.st_uid != os.geteuid():
        raise InstallationError(
            f"{data} belongs to {_user_name(found.st_uid)}: run as that user, or {ANOTHER_FOLDER}"
        )
    if found.st_mode & 0o007:
        raise InstallationError(
            f"{data} is open to other users of this machine (mode {stat.S_IMODE(found.st_mode):o}); "
            f"close it with `chmod o-rwx {data}`"
        )
    with _lock_file(data / "lock") as lock, _lock_file(data / "servers.lock") as servers:
        if not _is_locked_within(LOCK_SECONDS, lock):
            raise InstallationError(
                f"{data} is in use: another installation (process {lock.read()}) runs on it; stop it, or {ANOTHER_FOLDER}"
            )
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        (data / NOTE).unlink(missing_ok=True)  # left by an installation that was killed
        if not _is_locked_within(SHUTDOWN_SECONDS, servers):
            raise InstallationError(f"{data} is in use: servers of an earlier run have not stopped yet")
        yield servers.fileno()


def _lock_file(path: Path) -> IO[str]:
    """Open a lock file that only its owner can read, and so lock."""
    path.touch(mode=0o600)
    return path.open("r+", encoding="utf-8")


def _is_locked_within(seconds: float, file: IO[str]) -> bool:
    """Lock a file; return False if it is not free in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        else:
            return True
    return False


@contextmanager
def published_settings(settings: Settings) -> Iterator[None]:
    """Write the settings of this installation where commands find them, until the end of the block."""
    note = settings.data / NOTE
    write_private(note, json.dumps(settings.model_dump(mode="json", exclude_none=True)))
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def installation_settings(settings: Settings) -> Settings:
    """Complete the settings with those of the installation running in their data folder.

    Raises InstallationError if none runs there and no server addresses are set.
    """
    if settings.database_url or settings.broker_url or settings.migration_database_url:
        return settings
    if not is_running(settings.data):
        raise InstallationError(
            f"no installation runs in {settings.data}; start one with `make run`, name the folder of the one that "
            "runs with HELDOUT_DATA, or set HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL"
        )
    noted = Settings.model_validate(json.loads((settings.data / NOTE).read_text("utf-8")))
    chosen = {name: getattr(settings, name) for name in settings.model_fields_set}
    return noted.model_copy(update=chosen)


def is_running(data: Path) -> bool:
    """Return whether an installation runs on this folder and has published its settings. Raises InstallationError."""
    with explaining_os_errors(data):
        try:
            with (data / "lock").open(encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return (data / NOTE).exists()
    return False  # a note is a leftover of an installation that was killed


def load_secrets(data: Path) -> Secrets:
    """Load the passwords of a data folder; generate them if it is new."""
    path, unfinished = data / "secrets.json", data / "secrets.json.new"
    if not path.exists():
        if (data / EMBEDDED_DATABASE).exists():
            raise InstallationError(
                f"{path} is missing: it holds the passwords of the database in this folder"
            )
        generated = Secrets(*(secrets.token_urlsafe(32) for _ in fields(Secrets)))
        write_private(unfinished, json.dumps(asdict(generated), indent=2) + "\n")
        unfinished.rename(path)
    try:
        return Secrets(**json.loads(path.read_text("utf-8")))
    except (TypeError, ValueError):
        raise InstallationError(
            f"{path} was not written by this version of heldout: start the version that wrote it, "
            f"move {data} away, or {ANOTHER_FOLDER}"
        ) from None


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, and sync it to disk."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def explaining_os_errors(data: Path) -> Iterator[None]:
    """Turn an OSError of the block into an InstallationError that says what to change."""
    try:
        yield
    except OSError as error:
        raise InstallationError(_explanation(error, data)) from error


def _explanation(error: OSError, data: Path) -> str:
    path = Path(error.filename) if isinstance(error.filename, str | Path) else data
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        # Path.exists would raise if a parent folder is closed to this user
        closed = next(each for each in (path, *path.parents) if os.path.exists(each))  # noqa: PTH110
        return (
            f"{path} cannot be used: {closed} belongs to {_user_name(closed.stat().st_uid)}, and this is "
            f"{_user_name(os.geteuid())}; {ANOTHER_FOLDER}"
        )
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"{path} cannot be written: {reason}; free space on that disk, or {ANOTHER_FOLDER}"
    return f"{path} cannot be used: {reason}; {ANOTHER_FOLDER}"


def _user_name(uid: int) -> str:
    """Return the name of a user for a message, such as `user ash`."""
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
