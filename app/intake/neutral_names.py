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
from app.images.matching import path_of, stem_of
from app.images.stripping import BROKEN, stripped
from app.intake.formats.pictures import pictures_of
from app.intake.formats.reading import AnnotatedSet
from app.intake.reports import HIDDEN
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
    (unpacked.folder / _FOLDER).mkdir(exist_ok=True)
    renamed = []
    for found, sent in zip(sets, pictures, strict=True):
        images = [image.id for image in (*found.truth.description.images, *found.truth.description.further)]
        names = neutral_names(secret, images, numbered=bool(found.truth.lists.class_numbers))
        files = {}
        for done, (old, new) in enumerate(names.items()):
            progress.note("making names neutral", done, len(names))
            if old not in sent or sent[old].size is None:
                file = path_of(found.files.get(old, old))  # whose folder may be a class
                raise PictureError(f"the image {stem_of(file)} of {found.name} has no file")
            picture = _stripped(unpacked, sent[old], new)
            unpacked.pictures[picture.key] = picture
            files[new] = picture.name
        renamed.append(replace(found, truth=found.truth.rename_images(names), files=files))
    for each in {picture.path: picture for some in pictures for picture in some.values()}.values():
        if each.path not in kept:
            unpacked.pictures.pop(each.key)
            if each.bare is None:
                each.path.unlink()
    return renamed


def measure(unpacked: Unpacked, sets: Sequence[AnnotatedSet]) -> None:
    """Note how long the pictures of hidden sets are without what they say besides their pixels: so no report needs them again."""
    for key in {picture.key for each in sets for picture in pictures_of(unpacked, each).values()}:
        picture = unpacked.pictures[key]
        if picture.size is not None:
            unpacked.pictures[key] = replace(picture, bare=len(_content(picture) or b""))


def is_measured(unpacked: Unpacked, sets: Sequence[AnnotatedSet]) -> bool:
    """Whether `measure` has noted that of all pictures of these sets."""
    return all(
        picture.size is None or picture.bare is not None
        for each in sets
        for picture in pictures_of(unpacked, each).values()
    )


def _content(picture: SentPicture) -> bytes | None:
    """A picture without what it says besides its pixels; None if it is damaged."""
    try:
        return stripped(picture.path.read_bytes())
    except PictureError:
        return None


def _stripped(unpacked: Unpacked, picture: SentPicture, name: str) -> SentPicture:
    """A picture under another name without what it says besides its pixels; written unless it was measured."""
    target = unpacked.folder / _FOLDER / f"{name}{picture.suffix}"
    length, digest = picture.bare, picture.digest
    if length is None and (content := _content(picture)):
        target.write_bytes(content)
        length, digest = len(content), digest_of(content)
    if not length:
        raise PictureError(f"{picture.path.name}: {BROKEN}")
    return SentPicture(target, picture.size, digest, length, HIDDEN, own_key=picture.key)


def not_renamed(error: PictureError) -> Problem:
    """The problem that stops a data set whose images cannot get neutral names."""
    return Problem("not-renamed", f"images cannot get neutral names: {error}")
