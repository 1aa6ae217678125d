"""Checks of the numbers that rules of one's own may set."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from scoring.data.arrays import Floats
from scoring.data.checking import DataError, as_list

_Range = tuple[str, float, float]
_UNLIMITED: Final = sys.float_info.max
"""In place of infinity, which JSON does not have."""


def as_threshold(name: str, value: Any) -> float:
    """An IoU that a match needs. Raises DataError for anything but a number above 0 and up to 1.

    >>> as_threshold("iou_threshold", 1)
    1.0
    """
    value = _plain(value)
    if not _is_number(value) or not 0 < value <= 1:
        raise DataError(f"expected a number above 0 and up to 1 as '{name}', found {value!r}")
    return float(value)


def as_thresholds(name: str, values: Any) -> Floats:
    """Several of them, each once: float64 (n,), rising. Raises DataError for anything else, or for none.

    >>> as_thresholds("iou_thresholds", [0.75, 0.5]).tolist()
    [0.5, 0.75]
    """
    return _rising(name, [as_threshold(name, each) for each in _some(name, values)])


def as_shares(name: str, values: Any) -> Floats:
    """Numbers from 0 to 1, each once: float64 (n,), rising. Raises DataError for anything else, or for none.

    >>> as_shares("recalls", [0, 0.5]).tolist()
    [0.0, 0.5]
    """
    found = _some(name, values)
    for value in found:
        if not _is_number(value) or not 0 <= value <= 1:
            raise DataError(f"expected numbers from 0 to 1 in '{name}', found {value!r}")
    return _rising(name, [float(each) for each in found])


def as_count(name: str, value: Any) -> int:
    """A whole number from 1. Raises DataError for anything else.

    >>> as_count("in_image", 300)
    300
    """
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DataError(f"expected a whole number from 1 in '{name}', found {value!r}")
    return value


def as_counts(name: str, values: Any) -> tuple[int, ...]:
    """Several of them, each once, rising. Raises DataError for anything else, or for none.

    >>> as_counts("max_detections", [100, 1, 10])
    (1, 10, 100)
    """
    found = sorted(as_count(name, each) for each in _some(name, values))
    _assert_different(name, found)
    return tuple(found)


def as_ranges(name: str, values: Any) -> tuple[_Range, ...]:
    """Ranges of areas, each with its name, smallest and largest area, of which the first holds all others.

    Raises DataError for anything else, for two of one name, and for names that do not begin with a letter.

    >>> as_ranges("areas", [["all", 0, 1e10], ["tiny", 0, 256]])
    (('all', 0.0, 10000000000.0), ('tiny', 0.0, 256.0))
    """
    found = [_as_range(name, each) for each in _some(name, values)]
    _assert_different(name, [each for each, _, _ in found])
    first, least, most = found[0]
    for other, low, high in found:
        if low < least or high > most:
            raise DataError(
                f"expected a first range in '{name}' that holds all others, such as ('all', 0, 1e10),"
                f" found '{first}' from {least:g} to {most:g}, which does not hold '{other}'"
            )
    return tuple(found)


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """How figures call ranges: by the first letter of each, or by the whole name where several begin with that letter.

    >>> short_names(["small", "tiny1", "tiny2"])
    ('s', 'tiny1', 'tiny2')
    """
    letters = Counter(name[0] for name in names)
    return tuple(name[0] if letters[name[0]] == 1 else name for name in names)


def _as_range(name: str, value: Any) -> _Range:
    parts = tuple(map(_plain, value)) if isinstance(value, list | tuple) else ()
    if len(parts) != 3 or not isinstance(parts[0], str) or not all(map(_is_number, parts[1:])):
        raise DataError(
            f"expected a name, the smallest and the largest area of each range in '{name}', found {value!r}"
        )
    label, low, high = parts
    if not label[:1].isalpha():
        raise DataError(f"expected names in '{name}' that begin with a letter, found {label!r}")
    if not 0 <= low <= high:
        raise DataError(f"expected areas from 0, the smallest first, in '{name}', found {value!r}")
    return label, float(low), min(float(high), _UNLIMITED)


def _some(name: str, values: Any) -> list[Any]:
    found = [_plain(each) for each in as_list(name, values)]
    if not found:
        raise DataError(f"expected at least one value in '{name}', found none")
    return found


def _plain(value: Any) -> Any:
    """A number of NumPy as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


def _rising(name: str, values: list[float]) -> Floats:
    _assert_different(name, values)
    array = np.array(sorted(values), np.float64)
    array.flags.writeable = False
    return array


def _assert_different(name: str, values: Sequence[object]) -> None:
    [(repeated, count)] = Counter(values).most_common(1)
    if count > 1:
        raise DataError(f"{repeated!r} stands twice in '{name}'")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
