"""What follows from what an address asks for: groups of columns, pages of rows, the end of a day."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from app.selections.schemas import ColumnGroup

CLASSES_TOGETHER: Final = 40  # on a page
ROWS_TOGETHER: Final = 200


def end_of(day: date) -> datetime:
    """The moment at which a day ends, in UTC.

    >>> end_of(date(2026, 11, 21)).isoformat()
    '2026-11-22T00:00:00+00:00'
    """
    return datetime.combine(day, time.min, UTC) + timedelta(days=1)


def column_groups(classes: Sequence[str]) -> tuple[ColumnGroup, ...]:
    """The groups in which classes stand on a page, one at least.

    >>> column_groups(["car", "dog"])
    (ColumnGroup(number=1, first='car', last='dog'),)
    """
    starts = range(0, len(classes), CLASSES_TOGETHER)
    groups = [classes[start : start + CLASSES_TOGETHER] for start in starts] or [("",)]
    return tuple(ColumnGroup(number, each[0], each[-1]) for number, each in enumerate(groups, 1))


def page_count(rows: int) -> int:
    """How many pages rows fill; one at least.

    >>> page_count(0), page_count(200), page_count(201)
    (1, 1, 2)
    """
    return max(1, -(-rows // ROWS_TOGETHER))
