"""A naive implementation of the kits' rules, to which the fast ones are compared."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Corners = tuple[float, float, float, float]


@dataclass(frozen=True)
class Thing:
    """An object of the class being scored."""

    image: int
    box: Corners
    difficult: bool = False
    group_of: bool = False


@dataclass(frozen=True)
class Prediction:
    """One line of a result file."""

    image: int
    confidence: float
    box: Corners


def iou(box: Corners, other: Corners) -> float:
    """Intersection over union, or -inf for boxes that do not overlap, which the kit never considers."""
    iw = min(box[2], other[2]) - max(box[0], other[0]) + 1
    ih = min(box[3], other[3]) - max(box[1], other[1]) + 1
    if not (iw > 0 and ih > 0):
        return -math.inf
    ua = (
        (box[2] - box[0] + 1) * (box[3] - box[1] + 1)
        + (other[2] - other[0] + 1) * (other[3] - other[1] + 1)
        - iw * ih
    )
    return iw * ih / ua


def ranked(predictions: Sequence[Prediction]) -> list[int]:
    return sorted(
        range(len(predictions)), key=lambda number: -predictions[number].confidence
    )  # sorted() is stable


def outcomes(
    predictions: Sequence[Prediction], things: Sequence[Thing], iou_threshold: float, *, of_2006: bool = False
) -> list[int]:
    taken: set[int] = set()
    said = []
    for number in ranked(predictions):
        prediction = predictions[number]
        most, best = -math.inf, -1
        for place, thing in enumerate(things):
            if thing.image == prediction.image and iou(prediction.box, thing.box) > most:
                most, best = iou(prediction.box, thing.box), place
        if most < iou_threshold:
            said.append(0)
        elif things[best].difficult:
            said.append(0 if of_2006 and best in taken else -1)
            if of_2006:
                taken.add(best)
        else:
            said.append(0 if best in taken else 1)
            taken.add(best)
    return said


def curve(said: Sequence[int], positives: int) -> tuple[list[float], list[float]]:
    true_positives = false_positives = 0
    recall, precision = [], []
    for outcome in said:
        true_positives += outcome == 1
        false_positives += outcome == 0
        recall.append(true_positives / positives if positives else math.nan)
        precision.append(
            true_positives / (false_positives + true_positives)
            if false_positives + true_positives
            else math.nan
        )
    return recall, precision


def _larger(one: float, other: float) -> float:
    """The kit's max, which is NaN only if both are."""
    if math.isnan(one) or math.isnan(other):
        return other if math.isnan(one) else one
    return max(one, other)


def area(said: Sequence[int], positives: int) -> float:
    recall, precision = curve(said, positives)
    mrec, mpre = [0.0, *recall, 1.0], [0.0, *precision, 0.0]
    for place in range(len(mpre) - 2, -1, -1):
        mpre[place] = _larger(mpre[place], mpre[place + 1])
    value = 0.0
    for place in range(1, len(mrec)):
        if mrec[place] != mrec[place - 1]:
            value += (mrec[place] - mrec[place - 1]) * mpre[place]
    return value


def eleven(said: Sequence[int], positives: int, levels: Sequence[float]) -> float:
    recall, precision = curve(said, positives)
    value = 0.0
    for level in levels:
        reached = [p for r, p in zip(recall, precision, strict=True) if r >= level]
        best = reached[0] if reached else 0.0
        for each in reached:
            best = _larger(best, each)
        value += best / 11
    return min(value, 1.0)  # eleven elevenths add up to a little more


def mean(values: Sequence[float]) -> float:
    total = 0.0
    for value in values:
        total = total + value
    return total / len(values)
