"""Person layout: heads, hands and feet of given persons, in one file."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ..competitions import CompetitionInfo
from ..data.annotations import PARTS
from ..data.arrays import as_threshold
from ..data.description import Description
from ..data.layouts import UNLISTED, Layouts, LayoutTable
from ..data.matches import RankedPredictions
from ..data.truth import GroundTruth
from ..errors import Problem, SubmissionError
from ..metrics.layouts import LayoutPersons, MatchLayouts, persons_of_layout_set
from ..metrics.matching import IoU
from ..metrics.ranking import Average, RankingMeasure
from ..scores import NOT_ENTERED, ClassResult, Scores, draw_precision
from .task import Keyed, RankingSample, Task, count_by_class, only_images, table_of_classes


@dataclass(frozen=True, slots=True)
class LayoutRules:
    """How layouts are scored.

    names: the columns of the report, the parts or the whole person; boxed: whether a layout refers to a person by a box instead of
    a number; iou_threshold: the smallest IoU of a match.
    """

    match: MatchLayouts
    names: tuple[str, ...]
    boxed: bool
    iou: IoU
    iou_threshold: float
    measure: RankingMeasure
    average: Average

    def __post_init__(self) -> None:
        """Check the threshold. Raises DataError."""
        object.__setattr__(self, "iou_threshold", as_threshold("iou_threshold", self.iou_threshold))


def accepts(predictions: object) -> bool:
    """Whether these are layouts."""
    return isinstance(predictions, Layouts)


def split(predictions: Layouts, truth: GroundTruth) -> Iterator[Keyed[LayoutTable]]:
    """All layouts under the key "person"; those of persons who are not in the Layout set are not counted, as in the kits."""
    places = {person: place for place, person in enumerate(truth.lists.persons)}
    image, number = predictions.image.tolist(), predictions.person.tolist()
    persons = [(predictions.images[place], object_) for place, object_ in zip(image, number, strict=True)]
    table = LayoutTable(
        person=np.array([places.get(person, UNLISTED) for person in persons], np.int32),
        confidence=predictions.score,
        boxes=predictions.boxes,
        first=np.searchsorted(predictions.owner, np.arange(len(predictions) + 1)),
        kind=predictions.kind,
        parts=predictions.parts,
    )
    yield Keyed("person", table)


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


LAYOUT: Final = Task(
    name="layout",
    title="Person layout",
    accepts=accepts,
    split=split,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
    files="heldout_scoring.tasks.layout_files:FILES",
    columns=columns,
    select=select,
)
