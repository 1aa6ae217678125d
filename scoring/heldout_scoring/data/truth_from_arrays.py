"""Ground truth from arrays: lists of images and tables of what is annotated in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DataError
from .annotations import ActionLabels, BoxConvention, CocoTable, Lists, Objects, Parts, Tables, labels_of
from .arrays import (
    Flags,
    Floats,
    Integers,
    Named,
    as_boxes,
    as_flags,
    as_floats,
    as_matrix,
    as_names,
    assert_lengths,
    shape_of,
)
from .description import UNKNOWN_SIDE
from .label_maps import (
    VOID,
    InstanceMasks,
    LabelMaps,
    LabelRuns,
    Masks,
    beyond_classes,
    masks_of_arrays,
    misnamed,
)
from .layouts import PERSON, WHOLE_IMAGE, Layouts
from .predictions import as_persons

DATASET = "arrays"
IMAGE_SET = "all"
"""The names of ground truth from arrays."""

_MOST_CLASSES = np.iinfo(np.int16).max  # the type of `Objects.name`


@dataclass(frozen=True, slots=True, eq=False)
class ObjectRows:
    """Annotated objects in any order: a row each."""

    image: Named
    label: Named
    boxes: Floats
    difficult: Flags
    crowd: Flags
    area: Floats | None = None
    masks: Masks | None = None


def tables_of_objects(rows: ObjectRows, convention: BoxConvention, sizes: Any) -> tuple[Lists, Tables]:
    """The lists and tables of objects with boxes, for detection and classification; sizes: (images, 2) or None.

    Where areas are given, COCO's protocols take these, and the masks.
    """
    images, classes = rows.image.names, rows.label.names
    if len(classes) > _MOST_CLASSES:
        raise DataError(f"expected at most {_MOST_CLASSES:,} classes, found {len(classes):,}")
    order = np.argsort(rows.image.place, kind="stable")
    objects = _objects(rows.image.place[order], rows.label.place[order], rows.boxes[order])
    objects.difficult[:] = (rows.difficult | rows.crowd)[order]
    objects.group_of[:] = rows.crowd[order]
    labels = labels_of(objects, len(classes), len(images))
    tables = _tables(_sizes(sizes, len(images)), labels, objects, convention=convention)
    return _lists(images, classes), tables if rows.area is None else replace(
        tables, coco=_coco(rows, rows.area, convention)
    )


def tables_of_masks(rows: InstanceMasks, crowd: Any, area: Any, sizes: Any) -> tuple[Lists, Tables]:
    """The lists and tables of objects with masks, whose boxes are those around them; area: (n,), by default in pixels of the masks.

    sizes: (images, 2), needed for nothing but predictions in images without an object. Raises DataError for masks of different
    sizes in an image.
    """
    shapes = np.array([mask.shape[::-1] for mask in rows.masks], np.int64).reshape(-1, 2)
    known = _sizes(sizes, len(rows.images))
    if sizes is None:
        known[rows.image[::-1]] = shapes[
            ::-1
        ]  # the first of an image last, which the others are held against
    for row in np.flatnonzero((known[rows.image] != shapes).any(axis=1))[:1].tolist():
        image, expected = rows.images[rows.image[row]], known[rows.image[row]].tolist()
        raise DataError(
            f"expected masks of shape {(expected[1], expected[0])} in the image '{image}', found {rows.masks[row].shape}"
        )
    masks = masks_of_arrays(rows.masks)
    corners = np.concatenate([masks.boxes[:, :2], masks.boxes[:, :2] + masks.boxes[:, 2:]], axis=1)
    objects = ObjectRows(
        Named(rows.images, rows.image),
        Named(rows.classes, rows.label),
        corners,
        np.zeros(len(rows), np.bool_),
        as_flags("crowd", crowd, len(rows)),
        masks.area.astype(np.float64) if area is None else as_areas(area, len(rows)),
        masks,
    )
    return tables_of_objects(objects, BoxConvention.HALF_OPEN, known)


def as_areas(values: Any, length: int) -> Floats:
    """Areas in pixels, float64 (length,). Raises DataError for anything else, and for negative ones.

    >>> as_areas([150], 1).tolist()
    [150.0]
    """
    areas = as_floats("area", values)
    assert_lengths(image=range(length), area=areas)
    if (areas < 0).any():
        raise DataError(f"expected areas from 0 in 'area', found {areas[areas < 0][0]:g}")
    return areas


def tables_of_labels(
    y_true: Any, difficult: Any, images: Sequence[str] | None, classes: Sequence[str] | None
) -> tuple[Lists, Tables]:
    """The lists and tables of a table with a row for each image and a column for each class, for classification."""
    labels = _labels(y_true, difficult)
    names = _numbered_names("images", images, labels.shape[0])
    columns = _numbered_names("classes", classes, labels.shape[1])
    tables = _tables(_sizes(None, len(names)), np.ascontiguousarray(labels.T), _objects())
    return _lists(names, columns), tables


def tables_of_actions(
    y_true: Any, image: Named, person: Any, difficult: Any, actions: Sequence[str] | None
) -> tuple[Lists, Tables]:
    """The lists and tables of a table with a row for each person and a column for each action."""
    labels, persons = _labels(y_true, difficult), as_persons(person)
    assert_lengths(y_true=labels, image=image.place, person=persons)
    of_image, owner = _numbered_objects(image.place, persons, len(image.names))
    names = _numbered_names("actions", actions, labels.shape[1])
    acts = ActionLabels(
        action=np.repeat(np.arange(len(names), dtype=np.int8), len(labels)),
        owner=np.tile(owner, len(names)),
        label=np.ascontiguousarray(labels.T).ravel(),
    )
    # objects are counted only: the boxes of persons are not used
    objects = _objects(of_image, np.zeros(len(of_image), np.int32), np.zeros((len(of_image), 4)))
    none = np.full((1, 0), -1, np.int8)
    acting = _named_persons(image.names, image.place, persons)
    lists = _lists(image.names, ("person",), main=0, actions=names, acting=acting)
    return lists, _tables(_sizes(None, len(image.names)), none, objects, acts=acts)


def tables_of_layouts(
    rows: Layouts, boxes: Any, difficult: Any, convention: BoxConvention
) -> tuple[Lists, Tables]:
    """The lists and tables of persons with parts; boxes: (n, 4), of the persons, where results name these by a box, or None.

    Raises DataError for a person who stands twice.
    """
    corners = np.zeros((len(rows), 4)) if boxes is None else as_boxes("boxes", boxes)
    assert_lengths(image=rows.image, boxes=corners)
    images, place = rows.images, rows.image
    of_image, at = _numbered_objects(place, rows.person, len(images))
    # numbers that are left out are of objects that are no persons
    label = np.ones(len(of_image), np.int32)
    of_objects = np.zeros((len(of_image), 4))
    label[at], of_objects[at] = 0, corners
    objects = _objects(of_image, label, of_objects)
    objects.difficult[at] = as_flags("difficult", difficult, len(rows))
    order = np.argsort(at)
    persons = (
        tuple((name, WHOLE_IMAGE) for name in images)
        if boxes is not None
        else _named_persons(images, place[order], rows.person[order])
    )
    lists = replace(_lists(images, (PERSON, "other"), main=0), persons=persons)
    tables = _tables(_sizes(None, len(images)), np.full((2, 0), -1, np.int8), objects, convention=convention)
    parts = Parts(at[rows.owner], rows.kind, rows.parts)
    return lists, replace(tables, parts=parts)


def _numbered_objects(image: Integers, number: Integers, images: int) -> tuple[Integers, Integers]:
    """As many objects in each image as the largest number says: the image of each, int32, and the object of each number, int32.

    Raises DataError for a person who stands twice.
    """
    if len(set(zip(image.tolist(), number.tolist(), strict=True))) < len(image):
        raise DataError("a person stands twice: each pair of image and person has one row")
    count = np.zeros(images, np.int64)
    np.maximum.at(count, image, number)
    first = np.cumsum(count) - count
    return np.repeat(np.arange(images, dtype=np.int32), count), (first[image] + number - 1).astype(np.int32)


def _named_persons(names: Sequence[str], image: Integers, number: Integers) -> tuple[tuple[str, int], ...]:
    return tuple((names[place], each) for place, each in zip(image.tolist(), number.tolist(), strict=True))


def tables_of_label_maps(maps: LabelMaps, classes: Sequence[str]) -> tuple[Lists, Tables]:
    """The lists and tables of label maps, 0 the background, k the k-th class, 255 void."""
    names = as_names("classes", classes)
    if (wrong := misnamed(names)) is not None:
        raise DataError(f"in 'classes', {wrong}")
    if len(names) >= VOID:
        raise DataError(
            f"expected at most {VOID - 1} classes, whose labels are below {VOID}, found {len(names)}"
        )
    for image, labels in zip(maps.images, maps.labels, strict=True):
        if (wrong := beyond_classes(labels, len(names))) is not None:
            raise DataError(f"in the image '{image}', {wrong}")
    runs = LabelRuns.of(maps.labels)
    lists = _lists(maps.images, names, segmentation=maps.images)
    none = np.full((len(names), len(maps.images)), -1, np.int8)
    return lists, _tables(runs.sizes, none, _objects(), masks=runs)


def _coco(rows: ObjectRows, area: Floats, convention: BoxConvention) -> CocoTable:
    edges = convention.convert(rows.boxes, BoxConvention.HALF_OPEN)
    boxes = np.concatenate([edges[:, :2], edges[:, 2:] - edges[:, :2]], axis=1)
    numbered = np.zeros(len(area), np.bool_)
    table = CocoTable(rows.image.place, rows.label.place, boxes, area, rows.crowd, numbered)
    return table if rows.masks is None else table.with_masks(rows.masks)


def _labels(y_true: Any, difficult: Any) -> Any:
    """1 for yes, -1 for no, 0 for difficult: int8 (rows, columns)."""
    found = as_matrix("y_true", y_true)
    if not np.isin(found, (0, 1)).all():
        raise DataError(f"expected 0 or 1 in 'y_true', found {found[~np.isin(found, (0, 1))][0]:g}")
    labels = np.where(found == 1, 1, -1).astype(np.int8)
    if difficult is not None:
        labels[as_flags("difficult", difficult, labels.shape)] = 0
    return labels


def _numbered_names(what: str, names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    known = as_names(what, list(map(str, range(count))) if names is None else names)
    if len(known) != count:
        raise DataError(f"expected {count} names in '{what}', found {len(known)}")
    return known


def _sizes(sizes: Any, images: int) -> Integers:
    if sizes is None:
        return np.full((images, 2), UNKNOWN_SIDE, np.int32)
    found = as_matrix("sizes", sizes, "(images, 2)")
    is_valid = (found >= 1) & (found <= UNKNOWN_SIDE) & (found == np.floor(found))
    if found.shape != (images, 2) or not is_valid.all():
        what = shape_of(found) if found.shape != (images, 2) else f"{found[~is_valid][0]:g}"
        raise DataError(
            f"expected width and height in whole pixels for each of {images} images in 'sizes', found {what}"
        )
    return found.astype(np.int32)


def _objects(
    image: Integers | None = None, label: Integers | None = None, boxes: Floats | None = None
) -> Objects:
    count = 0 if image is None else len(image)
    flags = (np.zeros(count, np.bool_) for _ in range(4))
    return Objects(
        np.empty(0, np.int32) if image is None else image,
        np.empty(0, np.int16) if label is None else label.astype(np.int16),
        np.empty((0, 4)) if boxes is None else boxes,
        *flags,
    )


def _lists(
    images: tuple[str, ...],
    classes: tuple[str, ...],
    *,
    main: int | None = None,
    actions: tuple[str, ...] = (),
    segmentation: tuple[str, ...] = (),
    acting: tuple[tuple[str, int], ...] = (),
) -> Lists:
    count = len(images) if main is None else main
    return Lists(DATASET, IMAGE_SET, classes, actions, images, count, segmentation, (), acting)


def _tables(
    sizes: Integers,
    labels: Any,
    objects: Objects,
    *,
    acts: ActionLabels | None = None,
    masks: LabelRuns | None = None,
    convention: BoxConvention = BoxConvention.INCLUSIVE,
) -> Tables:
    no_acts = ActionLabels(np.empty(0, np.int8), np.empty(0, np.int32), np.empty(0, np.int8))
    parts = Parts(np.empty(0, np.int32), np.empty(0, np.int8), np.empty((0, 4)))
    return Tables(
        sizes,
        labels,
        objects,
        parts,
        acts or no_acts,
        LabelRuns.of([]) if masks is None else masks,
        convention,
    )
