"""Detection: boxes with confidences, one file for each class."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring.answers import RankedAnswers
from scoring.lines import Detections, read_detections
from scoring.matching import Sought
from scoring.protocols import DetectionRules
from scoring.registry import expected_files
from scoring.report import ClassResult, Curve, ScoreTable
from scoring.tasks.task import Entered, Scores, Task
from scoring.truth import GroundTruth

NOT_ENTERED: Final = "not entered"
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
        sought[name] = Sought(first, count, objects.boxes[rows], objects.difficult[rows])
    return sought


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """A class as the kit scores it: its value may be NaN."""

    value: float
    answers: RankedAnswers


def score(
    entered: Iterator[Entered[Detections]], sought: Mapping[str, Sought], rules: DetectionRules
) -> Scores:
    """The average precision of each class and their mean, with a curve for each class entered.

    A class without any object has no value; in the mean it counts as the kit's own number does: as 0 at eleven recalls,
    and over every recall as NaN, so that there is no mean either.
    """

    def scored(each: Entered[Detections]) -> _Scored:
        return _score_class(each, sought[each.about], rules)

    found = {each.answers.class_name: each for each in _in_two_threads(scored, entered)}
    classes = tuple(
        _class_result(name, objects.positives, found.get(name)) for name, objects in sought.items()
    )
    missing = [name for name in sought if name not in found]
    headline, reason = _headline(missing, [found[name].value for name in sought if name in found], rules)
    answers = tuple(found[name].answers for name in sought if name in found)
    curves = (Curve(each.class_name, each.positives, each.verdicts.tobytes()) for each in answers)
    table = ScoreTable(rules.measure.name, tuple((each.name, each.value) for each in classes))
    return Scores(rules.measure.name, headline, reason, classes, (table, *curves), answers)


def _score_class(entered: Entered[Detections], sought: Sought, rules: DetectionRules) -> _Scored:
    given = entered.answers
    judged = rules.judge(given, sought, rules.overlap, rules.least)
    value = rules.measure.of(judged.verdicts, sought.positives)
    order = judged.order
    ranked = RankedAnswers(
        entered.about, sought.positives, given.image[order], given.confidence[order], judged.verdicts
    )
    return _Scored(value, ranked)


def _in_two_threads(
    scored: Callable[[Entered[Detections]], _Scored], entered: Iterator[Entered[Detections]]
) -> Iterator[_Scored]:
    """Score classes while the next are being read; of many large files only a few are in memory."""
    waiting: deque[Future[_Scored]] = deque()
    with ThreadPoolExecutor(2) as pool:
        for each in entered:
            waiting.append(pool.submit(scored, each))
            if len(waiting) > 2:
                yield waiting.popleft().result()
        yield from (future.result() for future in waiting)


def _class_result(name: str, positives: int, scored: _Scored | None) -> ClassResult:
    if scored is None:
        return ClassResult(name, None, NOT_ENTERED, positives, 0)
    answers = len(scored.answers.image)
    if positives == 0:
        return ClassResult(name, None, NOTHING_TO_FIND, positives, answers)
    if math.isnan(scored.value):
        return ClassResult(name, None, ALL_IGNORED, positives, answers)
    return ClassResult(name, scored.value, None, positives, answers)


def _headline(
    missing: Sequence[str], values: Sequence[float], rules: DetectionRules
) -> tuple[float | None, str | None]:
    if missing:
        return None, f"{NOT_ENTERED}: {', '.join(missing)}"
    mean = rules.average(values)
    return (None, "a class has no value") if math.isnan(mean) else (mean, None)


DETECTION: Final = Task(expected_files, read_detections, load, score)
