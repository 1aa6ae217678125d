"""Which file shows which image, which pictures are made together, and who sees them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final, Protocol

from app.access import Actor
from app.editions.schemas import PhaseView
from app.models import Disclosure, ImageMode
from app.pictures.schemas import FilledBatch, PictureFile

BATCH: Final = 50  # pictures: about a second of work, 5 MB
PAGE: Final = 60
FOLDERS: Final = ("JPEGImages", "PNGImages", "")  # of a tree; 2006 had PNG
SUFFIXES: Final = (".jpg", ".jpeg", ".png")
CHAINS: Final = 2  # batches of a phase that are made at the same time

NOT_MADE: Final = "the picture could not be made, and waits for an organiser"

_NUMBER: Final = re.compile(r"\d+$")


class Shown(Protocol):
    """What an organiser chose to show of the pictures of a held-out phase."""

    @property
    def is_public(self) -> bool:
        """Whether everybody sees the pictures."""

    @property
    def draws_truth(self) -> bool:
        """Whether organisers see the annotation over them."""


def is_picture(name: str) -> bool:
    """Whether a file has the name of a picture.

    >>> is_picture("2008_000008.JPG"), is_picture("notes.txt"), is_picture(".jpg")
    (True, False, False)
    """
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def image_of(file: str, *, numbered: bool) -> str:
    """The image that a file shows: its name without the ending, or in COCO the number at the end of it.

    >>> image_of("2008_000008.jpg", numbered=False), image_of("COCO_val2014_000000000139.jpg", numbered=True)
    ('2008_000008', '139')
    """
    stem = PurePosixPath(file).stem
    number = _NUMBER.search(stem) if numbered else None
    return str(int(number[0])) if number else stem


def files_by_image(listings: Iterable[tuple[str, Sequence[str]]], *, numbered: bool) -> Mapping[str, str]:
    """The file of each image, of several the one in the first folder and then of the first name.

    listings: folders, below that of the tree, with the names of their files.

    >>> files_by_image([("JPEGImages", ["a.jpg", "a.png", "b.txt"]), ("", ["a.jpg"])], numbered=False)
    {'a': 'JPEGImages/a.jpg'}
    """
    found: dict[str, str] = {}
    for folder, names in listings:
        for name in sorted(filter(is_picture, names)):
            found.setdefault(image_of(name, numbered=numbered), f"{folder}/{name}" if folder else name)
    return found


def filled_batches(files: Sequence[PictureFile], mode: ImageMode, recipe: str) -> Iterator[FilledBatch]:
    """The images in batches, each with a fingerprint that changes with its files and with how they are made."""
    for number, first in enumerate(range(0, len(files), BATCH)):
        some = tuple(files[first : first + BATCH])
        facts = [recipe, mode.value, *(list(asdict(each).values()) for each in some)]
        yield FilledBatch(number, first, some, sha256(json.dumps(facts).encode()).hexdigest())


def sees_pictures(actor: Actor, phase: PhaseView, shown: Shown) -> bool:
    """Whether somebody sees the pictures of a phase, without annotation."""
    return phase.disclosure is Disclosure.FULL or shown.is_public or actor.runs(phase.edition_id)


def truth_is_drawn(phase: PhaseView, shown: Shown) -> bool:
    """Whether annotation and predictions are drawn for pages at all.

    What is drawn lies where the web server reads it, so hidden annotation is drawn only where an organiser asks for it. A phase
    that discloses details once it is over shows curves and counts then, and no boxes: test sets are used again.
    """
    return phase.disclosure is Disclosure.FULL or shown.draws_truth


def sees_truth(actor: Actor, phase: PhaseView, shown: Shown) -> bool:
    """Whether somebody sees annotation and predictions drawn over the pictures."""
    if phase.disclosure is Disclosure.FULL:
        return True
    return shown.draws_truth and actor.runs(phase.edition_id)


def size_problem(expected: tuple[int | None, int | None], found: tuple[int, int]) -> str | None:
    """Why a picture is not shown whose size is not the annotated one; its annotation would lie beside its objects.

    >>> size_problem((500, 375), (375, 500))
    'the picture is 375 x 500, its annotation says 500 x 375'
    """
    if None in expected or expected == found:
        return None
    return "the picture is {} x {}, its annotation says {} x {}".format(*found, *expected)


def withheld(phase: PhaseView) -> str:
    """Why nothing is drawn over the pictures of a phase."""
    return f"Annotation and predictions are not drawn because the annotation of {phase.image_set} is held out"
