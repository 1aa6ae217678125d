"""The types of arrays, and checks of arrays, frames and numbers that come from outside."""

import ctypes
import sys
from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

Floats = NDArray[np.float64]


Integers = NDArray[np.int32]


Places = NDArray[np.intp]


Flags = NDArray[np.bool_]


Labels = NDArray[np.int8]


Bytes = NDArray[np.uint8]


Names = Sequence[str] | Mapping[int, str]
"""Names that numbers count from 0, or those of the numbers that are keys."""

_LISTS: Final = {"image": "images", "label": "classes"}
"""The arguments that list the names of a column."""

_EXACT: Final = 2**53
"""Beyond it floats leave out whole numbers."""

SHOWN: Final = 5
"""Names that a message lists at most."""
SHOWN_CHARACTERS: Final = 60
"""Of a single value."""


class BoxFormat(StrEnum):
    """How a box is written in four numbers: its corners, a corner and its size, or its centre and its size."""

    XYXY = "xyxy"
    XYWH = "xywh"
    CXCYWH = "cxcywh"


Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A column of names: place int32 (n,), into names."""

    names: tuple[str, ...]
    place: Integers


def as_array(values: Any) -> NDArray[Any]:
    """Anything that NumPy can read as an array; a tensor is detached and copied from its device first.

    Raises DataError for rows of different lengths, for masked values, for a generator, and for what NumPy cannot read.

    >>> as_array([1.5, 2]).tolist()
    [1.5, 2.0]
    """
    for step in ("detach", "cpu"):
        if hasattr(values, step):
            values = getattr(values, step)()
    if isinstance(values, Iterator):
        raise DataError(f"expected an array or a list, found a {type(values).__name__}: make a list of it")
    if "numpy.ma" in sys.modules and np.ma.is_masked(values):  # else nothing can be masked
        raise DataError("expected an array without masked values")
    try:
        return np.asarray(values)
    except ValueError:
        raise DataError("expected an array, found rows of different lengths") from None
    except TypeError as error:
        raise DataError(
            f"expected an array, found what NumPy cannot read: {type(values).__name__}"
        ) from error


def as_floats(name: str, values: Any) -> Floats:
    """Finite numbers, float64 (n,). Raises DataError for another shape, another type, NaN or infinity.

    >>> as_floats("score", np.array([0.5], np.float32)).dtype
    dtype('float64')
    """
    array = as_array(values)
    if array.ndim != 1:
        raise DataError(f"expected '{name}' as one number each, shape (n,), found {shape_of(array)}")
    return _finite(name, array)


def as_matrix(name: str, values: Any, shape: str = "(images, classes)") -> Floats:
    """Finite numbers, float64 (rows, columns); shape: as a message calls it. Raises DataError as `as_floats` does.

    >>> as_matrix("scores", [[0.1, 0.9]]).shape
    (1, 2)
    """
    array = as_array(values)
    if array.ndim != 2:
        raise DataError(f"expected '{name}' as a table, shape {shape}, found {shape_of(array)}")
    return _finite(name, array)


def as_flags(name: str, values: Any, shape: int | tuple[int, ...]) -> Flags:
    """Truth values, bool, of a length or a shape, all false for None. Raises DataError for others than 0, 1, False and True.

    >>> as_flags("difficult", [0, 1], 2).tolist()
    [False, True]
    """
    if values is None:
        return np.zeros(shape, np.bool_)
    array, expected = as_array(values), (shape,) if isinstance(shape, int) else shape
    if isinstance(shape, int) and array.ndim == 1:
        assert_lengths(**{"image": range(shape), name: array})
    if array.shape != expected:
        raise DataError(f"expected '{name}' with shape {expected}, found {shape_of(array)}")
    if others := array[~np.isin(array, (0, 1))].tolist():
        raise DataError(f"expected 0 or 1 in '{name}', found {others[0]!r}")
    return array.astype(np.bool_)


def as_boxes(name: str, values: Any, box_format: BoxFormat | str = BoxFormat.XYXY) -> Floats:
    """Boxes as left, top, right, bottom, float64 (n, 4); an empty list is none.

    Raises DataError for another shape, another type, NaN or infinity, and for an unknown format.

    >>> as_boxes("boxes", [[10, 20, 30, 40]], "xywh").tolist()
    [[10.0, 20.0, 40.0, 60.0]]
    """
    array = as_array(values)
    if array.size == 0:
        return np.empty((0, 4))
    if array.ndim != 2 or array.shape[1] != 4:
        raise DataError(f"expected '{name}' as four numbers each, shape (n, 4), found {shape_of(array)}")
    boxes = _finite(name, array)
    given = as_choice("box_format", box_format, BoxFormat)
    if given is BoxFormat.XYXY:
        return boxes
    if given is BoxFormat.XYWH:
        return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
    half = boxes[:, 2:] / 2
    return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)


def assert_upright(name: str, boxes: Floats) -> None:
    """Raises DataError if a box, of float64 (n, 4), has its right edge left of its left one, or its bottom edge above its top one.

    >>> assert_upright("boxes", np.array([[10.0, 10, 40, 40]]))
    """
    inverted = (boxes[:, 2:] < boxes[:, :2]).any(axis=1)
    if inverted.any():
        row = int(np.flatnonzero(inverted)[0])
        raise DataError(
            f"expected left, top, right and bottom in '{name}', found {boxes[row].tolist()} in row {row}, which ends before it begins"
        )


def assert_is(value: object, kind: type, purpose: str) -> None:
    """Raises DataError for a value of another type; purpose: what the value is for, as the message says it.

    >>> assert_is(0.5, float, "to count")
    """
    if not isinstance(value, kind):
        raise DataError(f"expected {kind.__name__} {purpose}, found {type(value).__name__}")


def assert_kinds(**given: tuple[object, type]) -> None:
    """Raises DataError where an argument, given with its type, has another one; the message says so where others have it.

    >>> assert_kinds(score=("cat", float), label=(0.5, str))
    Traceback (most recent call last):
    heldout_scoring.errors.DataError: expected float as 'score', found str; the order is score, label
    """
    for name, (value, kind) in given.items():
        if not isinstance(value, kind):
            is_elsewhere = any(isinstance(other, kind) for other, _ in given.values())
            hint = f"; the order is {', '.join(given)}" if is_elsewhere else ""
            raise DataError(f"expected {kind.__name__} as '{name}', found {type(value).__name__}{hint}")


def as_choice(name: str, value: Choice | str, choices: type[Choice]) -> Choice:
    """One of the values of an enum, or what it is called. Raises DataError for anything else.

    >>> as_choice("box_format", "xywh", BoxFormat)
    <BoxFormat.XYWH: 'xywh'>
    """
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(repr(each.value) for each in choices)
        raise DataError(f"expected {known} as '{name}', found {value!r}") from None


def as_named(name: str, values: Any, names: Names | None) -> Named:
    """A column of texts, or of whole numbers that count `names` from 0; where these are a mapping, its keys are the numbers.

    Without `names` these are the texts in the order of their first occurrence, or the whole numbers in their own order,
    written as texts. Floats are taken that are whole numbers. Raises DataError for a text that is none of the names, a number
    beyond them, or anything else.

    >>> as_named("label", ["cat", "dog", "cat"], None).place.tolist()
    [0, 1, 0]
    >>> as_named("label", [1], ["cat", "dog"]).place.tolist()
    [1]
    >>> as_named("label", [90.0], {7: "cat", 90: "dog"}).place.tolist()
    [1]
    """
    numbers = as_numbers(_LISTS[name], names) if isinstance(names, Mapping) else None
    listed = list(names.values()) if isinstance(names, Mapping) else names
    known = None if listed is None else as_names(_LISTS.get(name, name), listed)
    array = as_array(values)
    if array.ndim != 1:
        raise DataError(f"expected '{name}' as one each, shape (n,), found {shape_of(array)}")
    wholes = _wholes_of(name, values, array)
    if wholes is not None:
        places = wholes if numbers is None else _numbers_of(name, wholes, numbers)
        return _numbered(name, places, known)
    texts = (
        values if isinstance(values, list | tuple) else array.tolist()
    )  # NumPy makes texts of numbers beside them
    if others := [text for text in texts if not isinstance(text, str)]:
        beside = f" beside {next(filter(_is_text, texts))!r}" if any(map(_is_text, texts)) else ""
        raise DataError(f"expected texts or whole numbers in '{name}', found {others[0]!r}{beside}")
    return _looked_up(name, list(map(str, texts)), known)


def as_numbers(name: str, names: Mapping[int, str]) -> dict[int, int]:
    """The place of each number of a mapping in its order. Raises DataError for keys that are no whole numbers.

    >>> as_numbers("classes", {7: "cat", 90: "dog"})
    {7: 0, 90: 1}
    """
    keys = [key.item() if isinstance(key, np.integer) else key for key in names]
    if others := [key for key in keys if type(key) is not int]:
        turned = all(isinstance(value, int) for value in names.values())
        found = (
            f"{others[0]!r} with {names[others[0]]!r}: turn it round" if turned else f"the key {others[0]!r}"
        )
        raise DataError(
            f"expected whole numbers with a name each in '{name}', or a list of names, found {found}"
        )
    return {key: place for place, key in enumerate(keys)}


def as_names(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names, each once. Raises DataError for a repeated or an empty one, or for anything but texts.

    >>> as_names("classes", ["car", "cat"])
    ('car', 'cat')
    """
    known = tuple(str(each) if isinstance(each, np.str_) else each for each in as_list(name, names))
    if not all(isinstance(each, str) for each in known):
        other = next(each for each in known if not isinstance(each, str))
        raise DataError(f"expected texts as the names of '{name}', found {other!r}")
    if len(set(known)) < len(known):
        [(repeated, _)] = Counter(known).most_common(1)
        raise DataError(f"'{repeated}' stands twice among the names of '{name}'")
    if "" in known:
        raise DataError(f"a name must not be empty, and one of '{name}' is")
    if broken := [each for each in known if "\n" in each]:
        raise DataError(f"a name must not contain a line break: {broken[0]!r}")
    return known


def as_list(name: str, values: Any) -> list[Any]:
    """The values of anything that can be iterated in an order of its own, but for a text or a mapping.

    Raises DataError for anything else, such as a set, whose order is another one in every run.

    >>> as_list("images", ("a", "b"))
    ['a', 'b']
    """
    if hasattr(values, "__array__"):  # a tensor need not be iterable
        array = as_array(values)
        values = array if array.ndim else array.item()
    is_of_mapping = isinstance(values, KeysView | ItemsView)  # in the mapping's order
    if isinstance(values, AbstractSet) and not is_of_mapping:
        raise DataError(f"expected a list in '{name}', found {type(values).__name__}, which has no order")
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
        return list(values)
    found = repr(values) if isinstance(values, str | int | float | None) else type(values).__name__
    raise DataError(f"expected a list in '{name}', found {found}")


def some_of(names: Sequence[str]) -> str:
    """The first few of some names, as a message lists them; of no names, "none".

    >>> some_of(["a", "b", "c", "d", "e", "f", "g"])
    'a, b, c, d, e and 2 more'
    """
    more = len(names) - SHOWN
    if not names:
        return "none"
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def assert_lengths(**columns: Any) -> int:
    """The common length of the columns. Raises DataError if they differ, which names two that do.

    >>> assert_lengths(image=[1, 2], score=[0.5, 0.5])
    2
    """
    first, *others = columns
    length = len(columns[first])
    for other in others:
        if len(columns[other]) != length:
            found = f"{length} of '{first}' and {len(columns[other])} of '{other}'"
            raise DataError(f"expected columns of one length, found {found}")
    return length


def shape_of(array: NDArray[Any]) -> str:
    """The shape of an array as a message calls it; a single value itself.

    >>> shape_of(np.ones((2, 1))), shape_of(np.array(None)), shape_of(np.array("cat"))
    ('shape (2, 1)', 'None', "'cat'")
    """
    return f"shape {array.shape}" if array.ndim else repr(array.item())[:SHOWN_CHARACTERS]


def kind_of(array: NDArray[Any]) -> str:
    """What an array holds, as a message calls it.

    >>> kind_of(np.array(["0.5"])), kind_of(np.array([0.5], object)), kind_of(np.array([1j]))
    ('texts', 'Python objects (an array of type object; convert it with .astype to a type of numbers)', 'complex128')
    """
    if array.dtype.kind == "O":
        return "Python objects (an array of type object; convert it with .astype to a type of numbers)"
    return "texts" if array.dtype.kind in "US" else str(array.dtype)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _wholes_of(name: str, values: Any, array: NDArray[Any]) -> NDArray[Any] | None:
    """The whole numbers of a column, as objects where they have more than 64 bits; None for anything else."""
    if array.dtype.kind in "iu":
        return array
    if not array.size:
        return array.astype(np.int64)
    if isinstance(values, list | tuple) and array.dtype.kind == "f":
        array = np.array(values, object)  # of whole numbers of different sizes NumPy makes floats
    if array.dtype.kind == "O":
        is_whole = all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in array)
        if is_whole:
            return array
        array = as_array(values)
    if array.dtype.kind != "f":
        return None
    odd = ~np.isfinite(array) | (array != np.floor(array)) | (np.abs(array) > _EXACT)
    if odd.any():
        raise DataError(f"expected texts or whole numbers in '{name}', found {array[odd][0].item()!r}")
    return array.astype(np.int64)


def _numbers_of(name: str, array: NDArray[Any], numbers: Mapping[int, int]) -> NDArray[np.int64]:
    unknown = next((each for each in array.tolist() if each not in numbers), None)
    if unknown is not None:
        raise DataError(
            f"unknown '{name}': {unknown}; '{_LISTS[name]}' has {some_of(list(map(str, numbers)))}"
        )
    return np.array([numbers[each] for each in array.tolist()], np.int64)


def _numbered(name: str, array: NDArray[Any], known: tuple[str, ...] | None) -> Named:
    if known is None:
        numbers, place = np.unique(array, return_inverse=True)
        return Named(tuple(map(str, numbers.tolist())), place.astype(np.int32))
    if array.size and not 0 <= array.min() <= array.max() < len(known):
        beyond = array[(array < 0) | (array >= len(known))][0]
        if not known:
            raise DataError(f"unknown '{name}': {beyond}; '{_LISTS[name]}' is empty")
        raise DataError(f"expected numbers from 0 to {len(known) - 1} in '{name}', found {beyond}")
    return Named(known, array.astype(np.int32, copy=False))


def _looked_up(name: str, texts: list[str], known: tuple[str, ...] | None) -> Named:
    if known is None:
        known = as_names(name, list(dict.fromkeys(texts)))
    places = {text: place for place, text in enumerate(known)}
    unknown = next((text for text in texts if text not in places), None)
    if unknown is not None:
        raise DataError(f"unknown '{name}': '{unknown}'; known: {some_of(known)}")
    return Named(known, np.fromiter((places[text] for text in texts), np.int32, len(texts)))


def _finite(name: str, array: NDArray[Any]) -> Floats:
    if array.dtype.kind == "O" and (missing := [row for row, each in enumerate(array) if each is None]):
        raise DataError(f"expected a number in every row of '{name}', found None in row {missing[0]}")
    if array.dtype.kind not in "fiub":
        raise DataError(f"expected numbers in '{name}', found {kind_of(array)}")
    numbers = array.astype(np.float64, copy=False)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers).reshape(len(numbers), -1).all(axis=1))[0])
        raise DataError(f"expected finite numbers in '{name}', found {numbers[row].tolist()} in row {row}")
    return numbers


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


SIDES: Final = ("left", "top", "right", "bottom")
"""The columns of a box in a data frame, unless others are named."""

_INT, _UINT, _FLOAT, _BOOL, _STRING = 0, 1, 2, 20, 21
_LETTERS: Final = {_INT: "i", _UINT: "u", _FLOAT: "f", _BOOL: "u"}


def columns_of(frame: Any, *names: str) -> tuple[NDArray[Any], ...]:
    """Columns of a data frame by name: of pandas, polars, Arrow, a mapping of arrays, or whatever gives a column by `[name]`.

    A frame without `[name]` is read by the dataframe interchange protocol (`__dataframe__`). Raises DataError for a column that
    is not there, and for a frame that is none of these.

    >>> columns_of({"score": [0.5, 0.25]}, "score")
    (array([0.5 , 0.25]),)
    """
    if hasattr(frame, "collect"):
        frame = frame.collect()  # polars' LazyFrame
    if hasattr(frame, "__getitem__") and not isinstance(frame, str | bytes | Sequence | np.ndarray):
        return tuple(_column(frame, name) for name in names)
    if hasattr(frame, "__dataframe__"):
        exchanged = frame.__dataframe__()
        known = list(exchanged.column_names())
        for name in names:
            _assert_known(name, known)
        return tuple(_exchanged(exchanged, name) for name in names)
    raise DataError(f"expected a data frame, found {type(frame).__name__}")


def boxes_of(frame: Any, names: Sequence[str]) -> NDArray[Any]:
    """Boxes, (n, 4), from four columns of a data frame. Raises DataError for another number of names, and as `columns_of` does.

    >>> boxes_of({"x": [1], "y": [2], "w": [3], "h": [4]}, "xywh").tolist()
    [[1, 2, 3, 4]]
    """
    if len(names) != len(SIDES):
        raise DataError(f"expected the names of four columns as 'boxes', found {names!r}")
    sides = columns_of(frame, *names)
    assert_lengths(**dict(zip(names, sides, strict=True)))
    return np.stack(sides, axis=1)


def _column(frame: Any, name: str) -> NDArray[Any]:
    known = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    if isinstance(frame, Mapping):
        known = list(frame)
    if known is not None:
        _assert_known(name, [each for each in known if isinstance(each, str)])
    return as_array(frame[name])


def _assert_known(name: str, known: list[str]) -> None:
    if name not in known:
        raise DataError(f"the data frame has no column '{name}'; it has {some_of(known)}")


def _exchanged(exchanged: Any, name: str) -> NDArray[Any]:
    column = exchanged.get_column_by_name(name)
    if column.null_count:
        raise DataError(f"expected a value in every row of '{name}', found {column.null_count} without one")
    parts = [_chunk(name, chunk) for chunk in column.get_chunks()]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _chunk(name: str, column: Any) -> NDArray[Any]:
    kind = int(column.dtype[0])
    buffers = column.get_buffers()
    if kind == _STRING:
        data, (offsets, offset_type) = buffers["data"][0], buffers["offsets"]
        ends = _values(offsets, "i", offset_type[1], column.size() + 1, column.offset).tolist()
        text = ctypes.string_at(data.ptr, ends[-1])
        return np.array([text[a:b].decode() for a, b in pairwise(ends)], object)
    if kind not in _LETTERS:
        raise DataError(f"expected texts or numbers in '{name}', found a column of another type")
    data, dtype = buffers["data"]
    if dtype[1] < 8:
        raise DataError(f"expected truth values of a byte in '{name}', found {dtype[1]} bit")
    return _values(data, _LETTERS[kind], dtype[1], column.size(), column.offset)


def _values(buffer: Any, letter: str, bits: int, size: int, offset: int) -> NDArray[Any]:
    dtype = np.dtype(f"{letter}{bits // 8}")
    if not size:
        return np.empty(0, dtype)
    content = ctypes.string_at(buffer.ptr + offset * dtype.itemsize, size * dtype.itemsize)
    return np.frombuffer(content, dtype)


PerImage = Sequence[Any] | Mapping[Any, Any]
"""One entry for each image: in the order of the images, or by their names."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The entries of all images, one after the other.

    image: int32 (n,), into images; columns: the arrays of each field, joined; a field that no entry has is missing; fields: of
    the entries, whether they are read or not.
    """

    images: tuple[str, ...]
    image: Integers
    columns: Mapping[str, NDArray[Any]]
    fields: tuple[str, ...] = ()

    def column(self, name: str) -> NDArray[Any]:
        """The joined arrays of a field. Raises DataError where images have none."""
        if name not in self.columns and self.images:
            raise DataError(f"no image has '{name}'; they have {some_of(self.fields)}")
        return self.columns.get(name, np.empty(0))


def rows_of_dicts(entries: PerImage, images: Sequence[str] | None, fields: Iterable[str]) -> Rows:
    """The arrays of a mapping for each image, such as torchvision's `{"boxes": (n, 4), "scores": (n,), "labels": (n,)}`.

    images: the names of the images where the entries are a sequence, by default "0", "1" and so on. Raises DataError if an
    entry lacks a field that another one has, or if its arrays differ in length.

    >>> rows_of_dicts([{"labels": [3, 1]}, {"labels": [2]}], None, ["labels"]).image.tolist()
    [0, 0, 1]
    """
    fields = tuple(fields)
    if isinstance(entries, Mapping) and set(fields).intersection(entries):
        raise DataError("expected a list with a mapping for each image, found the mapping of a single image")
    names, listed = _by_name(entries, images)
    for place, entry in enumerate(listed):
        if not isinstance(entry, Mapping):
            raise DataError(
                f"expected a mapping for the image '{names[place]}', found {type(entry).__name__}"
            )
    present = [name for name in fields if any(name in entry for entry in listed)]
    for name in present:
        if lacking := [image for image, entry in zip(names, listed, strict=True) if name not in entry]:
            raise DataError(f"the image '{lacking[0]}' has no '{name}'")
    found = _joined(names, [{name: _field(name, entry[name]) for name in present} for entry in listed])
    return replace(found, fields=tuple(dict.fromkeys(str(key) for entry in listed for key in entry)))


_ATTRIBUTES: Final = {"boxes": "xyxy", "scores": "confidence", "labels": "class_id"}
"""What `supervision.Detections` calls the fields of a mapping; others are keys of its `data`."""


def rows_of_supervision(entries: PerImage, images: Sequence[str] | None, fields: Iterable[str]) -> Rows:
    """The arrays of an object for each image that has `xyxy`, `confidence` and `class_id`, as `supervision.Detections` does.

    fields: as for `rows_of_dicts`. Raises DataError for an object without these, or where one that is not empty has None.

    >>> from types import SimpleNamespace
    >>> found = SimpleNamespace(xyxy=np.ones((1, 4)), class_id=np.array([2]), data={"iscrowd": [1]})
    >>> rows_of_supervision({"a": found}, None, ["boxes", "labels", "iscrowd", "area"]).columns["iscrowd"].tolist()
    [1]
    """
    names, listed = _by_name(entries, images)
    attributes = {field: _ATTRIBUTES[field] for field in fields if field in _ATTRIBUTES}
    plain = []
    for image, entry in zip(names, listed, strict=True):
        if not all(hasattr(entry, attribute) for attribute in attributes.values()):
            raise DataError(
                f"expected {', '.join(attributes.values())} for '{image}', found {type(entry).__name__}"
            )
        values = {field: getattr(entry, attribute) for field, attribute in attributes.items()}
        others = getattr(entry, "data", None)
        values = {**(others if isinstance(others, Mapping) else {}), **values}
        is_empty = not len(entry.xyxy)
        plain.append(
            {} if is_empty else {field: value for field, value in values.items() if value is not None}
        )
    nothing = dict.fromkeys([*attributes, *(field for entry in plain for field in entry)], ())
    return rows_of_dicts([entry or nothing for entry in plain], names, fields)


def _by_name(entries: PerImage, images: Sequence[str] | None) -> tuple[tuple[str, ...], list[Any]]:
    if isinstance(entries, Mapping):
        if images is not None:
            raise DataError("images have names already where entries are a mapping; leave `images` out")
        keys = [str(key) if isinstance(key, int | np.integer) else key for key in entries]
        return as_names("images", keys), list(entries.values())
    listed = as_list("entries", entries)
    names = tuple(map(str, range(len(listed)))) if images is None else as_names("images", images)
    assert_lengths(images=names, entries=listed)
    return names, listed


def _field(name: str, values: Any) -> NDArray[Any]:
    array = as_array(values)
    return as_boxes(name, array) if name == "boxes" and not array.size else array


def _joined(images: tuple[str, ...], entries: Sequence[Mapping[str, NDArray[Any]]]) -> Rows:
    counts = []
    for image, entry in zip(images, entries, strict=True):
        lengths = {name: len(array) if array.ndim else -1 for name, array in entry.items()}
        if len(set(lengths.values())) > 1 or -1 in lengths.values():
            found = ", ".join(f"{len_} of '{name}'" for name, len_ in lengths.items() if len_ >= 0)
            raise DataError(
                f"expected arrays of one length for the image '{image}', found {found or 'a number'}"
            )
        counts.append(next(iter(lengths.values()), 0))
    rows = np.repeat(np.arange(len(images), dtype=np.int32), counts)
    present = entries[0] if entries else ()
    return Rows(images, rows, {name: _stacked(name, [entry[name] for entry in entries]) for name in present})


def _stacked(name: str, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    filled = [array for array in arrays if array.size]  # an empty list says nothing of its type
    if name == "masks":  # of images that differ in size
        masks = [mask for array in filled for mask in array]
        return np.fromiter(masks, object, len(masks))
    shapes = {array.shape[1:] for array in filled}
    if len(shapes) > 1:
        raise DataError(f"expected '{name}' of one shape in every image, found {sorted(shapes)}")
    return np.concatenate(filled) if filled else np.empty(0)
