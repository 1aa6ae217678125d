"""What participants may know about a phase: its images, its classes, and the limits of an archive."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import repeat
from typing import Any, Final, Self

from ..errors import DataError

MAX_FILE_PROBLEMS: Final = 1_000
"""After this number of wrong lines, or wrong elements of an XML file, the rest of the file is not read."""
MAX_ARCHIVE_PROBLEMS: Final = 2_000
"""After this number of problems in the content of files, further files of the archive are not read."""

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one archive of results; a larger number allows more. Raises DataError for less than 1.

    max_unpacked_bytes: of all files together, unpacked; max_file_bytes: of one file; max_files: files, folders and other
    entries; max_lines: of one text file; max_total_lines: of all files together, label images included; max_boxes: of one class in one
    image; the last two are checked, and scoring does not ask for them; max_ratio: unpacked size divided by the archive's, checked once more than
    ratio_from_bytes are unpacked; max_depth: folders above a file; max_path_length: characters of a path.
    """

    max_unpacked_bytes: int = 1024 * _MIB
    max_file_bytes: int = 128 * _MIB
    max_files: int = 20_000
    max_lines: int = 3_000_000
    max_total_lines: int = 10_000_000
    max_boxes: int = 1_000
    max_ratio: int = 100
    ratio_from_bytes: int = 64 * _MIB
    max_depth: int = 12
    max_path_length: int = 400

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if type(value) is not int or value < 1:
                raise DataError(f"the limit '{each.name}' must be a whole number from 1, not {value!r}")

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The limits with some of them changed, by name. Raises DataError for an unknown name or an invalid number.

        >>> Limits().changed({"max_files": 5}).max_files
        5
        """
        names = [each.name for each in fields(self)]
        for name in changes:
            if name not in names:
                raise DataError(f"no limit is called {name!r}; there are {', '.join(names)}")
        return replace(self, **changes)

    def with_counts_of(self, other: "Limits") -> Self:
        """These limits with another's lines and boxes, which do not depend on how files are packed.

        >>> UNLIMITED.with_counts_of(Limits()).max_boxes
        1000
        """
        return replace(
            self, max_lines=other.max_lines, max_total_lines=other.max_total_lines, max_boxes=other.max_boxes
        )


UNLIMITED: Final = Limits(**dict.fromkeys((each.name for each in fields(Limits)), 1 << 62))
"""No limit at all."""


_IMAGES: Final = ("images", "further")


UNKNOWN_SIDE: Final = 1 << 30
"""Stands for the width and the height of an image whose size is not known; no box reaches beyond it."""


@dataclass(frozen=True, slots=True)
class Image:
    """One image of the set; width and height in pixels, or both `UNKNOWN_SIDE`.

    file: the path that people know its file by, where that does not follow from `id`; empty where it does or is not known.
    """

    id: str
    width: int
    height: int
    file: str = field(default="", kw_only=True)

    @property
    def has_size(self) -> bool:
        """Whether width and height are known."""
        return self.width != UNKNOWN_SIDE


@dataclass(frozen=True, slots=True)
class PublicCounts:
    """The classes of an image set whose annotation is public, each with its number of objects."""

    image_set: str
    objects: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Description:
    """The public part of a challenge's image set, all that a validator needs.

    dataset is the folder's name in the kit ("VOC2007"), image_set the list's ("test"). images are those of the
    Main set. segmentation names images of the Segmentation set; persons (Layout set) and acting (Action set) pair
    an image with an object, counted from 1. further are the images of these three sets that are not in the Main set;
    descriptions written before this field was added have none. not_offered are competitions of the dataset without ground truth
    in this phase. limits are those of an archive of results. class_numbers are what COCO's files call the classes, in their order; there
    the images are called by their numbers. public_counts are of another image set of the data set, None where no annotation is public.
    """

    dataset: str
    image_set: str
    classes: tuple[str, ...]
    actions: tuple[str, ...]
    images: tuple[Image, ...]
    segmentation: tuple[str, ...] = ()
    persons: tuple[tuple[str, int], ...] = ()
    acting: tuple[tuple[str, int], ...] = ()
    further: tuple[Image, ...] = ()
    not_offered: tuple[int, ...] = ()
    limits: Limits = Limits()
    class_numbers: tuple[int, ...] = ()
    public_counts: PublicCounts | None = None

    @property
    def files(self) -> Mapping[str, str]:
        """What people know the files of images by, as far as that does not follow from the names of these.

        >>> Description("COCO", "val", (), (), (Image("9", 40, 30, file="train/a.jpg"), Image("10", 40, 30))).files
        {'9': 'train/a.jpg'}
        """
        return {image.id: image.file for image in self.images if image.file}

    def with_files(self, files: Mapping[str, str]) -> Self:
        """The same description with other files of its images."""
        return replace(self, images=tuple(replace(each, file=files.get(each.id, "")) for each in self.images))

    def to_json(self) -> str:
        """Write it as one line of JSON, the same for the same description."""
        plain = asdict(self)
        for name in _IMAGES:
            plain[name] = [[image.id, image.width, image.height] for image in getattr(self, name)]
        if any(image.file for image in self.images):
            plain["files"] = [image.file for image in self.images]
        for name in ("class_numbers", "public_counts"):
            if not getattr(self, name):
                del plain[name]
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Description":
        """Read what to_json wrote; raises KeyError, TypeError or ValueError for anything else.

        >>> phase = Description("VOC2007", "test", ("car",), (), (Image("000001", 353, 500),))
        >>> Description.from_json(phase.to_json()) == phase
        True
        """
        plain = json.loads(text)
        return cls(
            dataset=plain["dataset"],
            image_set=plain["image_set"],
            classes=tuple(plain["classes"]),
            actions=tuple(plain["actions"]),
            images=_images(plain["images"], plain.get("files")),
            segmentation=tuple(plain["segmentation"]),
            persons=tuple((image, number) for image, number in plain["persons"]),
            acting=tuple((image, number) for image, number in plain["acting"]),
            further=_images(plain.get("further", [])),
            not_offered=tuple(plain.get("not_offered", ())),
            limits=_limits(plain.get("limits", {})),
            class_numbers=tuple(plain.get("class_numbers", ())),
            public_counts=_counts(plain.get("public_counts")),
        )


def _images(plain: list[Any], files: list[str] | None = None) -> tuple[Image, ...]:
    named = zip(plain, files or repeat(""), strict=files is not None)
    return tuple(Image(name, width, height, file=file) for (name, width, height), file in named)


def _counts(plain: Any) -> PublicCounts | None:
    return (
        None
        if plain is None
        else PublicCounts(plain["image_set"], tuple((name, number) for name, number in plain["objects"]))
    )


def _limits(plain: Any) -> Limits:
    if not isinstance(plain, dict):
        raise DataError(f"limits must be an object of numbers, not {plain!r}")
    return Limits().changed(plain)
