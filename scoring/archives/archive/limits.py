"""One file of an archive, and counting what is read of all of them against the limits."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from scoring.data.limits import Limits
from scoring.errors import Problem, Rule, SubmissionError, shown
from scoring.files import named

_MIB = 1 << 20


@dataclass(slots=True)
class Meter:
    """Counts what is actually read of an archive, whatever its headers say.

    packed: bytes of the archive, None for a plain folder; kind: such as ".tar.gz".
    """

    limits: Limits
    packed: int | None = None
    kind: str = ""
    members: int = 0
    folders: int = 0
    unpacked: int = 0

    @classmethod
    def of(cls, path: Path, limits: Limits) -> Self:
        """The meter of the archive or folder at a path. Raises PathError where there is none."""
        with named(path):
            return cls(limits, None if path.is_dir() else path.stat().st_size)

    def count_member(self) -> None:
        """Count one more entry: file, folder or other. Raises SubmissionError when there are too many."""
        self.members += 1
        if self.members > self.limits.max_files:
            message = (
                f"too many entries: an archive may hold at most {self.limits.max_files} files and folders"
            )
            raise SubmissionError(
                Problem("too-many-members", Rule(message), expected=str(self.limits.max_files))
            )

    def count_folder(self) -> None:
        """Note that the last entry was a folder."""
        self.folders += 1

    @property
    def files(self) -> int:
        """The entries that were not folders."""
        return self.members - self.folders

    def count_bytes(self, count: int) -> None:
        """Count unpacked bytes. Raises SubmissionError when there are too many."""
        self.unpacked += count
        self.allow_total(self.unpacked)

    def allow_total(self, total: int) -> None:
        """Raise SubmissionError if this number of unpacked bytes exceeds a limit."""
        if total > self.limits.max_unpacked_bytes:
            message = (
                f"too large: the content may have at most {in_mib(self.limits.max_unpacked_bytes)} unpacked"
            )
            raise SubmissionError(
                Problem("too-large", Rule(message), expected=in_mib(self.limits.max_unpacked_bytes))
            )
        if self.packed is not None and total > max(
            self.limits.ratio_from_bytes, self.limits.max_ratio * self.packed
        ):
            message = f"too large: unpacked, a {self.kind} archive may have at most {self.limits.max_ratio} times its size"
            raise SubmissionError(
                Problem("ratio", Rule(message), expected=f"a ratio of at most {self.limits.max_ratio}")
            )

    def allow_member(self, name: str, size: int) -> None:
        """Raise SubmissionError if a file of this size exceeds the limit."""
        if size > self.limits.max_file_bytes:
            most = in_mib(self.limits.max_file_bytes)
            message = f"too large: its size is {size} bytes unpacked; at most {most} are read"
            raise SubmissionError(
                Problem("file-too-large", Rule(message), shown(name), found=str(size), expected=most)
            )


def in_mib(size: int) -> str:
    """A size in MiB, for messages.

    >>> in_mib(128 << 20)
    '128 MiB'
    """
    return f"{size / _MIB:,.0f} MiB"


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive: its safe name, and a function that reads it, to be called before the next member is requested.

    modified: its time stamp in seconds, for nothing but comparing those of one archive; None if there is none.
    """

    name: str
    read: Callable[[], bytes]
    modified: float | None = None
