"""Files of backups: written under another name first, hashed on the way, linked from an earlier backup."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.backups.rules import MANIFEST, is_name, is_partial
from app.backups.schemas import BackupError
from app.storage import NewDigest

MiB = 1 << 20
UNFINISHED = ".unfinished"  # ending of a file that is being written


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Hold a directory of backups, made if there is none; errors of its disk become BackupError."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise BackupError(f"{directory} is in use: another backup is written there") from None
        finally:
            os.close(descriptor)
    except OSError as error:
        raise BackupError(f"{directory} cannot be used: {error.strerror or error}") from error


def whole_backups(directory: Path) -> list[Path]:
    """Backups that are whole, the newest first."""
    found = [each for each in directory.iterdir() if is_name(each.name) and (each / MANIFEST).exists()]
    return sorted(found, reverse=True)


def interrupted_backups(directory: Path) -> list[Path]:
    """What was left by backups that were interrupted."""
    return [each for each in directory.iterdir() if is_partial(each.name)]


def reuse(path: Path, target: Path, is_right: Callable[[Path], bool], earlier: Sequence[Path]) -> bool:
    """Link a content from the first of some earlier backups that has it with the right bytes; whether one has."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return any(
        (each / path).exists() and is_right(each / path) and _link(each / path, target) for each in earlier
    )


def _link(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except OSError:  # a file system without links, or with too many of them
        shutil.copyfile(source, target)
    return True


def write(stream: BinaryIO, target: Path) -> None:
    """Copy a stream to a file, which is there once the stream has come to its end without an error."""
    unfinished = target.with_name(target.name + UNFINISHED)
    try:
        with unfinished.open("wb") as file:
            shutil.copyfileobj(stream, file, MiB)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)


def digest_of_file(path: Path, new_digest: NewDigest = hashlib.sha256) -> str:
    """The hash of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, new_digest).hexdigest()
