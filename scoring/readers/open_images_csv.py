"""The lines of a CSV file of Open Images."""

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scoring.errors import shown
from scoring.readers.voc.annotations import AnnotationError

_NUMBER: Final = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_QUOTED: Final = 40


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the file: its number, and its fields by the names of their columns."""

    line: int
    fields: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        """The field of a column that the file is known to have."""
        return self.fields[column]

    def is_set(self, column: str) -> bool:
        """Whether the flag of this column is there and 1."""
        return self.fields.get(column) == "1"

    def number(self, column: str) -> float:
        """A finite number. Raises AnnotationError for anything else."""
        text = self.fields[column]
        if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            raise self._unexpected(column, "a number")
        return float(text)

    def share(self, column: str) -> float:
        """A number from 0 to 1. Raises AnnotationError for anything else."""
        text = self.fields[column]
        if not _NUMBER.fullmatch(text) or not 0 <= float(text) <= 1:
            raise self._unexpected(column, "a number from 0 to 1")
        return float(text)

    def _unexpected(self, column: str, expected: str) -> AnnotationError:
        found = shown(self.fields[column], _QUOTED)
        return AnnotationError(f"expected {expected} as {column}, found '{found}'", self.line)


def read_rows(data: bytes, columns: Sequence[str]) -> Iterator[Row]:
    r"""The lines behind the header, which has to have these columns, in any order and among others.

    Raises AnnotationError with the line for what is not UTF-8 or CSV, a missing column, and another number of fields.

    >>> [row["LabelName"] for row in read_rows(b"ImageID,LabelName\na,cat\n", ("LabelName",))]
    ['cat']
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AnnotationError("this is not UTF-8 text", data.count(b"\n", 0, error.start) + 1) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if missing := [name for name in columns if name not in header]:
            raise AnnotationError(f"expected a header with the columns {', '.join(missing)}", 1)
        for fields in reader:
            if fields and len(fields) != len(header):
                message = f"expected {len(header)} fields, found {len(fields)}"
                raise AnnotationError(message, reader.line_num)
            if fields:
                yield Row(reader.line_num, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise AnnotationError(f"this is not CSV: {error}", reader.line_num) from error
