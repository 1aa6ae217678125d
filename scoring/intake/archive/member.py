"""One file of an archive."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive: its safe name, and a function that reads it, to be called before the next member is requested."""

    name: str
    read: Callable[[], bytes]
