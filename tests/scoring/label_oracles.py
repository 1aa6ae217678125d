"""A naive implementation of the kits' rules for images and persons with labels."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

Line = tuple[str, float]
"""An image or person, and its confidence."""


def ranking(lines: Sequence[Line], labels: Mapping[str, int]) -> list[tuple[str, float, int]]:
    """All labelled subjects by falling confidence, each with its outcome: 1 true positive, 0 false positive, -1 ignored."""
    confidence_of = dict.fromkeys(labels, -math.inf)
    for subject, confidence in lines:
        if subject in confidence_of:
            confidence_of[subject] = confidence
    order = sorted(labels, key=lambda subject: -confidence_of[subject])  # sorted() is stable
    outcome = {1: 1, -1: 0, 0: -1}
    return [(subject, confidence_of[subject], outcome[labels[subject]]) for subject in order]


def roc_points(lines: Sequence[Line], labels: Mapping[str, int]) -> list[tuple[float, float]]:
    """FPR and TPR from (0, 0) to (1, 1), one point for each distinct confidence."""
    positives = sum(label > 0 for label in labels.values())
    negatives = sum(label < 0 for label in labels.values())
    points, true_positives, false_positives = [(0.0, 0.0)], 0, 0
    rows = ranking(lines, labels)
    for place, (_, confidence, outcome) in enumerate(rows):
        true_positives += outcome == 1
        false_positives += outcome == 0
        if place + 1 == len(rows) or rows[place + 1][1] != confidence:
            points.append(
                (
                    false_positives / negatives if negatives else math.nan,
                    true_positives / positives if positives else math.nan,
                )
            )
    return [*points, (1.0, 1.0)]


def roc_area(points: Sequence[tuple[float, float]]) -> float:
    """The kit's sum over the first point, the last, and every point at which TPR rises."""
    last = len(points) - 1
    kept = [
        point for place, point in enumerate(points) if place in (0, last) or point[1] != points[place - 1][1]
    ]
    area = 0.0
    for (x, y), (next_x, _) in pairwise(kept):
        area += (next_x - x) * y
    return area
