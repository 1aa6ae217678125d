"""The rules of a protocol that is not official, as JSON: numbers as they are, functions by their names."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_type_hints

import numpy as np

from scoring.codec import from_plain, to_plain
from scoring.data.arrays import Floats
from scoring.protocols import PROTOCOLS
from scoring.tasks.protocol import spell


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
