"""The data folder of an installation: used by one at a time, which notes there how commands reach it."""

import errno
import fcntl
import json
import os
import pwd
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.settings import Settings

NOTE = "installation.json"
EMBEDDED_DATABASE = "postgres"  # its folder, where the database is our own
ANOTHER_FOLDER = "name another folder with HELDOUT_DATA"
LOCK_SECONDS = 1.0  # a command that looks whether an installation runs holds the lock for a moment


class DataFolderError(Exception):
    """The folder cannot be used; says why and what can be done."""


@contextmanager
def exclusive(data: Path) -> Iterator[None]:
    """Hold a folder, made if there is none, for this installation alone.

    Raises DataFolderError while another installation runs on it, or when it is another user's.
    """
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = data.stat().st_uid
    if owner != os.geteuid():
        raise DataFolderError(f"{data} belongs to {user_name(owner)}: run as that user, or {ANOTHER_FOLDER}")
    refuse_open(data)
    with opened(data / "lock") as lock:
        if not is_locked_within(lock, LOCK_SECONDS):
            holder = os.pread(lock, 20, 0).decode()
            raise DataFolderError(
                f"{data} is in use: another installation (process {holder}) runs on it; stop it, or {ANOTHER_FOLDER}"
            )
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        (data / NOTE).unlink(missing_ok=True)  # of one that was killed
        yield


def refuse_open(folder: Path) -> None:
    """Raise DataFolderError for a folder that other users of the machine can look into."""
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & 0o007:
            raise DataFolderError(
                f"{folder} is open to other users of this machine (mode {mode:o}); close it with `chmod o-rwx {folder}`"
            )


@contextmanager
def advertised(settings: Settings) -> Iterator[None]:
    """Note how this installation is reached, for commands, until the end of the block."""
    note = settings.data / NOTE
    write_private(note, json.dumps(settings.model_dump(mode="json", exclude_none=True)))
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def installation_settings(settings: Settings) -> Settings:
    """The settings, completed by those of the installation that runs in their data folder.

    Raises DataFolderError when there is none and no addresses are set.
    """
    if settings.database_url or settings.broker_url or settings.migration_database_url:
        return settings
    if not is_running(settings.data):
        raise DataFolderError(
            f"no installation runs in {settings.data}; start one with `make run`, name the folder of the one that "
            "runs with HELDOUT_DATA, or set HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL"
        )
    noted = Settings.model_validate(json.loads((settings.data / NOTE).read_text("utf-8")))
    chosen = {name: getattr(settings, name) for name in settings.model_fields_set}
    return noted.model_copy(update=chosen)


def is_running(data: Path) -> bool:
    """Whether an installation holds the folder and has noted how it is reached; raises DataFolderError."""
    try:
        lock = os.open(data / "lock", os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DataFolderError(folder_error(error, data)) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return (data / NOTE).exists()
    finally:
        os.close(lock)
    return False  # what is noted there is of an installation that was killed


def folder_error(error: OSError, data: Path) -> str:
    """Why a folder cannot be used, and what can be done."""
    path = Path(error.filename) if isinstance(error.filename, str | Path) else data
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        closed, owner = _nearest_visible(path)
        return (
            f"{path} cannot be used: {closed} belongs to {user_name(owner)}, and this is "
            f"{user_name(os.geteuid())}; {ANOTHER_FOLDER}"
        )
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"{path} cannot be written: {reason}; make room on that disk, or {ANOTHER_FOLDER}"
    return f"{path} cannot be used: {reason}; {ANOTHER_FOLDER}"


def _nearest_visible(path: Path) -> tuple[Path, int]:
    """The path, or the closest folder above it that can be looked at, and its owner."""
    for one in (path, *path.parents):
        with suppress(OSError):
            return one, one.stat().st_uid
    return path, 0


def user_name(uid: int) -> str:
    """How a person calls a user, e.g. `user ash`."""
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """The file descriptor of a lock, which only its owner can read."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_locked_within(lock: int, seconds: float) -> bool:
    """Take a lock as soon as it is free; False when it is not in time."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, and see it on the disk."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
