"""Which file shows which image, and whether it has the annotated size."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from heldout_scoring import Rule

FOLDERS: Final = ("JPEGImages", "PNGImages", "")  # of a tree; VOC2006 has PNG
SUFFIXES: Final = (".jpg", ".jpeg", ".png")
_NUMBER: Final = re.compile(r"\d+$")


def files_by_image(listings: Iterable[tuple[str, Sequence[str]]], *, numbered: bool) -> Mapping[str, str]:
    """Map images to files. If an image has several, the first folder wins, then the first name.

    listings: folders below the root, with the names of their files.

    >>> files_by_image([("JPEGImages", ["a.jpg", "a.png", "b.txt"]), ("", ["a.jpg"])], numbered=False)
    {'a': 'JPEGImages/a.jpg'}
    """
    found: dict[str, str] = {}
    for folder, names in listings:
        for name in sorted(names):
            if PurePosixPath(name).suffix.lower() in SUFFIXES:
                found.setdefault(image_of(name, numbered=numbered), f"{folder}/{name}" if folder else name)
    return found


def image_of(file: str, *, numbered: bool) -> str:
    """Return the image that a file shows: its name without suffix, or the number at its end if images are numbered (COCO).

    >>> image_of("2008_000008.jpg", numbered=False), image_of("COCO_val2014_000000000139.jpg", numbered=True)
    ('2008_000008', '139')
    """
    stem = PurePosixPath(file).stem
    number = _NUMBER.search(stem) if numbered else None
    return str(int(number[0])) if number else stem


def size_problem(expected: tuple[int | None, int | None], found: tuple[int, int]) -> Rule | None:
    """Return the problem if an image does not have its annotated size, since boxes would be misplaced; None otherwise.

    >>> size_problem((500, 375), (375, 500))
    'the image is 375 x 500, but its annotation says 500 x 375'
    """
    if None in expected or expected == found:
        return None
    (width, height), (wide, tall) = found, expected
    return Rule(f"the image is {width} x {height}, but its annotation says {wide} x {tall}")
