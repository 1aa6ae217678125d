"""Letters of groups: methods that share one cannot be told apart."""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

MOST_RUNS: Final = 1000  # that are compared pair by pair; a board with more shows no groups
_LETTER = re.compile(r"[A-Za-z][0-9]*")


def letters_of(marks: str) -> frozenset[str]:
    """The single letters of a method's marks; a digit belongs to the letter before it.

    >>> sorted(letters_of("abz2"))
    ['a', 'b', 'z2']
    """
    return frozenset(_LETTER.findall(marks))


def are_alike(marks: str, others: str) -> bool:
    """Whether two methods with these marks cannot be told apart; a method without marks was not compared.

    >>> are_alike("ab", "bc"), are_alike("a", "a2"), are_alike("", "")
    (True, False, False)
    """
    return not letters_of(marks).isdisjoint(letters_of(others))


def version_of(run_ids: Iterable[int]) -> str:
    """The version of what is compared: runs, which never change."""
    return sha256(repr(sorted(run_ids)).encode()).hexdigest()[:16]
