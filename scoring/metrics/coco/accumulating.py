"""Precision and recall from matches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers, Places
from scoring.metrics.coco.arranging import Arranged, Keys
from scoring.metrics.coco.arrays import CocoRules
from scoring.metrics.coco.matching import CocoMatches

_SPACING: Final = np.spacing(1)
_THRESHOLD: Final = 40
"""The bit at which the threshold stands in a key, above the place among at most 2³⁸ detections."""
_PLACES: Final = (1 << (_THRESHOLD - 2)) - 1
_IGNORED_INSIDE, _RIGHT_INSIDE, _RIGHT_OUTSIDE = range(3)
_CORRECTION: Final = np.array([-1, 0, 1], np.int32)
"""By kind: a match counts by its object, whatever the size of the detection."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Detections in the order of Arranged.by_class, and where the classes begin in it.

    place: int32 (k,), where each of Arranged stands in that order; nth: int32 (k,), by that order, of the detections that
    match anything; begin: intp (classes + 1,); label: int64 (k,), by that order, the first class being 0.
    """

    place: Integers
    nth: Integers
    begin: Places
    label: Keys

    @classmethod
    def of(cls, arranged: Arranged, matches: Sequence[CocoMatches], first: int, end: int) -> "Ranks":
        """The ranks that accumulating these matches needs, of the classes from `first` up to, not including, `end`."""
        begin = np.searchsorted(arranged.label, np.arange(first, end + 1))
        nth = np.zeros_like(arranged.nth)
        for each in matches:
            nth[arranged.place[each.detection]] = arranged.nth[each.detection]
        return cls(arranged.place, nth, begin, arranged.label - first)


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """What an area range makes of objects and detections.

    ignored: bool (m,), objects that do not count; positives: (classes,), how many objects do; inside: int32 (k + 1,),
    how many of the first detections in the order of Arranged.by_class are false positives where they match nothing, or
    None where all of them are.
    """

    ignored: Flags
    positives: Places
    inside: Integers | None


@dataclass(frozen=True, slots=True, eq=False)
class PlacedMatches:
    """Matches by the place of the detection: key, int64 (k,), threshold and place; place, object: (k,)."""

    key: Keys
    place: Integers
    object: Places

    @classmethod
    def of(cls, matches: CocoMatches, ranks: Ranks) -> "PlacedMatches":
        """The matches, with places in the order of Arranged.by_class."""
        place = ranks.place[matches.detection]
        key = (matches.threshold.astype(np.int64) << _THRESHOLD) | (place.astype(np.int64) << 2)
        return cls(key, place, matches.object)


@dataclass(frozen=True, slots=True, eq=False)
class _Outcomes:
    """True positives by threshold, class and falling confidence.

    row: intp (k,), threshold · classes + class; found, counted: (k,), true positives and all detections that are not
    ignored in the row up to this one; nth: int32 (k,), as in Arranged.
    """

    row: Places
    found: Places
    counted: Places
    nth: Integers


def accumulate(
    matches: Sequence[PlacedMatches], ranks: Ranks, sizes: Sizes, rules: CocoRules, unnumbered: Flags
) -> tuple[Floats, Floats]:
    """Precision float64 (thresholds, classes, points) and recall float64 (counts of detections, thresholds, classes).

    Both are -1 for classes without objects that count. unnumbered: bool (m,), objects whose matches are false positives.
    Source: pycocotools 2.0.11, accumulate.

    >>> from scoring.metrics.coco.arrays import COCO_RULES
    >>> zero, no = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> found = CocoMatches(np.zeros(1, np.int8), np.zeros(1, np.intp), np.zeros(1, np.intp))
    >>> ranks, sizes = Ranks(zero, zero, np.array([0, 1]), zero), Sizes(no, np.array([2]), None)
    >>> accumulate([PlacedMatches.of(found, ranks)], ranks, sizes, COCO_RULES, no)[1][:, 0, 0].tolist()
    [0.5, 0.5, 0.5]
    """
    outcomes = _outcomes(matches, ranks, sizes, unnumbered)
    shape = len(rules.iou_thresholds), len(sizes.positives)
    absent = sizes.positives == 0
    recall = np.empty((len(rules.max_detections), *shape))
    for index, most in enumerate(rules.max_detections):
        rows = outcomes.row[outcomes.nth < most]
        found = np.bincount(rows, minlength=shape[0] * shape[1]).reshape(shape)
        recall[index] = found / np.where(absent, 1, sizes.positives)
    precision = _precision(outcomes, sizes.positives, rules)
    precision[:, absent], recall[:, :, absent] = -1, -1
    return precision, recall


def _outcomes(matches: Sequence[PlacedMatches], ranks: Ranks, sizes: Sizes, unnumbered: Flags) -> _Outcomes:
    keys = np.concatenate([_keys(each, sizes, unnumbered) for each in matches])
    keys.sort()
    place, kind = (keys >> 2) & _PLACES, keys & 3
    label = ranks.label[place]
    row = (keys >> _THRESHOLD) * (len(ranks.begin) - 1) + label
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    counted = _running_sums(_CORRECTION[kind], begins)
    begin = ranks.begin[label]
    if sizes.inside is None:
        counted += place - begin + 1
    else:
        counted += sizes.inside[place + 1] - sizes.inside[begin]
    right = np.flatnonzero(kind != _IGNORED_INSIDE)
    found = _running_sums((kind != _IGNORED_INSIDE).astype(np.int32), begins)
    return _Outcomes(row[right], found[right], counted[right], ranks.nth[place[right]])


def _keys(matches: PlacedMatches, sizes: Sizes, unnumbered: Flags) -> Keys:
    """Threshold, place and kind of the matches that change what is counted, as numbers that sort in that order."""
    right = (~(sizes.ignored | unnumbered))[matches.object]
    is_inside = None if sizes.inside is None else sizes.inside[1:] > sizes.inside[:-1]
    inside = True if is_inside is None else is_inside[matches.place]
    # a match that is neither right nor ignored is as good as none
    counted = np.flatnonzero(right | (sizes.ignored[matches.object] & inside))
    keys = matches.key[counted]
    keys[right[counted]] |= _RIGHT_INSIDE
    if is_inside is not None:
        keys[right[counted] & ~is_inside[matches.place[counted]]] += _RIGHT_OUTSIDE - _RIGHT_INSIDE
    return keys


def _running_sums(values: Integers, begins: Places) -> Places:
    """Running sums that begin anew at each of `begins`, the first of which is 0."""
    sums = np.cumsum(values, dtype=np.int64)
    before = sums[begins] - values[begins]
    found: Places = sums - np.repeat(before, np.diff(np.append(begins, len(values))))
    return found


def _precision(outcomes: _Outcomes, positives: Places, rules: CocoRules) -> Floats:
    """The best precision at each recall or beyond, 0 where it is not reached."""
    thresholds, classes = len(rules.iou_thresholds), len(positives)
    result = np.zeros((thresholds * classes, len(rules.recalls)))
    if not len(outcomes.row):
        return result.reshape(thresholds, classes, len(rules.recalls))
    value = outcomes.found / (outcomes.counted + _SPACING)
    found = np.bincount(outcomes.row, minlength=len(result))
    begin = np.cumsum(found) - found
    wanted = np.tile(_true_positives_for(rules.recalls, positives), (thresholds, 1))
    reached = wanted <= found[:, None]
    # the first point of a row is its first true positive, so that the pieces between the points cover every row
    result[reached] = np.maximum.reduceat(value, (begin[:, None] + wanted - 1)[reached])
    best = np.maximum.accumulate(result[:, ::-1], axis=1)[:, ::-1]
    return best.reshape(thresholds, classes, len(rules.recalls))


def _true_positives_for(recalls: Floats, positives: Places) -> Places:
    """How many true positives give each recall, and at least one: int64 (classes, points); as a division tells it."""
    total = np.maximum(positives, 1)[:, None]
    wanted = np.ceil(recalls * total).astype(np.int64)
    wanted -= (wanted - 1) / total >= recalls
    wanted += wanted / total < recalls
    found: Places = np.maximum(wanted, 1)
    return found
