"""The limits of an archive of results, part of the public description of a phase."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

MAX_FILE_PROBLEMS: Final = 1_000
"""After this number of wrong lines, or wrong elements of an XML file, the rest of the file is not read."""
MAX_ARCHIVE_PROBLEMS: Final = 2_000
"""After this number of problems in the content of files, further files of the archive are not read."""

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one archive of results; a larger number allows more. Raises ValueError for less than 1.

    max_unpacked_bytes: of all files together, unpacked; max_file_bytes: of one file; max_files: files, folders and other
    entries; max_lines: of one text file; max_total_lines: of all files together, label images included; max_boxes: of one class in one
    image; the last two are checked, and scoring does not ask for them; max_ratio: unpacked size divided by the archive's, checked once more than
    ratio_from_bytes are unpacked; max_depth: folders above a file; max_path_length: characters of a path.
    """

    max_unpacked_bytes: int = 1024 * _MIB
    max_file_bytes: int = 128 * _MIB
    max_files: int = 20_000
    max_lines: int = 3_000_000
    max_total_lines: int = 10_000_000
    max_boxes: int = 1_000
    max_ratio: int = 100
    ratio_from_bytes: int = 64 * _MIB
    max_depth: int = 12
    max_path_length: int = 400

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise ValueError(f"the limit '{field.name}' must be a whole number from 1, not {value!r}")

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The limits with some of them changed, by name. Raises ValueError for an unknown name or an invalid number.

        >>> Limits().changed({"max_files": 5}).max_files
        5
        """
        names = [field.name for field in fields(self)]
        for name in changes:
            if name not in names:
                raise ValueError(f"no limit is called {name!r}; there are {', '.join(names)}")
        return replace(self, **changes)

    def with_counts_of(self, other: "Limits") -> Self:
        """These limits with another's lines and boxes, which do not depend on how files are packed.

        >>> UNLIMITED.with_counts_of(Limits()).max_boxes
        1000
        """
        return replace(
            self, max_lines=other.max_lines, max_total_lines=other.max_total_lines, max_boxes=other.max_boxes
        )


UNLIMITED: Final = Limits(**dict.fromkeys((field.name for field in fields(Limits)), 1 << 62))
"""No limit at all."""
