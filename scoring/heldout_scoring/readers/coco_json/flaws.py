"""What keeps a text from being JSON, in words of our own."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from ...errors import Rule, shown

_SHOWN: Final = 20  # characters of what was found
DIGITS: Final = 4300
"""Of a whole number; Python reads none with more."""
_LONG_NUMBER: Final = re.compile(rf'"(?:[^"\\]|\\.)*"|(?P<flaw>\d{{{DIGITS + 1},}})')
_CONSTANTS: Final = ("NaN", "Infinity", "-Infinity")
_CONSTANT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<flaw>NaN|-?Infinity)')
_WORDS: Final[Mapping[str, str]] = {
    "Expecting value": "expected a value",
    "Expecting property name enclosed in double quotes": "expected a name in double quotes",
    "Expecting ':' delimiter": "expected ':'",
    "Expecting ',' delimiter": "expected ',' or the end of the list or object",
    "Unterminated string starting at": "expected a text that ends in double quotes",
    "Invalid control character at": "expected no line break or other control character in a text",
    "Invalid \\escape": "expected a letter that JSON knows after a backslash",
    "Invalid \\uXXXX escape": "expected four hexadecimal digits after \\u",
    "Extra data": "expected the end of the file",
    "Illegal trailing comma before end of object": "expected no comma before the end of an object",
    "Illegal trailing comma before end of array": "expected no comma before the end of a list",
}
"""What Python's parser says, and what we say."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """The first thing that is wrong in a text; position: of its first character, from 0."""

    position: int
    message: Rule

    @classmethod
    def at(cls, text: str, position: int, expected: str) -> Self:
        """What was expected at a position, and what was found there.

        >>> Flaw.at("[1 2]", 3, "expected ','").message
        "expected ',', found '2]'"
        """
        rest = text[position : position + _SHOWN]
        line = rest.partition("\n")[0].rstrip("\r")
        if line:
            return cls(position, Rule(f"{expected}, found '{{}}'", shown(line)))
        return cls(position, Rule(f"{expected}, found the end of the {'line' if rest else 'file'}"))


def flaw_of(error: Exception, text: str, start: int) -> Flaw:
    """The flaw that made Python's parser stop, which began to read at `start`.

    >>> try:
    ...     json.loads("[,]")
    ... except ValueError as error:
    ...     flaw_of(error, "[,]", 0)
    Flaw(position=1, message="expected a value, found ',]'")
    """
    if isinstance(error, json.JSONDecodeError):
        said = error.msg.partition(": ")[0].strip()
        return Flaw.at(text, error.pos, _WORDS.get(said, "expected JSON"))
    if isinstance(error, RecursionError):
        return Flaw(start, Rule("lists and objects are nested too deeply"))
    is_constant = str(error) in _CONSTANTS
    pattern, message = (
        (_CONSTANT, Rule("{} is no number", error))
        if is_constant
        else (_LONG_NUMBER, Rule(f"a number has more than {DIGITS:,} digits"))
    )
    found = next((each for each in pattern.finditer(text, start) if each["flaw"]), None)
    return Flaw(start if found is None else found.start(), message)
