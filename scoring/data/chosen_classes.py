"""Ground truth with some of its classes, in another order, under other names."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from scoring.data.arrays import Flags, Integers, Places
from scoring.data.ground_truth import GroundTruth
from scoring.data.label_maps import VOID, LabelRuns
from scoring.data.masks import Masks, take_masks
from scoring.data.tables import ActionLabels, CocoTable, Lists, Objects, Parts, Tables


def choose_classes(truth: GroundTruth, names: Mapping[str, str]) -> GroundTruth:
    """The same annotation with these classes alone, in this order and under these names.

    names: the new name of each class that stays, by its name in the annotation; those that the annotation does not have are
    left out. Objects and labels of other classes are left out, too, and their pixels are void. Persons whose layout or
    actions are annotated stay only if every class does, because results name them by their numbers among all objects of an image.

    >>> truth = GroundTruth.from_labels([[1, 0, 1]], classes=["cat", "dog", "owl"])
    >>> chosen = choose_classes(truth, {"owl": "bird", "cat": "cat"})
    >>> chosen.lists.classes, chosen.tables.labels.tolist()
    (('bird', 'cat'), [[1], [1]])
    """
    lists, tables = truth.lists, truth.tables
    taken = [lists.classes.index(name) for name in names if name in lists.classes]
    classes = tuple(names[lists.classes[place]] for place in taken)
    if classes == lists.classes and taken == list(range(len(classes))):
        return truth
    if len(taken) < len(lists.classes):
        lists, tables = _without_persons(lists, tables)
    place = np.full(len(lists.classes), -1, np.int32)
    place[taken] = np.arange(len(taken))
    numbers = tuple(lists.class_numbers[each] for each in taken) if lists.class_numbers else ()
    objects = _rows(tables.objects, place[tables.objects.name] >= 0)
    tables = replace(
        tables,
        labels=tables.labels[taken],
        objects=replace(objects, name=place[objects.name].astype(np.int16)),
        masks=_relabelled(tables.masks, place),
        verified=None if tables.verified is None else _pairs(tables.verified, place),
        coco=None if tables.coco is None else _of_coco(tables.coco, place, taken),
    )
    return GroundTruth.of(replace(lists, classes=classes, class_numbers=numbers), tables)


def _without_persons(lists: Lists, tables: Tables) -> tuple[Lists, Tables]:
    """Without layouts and actions, and without the images that are listed for these alone."""
    nothing = np.zeros(0, np.intp)
    parts, acts = tables.parts, tables.acts
    return (
        replace(lists, actions=(), persons=(), acting=(), images=lists.images[: lists.main]),
        replace(
            tables,
            sizes=tables.sizes[: lists.main],
            objects=_rows(tables.objects, tables.objects.image < lists.main),
            parts=Parts(parts.owner[nothing], parts.kind[nothing], parts.boxes[nothing]),
            acts=ActionLabels(acts.action[nothing], acts.owner[nothing], acts.label[nothing]),
        ),
    )


def _rows(objects: Objects, which: Flags) -> Objects:
    return Objects(**{each.name: getattr(objects, each.name)[which] for each in fields(objects)})


def _relabelled(masks: LabelRuns, place: Integers) -> LabelRuns:
    """Label images with the labels of the classes' new places; neighbouring runs of one label become one."""
    known = np.full(256, VOID, np.uint8)
    known[0] = 0
    known[1 : len(place) + 1] = np.where(place < 0, VOID, place + 1)[: VOID - 1]
    labels = known[masks.labels]
    begins = np.ones(len(labels) + 1, np.bool_)
    begins[1:-1] = labels[1:] != labels[:-1]
    begins[masks.first] = True
    starts = np.flatnonzero(begins[:-1])
    lengths = np.add.reduceat(masks.lengths, starts) if len(starts) else masks.lengths
    first = np.concatenate([[0], np.cumsum(begins[:-1])])[masks.first].astype(np.int64)
    return LabelRuns(masks.sizes, first, labels[starts], lengths.astype(np.int32))


def _pairs(pairs: Integers, place: Integers) -> Integers:
    """Pairs of an image and a class, without classes that are left out."""
    kept = pairs[place[pairs[:, 1]] >= 0]
    return np.column_stack([kept[:, 0], place[kept[:, 1]]]).astype(np.int32)


def _of_coco(table: CocoTable, place: Integers, taken: Sequence[int]) -> CocoTable:
    which = place[table.label] >= 0
    masks = _masks_of(table, np.flatnonzero(which))
    chosen = replace(
        table,
        image=table.image[which],
        label=place[table.label[which]],
        boxes=table.boxes[which],
        area=table.area[which],
        crowd=table.crowd[which],
        unnumbered=table.unnumbered[which],
    )
    if (federation := table.federation) is not None:
        chosen = replace(
            chosen,
            negative=_pairs(federation.negative, place),
            inexhaustive=_pairs(federation.inexhaustive, place),
            frequency=federation.frequency[list(taken)],
        )
    return chosen if masks is None else chosen.with_masks(masks)


def _masks_of(table: CocoTable, rows: Places) -> Masks | None:
    if table.run_start is None or table.run_end is None or table.run_first is None:
        return None
    heights = np.zeros(len(table.image), np.int64)  # which runs do not need
    return take_masks(Masks(table.run_start, table.run_end, table.run_first, heights), rows)
