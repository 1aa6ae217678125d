"""Why a class does not score 1."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Flags, Floats, Places
from ..metrics.coco import CocoDetections, CocoRules, PairIoU, Pairs, arrange, find_pairs
from ..metrics.coco_tables import CocoTables
from ..readers.coco_json.detections import CocoResults
from ..readers.coco_json.instances import CocoInstances
from ..scores import Explanation
from .task import NO_DIFFICULT


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What was scored, and what came of it."""

    truth: CocoInstances
    results: CocoResults
    tables: CocoTables
    iou: PairIoU
    rules: CocoRules

    @property
    def most(self) -> int:
        """The detections of a class in an image that are matched at most."""
        return self.rules.max_detections[-1]


def explain(evidence: Evidence) -> tuple[Explanation, ...]:
    """The reasons of each class, at the lowest threshold of the rules and in objects of every size, in the order of the classes.

    >>> from heldout_scoring.evaluation import evaluate_coco
    >>> truth = b'''{"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations":
    ...   [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 40], "area": 2000, "iscrowd": 1}]}'''
    >>> evaluate_coco(b"[]", truth).explain()[0].message
    '1 annotated crowds are ignored: they need not be found'
    """
    reasons = [
        (label, Explanation(code, evidence.truth.classes[label], count, sentence.format(count)))
        for code, sentence, counts in _counted(evidence)
        for label, count in enumerate(counts.tolist())
        if count
    ]
    return tuple(reason for _, reason in sorted(reasons, key=lambda each: each[0]))


_Count = tuple[str, str, Places]
"""A code, a sentence with a blank for the number, and how many of each class: int64 (classes,)."""


def _counted(evidence: Evidence) -> Iterator[_Count]:
    matched = _Matched.of(evidence)
    yield from _of_objects(evidence, matched)
    yield from _of_detections(evidence, matched)
    for most in evidence.rules.max_detections:
        sentence = f"AR{most} cannot be 1: {{}} objects are more than {most} of a class in an image"
        yield "cap", sentence, _beyond(evidence, most)


def _of_objects(evidence: Evidence, matched: "_Matched") -> Iterator[_Count]:
    objects = evidence.truth.objects
    for code, sentence, which in (
        ("crowd", "{} annotated crowds are ignored: they need not be found", objects.crowd),
        ("difficult", f"{{}} objects are {NO_DIFFICULT}", _difficult(evidence)),
        ("area", "{} objects have no area, so that nothing can match them", _without_area(evidence)),
        (
            "area",
            "{} objects are of another range of sizes by their annotated area than by their box or mask",
            _of_other_size(evidence),
        ),
        (
            "cap",
            f"{{}} objects are overlapped only by detections beyond the first {evidence.most}",
            matched.capped,
        ),
        (
            "id",
            "{} annotations have the id 0, and the official program counts what matches them as wrong",
            objects.unnumbered,
        ),
        ("missed", "{} objects are matched by no detection", ~objects.crowd & ~matched.found),
    ):
        yield code, sentence, np.bincount(objects.label[which], minlength=len(evidence.truth.classes))


def _of_detections(evidence: Evidence, matched: "_Matched") -> Iterator[_Count]:
    detections = evidence.results.detections
    for code, sentence, which in (
        ("crowd", "{} detections match only a crowd and are ignored", matched.in_crowd),
        (
            "cap",
            f"{{}} detections are beyond the {evidence.most} of a class in an image that count",
            ~matched.kept,
        ),
        ("tie", "{} detections overlap several objects equally and took the last of them", matched.tied),
        (
            "tie",
            "{} detections have the confidence of another one that matches where they do not, or the other way round",
            _undecided(detections, matched.right),
        ),
        ("wrong", "{} detections match no object", matched.kept & ~matched.any),
    ):
        yield code, sentence, np.bincount(detections.label[which], minlength=len(evidence.truth.classes))


@dataclass(frozen=True, slots=True, eq=False)
class _Matched:
    """Of each detection, bool (n,): kept, among those that count; any, right, in_crowd: what it matched; tied: between
    objects of one IoU. Of each object, bool (m,): found; capped: only by detections that do not count.
    """

    kept: Flags
    any: Flags
    right: Flags
    in_crowd: Flags
    tied: Flags
    found: Flags
    capped: Flags

    @classmethod
    def of(cls, evidence: Evidence) -> "_Matched":
        objects, found_matches = evidence.truth.objects, evidence.tables.matched()
        arranged = found_matches.arranged
        kept, matched, right, in_crowd, tied = np.zeros((5, len(evidence.results.detections)), np.bool_)
        kept[arranged.rows] = True
        found = np.zeros(len(objects.image), np.bool_)
        for matches in found_matches.matches:
            first = matches.threshold == 0
            rows, things = arranged.rows[matches.detection[first]], matches.object[first]
            matched[rows], found[things] = True, True
            right[rows] = ~(objects.crowd | objects.unnumbered)[things]
            in_crowd[rows] = objects.crowd[things]
        pairs, rows = _every_pair(evidence)
        tied[rows[_ties(pairs)]] = True
        overlapped = np.zeros(len(objects.image), np.bool_)
        overlapped[pairs.object[~kept[rows[pairs.detection]]]] = True
        return cls(kept, matched, right, in_crowd, tied & kept, found, overlapped & ~found & ~objects.crowd)


def _every_pair(evidence: Evidence) -> tuple[Pairs, Places]:
    """All pairs that reach the lowest threshold, also of detections that do not count, and the detection of each place in them."""
    images = len(evidence.truth.images)
    count, objects = len(evidence.results.detections), evidence.truth.objects
    arranged = arrange(evidence.results.detections, np.arange(count), images, count + 1)
    every = np.arange(len(objects.image))
    lowest = float(evidence.rules.iou_thresholds[0])
    return find_pairs(arranged, objects, every, images, evidence.iou, lowest), arranged.rows


def _ties(pairs: Pairs) -> Places:
    """Places of detections with two objects of the same, largest IoU."""
    order = np.lexsort((-pairs.iou, pairs.detection))
    detection, iou = pairs.detection[order], pairs.iou[order]
    begins = np.flatnonzero(np.diff(detection, prepend=-1))
    begins = begins[begins + 1 < len(detection)]
    equal = (detection[begins] == detection[begins + 1]) & (iou[begins] == iou[begins + 1])
    found: Places = detection[begins[equal]]
    return found


def _difficult(evidence: Evidence) -> Flags:
    flags = evidence.truth.difficult
    return (
        np.zeros(len(evidence.truth.objects.image), np.bool_)
        if flags is None
        else flags & ~evidence.truth.objects.crowd
    )


def _without_area(evidence: Evidence) -> Flags:
    found: Flags = (_area(evidence) == 0) & ~evidence.truth.objects.crowd
    return found


def _area(evidence: Evidence) -> Floats:
    truth = evidence.truth
    if truth.masks is not None:
        return truth.masks.area.astype(np.float64)
    found: Floats = truth.boxes[:, 2] * truth.boxes[:, 3]
    return found


def _of_other_size(evidence: Evidence) -> Flags:
    limits = sorted(low for _, low, _ in evidence.rules.areas[2:])
    annotated, drawn = (
        np.searchsorted(limits, area) for area in (evidence.truth.objects.area, _area(evidence))
    )
    found: Flags = (annotated != drawn) & ~evidence.truth.objects.crowd
    return found


def _beyond(evidence: Evidence, most: int) -> Places:
    """Objects of each class that are more than the detections that count in their image."""
    objects, images = evidence.truth.objects, len(evidence.truth.images)
    group = (objects.label.astype(np.int64) * images + objects.image)[~objects.crowd]
    groups, counts = np.unique(group, return_counts=True)
    beyond = np.maximum(counts - most, 0)
    found = np.zeros(len(evidence.truth.classes), np.int64)
    np.add.at(found, groups // max(images, 1), beyond)
    return found


def _undecided(detections: CocoDetections, right: Flags) -> Flags:
    """Detections of a class with equal confidences, of which some are true positives and some are not."""
    order = np.lexsort((detections.confidence, detections.label))
    label, confidence = detections.label[order], detections.confidence[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (label[1:] != label[:-1]) | (confidence[1:] != confidence[:-1])
    group = np.cumsum(begins) - 1
    count = np.bincount(group)
    hits = np.bincount(group, weights=right[order])
    mixed = (hits > 0) & (hits < count)
    found = np.zeros(len(order), np.bool_)
    found[order] = mixed[group]
    return found
