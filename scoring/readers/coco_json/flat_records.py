"""Many JSON objects of the same fields, all of them numbers, read as a table."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from scoring.readers.coco_json.number_runs import (
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
    """The columns of some records; size: the bytes that they take; ends: whether they are the last ones of the list."""

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

    skeleton: the comma and blanks before a record and the record itself, without its numbers; columns: names of the numbers
    in their order, those of a list as "bbox.0", "bbox.1" …
    """

    skeleton: bytes
    columns: tuple[str, ...]

    @classmethod
    def like(cls, record: bytes, separator: bytes) -> Self | None:
        r"""The form of a record, or None where it holds anything else than numbers and lists of them.

        >>> FlatRecords.like(b'{"score": 0.5}', b", ")
        FlatRecords(skeleton=b', {"score": \x00}', columns=('score',))
        """
        columns: list[str] = []
        for key, value in json.loads(record).items():
            numbers = value if isinstance(value, list) else [value]
            if not key.replace("_", "").isalpha() or any(type(each) not in (int, float) for each in numbers):
                return None
            columns += [f"{key}.{n}" for n in range(len(value))] if isinstance(value, list) else [key]
        return cls(skeleton_of(mark_exponents(separator + record)), tuple(columns))

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
        """Numbers as float64, identifiers as int64."""
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

        schema = {"": pl.String} | {
            name: pl.Int64 if name in _WHOLE_NUMBERS else pl.Float64 for name in self.columns
        }
        try:
            table = pl.read_csv(lines, has_header=False, schema=schema, quote_char=None)
        except pl.exceptions.PolarsError:
            return None
        is_whole = len(table) == count and not any(table[name].null_count() for name in self.columns)
        return {name: table[name].to_numpy() for name in self.columns} if is_whole else None

    def _count(self, text: bytes) -> int | None:
        """How many records of this form the text is; None where it is anything else."""
        skeleton = skeleton_of(text)
        count = len(skeleton) // len(self.skeleton)
        return count if skeleton == self.skeleton * count else None
