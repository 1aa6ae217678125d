"""Suggestions for unknown names."""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

MAX_COMPARED: Final = 500
"""Names that an unknown one is compared with, letter by letter; among more of them only its plain form is looked up."""

_SIMILARITY: Final = 0.6  # of difflib, which finds "motorbike" for "motorcycle"
_ZEROS: Final = re.compile(rb"(?<![0-9])0+(?=[0-9])")
_OTHER: Final = re.compile(rb"[^a-z0-9]+")
_SYNONYMS: Final = {
    "tv": "tvmonitor",
    "couch": "sofa",
    "plane": "aeroplane",
    "table": "diningtable",
}  # as in COCO


def similar_name(name: bytes, known: Collection[bytes]) -> bytes | None:
    """The known name that differs only in case, punctuation or leading zeros, if there is exactly one.

    >>> similar_name(b"2008-8", [b"2008_000008", b"2008_000009"])
    b'2008_000008'
    """
    if name in known:
        return name
    return _plain_forms(known if isinstance(known, frozenset) else frozenset(known)).get(_plain(name))


def similar_word(word: str, known: Sequence[str]) -> str | None:
    """The known word that is most like this one.

    >>> similar_word("motorcycle", ["bicycle", "motorbike"]), similar_word("xyz", ["car"])
    ('motorbike', None)
    """
    if len(known) > MAX_COMPARED:
        found = similar_name(word.encode(errors="replace"), frozenset(each.encode() for each in known))
        return None if found is None else found.decode()
    lower = {each.lower(): each for each in known}
    if (synonym := _SYNONYMS.get(word.lower())) in lower:
        return lower[synonym]
    close = get_close_matches(word[:100].lower(), lower, n=1, cutoff=_SIMILARITY)
    return lower[close[0]] if close else None


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
