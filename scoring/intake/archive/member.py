"""One file of an archive."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive: its safe name, and how to read it whole, before the next member is asked for."""

    name: str
    read: Callable[[], bytes]
