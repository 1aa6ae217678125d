"""Scoring of person layout: heads, hands and feet of given persons, in one file."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scoring.competitions import CompetitionInfo
from scoring.data.description import Description
from scoring.data.ground_truth import GroundTruth
from scoring.data.layouts import LayoutTable
from scoring.data.matches import RankedPredictions
from scoring.data.tables import PARTS
from scoring.errors import Problem, SubmissionError
from scoring.exhibits import draw_precision
from scoring.metrics.persons import LayoutPersons, persons_of_layout_set
from scoring.scores import NOT_ENTERED, ClassResult, Scores
from scoring.tasks.layout.rules import LayoutRules
from scoring.tasks.outcome import table_of_classes
from scoring.tasks.resampling import RankingSample, count_by_class, only_images
from scoring.tasks.task import Keyed

NOTHING_TO_FIND: Final = "nobody in the set has one"
NOBODY_LISTED: Final = "every layout is of a person outside the set, and nothing is left to be counted"


@dataclass(frozen=True, slots=True, eq=False)
class LayoutTruth:
    """The persons of the Layout set, and the selected columns of the report: None for all of the protocol's."""

    people: LayoutPersons
    columns: tuple[str, ...] | None = None


def load(truth: GroundTruth) -> LayoutTruth:
    """The persons of the Layout set with their parts."""
    return LayoutTruth(persons_of_layout_set(truth))


def missing_truth(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score person layout; None if it can."""
    if not truth.lists.persons:
        return "there is no Layout set"
    return None if len(truth.tables.parts.owner) else "no head, hand or foot is annotated"


def select(truth: LayoutTruth, names: Sequence[str]) -> LayoutTruth:
    """The same truth with these columns only."""
    return replace(truth, columns=tuple(names))


def columns(_info: CompetitionInfo, _description: Description, rules: LayoutRules) -> tuple[str, ...]:
    """The kinds of parts, or the person where a layout counts as a whole."""
    return rules.names


def match(
    parsed: Iterator[Keyed[LayoutTable]], _truth: LayoutTruth, _rules: LayoutRules
) -> Iterator[Keyed[LayoutTable]]:
    """Return the file unchanged: there is only one, and `score` matches it."""
    return parsed


def score(parsed: Iterator[Keyed[LayoutTable]], truth: LayoutTruth, rules: LayoutRules) -> Scores:
    """The average precision of each kind of part and their mean, or of layouts as a whole, with a curve for each.

    Raises SubmissionError if there is no Layout set, or if it lists images where the protocol expects numbered persons, or
    the reverse.
    """
    if not len(truth.people.persons.count):
        raise SubmissionError(
            Problem("no-layout-set", "the image set has no Layout set: there is nobody to lay out")
        )
    if truth.people.boxed != rules.boxed:
        raise SubmissionError(_mismatch(rules))
    measured = rules.measure.name
    names = [name for name in rules.names if truth.columns is None or name in truth.columns]
    found = [each.value for each in parsed]
    if not found:
        absent = tuple(ClassResult.not_entered(name, 0) for name in names)
        return Scores(measured, None, NOT_ENTERED, absent, (), ())
    matched = rules.match(found[0], truth.people, rules.iou, rules.iou_threshold)
    ranked = [each for each in matched if each.class_name in names]
    values = [_value(each, rules) for each in ranked]
    classes = tuple(_class_result(each, value) for each, value in zip(ranked, values, strict=True))
    mean = rules.average(values)
    headline, reason = (None, "a part has no value") if math.isnan(mean) else (mean, None)
    table = table_of_classes(measured, classes)
    curves = map(draw_precision, ranked)
    return Scores(measured, headline, reason, classes, (table, *curves), tuple(ranked))


def _mismatch(rules: LayoutRules) -> Problem:
    expected, found = ("boxes of persons", "numbers") if rules.boxed else ("numbers of persons", "boxes")
    message = f"the protocol asks for {expected}, and results for this image set name persons by {found}"
    return Problem("other-protocol", message)


def _value(ranked: RankedPredictions, rules: LayoutRules) -> float:
    return rules.measure.of(ranked.outcomes, ranked.positives) if ranked.positives else math.nan


def _class_result(ranked: RankedPredictions, value: float) -> ClassResult:
    predictions = len(ranked.outcomes)
    if math.isnan(value):
        reason = NOBODY_LISTED if ranked.positives else NOTHING_TO_FIND
        return ClassResult(ranked.class_name, None, reason, ranked.positives, predictions)
    return ClassResult(ranked.class_name, value, None, ranked.positives, predictions)


def resample(rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LayoutRules) -> RankingSample:
    """The ranked parts or persons, drawn by the images of the Layout set."""
    people, images = persons_of_layout_set(truth), len(truth.lists.images)
    parts = {name: people.parts_of(kind) for kind, name in enumerate(PARTS)}
    lines = np.repeat(np.arange(len(people.image)), people.persons.count)
    positives = []
    for ranking in rankings:
        if ranking.class_name in parts:
            image = np.repeat(people.image[lines], parts[ranking.class_name].count)
        else:
            image = people.image[lines[~people.persons.difficult]]
        positives.append(image)
    table = count_by_class(positives, len(rankings), images)
    sample = RankingSample(rankings, table, rules.measure.weighted, rules.average, truth.lists.images)
    return only_images(sample, truth, [image for image, _ in truth.lists.persons])
