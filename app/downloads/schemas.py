"""A stored archive as a program downloads it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredArchive:
    """An archive to download; size in bytes."""

    key: str
    sha256: str
    filename: str
    size: int
