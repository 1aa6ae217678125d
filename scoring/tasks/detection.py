"""Detection: boxes with confidences, one file for each class."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring.answers import RankedAnswers
from scoring.formats.lines import Detections, read_detections
from scoring.measures.matching import Sought
from scoring.protocols import DetectionRules
from scoring.report import ClassResult, Exhibit, draw_precision
from scoring.tasks.outcome import NOT_ENTERED, headline, table_of_classes, table_with_difficult
from scoring.tasks.task import Entered, Scores, Task
from scoring.truth.ground_truth import GroundTruth

NOTHING_TO_FIND: Final = "there is no such object in the set"
ALL_IGNORED: Final = "every answer met a difficult object, and nothing is left to be counted"


def load(truth: GroundTruth) -> Mapping[str, Sought]:
    """The objects of each class in the images of the Main set."""
    objects, main = truth.tables.objects, truth.lists.main
    sought = {}
    for number, name in enumerate(truth.lists.classes):
        rows = np.flatnonzero((objects.name == number) & (objects.image < main))
        count = np.bincount(objects.image[rows], minlength=main).astype(np.int32)
        first = (np.cumsum(count) - count).astype(np.int32)
        flags = objects.difficult[rows], objects.group_of[rows]
        sought[name] = Sought(first, count, objects.boxes[rows], *flags)
    return sought


@dataclass(frozen=True, slots=True, eq=False)
class ScoredClass:
    """A class as the kit scores it: its value may be NaN. beside: the same with difficult objects included."""

    value: float
    beside: float
    answers: RankedAnswers


def judge(
    entered: Iterator[Entered[Detections]], sought: Mapping[str, Sought], rules: DetectionRules
) -> Iterator[Entered[ScoredClass]]:
    """Each class on its own: which answers are right, and what that is worth."""
    for each in entered:
        yield Entered(each.about, _score_class(each, rules.seek(sought[each.about]), rules))


def score(
    judged: Iterator[Entered[ScoredClass]], sought: Mapping[str, Sought], rules: DetectionRules
) -> Scores:
    """The average precision of each class and their mean, with a curve for each class entered.

    A class without any object has no value; in the mean it counts as the kit's own number does: as 0 at eleven recalls,
    and over every recall as NaN, so that there is no mean either. A second table is of all objects, the difficult ones
    included, where the rules have one.
    """
    wanted = {name: rules.seek(objects) for name, objects in sought.items()}
    found = {each.about: each.answers for each in judged}
    classes = tuple(
        _class_result(name, objects.positives, found.get(name)) for name, objects in wanted.items()
    )
    found = {name: found[name] for name in sought if name in found}
    mean, reason = _headline(tuple(sought), found, rules)
    answers = tuple(each.answers for each in found.values())
    curves = map(draw_precision, answers)
    table = table_of_classes(rules.measure.name, classes)
    exhibits: tuple[Exhibit, ...] = (table, *curves)
    if rules.beside is not None:
        values = {name: each.beside for name, each in found.items()}
        beside = table_with_difficult(rules.measure.name, tuple(sought), values, rules.average)
        exhibits = (*exhibits, beside)
    return Scores(rules.measure.name, mean, reason, classes, exhibits, answers)


def _score_class(entered: Entered[Detections], sought: Sought, rules: DetectionRules) -> ScoredClass:
    given = entered.answers
    judged = rules.judge(given, sought, rules.overlap, rules.least)
    value = rules.measure.of(judged.verdicts, sought.positives)
    order = judged.order
    ranked = RankedAnswers(
        entered.about, sought.positives, given.image[order], given.confidence[order], judged.verdicts
    )
    beside = (
        math.nan if rules.beside is None else rules.measure.of(judged.on_all, rules.beside(sought).positives)
    )
    return ScoredClass(value, beside, ranked)


def _class_result(name: str, positives: int, scored: ScoredClass | None) -> ClassResult:
    if scored is None:
        return ClassResult(name, None, NOT_ENTERED, positives, 0)
    answers = len(scored.answers.image)
    if positives == 0:
        return ClassResult(name, None, NOTHING_TO_FIND, positives, answers)
    if math.isnan(scored.value):
        return ClassResult(name, None, ALL_IGNORED, positives, answers)
    return ClassResult(name, scored.value, None, positives, answers)


def _headline(
    names: Sequence[str], found: Mapping[str, ScoredClass], rules: DetectionRules
) -> tuple[float | None, str | None]:
    if rules.pool is None or len(found) < len(names):
        return headline(names, {name: each.value for name, each in found.items()}, rules.average)
    everything = rules.pool([each.answers for each in found.values()])
    value = rules.measure.of(everything.verdicts, everything.positives)
    return (None, NOTHING_TO_FIND) if math.isnan(value) else (value, None)


DETECTION: Final = Task(read_detections, load, judge, score)
