"""Ground truth from arrays: lists of images and tables of what is annotated in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers, Labels
from scoring.data.boxes import BoxConvention
from scoring.data.checking import DataError, Named, as_array, as_matrix, as_names
from scoring.data.confidences import as_persons
from scoring.data.description import UNKNOWN_SIDE
from scoring.data.label_maps import LabelMaps, LabelRuns
from scoring.data.layout_set import PERSON, WHOLE_IMAGE
from scoring.data.tables import ActionLabels, Lists, Objects, Parts, Tables

DATASET = "arrays"
IMAGE_SET = "all"
"""What ground truth from arrays is called, unless somebody names it."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectRows:
    """Annotated objects in any order: a row each."""

    image: Named
    label: Named
    boxes: Floats
    difficult: Flags
    crowd: Flags


def tables_of_objects(rows: ObjectRows, convention: BoxConvention, sizes: Any) -> tuple[Lists, Tables]:
    """The lists and tables of objects with boxes, for detection and classification; sizes: (images, 2) or None."""
    images, classes = rows.image.names, rows.label.names
    order = np.argsort(rows.image.place, kind="stable")
    objects = _objects(rows.image.place[order], rows.label.place[order], rows.boxes[order])
    objects.difficult[:] = (rows.difficult | rows.crowd)[order]
    objects.group_of[:] = rows.crowd[order]
    labels = np.full((len(classes), len(images)), -1, np.int8)
    for hard, label in ((True, 0), (False, 1)):
        chosen = objects.difficult == hard
        labels[objects.name[chosen], objects.image[chosen]] = label
    tables = _tables(_sizes(sizes, len(images)), labels, objects, convention=convention)
    return _lists(images, classes), tables


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
    if not len(labels) == len(image.place) == len(persons):
        raise DataError(
            f"expected an image and a person for each of {len(labels)} rows, found {len(image.place)} and {len(persons)}"
        )
    acting = list(zip(image.place.tolist(), persons.tolist(), strict=True))
    if len(set(acting)) < len(acting):
        raise DataError("a person stands twice: each pair of image and person has one row")
    count = np.zeros(len(image.names), np.int64)
    np.maximum.at(count, image.place, persons)
    first = np.cumsum(count) - count
    names = _numbered_names("actions", actions, labels.shape[1])
    owner = (first[image.place] + persons - 1).astype(np.int32)
    acts = ActionLabels(
        action=np.repeat(np.arange(len(names), dtype=np.int8), len(labels)),
        owner=np.tile(owner, len(names)),
        label=np.ascontiguousarray(labels.T).ravel(),
    )
    # objects are there to be counted; nobody asks for the boxes of persons
    of_image = np.repeat(np.arange(len(image.names), dtype=np.int32), count)
    objects = _objects(of_image, np.zeros(len(of_image), np.int32), np.zeros((len(of_image), 4)))
    none = np.full((1, 0), -1, np.int8)
    lists = _lists(
        image.names, ("person",), main=0, actions=names, acting=tuple((image.names[i], n) for i, n in acting)
    )
    return lists, _tables(_sizes(None, len(image.names)), none, objects, acts=acts)


@dataclass(frozen=True, slots=True, eq=False)
class LayoutRows:
    """Persons in any order, a row each, and their parts: owner int32 (m,), into the rows; kind int8 (m,), into PARTS."""

    image: Named
    person: Integers
    boxes: Floats
    difficult: Flags
    owner: Integers
    kind: Labels
    parts: Floats


def tables_of_layouts(rows: LayoutRows, convention: BoxConvention, *, by_box: bool) -> tuple[Lists, Tables]:
    """The lists and tables of persons with parts; by_box: results name a person by a box and not by a number.

    Raises DataError for a person who stands twice.
    """
    images, place = rows.image.names, rows.image.place
    if len(set(zip(place.tolist(), rows.person.tolist(), strict=True))) < len(place):
        raise DataError("a person stands twice: each pair of image and person has one row")
    count = np.zeros(len(images), np.int64)
    np.maximum.at(count, place, rows.person)
    at = (np.cumsum(count) - count)[place] + rows.person - 1
    of_image = np.repeat(np.arange(len(images), dtype=np.int32), count)
    # numbers that are left out are of objects that are no persons
    label = np.ones(len(of_image), np.int32)
    boxes = np.zeros((len(of_image), 4))
    label[at], boxes[at] = 0, rows.boxes
    objects = _objects(of_image, label, boxes)
    objects.difficult[at] = rows.difficult
    numbers = zip(place[np.argsort(at)].tolist(), np.sort(at).tolist(), strict=True)
    first = (np.cumsum(count) - count).tolist()
    persons = (
        tuple((name, WHOLE_IMAGE) for name in images)
        if by_box
        else tuple((images[image], row - first[image] + 1) for image, row in numbers)
    )
    lists = replace(_lists(images, (PERSON, "other"), main=0), persons=persons)
    tables = _tables(_sizes(None, len(images)), np.full((2, 0), -1, np.int8), objects, convention=convention)
    parts = Parts(at[rows.owner].astype(np.int32), rows.kind, rows.parts)
    return lists, replace(tables, parts=parts)


def tables_of_label_maps(maps: LabelMaps, classes: Sequence[str]) -> tuple[Lists, Tables]:
    """The lists and tables of label maps, 0 the background, k the k-th class, larger numbers void."""
    names = as_names("classes", classes)
    runs = LabelRuns.of(maps.labels)
    lists = _lists(maps.images, names, segmentation=maps.images)
    none = np.full((len(names), len(maps.images)), -1, np.int8)
    return lists, _tables(runs.sizes, none, _objects(), masks=runs)


def _labels(y_true: Any, difficult: Any) -> Any:
    """1 for yes, -1 for no, 0 for difficult: int8 (rows, columns)."""
    found = as_matrix("y_true", y_true)
    if not np.isin(found, (0, 1)).all():
        raise DataError(f"expected 0 or 1 in 'y_true', found {found[~np.isin(found, (0, 1))][0]:g}")
    labels = np.where(found == 1, 1, -1).astype(np.int8)
    if difficult is not None:
        hard = as_array(difficult)
        if hard.shape != labels.shape or not np.isin(hard, (0, 1)).all():
            raise DataError(
                f"expected 0 or 1 in 'difficult' with shape {labels.shape}, found shape {hard.shape}"
            )
        labels[hard.astype(np.bool_)] = 0
    return labels


def _numbered_names(what: str, names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    known = as_names(what, list(map(str, range(count))) if names is None else names)
    if len(known) != count:
        raise DataError(f"expected {count} names as '{what}', one for each row or column, found {len(known)}")
    return known


def _sizes(sizes: Any, images: int) -> Integers:
    if sizes is None:
        return np.full((images, 2), UNKNOWN_SIDE, np.int32)
    found = as_matrix("sizes", sizes)
    if found.shape != (images, 2) or not ((found >= 1) & (found <= UNKNOWN_SIDE)).all():
        raise DataError(f"expected width and height in pixels for each of {images} images in 'sizes'")
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
    nobody = ActionLabels(np.empty(0, np.int8), np.empty(0, np.int32), np.empty(0, np.int8))
    parts = Parts(np.empty(0, np.int32), np.empty(0, np.int8), np.empty((0, 4)))
    return Tables(
        sizes,
        labels,
        objects,
        parts,
        acts or nobody,
        LabelRuns.of([]) if masks is None else masks,
        convention,
    )
