"""Ground truth whose images have other names, and so another order."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from scoring.data.arrays import Integers, Places
from scoring.data.ground_truth import GroundTruth
from scoring.data.label_maps import LabelRuns
from scoring.data.tables import CocoTable, Objects, Tables


def rename_images(truth: GroundTruth, names: Mapping[str, str]) -> GroundTruth:
    """The same annotation under other names of its images, which stand in the order of the new names.

    names: the new name of every image, different from the others; whole numbers where the annotation is COCO's, whose order is that of
    the numbers. Objects of an image keep their order.

    >>> truth = GroundTruth.from_labels([[1], [0]], classes=["cat"], images=["cat_1", "sky_1"])
    >>> renamed = rename_images(truth, {"cat_1": "07", "sky_1": "03"})
    >>> renamed.lists.images, renamed.tables.labels.tolist()
    (('03', '07'), [[-1, 1]])
    """
    lists, tables = truth.lists, truth.tables
    numbered = bool(lists.class_numbers)

    def key(image: str) -> tuple[int, str]:
        return int(names[image]) if numbered else 0, names[image]

    main, further = lists.images[: lists.main], lists.images[lists.main :]
    images = (*sorted(main, key=key), *sorted(further, key=key))
    place = {image: number for number, image in enumerate(images)}
    old = {image: number for number, image in enumerate(lists.images)}
    order = np.array([old[image] for image in images], np.intp)
    segmentation = sorted(lists.segmentation, key=key)
    masks = {image: number for number, image in enumerate(lists.segmentation)}

    def renamed(pairs: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        ordered = sorted(pairs, key=lambda pair: (place[pair[0]], pair[1]))
        return tuple((names[image], number) for image, number in ordered)

    return GroundTruth.of(
        replace(
            lists,
            images=tuple(names[image] for image in images),
            segmentation=tuple(names[image] for image in segmentation),
            persons=renamed(lists.persons),
            acting=renamed(lists.acting),
        ),
        replace(
            _reordered(tables, order, lists.main),
            masks=_taken(tables.masks, np.array([masks[image] for image in segmentation], np.intp)),
        ),
    )


def _reordered(tables: Tables, order: Places, main: int) -> Tables:
    """The tables of images in another order."""
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    rows = np.argsort(place[tables.objects.image], kind="stable")
    row_of = np.empty(len(rows), np.int32)
    row_of[rows] = np.arange(len(rows))
    objects = Objects(
        **{each.name: getattr(tables.objects, each.name)[rows] for each in fields(tables.objects)}
    )
    parts, acts = tables.parts, tables.acts
    of_parts = np.argsort(row_of[parts.owner], kind="stable")
    of_acts = np.lexsort((row_of[acts.owner], acts.action))
    return replace(
        tables,
        sizes=tables.sizes[order],
        labels=tables.labels[:, order[:main]],
        objects=replace(objects, image=place[objects.image]),
        parts=replace(
            parts, owner=row_of[parts.owner][of_parts], kind=parts.kind[of_parts], boxes=parts.boxes[of_parts]
        ),
        acts=replace(
            acts, action=acts.action[of_acts], owner=row_of[acts.owner][of_acts], label=acts.label[of_acts]
        ),
        verified=None if tables.verified is None else _pairs(tables.verified, place),
        coco=None if tables.coco is None else _of_coco(tables.coco, place),
    )


def _pairs(pairs: Integers, place: Integers) -> Integers:
    """Pairs of an image and a class, by image and class."""
    moved = np.column_stack([place[pairs[:, 0]], pairs[:, 1]]).astype(np.int32)
    found: Integers = moved[np.lexsort((moved[:, 1], moved[:, 0]))]
    return found


def _of_coco(table: CocoTable, place: Integers) -> CocoTable:
    moved = replace(table, image=place[table.image])
    if (federation := table.federation) is None:
        return moved
    return replace(
        moved,
        negative=_pairs(federation.negative, place),
        inexhaustive=_pairs(federation.inexhaustive, place),
    )


def _taken(masks: LabelRuns, order: Places) -> LabelRuns:
    """These label images, in this order."""
    counts = np.diff(masks.first)[order]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    runs = np.arange(first[-1]) + np.repeat(masks.first[order] - first[:-1], counts)
    return LabelRuns(masks.sizes[order], first, masks.labels[runs], masks.lengths[runs])
