"""The rules of the TensorFlow Object Detection API once more, box by box."""

import math
from collections.abc import Mapping, Sequence

from tests.scoring.oracles import Answer, Corners, Thing, area, ranked

LEAST = 0.5


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
    predictions: Sequence[Answer], things: Sequence[Thing], *, open_images: bool = False
) -> list[int]:
    """1 right, 0 wrong, -1 ignored, best first; only Open Images knows groups, and it knows no difficult objects."""
    singles = [thing for thing in things if not (open_images and thing.group_of)]
    taken: set[int] = set()
    said = []
    for number in ranked(predictions):
        prediction = predictions[number]
        most, best = 0.0, -1
        for place, thing in enumerate(singles):
            if thing.image == prediction.image and iou(prediction.box, thing.box) > most:
                most, best = iou(prediction.box, thing.box), place
        if most >= LEAST and singles[best].difficult and not open_images:
            said.append(-1)
        elif most >= LEAST and best not in taken:
            said.append(1)
            taken.add(best)
        else:
            said.append(-1 if open_images and _in_a_group(prediction, things) else 0)
    return said


def _in_a_group(prediction: Answer, things: Sequence[Thing]) -> bool:
    return any(
        thing.group_of
        and thing.image == prediction.image
        and shared(prediction.box, thing.box) > 0
        and shared(prediction.box, thing.box) / size(prediction.box) > LEAST
        for thing in things
    )


def positives(things: Sequence[Thing], *, open_images: bool = False) -> int:
    return sum(not (thing.group_of if open_images else thing.difficult) for thing in things)


Classes = Mapping[str, tuple[Sequence[Answer], Sequence[Thing]]]


def mean(classes: Classes, *, open_images: bool = False) -> float:
    """Over the classes that have something to find; NaN where there is none."""
    values = [
        area(
            outcomes(predictions, things, open_images=open_images), positives(things, open_images=open_images)
        )
        for predictions, things in classes.values()
        if positives(things, open_images=open_images)
    ]
    return sum(values) / len(values) if values else math.nan


def pooled(classes: Classes) -> float:
    """All classes in one ranking."""
    rows = []
    for predictions, things in classes.values():
        said = outcomes(predictions, things)
        rows += [
            (predictions[n].confidence, outcome) for n, outcome in zip(ranked(predictions), said, strict=True)
        ]
    rows.sort(key=lambda row: -row[0])
    wanted = sum(positives(things) for _, things in classes.values())
    return area([outcome for _, outcome in rows], wanted) if wanted else math.nan
