"""What a backup says of itself."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Self

FORMAT = 2


class BackupError(Exception):
    """A backup cannot be taken or restored; says why and what can be done."""


class Condition(StrEnum):
    """How a content is that the database names."""

    INTACT = "intact"
    MISSING = "missing"
    DAMAGED = "damaged"  # it has other bytes than were stored


@dataclass(frozen=True, slots=True, order=True)
class StoredKey:
    """A content of one of the stores."""

    store: str
    key: str

    @property
    def path(self) -> Path:
        """Where a backup has it."""
        return Path(self.store, self.key[:2], self.key)

    @classmethod
    def at(cls, path: Path) -> Self:
        """The content that a backup has at a path.

        >>> StoredKey.at(Path("truth/ab/abcd")).key
        'abcd'
        """
        return cls(path.parts[0], path.name)


@dataclass(frozen=True, slots=True)
class Contents:
    """What the database names of the stores: how many contents, and those that are not as they were stored, as backups name them."""

    count: int
    missing: tuple[str, ...]
    damaged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Written last: a folder with it is whole."""

    taken_at: datetime
    scorer: str
    contents: int  # beside the database
    size: int  # bytes of all files
    missing: tuple[str, ...]  # contents that the database names and this backup does not have
    damaged: tuple[str, ...]  # those that the stores did not have, or had with other bytes
    linked_folders: tuple[str, ...]  # of pictures, which are in no store
    sums: str  # sha256 of the file of all hashes


@dataclass(frozen=True, slots=True)
class Taken:
    """A backup that is whole; copied: contents that no earlier backup beside it had."""

    folder: Path
    manifest: Manifest
    copied: int
    removed: tuple[Path, ...]  # older ones


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored, and what goes on from there."""

    manifest: Manifest
    queued: int  # runs
    running: int  # runs whose worker was of the old installation
    receiving: int  # uploads, whose bytes are not in a backup


@dataclass(frozen=True, slots=True)
class Work:
    """Runs and uploads in a database that are not complete."""

    queued: int
    running: int
    receiving: int
