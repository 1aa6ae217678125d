"""A table of scores: a row for each method, a column for each class."""

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from scoring.data.checking import DataError
from scoring.errors import NOT_CSV, Problem, Problems, SubmissionError, shown
from scoring.files import read_file

MAX_METHODS: Final = 1000
MAX_CLASSES: Final = 10_000

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

Row = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """Scores of methods in classes, in any unit, higher being better; None or NaN where a method has no score.

    values: a row for each method, which may be an array, float (methods, classes). Raises DataError where it has another shape.

    >>> Scoreboard(("Oxford", "TKK"), ("car", "cat"), ((43.2, None), (18.4, 5.0))).complete().methods
    ('TKK',)
    """

    methods: tuple[str, ...]
    classes: tuple[str, ...]
    values: tuple[Row, ...]

    def __post_init__(self) -> None:
        """Refuse rows that do not fit the names."""
        expected = [len(self.classes)] * len(self.methods)
        if [len(row) for row in self.values] != expected:
            raise DataError(
                f"expected a row for each of {len(expected)} methods with {len(self.classes)} scores"
            )

    def complete(self) -> Self:
        """The table of the methods that have a score in every class."""
        rows = [(name, row) for name, row in zip(self.methods, self.values, strict=True) if _is_complete(row)]
        return replace(self, methods=tuple(name for name, _ in rows), values=tuple(row for _, row in rows))

    def incomplete(self) -> tuple[str, ...]:
        """The methods without a score in every class."""
        rows = zip(self.methods, self.values, strict=True)
        return tuple(name for name, row in rows if not _is_complete(row))


def _is_complete(row: Row) -> bool:
    return not any(value is None or math.isnan(value) for value in row)


def read_scoreboard(table: Path | str, file: str | None = None) -> Scoreboard:
    r"""Read comma-separated values: a header with the classes from its second field on, then a line for each method.

    table: the path of a file, or its text, which has several lines; file: what messages call a text. An empty field means no score. Raises SubmissionError
    with every problem, by line, and PathError for a file that cannot be read.

    >>> read_scoreboard("method,car,cat\nOxford,43.2,\n").values
    ((43.2, None),)
    """
    if isinstance(table, Path) or (table and not set("\r\n") & set(table)):
        table, file = _text_of(table), Path(table).name
    reading = _Reading(file, Problems())
    (first, head), *rows = _records(table, file)
    classes = tuple(head[1:])
    reading.check_size(len(rows), len(classes), first)
    reading.check_names([(first, name) for name in classes], "class")
    reading.check_names([(line, fields[0]) for line, fields in rows], "method")
    values = tuple(reading.values(fields, len(classes), line) for line, fields in rows)
    if reading.problems.listed:
        raise SubmissionError(*reading.problems.listed)
    return Scoreboard(tuple(fields[0] for _, fields in rows), classes, values)


def _text_of(path: Path | str) -> str:
    try:
        return read_file(path).decode()
    except UnicodeDecodeError as error:
        raise SubmissionError(Problem("encoding", "this is no text in UTF-8", Path(path).name)) from error


def _records(text: str, file: str | None) -> list[tuple[int, list[str]]]:
    """The lines that are not blank, each with its number and stripped fields."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        lines = [(reader.line_num, [field.strip() for field in fields]) for fields in reader]
    except csv.Error as error:
        raise SubmissionError(Problem("not-a-table", NOT_CSV, file, reader.line_num)) from error
    records = [(number, fields) for number, fields in lines if any(fields)]
    if not records:
        raise SubmissionError(Problem("empty-table", "the table is empty", file))
    return records


@dataclass(frozen=True, slots=True)
class _Reading:
    """Collects the problems of a table."""

    file: str | None
    problems: Problems

    def check_size(self, methods: int, classes: int, line: int) -> None:
        if not 0 < methods <= MAX_METHODS or not 0 < classes <= MAX_CLASSES:
            found = f"{methods} methods and {classes} classes"
            expected = f"1 to {MAX_METHODS} methods and 1 to {MAX_CLASSES} classes"
            self._add("table-size", f"expected {expected}, found {found}", line, found, expected)

    def check_names(self, names: Iterable[tuple[int, str]], kind: str) -> None:
        seen: set[str] = set()
        for line, name in names:
            if not name:
                self._add("no-name", f"a {kind} has no name", line, "", f"the name of a {kind}")
            elif name in seen:
                message = f"the {kind} {shown(name)} appears twice"
                self._add("repeated-name", message, line, shown(name), f"each {kind} once")
            seen.add(name)

    def values(self, fields: Sequence[str], classes: int, line: int) -> Row:
        if len(fields) != classes + 1:
            message = f"expected {classes + 1} fields, found {len(fields)}"
            self._add("field-count", message, line, str(len(fields)), str(classes + 1))
        return tuple(self._value(field, line) for field in fields[1:])

    def _value(self, field: str, line: int) -> float | None:
        if not field:
            return None
        value = float(field) if _NUMBER.fullmatch(field) else math.nan
        if not math.isfinite(value):
            message = f"expected a number or nothing, found {shown(field)}"
            self._add("not-a-number", message, line, shown(field), "a number or nothing")
        return value

    def _add(self, code: str, message: str, line: int, found: str, expected: str) -> None:
        self.problems.add(Problem(code, message, self.file, line, found, expected))
