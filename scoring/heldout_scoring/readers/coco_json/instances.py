"""Ground truth in COCO's JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ...data.arrays import Flags, Floats
from ...data.label_maps import Masks
from ...data.tables import Federation
from ...errors import Problem, Problems, Rule, SubmissionError
from ...metrics.coco import CocoObjects
from .federation import read_federation
from .fields import Entries, Identifiers
from .masks import read_masks
from .records import JsonError, Records, Table, join_tables, read_list

_ANNOTATIONS: Final = "annotations"


@dataclass(frozen=True, slots=True, eq=False)
class CocoInstances:
    """Annotated objects of a set of images, images and classes by rising identifiers.

    images, categories: int64 (images,) and (classes,), identifiers; sizes: int64 (images, 2), width and height in pixels,
    0 where they are missing; boxes: float64 (m, 4), left, top, width, height; masks: None unless they were asked for;
    has_masks: whether any object has a segmentation; difficult: bool (m,), `ignore` or `difficult` is 1, None where no object is; federation: of LVIS,
    None where every class is annotated in every image; named: the `file_name` of each image that has one, with its identifier.
    """

    images: Identifiers
    sizes: Identifiers
    categories: Identifiers
    classes: tuple[str, ...]
    objects: CocoObjects
    boxes: Floats
    masks: Masks | None
    has_masks: bool = False
    federation: Federation | None = None
    difficult: Flags | None = None
    named: Mapping[str, int] = field(default_factory=dict)


def read_instances(
    data: bytes, *, file: str = "instances.json", masks: bool = False, problems: Problems | None = None
) -> CocoInstances:
    """Read `images`, `categories` and `annotations`; with `masks` also their segmentations.

    problems: where they are collected, too, with the number of those that are not listed.

    `area` is the one annotated, and so is the box, which masks need not have: then it is the one around the mask. `iscrowd` is 0 if it is left out. Raises SubmissionError with every problem: what is not
    JSON, missing fields, numbers that are none, identifiers that are not unique or that nothing has.

    >>> text = b'''{"images": [{"id": 1}], "categories": [{"id": 7, "name": "car"}],
    ...   "annotations": [{"id": 1, "image_id": 1, "category_id": 7, "bbox": [15, 9, 20, 10], "area": 150.5}]}'''
    >>> found = read_instances(text)
    >>> found.classes, found.boxes.tolist(), found.objects.area.tolist()
    (('car',), [[15.0, 9.0, 20.0, 10.0]], [150.5])
    """
    problems = Problems() if problems is None else problems
    root, blocks = _read(data, file)
    images = _entries(root, "images", file, problems)
    categories = _entries(root, "categories", file, problems)
    annotations = _annotations(blocks, file, problems)
    annotations.images = images
    image_ids, sizes = _images(images, masks=masks)
    category_ids, names = categories.wholes("id"), categories.texts("name")
    categories.unique("id", category_ids.tolist())
    categories.unique("name", names, "; classes are told apart by their names here, so each needs its own")
    by_category = np.argsort(category_ids, kind="stable")
    objects = _objects(annotations, image_ids, category_ids[by_category])
    drawn = read_masks(annotations, _sizes_of(objects, sizes)) if masks else None
    has_boxes = drawn is None or annotations.all_have("bbox")
    found = CocoInstances(
        images=image_ids,
        sizes=sizes,
        categories=category_ids[by_category],
        classes=tuple(names[index] for index in by_category.tolist()),
        objects=objects,
        boxes=annotations.boxes() if has_boxes or drawn is None else drawn.boxes,
        masks=drawn,
        has_masks=annotations.any_has("segmentation"),
        federation=read_federation(images, image_ids, categories, category_ids[by_category]),
        difficult=_difficult(annotations),
        named=images.numbers_by_name(),
    )
    for each in (images, categories, annotations):
        each.say_what_all_lack()
    if problems.listed:
        raise SubmissionError(*problems.listed)
    return found


def _sizes_of(objects: CocoObjects, sizes: Identifiers) -> Identifiers:
    """The size of each object's image; of none where there are no images, which has been said."""
    return sizes[objects.image] if len(sizes) else np.ones((len(objects.image), 2), np.int64)


def _read(data: bytes, file: str) -> tuple[dict[str, Any], list[Table | Records] | None]:
    try:
        root, blocks = read_list(data, _ANNOTATIONS)
    except JsonError as error:
        raise SubmissionError(Problem("bad-json", error.rule, file, error.line)) from error
    if not isinstance(root, dict):
        message = "expected an object with 'images', 'categories' and 'annotations'"
        raise SubmissionError(Problem("bad-json", Rule(message), file))
    return root, blocks


def _annotations(blocks: list[Table | Records] | None, file: str, problems: Problems) -> Entries:
    if blocks is None:
        return _entries({}, _ANNOTATIONS, file, problems)
    table = join_tables(blocks)
    if table is not None:
        return Entries([], _ANNOTATIONS, file, problems, table=table)
    rows = [block.rows() if isinstance(block, Table) else block for block in blocks]
    return Entries([entry for part in rows for entry in part.values], _ANNOTATIONS, file, problems)


def _entries(root: dict[str, Any], name: str, file: str, problems: Problems) -> Entries:
    found = root.get(name)
    if not isinstance(found, list):
        problems.add(Problem("missing-list", Rule(f"expected a list called '{name}'"), file))
        found = []
    return Entries(found, name, file, problems)


def _images(images: Entries, *, masks: bool) -> tuple[Identifiers, Identifiers]:
    ids = images.wholes("id")
    images.unique("id", ids.tolist())
    default = None if masks else 0
    sizes = np.stack([images.wholes(side, default) for side in ("width", "height")], axis=1)
    if masks:
        for index in np.flatnonzero(((sizes < 1) | (sizes > 1 << 16)).any(axis=1) & images.fit).tolist():
            found = sizes[index].tolist()
            rule = Rule(f"expected width and height from 1 to {1 << 16}, found {{}}", found)
            images.say(index, "bad-size", rule, str(found))
    order = np.argsort(ids, kind="stable")
    return ids[order], sizes[order]


def _difficult(annotations: Entries) -> Flags | None:
    """What protocols other than COCO's need not find, as converters from VOC write it; the official evaluator reads neither."""
    flags: Flags = annotations.flags("ignore") | annotations.flags("difficult")
    return flags if flags.any() else None


def _objects(annotations: Entries, images: Identifiers, categories: Identifiers) -> CocoObjects:
    image = annotations.known("image_id", annotations.wholes("image_id"), images, "images")
    label = annotations.known("category_id", annotations.wholes("category_id"), categories, "categories")
    ids = annotations.wholes("id")
    annotations.unique("id", ids.tolist())
    return CocoObjects(
        image=image,
        label=label,
        area=annotations.numbers("area", least=0),
        crowd=annotations.flags("iscrowd"),
        unnumbered=ids == 0,
    )
