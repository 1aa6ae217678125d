"""The meter that stops an archive which becomes larger than its limits."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from scoring.data.limits import Limits
from scoring.errors import Problem, SubmissionError, shown

_MIB = 1 << 20


@dataclass(slots=True)
class Meter:
    """Counts what is really read of an archive of `packed` bytes, whatever its headers say.

    A plain folder is not packed: None. kind is the archive's, ".tar.gz".
    """

    limits: Limits
    packed: int | None = None
    kind: str = ""
    members: int = 0
    folders: int = 0
    unpacked: int = 0

    @classmethod
    def of(cls, path: Path, limits: Limits) -> Self:
        """The meter of what lies at a path."""
        return cls(limits, None if path.is_dir() else path.stat().st_size)

    def count_member(self) -> None:
        """One more file, folder or anything else with a name. Raises SubmissionError when there are too many."""
        self.members += 1
        if self.members > self.limits.max_files:
            message = (
                f"too many entries: an archive may hold at most {self.limits.max_files} files and folders"
            )
            raise SubmissionError(Problem("too-many-members", message, expected=str(self.limits.max_files)))

    def count_folder(self) -> None:
        """The last member was a folder."""
        self.folders += 1

    @property
    def files(self) -> int:
        """How many members were no folders."""
        return self.members - self.folders

    def count_bytes(self, count: int) -> None:
        """So many bytes have come out. Raises SubmissionError when there are too many."""
        self.unpacked += count
        self.allow_total(self.unpacked)

    def allow_total(self, total: int) -> None:
        """Raise SubmissionError if the content may not have this size."""
        if total > self.limits.max_unpacked_bytes:
            message = (
                f"too large: the content may have at most {in_mib(self.limits.max_unpacked_bytes)} unpacked"
            )
            raise SubmissionError(
                Problem("too-large", message, expected=in_mib(self.limits.max_unpacked_bytes))
            )
        if self.packed is not None and total > max(
            self.limits.ratio_from_bytes, self.limits.max_ratio * self.packed
        ):
            message = f"too large: unpacked, a {self.kind} archive may have at most {self.limits.max_ratio} times its size"
            raise SubmissionError(
                Problem("ratio", message, expected=f"a ratio of at most {self.limits.max_ratio}")
            )

    def allow_member(self, name: str, size: int) -> None:
        """Raise SubmissionError if no single file may have this size."""
        if size > self.limits.max_file_bytes:
            most = in_mib(self.limits.max_file_bytes)
            message = f"too large: its size is {size} bytes unpacked; at most {most} are read"
            raise SubmissionError(
                Problem("file-too-large", message, shown(name), found=str(size), expected=most)
            )


def in_mib(size: int) -> str:
    """A size for a sentence.

    >>> in_mib(128 << 20)
    '128 MiB'
    """
    return f"{size / _MIB:,.0f} MiB"
