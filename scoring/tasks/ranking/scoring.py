"""Scoring of classification and action classification: rankings of labelled images or persons."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scoring.data.arrays import Integers
from scoring.data.confidences import ClassConfidences
from scoring.data.matches import RankedPredictions
from scoring.metrics.labels import ClassLabels, rank_by_confidence
from scoring.metrics.ranking import TRUE_POSITIVE
from scoring.scores import ClassResult, Scores
from scoring.tasks.outcome import headline, say_what_counts, table_of_classes
from scoring.tasks.ranking.rules import LabelRules
from scoring.tasks.resampling import RankingSample, count_by_class
from scoring.tasks.task import Keyed


@dataclass(frozen=True, slots=True)
class Reasons:
    """The reasons for a class without a value, in the terms of the task."""

    no_positive: str
    no_negative: str


def match(
    parsed: Iterator[Keyed[ClassConfidences]], known: Mapping[str, ClassLabels], _rules: LabelRules
) -> Iterator[Keyed[RankedPredictions]]:
    """Rank the images or persons of each class by confidence."""
    for each in parsed:
        yield Keyed(each.key, rank_by_confidence(each.key, each.value, known[each.key]))


def in_order(
    matched: Iterator[Keyed[RankedPredictions]], known: Mapping[str, ClassLabels]
) -> dict[str, RankedPredictions]:
    """The rankings by class, in the order of the challenge."""
    ranked = {each.key: each.value for each in matched}
    return {name: ranked[name] for name in known if name in ranked}


def scores_of(
    ranked: Mapping[str, RankedPredictions],
    known: Mapping[str, ClassLabels],
    rules: LabelRules,
    reasons: Reasons,
) -> Scores:
    """The value of each class and their mean, with a curve for each class that has a file.

    A class without positives has no value. In the mean it counts as in the development kit: as 0 for 11-point AP, which its
    reason says, otherwise as NaN, so that there is no mean either.
    """
    values = {name: rules.measure.of(each) for name, each in ranked.items()}
    classes = tuple(
        _class_result(name, labelled.positives, ranked.get(name), values.get(name, math.nan), reasons)
        for name, labelled in known.items()
    )
    mean, reason = headline(tuple(known), values, rules.average)
    classes = say_what_counts(classes, values, mean)
    table = table_of_classes(rules.measure.name, classes)
    curves = map(rules.measure.draw, ranked.values())
    return Scores(rules.measure.name, mean, reason, classes, (table, *curves), tuple(ranked.values()))


def _class_result(
    name: str, positives: int, ranked: RankedPredictions | None, value: float, reasons: Reasons
) -> ClassResult:
    if ranked is None:
        return ClassResult.not_entered(name, positives)
    predictions = int(np.count_nonzero(np.isfinite(ranked.confidence)))
    if positives == 0:
        return ClassResult(name, None, reasons.no_positive, positives, predictions)
    if math.isnan(value):
        return ClassResult(name, None, reasons.no_negative, positives, predictions)
    return ClassResult(name, value, None, positives, predictions)


def sample_of_labels(
    rankings: Sequence[RankedPredictions], images: Sequence[str], rules: LabelRules
) -> RankingSample:
    """Rankings with their positives in each of these images."""
    positives = count_positives_by_image(rankings, len(images))
    return RankingSample(rankings, positives, rules.measure.weighted, rules.average, images)


def count_positives_by_image(rankings: Sequence[RankedPredictions], images: int) -> Integers:
    """The positives of each class in each image, int32 (classes, images), where every image or person is ranked.

    >>> ranking = RankedPredictions("cat", 1, np.array([2, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([1, 0], np.int8))
    >>> count_positives_by_image([ranking], 3).tolist()
    [[0, 0, 1]]
    """
    right = (each.image[each.outcomes == TRUE_POSITIVE] for each in rankings)
    return count_by_class(right, len(rankings), images)
