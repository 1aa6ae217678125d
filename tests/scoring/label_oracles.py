"""The kits' rules for images and persons with labels, as slow and as plain as they can be written."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

Line = tuple[str, float]
"""Of whom, and how sure."""


def ranking(lines: Sequence[Line], labels: Mapping[str, int]) -> list[tuple[str, float, int]]:
    """Everybody labelled, best first: who, how sure, and 1 right, 0 wrong, -1 ignored."""
    sure = dict.fromkeys(labels, -math.inf)
    for who, confidence in lines:
        if who in sure:
            sure[who] = confidence
    order = sorted(labels, key=lambda who: -sure[who])  # sorted() is stable
    return [(who, sure[who], {1: 1, -1: 0, 0: -1}[labels[who]]) for who in order]


def roc_points(lines: Sequence[Line], labels: Mapping[str, int]) -> list[tuple[float, float]]:
    """False alarms and found, from (0, 0) to (1, 1), a point for each different confidence."""
    positives = sum(label > 0 for label in labels.values())
    negatives = sum(label < 0 for label in labels.values())
    points, right, wrong = [(0.0, 0.0)], 0, 0
    rows = ranking(lines, labels)
    for place, (_, confidence, outcome) in enumerate(rows):
        right += outcome == 1
        wrong += outcome == 0
        if place + 1 == len(rows) or rows[place + 1][1] != confidence:
            points.append(
                (wrong / negatives if negatives else math.nan, right / positives if positives else math.nan)
            )
    return [*points, (1.0, 1.0)]


def roc_area(points: Sequence[tuple[float, float]]) -> float:
    """The kit's sum over the points at which more is found than at the one before, the first and the last."""
    last = len(points) - 1
    kept = [
        point for place, point in enumerate(points) if place in (0, last) or point[1] != points[place - 1][1]
    ]
    area = 0.0
    for (x, y), (next_x, _) in pairwise(kept):
        area += (next_x - x) * y
    return area
