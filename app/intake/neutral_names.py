"""Neutral names: hidden images get numbers that say nothing, stand in the order of these, and lose what their files say besides pixels.

The numbers follow from a secret that a worker makes once for a challenge and that is stored encrypted for workers, as hidden annotation
is. An image keeps its number when annotation is replaced.
"""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count
from typing import Final

from app.images.decoding import PictureError
from app.images.stripping import stripped
from app.intake.layouts import AnnotatedSet, pictures_of
from app.intake.unpacking import ProgressNotes, SentPicture, Unpacked, digest_of
from heldout_scoring import Problem

DIGITS: Final = 10
SECRET: Final = 32  # bytes
_FOLDER: Final = "neutral"


def neutral_names(secret: bytes, images: Iterable[str], *, numbered: bool) -> Mapping[str, str]:
    """Return a number of ten digits for each image, which nobody can guess without the secret; numbered: as JSON has whole numbers.

    >>> names = neutral_names(b"secret", ["cat_1", "cat_2"], numbered=False)
    >>> names["cat_1"] == neutral_names(b"secret", ["cat_1"], numbered=False)["cat_1"], len(names["cat_2"])
    (True, 10)
    """
    found: dict[str, str] = {}
    taken: set[int] = set()
    for image in sorted(images):
        number = next(
            each for each in (_number(secret, image, turn) for turn in count()) if each not in taken
        )
        taken.add(number)
        found[image] = str(number) if numbered else f"{number:0{DIGITS}}"
    return found


def _number(secret: bytes, image: str, turn: int) -> int:
    digest = hmac.digest(secret, f"{turn} {image}".encode(), sha256)
    return int.from_bytes(digest[:16]) % (10**DIGITS - 1) + 1


def make_neutral(
    unpacked: Unpacked,
    sets: Sequence[AnnotatedSet],
    used: Iterable[AnnotatedSet],
    secret: bytes,
    progress: ProgressNotes,
) -> list[AnnotatedSet]:
    """Rename the images of hidden sets and strip their pictures. used: sets that keep theirs.

    Raises PictureError, naming the image as it was sent, for one without a picture or with a damaged one.
    """
    kept = {picture.path for each in used for picture in pictures_of(unpacked, each).values()}
    pictures = [pictures_of(unpacked, each) for each in sets]
    (unpacked.folder / _FOLDER).mkdir()
    renamed = []
    for found, sent in zip(sets, pictures, strict=True):
        images = [image.id for image in (*found.truth.description.images, *found.truth.description.further)]
        names = neutral_names(secret, images, numbered=bool(found.truth.lists.class_numbers))
        files = {}
        for done, (old, new) in enumerate(names.items()):
            progress.note("making names neutral", done, len(names))
            if old not in sent or sent[old].size is None:
                raise PictureError(f"the image {old} of {found.name} has no picture")
            picture = _stripped(unpacked, sent[old], new)
            unpacked.pictures[picture.path.name] = picture
            files[new] = picture.path.name
        renamed.append(replace(found, truth=found.truth.rename_images(names), files=files))
    for each in {picture.path: picture for some in pictures for picture in some.values()}.values():
        if each.path not in kept:
            unpacked.pictures.pop(each.path.name)
            each.path.unlink()
    return renamed


def _stripped(unpacked: Unpacked, picture: SentPicture, name: str) -> SentPicture:
    """Write a picture under another name without what it says besides its pixels."""
    try:
        content = stripped(picture.path.read_bytes())
    except PictureError as error:
        raise PictureError(f"{picture.path.name}: {error}") from None
    target = unpacked.folder / _FOLDER / f"{name}{picture.path.suffix.lower()}"
    target.write_bytes(content)
    return SentPicture(target, picture.size, digest_of(content), len(content))


def not_renamed(error: PictureError) -> Problem:
    """The problem that stops a data set whose images cannot get neutral names."""
    return Problem("not-renamed", f"images cannot get neutral names: {error}")
