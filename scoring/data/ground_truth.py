"""What there is to find in a phase's images: one imported version of its annotation, immutable and named by its hash."""

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring.array_files import Packed, pack, pack_words, unpack, unpack_words
from scoring.data.arrays import Flags, Floats, Integers, Labels
from scoring.data.boxes import BoxConvention
from scoring.data.description import Description, Image
from scoring.data.label_maps import LabelMaps

KIND: Final = "truth"
PARTS: Final = ("head", "hand", "foot")
"""The parts of a person, in the order in which `Parts.kind` counts them."""

_FACTS: Final = ("dataset", "image_set", "classes", "actions", "main")
_PAIRS: Final = ("persons", "acting")
_TABLES: Final = ("objects", "parts", "acts", "masks")


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Every annotated object, by image and within an image in the order of its annotation, which decides ties.

    image: int32 (n,), into `GroundTruth.images`; name: int16 (n,), into the description's classes;
    boxes: float64 (n, 4), left, top, right, bottom by `Tables.convention`; the flags: bool (n,).
    """

    image: Integers
    name: NDArray[np.int16]
    boxes: Floats
    difficult: Flags
    truncated: Flags
    occluded: Flags
    group_of: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Every annotated part of a person: owner int32 (m,), into Objects; kind int8 (m,), into PARTS; boxes (m, 4)."""

    owner: Integers
    kind: Labels
    boxes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ActionLabels:
    """Who does what: the lines of the actions' label files, in their order, which decides ties.

    action: int8 (k,), into the description's actions; owner: int32 (k,), into Objects; label: int8 (k,), 1, 0 or -1.
    """

    action: Labels
    owner: Integers
    label: Labels


@dataclass(frozen=True, slots=True)
class Lists:
    """Which edition this is, and what its image sets list.

    images: every annotated image, those of the Main set first and in its order; main: how many these are;
    persons and acting: image and 1-based object as in `Description` (object 0: a whole image, as 2007 lists them).
    """

    dataset: str
    image_set: str
    classes: tuple[str, ...]
    actions: tuple[str, ...]
    images: tuple[str, ...]
    main: int
    segmentation: tuple[str, ...]
    persons: tuple[tuple[str, int], ...]
    acting: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What is annotated.

    sizes: int32 (images, 2), width and height; labels: int8 (classes, main), 1 there is such an object in the image,
    0 only difficult ones, -1 none; masks: one for each image of the Segmentation set, or none at all; convention: that of
    the boxes of objects and parts.
    """

    sizes: Integers
    labels: Labels
    objects: Objects
    parts: Parts
    acts: ActionLabels
    masks: LabelMaps
    convention: BoxConvention = BoxConvention.INCLUSIVE


@dataclass(frozen=True, slots=True, eq=False)
class GroundTruth:
    """One version of a phase's annotation, for all tasks; `description` is what participants may know of it.

    The description does not say which competitions the annotation is too poor for: see `scoring.missing_truth`.
    """

    lists: Lists
    tables: Tables
    description: Description
    content: bytes
    fingerprint: str

    @classmethod
    def of(cls, lists: Lists, tables: Tables) -> Self:
        """The ground truth made of these, the same as if read from its file.

        >>> from dataclasses import replace
        >>> from scoring import Annotation, truth_of_boxes
        >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="own", image_set="val", classes=["cat"])
        >>> GroundTruth.of(replace(truth.lists, image_set="test"), truth.tables).description.image_set
        'test'
        """
        facts = {name: getattr(lists, name) for name in _FACTS}
        if (
            tables.convention is not BoxConvention.INCLUSIVE
        ):  # unsaid otherwise: the fingerprints of VOC's trees stay
            facts["boxes"] = tables.convention
        index = {image: place for place, image in enumerate(lists.images)}
        arrays: dict[str, NDArray[Any]] = {
            "images": pack_words(lists.images),
            "segmentation": pack_words(lists.segmentation),
            "sizes": tables.sizes,
            "labels": tables.labels,
        }
        for name in _PAIRS:
            pairs = [(index[image], number) for image, number in getattr(lists, name)]
            arrays[name] = np.array(pairs, np.int32).reshape(-1, 2)
        for name in _TABLES:
            table = getattr(tables, name)
            arrays |= {f"{name}.{field.name}": getattr(table, field.name) for field in fields(table)}
        return cls.of_bytes(pack(KIND, Packed(facts, arrays)))

    @classmethod
    def open(cls, path: Path) -> Self:
        """The ground truth that `save` wrote. Raises ForeignFileError for another file.

        >>> from tempfile import TemporaryDirectory
        >>> from scoring import Annotation, truth_of_boxes
        >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="own", image_set="val", classes=["cat"])
        >>> with TemporaryDirectory() as folder:
        ...     truth.save(Path(folder, "truth"))
        ...     GroundTruth.open(Path(folder, "truth")).fingerprint == truth.fingerprint
        True
        """
        return cls.of_bytes(path.read_bytes())

    def save(self, path: Path) -> None:
        """Write the whole of it to one file; the same annotation gives the same bytes."""
        path.write_bytes(self.content)

    @classmethod
    def of_bytes(cls, content: bytes) -> Self:
        """The ground truth in the content of a file. Raises ForeignFileError for anything else.

        >>> from scoring import Annotation, truth_of_boxes
        >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="own", image_set="val", classes=["cat"])
        >>> GroundTruth.of_bytes(truth.content).description == truth.description
        True
        """
        packed = unpack(KIND, content)
        lists, sizes = _lists_of(packed), packed.arrays["sizes"]
        tables = Tables(
            sizes=sizes,
            labels=packed.arrays["labels"],
            objects=Objects(**_group(packed, "objects")),
            parts=Parts(**_group(packed, "parts")),
            acts=ActionLabels(**_group(packed, "acts")),
            masks=LabelMaps(**_group(packed, "masks")),
            convention=BoxConvention(packed.facts.get("boxes", BoxConvention.INCLUSIVE)),
        )
        fingerprint = hashlib.sha256(content).hexdigest()
        return cls(lists, tables, _description_of(lists, tables), content, fingerprint)


def _group(packed: Packed, name: str) -> dict[str, NDArray[Any]]:
    return {
        key.partition(".")[2]: array for key, array in packed.arrays.items() if key.startswith(f"{name}.")
    }


def _lists_of(packed: Packed) -> Lists:
    facts, arrays = packed.facts, packed.arrays
    images = unpack_words(arrays["images"])

    def pairs(name: str) -> tuple[tuple[str, int], ...]:
        return tuple((images[image], number) for image, number in arrays[name].tolist())

    return Lists(
        dataset=facts["dataset"],
        image_set=facts["image_set"],
        classes=tuple(facts["classes"]),
        actions=tuple(facts["actions"]),
        images=images,
        main=facts["main"],
        segmentation=unpack_words(arrays["segmentation"]),
        persons=pairs("persons"),
        acting=pairs("acting"),
    )


def _description_of(lists: Lists, tables: Tables) -> Description:
    images = [Image(name, *size) for name, size in zip(lists.images, tables.sizes.tolist(), strict=True)]
    listed = set(lists.images)
    masks = zip(lists.segmentation, tables.masks.sizes.tolist(), strict=True)
    return Description(
        dataset=lists.dataset,
        image_set=lists.image_set,
        classes=lists.classes,
        actions=lists.actions,
        images=tuple(images[: lists.main]),
        segmentation=lists.segmentation,
        persons=lists.persons,
        acting=lists.acting,
        further=(*images[lists.main :], *(Image(name, *size) for name, size in masks if name not in listed)),
    )
