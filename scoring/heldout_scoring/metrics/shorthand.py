"""Measures of plain arrays in one call."""

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.annotations import BoxConvention, as_convention
from ..data.arrays import (
    Flags,
    Floats,
    as_array,
    as_boxes,
    as_choice,
    as_floats,
    assert_lengths,
    kind_of,
    shape_of,
)
from ..data.matches import FALSE_POSITIVE, TRUE_POSITIVE
from ..errors import DataError
from . import ranking
from .matching import iou_half_open, iou_inclusive
from .ranking import ends_of_ties, rank


class ApRule(StrEnum):
    """How the precision-recall curve becomes one number.

    STEPS: the sum of precisions weighted by the steps of recall, equal scores being one threshold, as
    `sklearn.metrics.average_precision_score`. AREA: the area under the curve after each precision is
    raised to the highest at its recall or beyond, equal scores in the order given, as PASCAL VOC from 2010 on. ELEVEN_POINTS: the mean of the best precisions at eleven recalls, as PASCAL VOC until 2009.
    """

    STEPS = "steps"
    AREA = "area"
    ELEVEN_POINTS = "11-points"


def average_precision(y_true: Any, y_score: Any, *, rule: ApRule | str = ApRule.STEPS) -> float:
    """The average precision of scores for one class, in [0, 1].

    y_true: (n,), 1 or True for a positive, 0, -1 or False for a negative; y_score: numbers (n,), larger is more confident.
    Raises DataError for anything else, and where there is no positive. Source: see `ApRule`.

    >>> round(average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.833333
    >>> round(average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], rule="11-points"), 6)
    0.848485
    """
    scores, positive = as_floats("y_score", y_score), _positives(y_true)
    assert_lengths(y_true=positive, y_score=scores)
    count = int(np.count_nonzero(positive))
    if not count:
        raise DataError("expected at least one positive in 'y_true', found none")
    order = rank(scores)
    match as_choice("rule", rule, ApRule):
        case ApRule.STEPS:
            return _steps(positive[order], scores[order])
        case ApRule.AREA:
            return ranking.average_precision(_outcomes(positive[order]), count)
    return ranking.average_precision_11_points(_outcomes(positive[order]), count)


def iou_matrix(
    boxes: Any, others: Any, *, convention: BoxConvention | str = BoxConvention.HALF_OPEN
) -> Floats:
    """Intersection over union of each box with each other one: float64 (n, m), in [0, 1].

    boxes: numbers (n, 4); others: numbers (m, 4), left, top, right, bottom. convention: by default edges, as in
    `torchvision.ops.box_iou`; "inclusive" for pixels, as in PASCAL VOC. Raises DataError for anything else.

    >>> iou_matrix([[0, 0, 10, 10]], [[0, 0, 10, 5], [20, 20, 30, 30]]).tolist()
    [[0.5, 0.0]]
    """
    rows, columns = as_boxes("boxes", boxes), as_boxes("others", others)
    is_inclusive = as_convention(convention) is BoxConvention.INCLUSIVE
    iou = iou_inclusive if is_inclusive else iou_half_open
    return iou(rows[:, None, :], columns[None, :, :])


def confusion_matrix(y_true: Any, y_pred: Any, *, labels: Any = None) -> NDArray[np.int64]:
    """How often each true label (row) was predicted as each label (column): int64 (labels, labels).

    y_true, y_pred: texts or whole numbers of one shape, such as (n,) or (height, width); labels: the labels in the order of
    the rows, by default all that occur, sorted. Pairs with a label that is not among `labels` are left out. Raises DataError for
    other shapes, and for labels that repeat.

    >>> confusion_matrix([2, 0, 2, 2, 0, 1], [0, 0, 2, 2, 0, 2]).tolist()
    [[2, 0, 0], [0, 0, 1], [1, 0, 2]]
    """
    true, predicted = _labels("y_true", y_true), _labels("y_pred", y_pred)
    if true.shape != predicted.shape:
        raise DataError(
            f"expected 'y_true' and 'y_pred' of one shape, found {true.shape} and {predicted.shape}"
        )
    known = np.union1d(true, predicted) if labels is None else _labels("labels", labels)
    if len({array.dtype.kind == "U" for array in (true, predicted, known) if array.size}) > 1:
        raise DataError("expected either texts or numbers as labels, found both")
    if known.ndim != 1 or len(np.unique(known)) < len(known):
        raise DataError(f"expected 'labels' to name each label once, found {known.tolist()}")
    rows, row_known = _places(true.ravel(), known)
    columns, column_known = _places(predicted.ravel(), known)
    both = row_known & column_known
    cells = rows[both] * len(known) + columns[both]
    return np.bincount(cells, minlength=len(known) ** 2).astype(np.int64).reshape(len(known), len(known))


def _positives(y_true: Any) -> Flags:
    labels = as_array(y_true)
    others = labels[~np.isin(labels, (-1, 0, 1))].tolist()
    if labels.ndim != 1 or others:
        found = shape_of(labels) if labels.ndim != 1 else repr(others[0])
        raise DataError(
            f"expected 'y_true' as 1 for a positive and 0 or -1 for a negative, shape (n,), found {found}"
        )
    positive: Flags = labels == 1
    return positive


def _labels(name: str, values: Any) -> NDArray[Any]:
    """Texts or finite numbers. Raises DataError for anything else."""
    array = as_array(values)
    if array.dtype.kind == "O" and all(isinstance(each, str) for each in array.flat):
        return array.astype(np.str_)
    if array.dtype.kind == "U" or (array.dtype.kind in "iubf" and np.isfinite(array).all()):
        return array
    found = "NaN or infinity" if array.dtype.kind == "f" else kind_of(array)
    raise DataError(f"expected texts or whole numbers in '{name}', found {found}")


def _outcomes(positive: Flags) -> NDArray[np.int8]:
    return np.where(positive, np.int8(TRUE_POSITIVE), np.int8(FALSE_POSITIVE))


def _steps(positive: Flags, scores: Floats) -> float:
    ends = np.flatnonzero(ends_of_ties(scores))
    found = np.cumsum(positive)[ends]
    recall = found / found[-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * found / (ends + 1)))


def _places(values: NDArray[Any], known: NDArray[Any]) -> tuple[NDArray[np.intp], Flags]:
    """Where each value stands among the known ones, and whether it does."""
    if not len(known):
        return np.zeros(len(values), np.intp), np.zeros(len(values), np.bool_)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known[order], values), len(known) - 1)]
    return place, known[place] == values
