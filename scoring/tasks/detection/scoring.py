"""Detection: boxes with confidences, one file for each class."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring.data.arrays import Flags
from scoring.data.detections import ClassDetections
from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.exhibits import Exhibit, draw_precision
from scoring.metrics.matching import ClassObjects
from scoring.results import ClassResult
from scoring.tasks.detection.rules import DetectionRules
from scoring.tasks.outcome import NOT_ENTERED, headline, table_of_classes, table_with_difficult
from scoring.tasks.task import Keyed, Scores

NOTHING_TO_FIND: Final = "there is no such object in the set"
ALL_IGNORED: Final = "every answer met a difficult object, and nothing is left to be counted"

_NO_DETECTIONS: Final = ClassDetections(np.empty(0, np.int32), np.empty(0), np.empty((0, 4)))


def load(truth: GroundTruth) -> Mapping[str, ClassObjects]:
    """The objects of each class in the images of the Main set."""
    objects, main, convention = truth.tables.objects, truth.lists.main, truth.tables.convention
    ground_truth = {}
    for number, name in enumerate(truth.lists.classes):
        rows = np.flatnonzero((objects.name == number) & (objects.image < main))
        count = np.bincount(objects.image[rows], minlength=main).astype(np.int32)
        first = (np.cumsum(count) - count).astype(np.int32)
        flags = objects.difficult[rows], objects.group_of[rows]
        verified = _verified_images(truth, number)
        ground_truth[name] = ClassObjects(
            first, count, objects.boxes[rows], *flags, verified=verified, convention=convention
        )
    return ground_truth


def _verified_images(truth: GroundTruth, number: int) -> Flags | None:
    """In which images of the Main set an image-level label speaks of the class of this number: bool (main,)."""
    pairs = truth.tables.verified
    if pairs is None:
        return None
    images = np.zeros(len(truth.lists.images), np.bool_)
    images[pairs[pairs[:, 1] == number, 0]] = True
    return images[: truth.lists.main]


def missing_truth(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score detection; None if it can."""
    main = truth.lists.main
    if not main:
        return "the Main set lists no image"
    has_object = (truth.tables.objects.image < main).any()
    return None if has_object else "no object is annotated in the images of the Main set"


@dataclass(frozen=True, slots=True, eq=False)
class ScoredClass:
    """A class as the kit scores it: its value may be NaN. beside: the same with difficult objects included."""

    value: float
    beside: float
    predictions: RankedPredictions


def match(
    entered: Iterator[Keyed[ClassDetections]],
    ground_truth: Mapping[str, ClassObjects],
    rules: DetectionRules,
) -> Iterator[Keyed[ScoredClass]]:
    """Each class on its own: which answers are right, and what that is worth."""
    for each in entered:
        yield Keyed(each.key, _score_class(each, rules.seek(ground_truth[each.key]), rules))


def score(
    matched: Iterator[Keyed[ScoredClass]], ground_truth: Mapping[str, ClassObjects], rules: DetectionRules
) -> Scores:
    """The average precision of each class and their mean, with a curve for each class entered.

    A class without any object has no value; in the mean it counts as the kit's own number does: as 0 at eleven recalls,
    and over every recall as NaN, so that there is no mean either. A second table is of all objects, the difficult ones
    included, where the rules have one.
    """
    wanted = {name: rules.seek(objects) for name, objects in ground_truth.items()}
    found = {each.key: each.value for each in matched}
    if rules.absent_is_empty:
        absent = (Keyed(name, _NO_DETECTIONS) for name in ground_truth if name not in found)
        found |= {each.key: each.value for each in match(absent, ground_truth, rules)}
    classes = tuple(
        _class_result(name, objects.positives, found.get(name)) for name, objects in wanted.items()
    )
    found = {name: found[name] for name in ground_truth if name in found}
    mean, reason = _headline(tuple(ground_truth), found, rules)
    predictions = tuple(each.predictions for each in found.values())
    curves = map(draw_precision, predictions)
    table = table_of_classes(rules.measure.name, classes)
    exhibits: tuple[Exhibit, ...] = (table, *curves)
    if rules.beside is not None:
        values = {name: each.beside for name, each in found.items()}
        beside = table_with_difficult(rules.measure.name, tuple(ground_truth), values, rules.average)
        exhibits = (*exhibits, beside)
    return Scores(rules.measure.name, mean, reason, classes, exhibits, predictions)


def _score_class(
    entered: Keyed[ClassDetections], ground_truth: ClassObjects, rules: DetectionRules
) -> ScoredClass:
    given = entered.value
    matched = rules.match_class(given, ground_truth)
    value = rules.measure.of(matched.outcomes, ground_truth.positives)
    order = matched.order
    ranked = RankedPredictions(
        entered.key, ground_truth.positives, given.image[order], given.confidence[order], matched.outcomes
    )
    beside = (
        math.nan
        if rules.beside is None
        else rules.measure.of(matched.including_difficult, rules.beside(ground_truth).positives)
    )
    return ScoredClass(value, beside, ranked)


def _class_result(name: str, positives: int, scored: ScoredClass | None) -> ClassResult:
    if scored is None:
        return ClassResult(name, None, NOT_ENTERED, positives, 0)
    predictions = len(scored.predictions.image)
    if positives == 0:
        return ClassResult(name, None, NOTHING_TO_FIND, positives, predictions)
    if math.isnan(scored.value):
        return ClassResult(name, None, ALL_IGNORED, positives, predictions)
    return ClassResult(name, scored.value, None, positives, predictions)


def _headline(
    names: Sequence[str], found: Mapping[str, ScoredClass], rules: DetectionRules
) -> tuple[float | None, str | None]:
    if rules.pool is None or len(found) < len(names):
        return headline(names, {name: each.value for name, each in found.items()}, rules.average)
    everything = rules.pool([each.predictions for each in found.values()])
    value = rules.measure.of(everything.outcomes, everything.positives)
    return (None, NOTHING_TO_FIND) if math.isnan(value) else (value, None)
