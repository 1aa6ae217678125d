"""Many JSON objects of the same fields, all of them numbers, read as a table."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from .number_runs import (
    EXPONENT,
    keep_to_json,
    lines_of,
    mark_exponents,
    skeleton_of,
)

_END: Final = re.compile(rb"\}\s*\]")
_WHOLE_NUMBERS: Final = ("id", "image_id", "category_id", "iscrowd")


@dataclass(frozen=True, slots=True, eq=False)
class FlatBlock:
    """The columns of some records, as `Table` has them; size: the bytes that they take; ends: whether they are the last ones of the list."""

    columns: Mapping[str, np.ndarray[Any, Any]]
    size: int
    ends: bool

    @property
    def count(self) -> int:
        """The number of records."""
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True, slots=True)
class FlatRecords:
    """How records of numbers are written in a file.

    skeleton: the comma and blanks before a record and the record itself, without its numbers; lengths: of each field, in
    their order, how many numbers its list has, None where it is a single number.
    """

    skeleton: bytes
    lengths: Mapping[str, int | None]

    @classmethod
    def like(cls, record: bytes, separator: bytes) -> Self | None:
        r"""The form of a record, or None where it holds anything else than numbers and lists of them.

        >>> FlatRecords.like(b'{"score": 0.5, "bbox": [1, 2]}', b", ")
        FlatRecords(skeleton=b', {"score": \x00, "bbox": [\x00, \x00]}', lengths={'score': None, 'bbox': 2})
        """
        lengths: dict[str, int | None] = {}
        for key, value in json.loads(record).items():
            numbers = value if isinstance(value, list) else [value]
            if not key.replace("_", "").isalpha() or any(type(each) not in (int, float) for each in numbers):
                return None
            lengths[key] = len(value) if isinstance(value, list) else None
        if all(length == 0 for length in lengths.values()):
            return None  # no number at all
        return cls(skeleton_of(mark_exponents(separator + record)), lengths)

    def read_block(self, block: bytes) -> "FlatBlock | None":
        """Read records, each with its separator, up to the end of the list; None where one is not of this form.

        >>> found = FlatRecords.like(b'{"score": 0.5}', b",").read_block(b',{"score": 2e3}], "info": {}')
        >>> found.columns["score"].tolist(), found.size, found.ends
        ([2000.0], 15, True)
        """
        columns = self._columns(block)
        if columns is not None:
            return FlatBlock(columns, len(block), ends=False)
        end = _END.search(block)  # what follows the list may stand in the same block
        columns = None if end is None else self._columns(block[: end.start() + 1])
        return None if end is None or columns is None else FlatBlock(columns, end.start() + 1, ends=True)

    def _columns(self, block: bytes) -> Mapping[str, np.ndarray[Any, Any]] | None:
        """Numbers as float64 (n,), lists of them as float64 (n, length), identifiers as int64 (n,)."""
        if EXPONENT in block:
            return None
        text = block
        count = self._count(text)
        if count is None:
            text = mark_exponents(block)
            count = self._count(text)
        if count is None:
            return None
        lines = lines_of(text)
        if not keep_to_json(lines):
            return None
        import polars as pl  # noqa: PLC0415 - polars takes longer to import than all of `scoring`

        numbers = {
            name: [name] if length is None else [f"{name}.{place}" for place in range(length)]
            for name, length in self.lengths.items()
        }
        schema = {"": pl.String} | {
            each: pl.Int64 if each in _WHOLE_NUMBERS else pl.Float64
            for names in numbers.values()
            for each in names
        }
        try:
            table = pl.read_csv(lines, has_header=False, schema=schema, quote_char=None)
        except pl.exceptions.PolarsError:
            return None
        if len(table) != count or any(column.null_count() for column in table.iter_columns() if column.name):
            return None
        columns: dict[str, np.ndarray[Any, Any]] = {}
        for name, length in self.lengths.items():
            parts = [table[each].to_numpy() for each in numbers[name]]
            columns[name] = (
                parts[0] if length is None else np.stack(parts, axis=1) if parts else np.empty((count, 0))
            )
        return columns

    def _count(self, text: bytes) -> int | None:
        """How many records of this form the text is; None where it is anything else."""
        skeleton = skeleton_of(text)
        count = len(skeleton) // len(self.skeleton)
        return count if skeleton == self.skeleton * count else None
