"""The dataclasses of results as JSON, and the rules of results whose protocol is not official."""

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from .data.arrays import Floats
from .protocols import PROTOCOLS, spell

KIND: Final = "kind"
"""The key under which a dataclass with a class variable of this name says which one it is."""

Value = TypeVar("Value")


def to_plain(value: Any) -> Any:
    """A value as JSON has it: dataclasses as objects, tuples as lists, enums by their value, bytes as `sparse` has them.

    value: a dataclass whose fields are such values again, a tuple, an enum, bytes, a text, a number, a truth value or None;
    fields that are not compared (`field(compare=False)`) are left out. Raises TypeError for anything else.

    >>> from heldout_scoring.exhibits import ScoreTable
    >>> to_plain(ScoreTable("Average precision", (("car", 0.5), ("cat", None))))
    {'kind': 'score_table', 'title': 'Average precision', 'rows': [['car', 0.5], ['cat', None]]}
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [to_plain(each) for each in value]
    if isinstance(value, bytes):
        return sparse(value)
    if is_dataclass(value) and not isinstance(value, type):
        kind = _kind_of(type(value))
        tag = {} if kind is None else {KIND: kind}
        return tag | {name: to_plain(getattr(value, name)) for name in _types_of(type(value))}
    raise TypeError(f"results have no form in JSON for {type(value).__name__}")


def from_plain(cls: type[Value], plain: Any) -> Value:
    """The value of this type that `to_plain` gave. Raises KeyError, TypeError or ValueError for anything else.

    >>> from heldout_scoring.exhibits import ScoreTable
    >>> table = ScoreTable("Average precision", (("car", 0.5), ("cat", None)))
    >>> from_plain(ScoreTable, to_plain(table)) == table
    True
    """
    value: Value = _read(cls, plain)
    return value


def sparse(data: bytes) -> dict[str, Any]:
    """Bytes by their most frequent value and where the others are, since few predictions are true positives.

    >>> sparse(bytes([0, 1, 0, 255]))
    {'size': 4, 'fill': 0, 'others': {'1': [1], '255': [3]}}
    """
    array = np.frombuffer(data, np.uint8)
    counts = np.bincount(array, minlength=1)
    fill = int(counts.argmax())
    others = [value for value in np.flatnonzero(counts).tolist() if value != fill]
    places = {str(value): np.flatnonzero(array == value).tolist() for value in others}
    return {"size": len(data), "fill": fill, "others": places}


def dense(plain: Mapping[str, Any]) -> bytes:
    """The bytes that `sparse` gave. Raises KeyError, TypeError, ValueError or IndexError for anything else.

    >>> list(dense({"size": 4, "fill": 0, "others": {"1": [1], "255": [3]}}))
    [0, 1, 0, 255]
    """
    array = np.full(plain["size"], plain["fill"], np.uint8)
    for value, places in plain["others"].items():
        array[np.array(places, np.intp)] = int(value)
    return array.tobytes()


def _read(expected: Any, plain: Any) -> Any:
    origin = get_origin(expected)
    if origin in (types.UnionType, Union):
        return _read_one_of(get_args(expected), plain)
    if origin is tuple:
        return _read_tuple(get_args(expected), plain)
    if is_dataclass(expected):
        return _read_dataclass(expected, plain)
    if isinstance(expected, type) and issubclass(expected, Enum):
        return expected(plain)
    if expected is bytes:
        return dense(plain)
    return _read_scalar(expected, plain)


def _read_scalar(expected: Any, plain: Any) -> Any:
    if expected is float and type(plain) is int:
        return float(plain)
    if type(plain) is not expected:
        raise TypeError(f"expected {expected.__name__}, found {plain!r}")
    return plain


def _read_one_of(expected: tuple[Any, ...], plain: Any) -> Any:
    if plain is None and types.NoneType in expected:
        return None
    choices = [each for each in expected if each is not types.NoneType]
    if len(choices) > 1:
        by_kind = {each.kind: each for each in choices}
        return _read_dataclass(by_kind[plain[KIND]], plain)
    return _read(choices[0], plain)


def _read_tuple(expected: tuple[Any, ...], plain: Any) -> tuple[Any, ...]:
    if not isinstance(plain, list):
        raise TypeError(f"expected a list, found {plain!r}")
    if expected[-1] is Ellipsis:
        return tuple(_read(expected[0], each) for each in plain)
    return tuple(_read(each, found) for each, found in zip(expected, plain, strict=True))


def _read_dataclass(expected: Any, plain: Any) -> Any:
    if not isinstance(plain, dict):
        raise TypeError(f"expected an object with the fields of {expected.__name__}, found {plain!r}")
    kind = _kind_of(expected)
    if kind is not None and plain.get(KIND) != kind:
        raise ValueError(f"expected the kind {kind!r}, found {plain.get(KIND)!r}")
    known = _types_of(expected)
    if unknown := sorted(plain.keys() - known.keys() - ({KIND} if kind else set())):
        raise ValueError(f"{expected.__name__} has no field {', '.join(unknown)}")
    make: Callable[..., Any] = expected
    return make(**{name: _read(each, plain[name]) for name, each in known.items() if name in plain})


def _kind_of(cls: Any) -> str | None:
    kind = getattr(cls, KIND, None)
    return kind if isinstance(kind, str) else None  # of a field with this name it is a descriptor


@cache
def _types_of(cls: Any) -> Mapping[str, Any]:
    """The types of the fields that are written, in their order."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls) if field.compare}


def rules_to_plain(rules: Any) -> Any:
    """Every field of the rules; None for None, and for rules with a field that JSON cannot hold.

    Functions and measures are spelled as in a receipt, and have to be those of an official protocol.
    """
    if rules is None:
        return None
    try:
        return {each.name: _to_plain(each.name, getattr(rules, each.name)) for each in fields(rules)}
    except TypeError:
        return None


def rules_from_plain(task: str, plain: Any) -> Any:
    """The rules of a task that `rules_to_plain` turned into `plain`; None for None.

    Raises KeyError, TypeError or ValueError for anything else.
    """
    if plain is None:
        return None
    kind = _kinds()[task]
    hints = get_type_hints(kind)
    if not isinstance(plain, dict) or plain.keys() != hints.keys():
        raise ValueError(f"expected the fields of {kind.__name__} as 'rules'")
    return kind(**{name: _from_plain(name, hint, plain[name]) for name, hint in hints.items()})


def _to_plain(field: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if callable(value) or is_dataclass(value):
        name = spell(value)
        if _named().get((field, name)) != value:
            raise TypeError(f"{name} is not part of the library")
        return name
    return to_plain(value)


def _from_plain(field: str, hint: Any, plain: Any) -> Any:
    if isinstance(plain, str) and (field, plain) in _named():
        return _named()[field, plain]
    if hint == Floats:
        return np.array(plain, np.float64)
    return from_plain(hint, plain)


@cache
def _kinds() -> Mapping[str, Any]:
    """The type of the rules of each task."""
    return {each.task.name: type(each.rules) for row in PROTOCOLS.values() for each in row.tasks}


@cache
def _named() -> Mapping[tuple[str, str], Any]:
    """The functions and measures of all official rules, by the field in which they stand and as they are spelled."""
    rules = [each.rules for row in PROTOCOLS.values() for each in row.tasks]
    values = ((each.name, getattr(one, each.name)) for one in rules for each in fields(one))
    return {(name, spell(value)): value for name, value in values if callable(value) or is_dataclass(value)}
