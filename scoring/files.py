"""Files that callers name by a path: read, or refused with a sentence that says which and why."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final


class PathError(OSError):
    """A path cannot be read or written; the message is a sentence with the path; error number and file name are those of the system."""

    def __str__(self) -> str:
        """The sentence."""
        return str(self.strerror)


class MissingPathError(PathError, FileNotFoundError):
    """Nothing has this path."""


_NUL: Final = "\0"


def as_path(path: Path | str) -> Path:
    """A path, given in either way. Raises PathError for an empty text, which would be the working folder, and for a NUL in it.

    >>> as_path("")
    Traceback (most recent call last):
    scoring.files.MissingPathError: expected a path, found ''
    """
    text = os.fspath(path)
    if not text or _NUL in text:
        raise MissingPathError(None, f"expected a path, found {text!r}", text)
    return Path(path)


def read_file(path: Path | str) -> bytes:
    """The content of a file. Raises PathError for a missing one, a folder, and one that cannot be read.

    >>> read_file("no such file")
    Traceback (most recent call last):
    scoring.files.MissingPathError: there is no file 'no such file'
    """
    known = as_path(path)
    with named(known):
        return known.read_bytes()


def write_file(path: Path | str, content: bytes) -> None:
    """Write a file. Raises PathError."""
    known = as_path(path)
    with named(known):
        known.write_bytes(content)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Raise errors of the system as PathError with this path.

    >>> with named(Path("/")):
    ...     Path("/").read_bytes()
    Traceback (most recent call last):
    scoring.files.PathError: expected a file, found the folder '/'
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        folder = path.parent
        sentence = (
            f"there is no file '{path}'"
            if folder.is_dir()
            else f"there is no folder '{folder}' for '{path.name}'"
        )
        raise MissingPathError(error.errno, sentence, str(path)) from None
    except IsADirectoryError as error:
        raise PathError(error.errno, f"expected a file, found the folder '{path}'", str(path)) from None
    except PermissionError as error:
        raise PathError(error.errno, f"'{path}' may not be opened: permission denied", str(path)) from None
    except OSError as error:
        raise PathError(
            error.errno, f"'{path}' cannot be read or written: {error.strerror}", str(path)
        ) from None
