"""Precision and recall of every class, threshold and size, and the twelve figures made of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring.data.arrays import Flags, Floats, Labels, Places
from scoring.metrics.coco.accumulating import PlacedMatches, Ranks, Sizes, accumulate
from scoring.metrics.coco.arranging import Arranged, arrange
from scoring.metrics.coco.arrays import (
    COCO_RULES,
    EVERY_SIZE,
    CocoDetections,
    CocoObjects,
    CocoRules,
    PairIoU,
)
from scoring.metrics.coco.matching import CocoMatches, match_coco
from scoring.metrics.coco.pairs import find_pairs
from scoring.parallel import parallel_map

_ABSENT: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class CocoTables:
    """What COCO's evaluation knows of every class.

    precision: float64 (areas, thresholds, classes, points), at the most detections that the rules allow; recall: float64
    (areas, counts of detections, thresholds, classes); both in [0, 1], and -1 where a class has no object that counts.
    positives: (areas, classes), how many objects count. arranged, matches: which detection was matched with which
    object, in objects of every size.
    """

    precision: Floats
    recall: Floats
    positives: Places
    arranged: Arranged
    matches: tuple[CocoMatches, ...]


def tabulate_coco(
    detections: CocoDetections,
    objects: CocoObjects,
    iou: PairIoU,
    *,
    images: int,
    classes: int,
    rules: CocoRules = COCO_RULES,
) -> CocoTables:
    """Match detections with objects and tell precision and recall, as pycocotools 2.0.11 does, to the last bit.

    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=1)
    >>> tables.recall[0, -1, :, 0].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    arranged = arrange(detections, images, rules.max_detections[-1])
    pairs = find_pairs(arranged, objects, images, iou, rules.iou_thresholds[0])
    sizes = list(parallel_map(lambda area: _sizes(area, detections, objects, arranged, classes), rules.areas))
    ignored = np.array([each.ignored for each in sizes])
    common, others = match_coco(pairs, objects, ignored, rules.iou_thresholds)
    ranks = Ranks.of(arranged, (common, *others), classes)
    placed = PlacedMatches.of(common, ranks)
    found = list(
        parallel_map(
            lambda some: accumulate(
                (placed, PlacedMatches.of(some[0], ranks)), ranks, some[1], rules, objects.unnumbered
            ),
            zip(others, sizes, strict=True),
        )
    )
    return CocoTables(
        precision=np.array([precision for precision, _ in found]),
        recall=np.array([recall for _, recall in found]),
        positives=np.array([each.positives for each in sizes]),
        arranged=arranged,
        matches=(common, others[EVERY_SIZE]),
    )


def _sizes(
    area: tuple[str, float, float],
    detections: CocoDetections,
    objects: CocoObjects,
    arranged: Arranged,
    classes: int,
) -> Sizes:
    _, low, high = area
    ignored = objects.crowd | (objects.area < low) | (objects.area > high)
    positives = np.bincount(objects.label[~ignored], minlength=classes)
    outside = (detections.area < low) | (detections.area > high)
    if detections.exempt is not None:
        outside |= detections.exempt
    if not outside.any():
        return Sizes(ignored, positives, None)
    inside = np.zeros(len(arranged.by_class) + 1, np.int32)
    np.cumsum(~outside[arranged.by_class], out=inside[1:])
    return Sizes(ignored, positives, inside)


def figures_of(tables: CocoTables, rules: CocoRules = COCO_RULES) -> Mapping[str, float | None]:
    """The twelve figures of pycocotools' summary, in [0, 1], or None where no class has an object that counts.

    AP is the mean of precision over points, classes and thresholds, AP50 and AP75 those at an IoU of 0.5 and 0.75 where the rules have these, APs,
    APm and APl of small, medium and large objects; AR1, AR10 and AR100 are the means of recall with so many detections
    of a class in an image, ARs, ARm and ARl again by size.

    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=1)
    >>> figures_of(tables)["AR1"], figures_of(tables)["APl"]
    (0.5, None)
    """
    return {name: _mean(values) for name, values in _values(tables, rules).items()}


def figures_by_frequency(tables: CocoTables, frequency: Labels) -> Mapping[str, float | None]:
    """AP of rare, common and frequent classes, in [0, 1] or None; frequency: int8 (classes,), 0, 1 or 2.

    Source: lvis 0.5.3, eval.py, LVISEval.summarize.

    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=1)
    >>> figures_by_frequency(tables, np.array([1]))["APr"]
    """
    precision = tables.precision[EVERY_SIZE]
    return {
        f"AP{letter}": _mean(np.compress(frequency == group, precision, axis=1))
        for group, letter in enumerate("rcf")
    }


def figures_by_class(tables: CocoTables, rules: CocoRules = COCO_RULES) -> Mapping[str, list[float | None]]:
    """The same twelve figures of each class, in the order of the classes.

    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=2)
    >>> figures_by_class(tables)["AR1"]
    [0.5, None]
    """
    return {name: _means_by_class(values) for name, values in _values(tables, rules).items()}


def _values(tables: CocoTables, rules: CocoRules) -> Mapping[str, Floats]:
    """What each figure is the mean of: float64 (thresholds, classes, …)."""
    precision, recall = tables.precision, tables.recall
    found = {"AP": precision[EVERY_SIZE]}
    for threshold in (0.5, 0.75):
        if threshold not in rules.iou_thresholds:
            continue
        found[f"AP{threshold * 100:.0f}"] = precision[EVERY_SIZE][rules.iou_thresholds == threshold]
    sizes = [(index, name[0]) for index, (name, _, _) in enumerate(rules.areas) if index != EVERY_SIZE]
    found |= {f"AP{letter}": precision[index] for index, letter in sizes}
    found |= {f"AR{most}": recall[EVERY_SIZE, index] for index, most in enumerate(rules.max_detections)}
    return found | {f"AR{letter}": recall[index, -1] for index, letter in sizes}


def _means_by_class(values: Floats) -> list[float | None]:
    """A class is absent at every threshold and point or at none."""
    means = values.reshape(*values.shape[:2], -1).mean(axis=(0, 2))
    return [None if value == _ABSENT else value for value in means.tolist()]


def _mean(values: Floats) -> float | None:
    present: Flags = values != _ABSENT
    return float(values[present].mean()) if present.any() else None
