"""Names of predictions from arrays, looked up in the ground truth."""

import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

from scoring.data.arrays import Integers
from scoring.data.checking import DataError, some_of

_LISTS: Final = {"image": "images", "class": "classes"}
"""The arguments that list what numbers in a column count."""

Key = TypeVar("Key", bound=Hashable)


def places_of(what: str, used: Integers, names: Sequence[str], known: Sequence[str]) -> Integers:
    """Where in `known` each used name stands: int32 (n,).

    used: int32 (n,), into names; names that nothing uses need not be known. Raises DataError for a used name that is not
    known.

    >>> places_of("class", np.array([1, 1], np.int32), ["background", "cat"], ["car", "cat"]).tolist()
    [1, 1]
    """
    table = {name: place for place, name in enumerate(known)}
    found = np.array([table.get(name, -1) for name in names], np.int32)
    unknown = np.unique(used[found[used] < 0]) if len(used) else used
    if len(unknown):
        are_numbers = all(names[place].isdecimal() for place in unknown.tolist()) and not any(
            map(str.isdecimal, known)
        )
        hint = f"; numbers are names, unless `{_LISTS[what]}=` lists what they count" if are_numbers else ""
        absent = [names[place] for place in unknown.tolist()]
        missing = ", ".join(f"'{name}'" for name in absent[:3])
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        hint = hint or _same_in_print(absent[0], known)
        raise DataError(f"the ground truth has no {what} {missing}{more}; it has {some_of(known)}{hint}")
    return found[used] if len(used) else used.astype(np.int32)


def _same_in_print(name: str, known: Sequence[str]) -> str:
    """A hint at a known name that looks the same and has other characters, such as an accent of its own."""
    plain = unicodedata.normalize("NFC", name)
    twin = next((each for each in known if unicodedata.normalize("NFC", each) == plain), None)
    return "" if twin is None else f"; they differ in Unicode: {name!a} is not {twin!a}"


def assert_once(keys: Mapping[str, Integers]) -> None:
    """Check that no two rows agree in all columns. Raises DataError naming the first row that repeats another.

    >>> assert_once({"image": np.array([0, 1]), "class": np.array([0, 0])})
    """
    table = np.stack(list(keys.values()), axis=1)
    _, first, count = np.unique(table, axis=0, return_index=True, return_counts=True)
    if len(repeated := first[count > 1]):
        raise DataError(
            f"expected one prediction for each {' and '.join(keys)}, found several, as of row {repeated.min()}"
        )
