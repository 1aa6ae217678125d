"""Columns of data frames of any library."""

import ctypes
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.data.checking import DataError, as_array, assert_lengths, some_of

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
