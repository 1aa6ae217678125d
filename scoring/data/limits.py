"""How large an archive may become: part of an edition's public description."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

MAX_FILE_PROBLEMS: Final = 1_000
"""After so many wrong lines, or wrong elements of an XML file, the rest of the file is not read."""
MAX_ARCHIVE_PROBLEMS: Final = 2_000
"""After so many problems in the content of files, further files of the archive are not read."""

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What is read at most of one archive; sizes in bytes, of what comes out of it. A larger number allows more.

    ratio is how many times larger than the archive its content may be, asked once there is more than ratio_from.
    depth counts folders, name the characters of a whole path. Raises ValueError for less than 1.
    """

    unpacked: int = 1024 * _MIB
    member: int = 128 * _MIB
    members: int = 20_000
    ratio: int = 100
    ratio_from: int = 64 * _MIB
    depth: int = 12
    name: int = 400

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise ValueError(f"the limit '{field.name}' must be a whole number from 1, not {value!r}")

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The same with some of them changed, by name. Raises ValueError for another name, or for what is no number.

        >>> Limits().changed({"members": 5}).members
        5
        """
        names = [field.name for field in fields(self)]
        for name in changes:
            if name not in names:
                raise ValueError(f"no limit is called {name!r}; there are {', '.join(names)}")
        return replace(self, **changes)
