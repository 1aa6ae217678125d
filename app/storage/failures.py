"""Errors of operating system and network as errors of storage."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import StorageFullError, StorageUnavailableError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn errors of files into those that every store raises."""
    try:
        yield
    except OSError as error:
        kind = StorageFullError if error.errno in FULL else StorageUnavailableError
        raise kind(str(error)) from error
