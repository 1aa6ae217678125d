"""Ground truth as the content of a file, and what of it is public."""

from dataclasses import fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.array_files import Packed, pack, pack_words, unpack, unpack_words
from scoring.data.boxes import BoxConvention
from scoring.data.description import Description, Image
from scoring.data.label_maps import LabelRuns
from scoring.data.tables import ActionLabels, CocoTable, Lists, Objects, Parts, Tables

KIND: Final = "truth"
_FACTS: Final = ("dataset", "image_set", "classes", "actions", "main")
_PAIRS: Final = ("persons", "acting")
_TABLES: Final = ("objects", "parts", "acts", "masks")


def content_of(lists: Lists, tables: Tables) -> bytes:
    """The content of the file; the same annotation gives the same bytes."""
    facts = {name: getattr(lists, name) for name in _FACTS}
    # what VOC's trees do not have is left out, so that their fingerprints stay
    if tables.convention is not BoxConvention.INCLUSIVE:
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
    if tables.verified is not None:
        arrays["verified"] = tables.verified
    if lists.class_numbers:
        facts["class_numbers"] = lists.class_numbers
    if tables.coco is not None:
        columns = ((field.name, getattr(tables.coco, field.name)) for field in fields(tables.coco))
        arrays |= {f"coco.{name}": column for name, column in columns if column is not None}
    return pack(KIND, Packed(facts, arrays))


def read_content(content: bytes) -> tuple[Lists, Tables]:
    """What `content_of` was given. Raises ForeignFileError for anything else.

    >>> from scoring import Annotation, truth_of_boxes
    >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="own", image_set="val", classes=["cat"])
    >>> read_content(truth.content)[0] == truth.lists
    True
    """
    packed = unpack(KIND, content)
    coco = _group(packed, "coco")
    tables = Tables(
        sizes=packed.arrays["sizes"],
        labels=packed.arrays["labels"],
        objects=Objects(**_group(packed, "objects")),
        parts=Parts(**_group(packed, "parts")),
        acts=ActionLabels(**_group(packed, "acts")),
        masks=LabelRuns(**_group(packed, "masks")),
        convention=BoxConvention(packed.facts.get("boxes", BoxConvention.INCLUSIVE)),
        verified=packed.arrays.get("verified"),
        coco=CocoTable(**coco) if coco else None,
    )
    return _lists_of(packed), tables


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
        class_numbers=tuple(facts.get("class_numbers", ())),
    )


def describe(lists: Lists, tables: Tables) -> Description:
    """What participants may know of the annotation: images with their sizes, classes, persons."""
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
        class_numbers=lists.class_numbers,
    )
