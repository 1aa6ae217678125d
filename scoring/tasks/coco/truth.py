"""Ground truth as COCO's evaluation takes it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scoring.data.arrays import Flags, Places
from scoring.data.boxes import BoxConvention, convert_boxes
from scoring.data.ground_truth import GroundTruth
from scoring.data.masks import Masks, take_masks
from scoring.errors import Problem
from scoring.metrics.coco.arrays import CocoObjects, CocoRules
from scoring.readers.coco_json.instances import CocoInstances
from scoring.tasks.outcome import CROWDS_COUNT, NO_DIFFICULT, NO_NUMBER, notes_on_objects


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """The objects of all classes, and the numbers of those that are scored."""

    instances: CocoInstances
    scored: Places

    def under(self, rules: CocoRules) -> "Loaded":
        """The objects that these rules know: those of LVIS leave out objects without an area, and have no crowds.

        Source: lvis 0.5.3, lvis.py, LVIS.get_ann_ids; eval.py.
        """
        if not rules.federated:
            return self
        instances, objects = self.instances, self.instances.objects
        rows = np.flatnonzero(objects.area > 0)
        crowd = np.zeros(len(rows), np.bool_)
        known = replace(
            instances,
            objects=CocoObjects(
                objects.image[rows], objects.label[rows], objects.area[rows], crowd, objects.unnumbered[rows]
            ),
            boxes=instances.boxes[rows],
            masks=None if instances.masks is None else take_masks(instances.masks, rows),
            difficult=None if instances.difficult is None else instances.difficult[rows],
        )
        return replace(self, instances=known)


def notes_of(loaded: Loaded, rules: CocoRules) -> tuple[Problem, ...]:
    """Notes on objects of the classes to score that count otherwise than one may think."""
    instances, objects = loaded.instances, loaded.instances.objects
    scored = np.isin(objects.label, loaded.scored)
    flags = {NO_DIFFICULT: instances.difficult, NO_NUMBER: objects.unnumbered}
    if rules.federated:
        flags[CROWDS_COUNT] = objects.crowd
    return notes_on_objects(
        {what: int(np.count_nonzero(which & scored)) for what, which in flags.items() if which is not None}
    )


def load_boxes(truth: GroundTruth) -> Loaded:
    """The objects with their boxes; difficult ones that are no crowd count like any other, as COCO knows no others."""
    instances = _annotated(truth) if truth.tables.coco is not None else _of_edges(truth)
    return Loaded(instances, np.arange(len(instances.classes)))


def load_masks(truth: GroundTruth) -> Loaded:
    """The objects with their masks. Raises LookupError for a ground truth without any."""
    if truth.tables.coco is None or not truth.tables.coco.has_masks:
        raise LookupError("the ground truth has no masks: make it by `GroundTruth.from_masks` or `from_coco`")
    instances = _annotated(truth)
    return Loaded(instances, np.arange(len(instances.classes)))


def select(loaded: Loaded, names: Sequence[str]) -> Loaded:
    """The same objects, with some classes scored."""
    scored = [label for label, name in enumerate(loaded.instances.classes) if name in names]
    return Loaded(loaded.instances, np.array(scored, np.intp))


def missing_boxes(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score boxes; None if it can."""
    if truth.tables.coco is None:
        return "the annotation does not come from COCO's JSON"
    return None if len(truth.tables.coco.image) else "no object is annotated"


def missing_masks(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score masks; None if it can."""
    if (reason := missing_boxes(truth)) is not None:
        return reason
    has_masks = truth.tables.coco is not None and truth.tables.coco.has_masks
    return None if has_masks else "no object has a segmentation"


def missing_boxes_of_lvis(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score boxes by the rules of LVIS; None if it can."""
    return missing_boxes(truth) or _missing_federation(truth)


def missing_masks_of_lvis(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score masks by the rules of LVIS; None if it can."""
    return missing_masks(truth) or _missing_federation(truth)


def _missing_federation(truth: GroundTruth) -> str | None:
    is_there = truth.tables.coco is not None and truth.tables.coco.federation is not None
    return None if is_there else "the annotation does not say which classes are absent from an image"


def _annotated(truth: GroundTruth) -> CocoInstances:
    table, lists, sizes = truth.tables.coco, truth.lists, truth.tables.sizes.astype(np.int64)
    assert table is not None
    masks = None
    if table.run_start is not None and table.run_end is not None and table.run_first is not None:
        masks = Masks(table.run_start, table.run_end, table.run_first, sizes[table.image, 1])
    return CocoInstances(
        images=np.array(list(map(int, lists.images)), np.int64)
        if lists.class_numbers
        else np.arange(len(sizes)),
        sizes=sizes,
        categories=np.array(lists.class_numbers or range(len(lists.classes)), np.int64),
        classes=lists.classes,
        objects=CocoObjects(table.image, table.label, table.area, table.crowd, table.unnumbered),
        federation=table.federation,
        boxes=table.boxes,
        masks=masks,
        has_masks=table.has_masks,
        difficult=_difficult(truth)[np.argsort(np.argsort(table.image, kind="stable"))],
    )


def _difficult(truth: GroundTruth) -> Flags:
    """Which objects are difficult and no crowd, in the order of the table of objects: by image."""
    objects = truth.tables.objects
    found: Flags = objects.difficult & ~objects.group_of
    return found


def _of_edges(truth: GroundTruth) -> CocoInstances:
    """The objects of the Main set, their boxes from edges, their areas from their boxes."""
    objects, lists = truth.tables.objects, truth.lists
    rows = np.flatnonzero(objects.image < lists.main)
    edges = convert_boxes(objects.boxes[rows], truth.tables.convention, BoxConvention.HALF_OPEN)
    boxes = np.concatenate([edges[:, :2], edges[:, 2:] - edges[:, :2]], axis=1)
    return CocoInstances(
        images=np.arange(lists.main),
        sizes=truth.tables.sizes[: lists.main].astype(np.int64),
        categories=np.arange(len(lists.classes)),
        classes=lists.classes,
        objects=CocoObjects(
            objects.image[rows],
            objects.name[rows].astype(np.int32),
            boxes[:, 2] * boxes[:, 3],
            objects.group_of[rows],
            np.zeros(len(rows), np.bool_),
        ),
        boxes=boxes,
        masks=None,
        difficult=_difficult(truth)[rows],
    )
