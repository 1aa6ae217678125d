"""Which passwords are accepted, after OWASP's ASVS 5: long, not common, nothing about their owner; no composition rules."""

import re
import unicodedata
from collections.abc import Collection, Iterable

MIN_LENGTH = 10  # characters
MAX_LENGTH = 200
MIN_OWN = 6  # characters that are not the owner's name or address
SERVICE = "heldout"  # a word that a guesser tries here first
# what people put before and after a common password
SIGNS, SIGNS_AND_DIGITS = re.compile(r"^[\W_]+|[\W_]+$"), re.compile(r"^[\W\d_]+|[\W\d_]+$")
BETWEEN = re.compile(r"[\s.@_+-]+")  # signs between the words of names and addresses


def password_problem(password: str, about: Iterable[str], common: Collection[str]) -> str | None:
    """Why this is no password, as the rest of a sentence; none if it is one.

    about: name and e-mail address of its owner; common: folded passwords that are often used.

    >>> password_problem("Monkey12345!", [], {"monkey"})
    'is a common password, or one with a few digits or signs added; choose another'
    >>> password_problem("correct horse battery", [], {"monkey"})
    """
    if len(password) < MIN_LENGTH:
        return f"must have at least {MIN_LENGTH} characters"
    if len(password) > MAX_LENGTH:
        return f"must have at most {MAX_LENGTH} characters"
    text = _folded(password)
    unit = _repeated(text)
    if unit != text and (unit in common or len(unit) < 4):
        return "repeats a few characters or a common password; choose another"
    if any(form in common for form in (text, SIGNS.sub("", text), SIGNS_AND_DIGITS.sub("", text))):
        return "is a common password, or one with a few digits or signs added; choose another"
    if len(_without(text, about)) < MIN_OWN:
        return "is little more than your name or e-mail address; choose another"
    return None


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _repeated(text: str) -> str:
    """The shortest text of which this one is repetitions, the last perhaps cut off; a text itself if there is none.

    >>> _repeated("abcabcab"), _repeated("abcd")
    ('abc', 'abcd')
    """
    lengths = range(1, len(text) // 2 + 1)
    return next((text[:n] for n in lengths if text.startswith(text[n:])), text)


def _without(text: str, about: Iterable[str]) -> str:
    """A password without the words of its owner's name and address, and without the signs between them."""
    words = {SERVICE}
    for each in about:
        words |= {_folded(each), *BETWEEN.split(_folded(each))}
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= 3:
            text = text.replace(word, "")
    return BETWEEN.sub("", text)
