"""Suggestions for unknown names."""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from typing import Final

MAX_COMPARED: Final = 500
"""Names that an unknown one is compared with, letter by letter; among more of them only its plain form is looked up."""

_SIMILARITY: Final = 0.75
"""Of difflib, from which a word is near another one: "airplane" is near "aeroplane", "people" is not."""
_ZEROS: Final = re.compile(rb"(?<![0-9])0+(?=[0-9])")
_OTHER: Final = re.compile(rb"[^a-z0-9]+")
_BETWEEN: Final = re.compile(r"[^a-z0-9]+")
_NO_DIGIT: Final = re.compile(r"[^0-9]+")
_LONGEST: Final = 100  # letters that are compared
_ENDINGS: Final = re.compile(r"(?:\.(?:txt|png|xml|json|jpe?g|csv))+$", re.IGNORECASE)
_SYNONYMS: Final = {
    "tv": "tvmonitor",
    "couch": "sofa",
    "plane": "aeroplane",
    "table": "diningtable",
    "motorcycle": "motorbike",
    "people": "person",
}  # as in COCO, and the plural that no comparison of letters finds


def similar_name(name: bytes, known: Collection[bytes]) -> bytes | None:
    """The known name that differs only in case, punctuation or leading zeros, if there is exactly one.

    >>> similar_name(b"2008-8", [b"2008_000008", b"2008_000009"])
    b'2008_000008'
    """
    if name in known:
        return name
    return _plain_forms(known if isinstance(known, frozenset) else frozenset(known)).get(_plain(name))


def similar_word(word: str, known: Sequence[str]) -> str | None:
    """The known word that is most like this one; None if none is near, or two are equally near.

    Endings of file names do not count, nor do other words around a known one.

    >>> similar_word("motorcycle", ["bicycle", "motorbike"]), similar_word("xyz", ["car"])
    ('motorbike', None)
    >>> similar_word("car.txt", ["car", "cat"]), similar_word("car_det", ["car", "cat"]), similar_word("caf", ["car", "cat"])
    ('car', 'car', None)
    """
    word = _ENDINGS.sub("", word)
    spelt = similar_name(word.encode(errors="replace"), frozenset(each.encode() for each in known))
    if spelt is not None or len(known) > MAX_COMPARED:
        return None if spelt is None else spelt.decode()
    lower = {each.lower(): each for each in known}
    if (synonym := _SYNONYMS.get(word.lower(), word.lower())) in lower:
        return lower[synonym]
    if inside := [each for each in known if has_parts(word, each)]:
        return inside[0] if len(inside) == 1 else None
    return _nearest(word[:_LONGEST].lower(), lower)


def has_parts(name: str, known: str) -> bool:
    """Whether a name has all words of a known one in their order, perhaps with others between them, before or behind.

    >>> has_parts("comp4-44503_det_test_car.txt", "comp4_det_test_car.txt"), has_parts("comp4_det_test_cars.txt", "car")
    (True, False)
    """
    words = iter(_words(name))
    return all(word in words for word in _words(known))


def _words(name: str) -> list[str]:
    return [word for word in _BETWEEN.split(name[: 2 * _LONGEST].lower()) if word]


def _nearest(word: str, lower: Mapping[str, str]) -> str | None:
    same_digits = [each for each in lower if _NO_DIGIT.sub("", each) == _NO_DIGIT.sub("", word)]
    close = get_close_matches(word, same_digits, n=2, cutoff=_SIMILARITY)
    ratios = [SequenceMatcher(None, each, word).ratio() for each in close]
    return lower[close[0]] if len(ratios) == 1 or (close and ratios[0] > ratios[1]) else None


@lru_cache(maxsize=8)  # a file of 100,000 unknown names asks as often
def _plain_forms(known: frozenset[bytes]) -> Mapping[bytes, bytes]:
    forms: dict[bytes, bytes] = {}
    ambiguous = set()
    for name in known:
        form = _plain(name)
        if form in forms:
            ambiguous.add(form)
        forms[form] = name
    return {form: name for form, name in forms.items() if form not in ambiguous}


def _plain(name: bytes) -> bytes:
    return _ZEROS.sub(b"", _OTHER.sub(b"_", name.lower()).strip(b"_"))
