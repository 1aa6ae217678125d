"""The files of a plain folder, read as if it were an archive."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

from scoring.archives.archive.limits import Member, Meter
from scoring.archives.archive.names import Names
from scoring.errors import Problem, Rule, shown
from scoring.files import named


def members(folder: Path, meter: Meter, names: Names) -> Iterator[Member]:
    """Every regular file below the folder, by name; links are not followed. Raises OSError for what cannot be read, PathError for a file."""
    for here, folders, files in os.walk(folder, onerror=_give_up):
        folders.sort()
        for name in sorted((*folders, *files)):
            meter.count_member()
            path = Path(here, name)
            if name in folders:
                meter.count_folder()
            inside = path.relative_to(folder).as_posix()
            problem = _fault(path, inside)
            if problem is not None:
                names.problems.add(problem)
            elif (safe := names.accept(inside, folder=path.is_dir())) is not None and path.is_file():
                meter.allow_member(safe, path.stat().st_size)
                yield Member(safe, partial(_read, path, safe, meter))


def alone(file: Path, name: str, meter: Meter) -> Member:
    """A file that is given without an archive, as if it lay in one under this name. Raises PathError."""
    meter.count_member()
    with named(file):
        meter.allow_member(name, file.stat().st_size)
    return Member(name, partial(_read, file, name, meter))


def _give_up(error: OSError) -> NoReturn:
    raise error


def _fault(path: Path, inside: str) -> Problem | None:
    if path.is_symlink():
        return Problem("link", Rule("a link; only files and folders are allowed"), shown(inside))
    if not path.is_dir() and not path.is_file():
        return Problem(
            "special-file", Rule("a device, FIFO or other special file, not a regular one"), shown(inside)
        )
    return None


def _read(path: Path, name: str, meter: Meter) -> bytes:
    with named(path), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(min(meter.limits.max_file_bytes, size) + 1)
    meter.allow_member(name, len(data))
    meter.count_bytes(len(data))
    return data
