"""A naive implementation of the TensorFlow Object Detection API's rules, box by box."""

import math
import operator
from collections.abc import Mapping, Sequence

from tests.scoring.oracles import Corners, Prediction, Thing, area, ranked

LEAST = 0.5
LOWEST = -10


def _side(one: tuple[float, float], other: tuple[float, float]) -> float:
    return max(0.0, min(one[1], other[1]) - max(one[0], other[0]))


def shared(box: Corners, other: Corners) -> float:
    across = _side((box[0], box[2]), (other[0], other[2]))
    return across * _side((box[1], box[3]), (other[1], other[3]))


def size(box: Corners) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def iou(box: Corners, other: Corners) -> float:
    common = shared(box, other)
    return common / (size(box) + size(other) - common) if common else 0.0


def outcomes(
    predictions: Sequence[Prediction],
    things: Sequence[Thing],
    *,
    open_images: bool = False,
    documented: bool = False,
) -> list[int]:
    """Outcomes, best first: 1 true positive, 0 false positive, -1 ignored.

    Only Open Images has groups, and it has no difficult objects. documented: follow the text, not the program.
    """
    enough = operator.gt if documented else operator.ge
    singles = [thing for thing in things if not (open_images and thing.group_of)]
    taken: set[int] = set()
    said = []
    for number in ranked(predictions):
        prediction = predictions[number]
        if not documented and not _is_evaluated(prediction):
            said.append(-1)
            continue
        most, best = 0.0, -1
        for place, thing in enumerate(singles):
            if thing.image == prediction.image and iou(prediction.box, thing.box) > most:
                most, best = iou(prediction.box, thing.box), place
        if enough(most, LEAST) and singles[best].difficult and not open_images:
            said.append(-1)
        elif enough(most, LEAST) and best not in taken:
            said.append(1)
            taken.add(best)
        else:
            inside = open_images and any(
                enough(share, LEAST) for share in _shares_in_groups(prediction, things)
            )
            said.append(-1 if inside else 0)
    return said


def _is_evaluated(prediction: Prediction) -> bool:
    left, top, right, bottom = prediction.box
    return left < right and top < bottom and prediction.confidence > LOWEST


def _shares_in_groups(prediction: Prediction, things: Sequence[Thing]) -> list[float]:
    return [
        shared(prediction.box, thing.box) / size(prediction.box)
        for thing in things
        if thing.group_of and thing.image == prediction.image and shared(prediction.box, thing.box) > 0
    ]


def positives(things: Sequence[Thing], *, open_images: bool = False) -> int:
    return sum(not (thing.group_of if open_images else thing.difficult) for thing in things)


Classes = Mapping[str, tuple[Sequence[Prediction], Sequence[Thing]]]


def mean(classes: Classes, *, open_images: bool = False, documented: bool = False) -> float:
    """The mean over classes with positives; NaN if there are none."""
    values = [
        area(
            outcomes(predictions, things, open_images=open_images, documented=documented),
            positives(things, open_images=open_images),
        )
        for predictions, things in classes.values()
        if positives(things, open_images=open_images)
    ]
    return sum(values) / len(values) if values else math.nan


def pooled(classes: Classes, *, documented: bool = False) -> float:
    """All classes in one ranking; the program includes only those with positives."""
    rows = []
    for predictions, things in classes.values():
        if not documented and not positives(things):
            continue
        said = outcomes(predictions, things, documented=documented)
        rows += [
            (predictions[n].confidence, outcome) for n, outcome in zip(ranked(predictions), said, strict=True)
        ]
    rows.sort(key=lambda row: -row[0])
    wanted = sum(positives(things) for _, things in classes.values())
    return area([outcome for _, outcome in rows], wanted) if wanted else math.nan
