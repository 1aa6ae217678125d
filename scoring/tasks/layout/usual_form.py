"""Layout files in the form that programs write, read by expressions instead of element by element."""

import re
from typing import Final

import numpy as np

from scoring.archives.xml_records import LONGEST_TEXT, MOST_BYTES, MOST_ELEMENTS, MOST_IN_A_RECORD
from scoring.data.layouts import SIDES, LayoutSet, LayoutTable
from scoring.data.tables import PARTS
from scoring.readers.lines.grammar import FURTHEST

_BLANK: Final = r"[ \t\n]*+"
_NAME: Final = r"[!-%'-;=?-~]++"  # printable ASCII without what XML writes otherwise
_OBJECT: Final = r"0*+[1-9][0-9]{0,8}"
_NUMBER: Final = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"


def _inside(name: str, content: str) -> str:
    return f"<{name}>{_BLANK}{content}{_BLANK}</{name}>{_BLANK}"


_PERSON: Final = "".join(
    _inside(name, f"({value})")
    for name, value in (("image", _NAME), ("object", _OBJECT), ("confidence", _NUMBER))
)
_PART: Final = _inside("class", f"({'|'.join(PARTS)})") + _inside(
    "bndbox", "".join(_inside(side, f"({_NUMBER})") for side in SIDES)
)
_PERSONS: Final = re.compile(_PERSON)
_PARTS: Final = re.compile(_PART)
_LAYOUT: Final = _inside("layout", f"{_PERSON}(?:{_inside('part', _PART)})++")
_FILE: Final = re.compile(
    rf'(?:<\?xml version="1\.0"(?: encoding="[Uu][Tt][Ff]-8")? ?\?>)?{_BLANK}'
    + _inside("results", f"(?:{_LAYOUT})++")
)

_ELEMENTS_OF_A_PART: Final = 7
_ELEMENTS_OF_A_PERSON: Final = 4


def read_usual_form(data: bytes, listed: LayoutSet) -> LayoutTable | None:
    """The layouts of a file, if every element is in the order of the development kits and none needs a problem or a note.

    None for any other file, which has to be read element by element, and for sets that list images only.

    >>> from scoring.data.description import Description
    >>> listed = LayoutSet.of(Description("VOC2012", "val", (), (), (), persons=(("2008_000008", 2),)))
    >>> print(read_usual_form(b"<results><layout><image>2008_000008</image></layout></results>", listed))
    None
    """
    if listed.boxed or not data.isascii() or not _is_within_limits(data):
        return None
    text = data.decode("ascii")
    if not _FILE.fullmatch(text):
        return None
    persons, parts = _PERSONS.findall(text), _PARTS.findall(text)
    places = [listed.places.get((image, int(number))) for image, number, _ in persons]
    count = np.array([layout.count("<part>") for layout in text.split("</layout>")[:-1]])
    table = LayoutTable(
        person=np.array([place for place in places if place is not None], np.int32),
        confidence=np.array([float(confidence) for *_, confidence in persons]),
        boxes=np.full((len(persons), 4), np.nan),
        first=np.cumsum([0, *count], dtype=np.intp),
        kind=np.array([PARTS.index(kind) for kind, *_ in parts], np.int8),
        parts=np.array([[float(edge) for edge in edges] for _, *edges in parts]),
    )
    is_small = _ELEMENTS_OF_A_PERSON + _ELEMENTS_OF_A_PART * int(count.max()) <= MOST_IN_A_RECORD
    return table if is_small and None not in places and _needs_no_remark(table) else None


def _is_within_limits(data: bytes) -> bool:
    """Whether the XML reader would take this many bytes and elements, and texts of this length."""
    begins = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("<"))
    longest = int(np.diff(begins).max(initial=0))
    return len(data) <= MOST_BYTES and len(begins) <= MOST_ELEMENTS and longest <= LONGEST_TEXT


def _needs_no_remark(table: LayoutTable) -> bool:
    """Whether each person has one layout, confidences are finite and no box is inverted or far away."""
    sides = table.parts[:, 2:] - table.parts[:, :2] + 1
    return bool(
        len(np.unique(table.person)) == len(table)
        and np.isfinite(table.confidence).all()
        and (np.abs(table.parts) <= FURTHEST).all()
        and (sides > 0).all()
    )
