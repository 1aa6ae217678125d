"""Files of the local disk: what is known of them, and seeing them on the disk."""

import os
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import BinaryIO


def stat_of(path: Path) -> os.stat_result | None:
    """What is known of a file, if it has not been removed in the meantime."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def changed_at(found: os.stat_result) -> datetime:
    """When a file was changed last, in UTC."""
    return datetime.fromtimestamp(found.st_mtime, UTC)


def flush(file: BinaryIO | FileIO) -> None:
    """Write the bytes to the disk; nobody is to add any."""
    os.fchmod(file.fileno(), 0o400)
    os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Write the names of a folder to the disk; without that a power cut may take them back."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
