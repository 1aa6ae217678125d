"""Average precision and recall of COCO, as pure functions of arrays."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..data.annotations import BoxConvention, Federation
from ..data.arrays import (
    Flags,
    Floats,
    Integers,
    Labels,
    Places,
    as_count,
    as_counts,
    as_ranges,
    as_shares,
    as_thresholds,
    assert_is,
    short_names,
)
from ..data.label_maps import Masks, take_masks
from ..errors import DataError
from .ranking import rank

EVERY_SIZE: Final = 0
"""The first of the area ranges: objects of every size."""

FREQUENCIES: Final = "rcf"
"""How LVIS calls rare, common and frequent classes in APr, APc and APf, in the order of their numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class CocoRules:
    """What of the COCO measures may be set.

    iou_thresholds: float64 (thresholds,), above 0 and up to 1; recalls: float64 (points,), from 0 to 1, where precision is read;
    max_detections: numbers of detections of a class in an image, of which the largest is what is matched at most; all three in any
    order, and kept rising;
    areas: for each range of sizes its name, smallest and largest area, both included, the first one every size; in_image: detections of all classes in an image of which
    the most confident count, None for any number; federated: in an image only classes count that are annotated in it or known
    to be absent, and unmatched detections of classes that are not annotated throughout are ignored. Raises DataError for anything else.

    >>> replace(COCO_RULES, max_detections=[100, 10]).max_detections
    (10, 100)
    """

    iou_thresholds: Floats
    recalls: Floats
    max_detections: tuple[int, ...]
    areas: tuple[tuple[str, float, float], ...]
    in_image: int | None = None
    federated: bool = False

    def __post_init__(self) -> None:
        """Check what is set, and sort it."""
        assert_is(self.federated, bool, "as 'federated'")
        for name, value in (
            ("iou_thresholds", as_thresholds("iou_thresholds", self.iou_thresholds)),
            ("recalls", as_shares("recalls", self.recalls)),
            ("max_detections", as_counts("max_detections", self.max_detections)),
            ("areas", as_ranges("areas", self.areas)),
            ("in_image", None if self.in_image is None else as_count("in_image", self.in_image)),
        ):
            object.__setattr__(self, name, value)
        if self.federated and (taken := set(FREQUENCIES).intersection(self.sizes)):
            raise DataError(
                f"AP{min(taken)} is of classes by their frequency in these rules: call the range in 'areas' otherwise"
            )

    @property
    def sizes(self) -> tuple[str, ...]:
        """How figures call the ranges of areas after the first one, such as "s" in APs."""
        return short_names([name for name, _, _ in self.areas[1:]])


COCO_RULES: Final = CocoRules(
    iou_thresholds=np.linspace(0.5, 0.95, 10),
    recalls=np.linspace(0.0, 1.0, 101),
    max_detections=(1, 10, 100),
    areas=(
        ("all", 0.0, 1e10),
        ("small", 0.0, 32.0**2),
        ("medium", 32.0**2, 96.0**2),
        ("large", 96.0**2, 1e10),
    ),
)
"""The official settings for boxes and masks. Source: pycocotools 2.0.11, cocoeval.py, Params.setDetParams."""


LVIS_RULES: Final = replace(COCO_RULES, max_detections=(300,), in_image=300, federated=True)
"""The settings of LVIS. Source: lvis 0.5.3, eval.py, Params; results.py, limit_dets_per_image."""


@dataclass(frozen=True, slots=True, eq=False)
class CocoObjects:
    """Ground truth, in the order of the annotation file.

    image, label: int32 (m,), numbers from 0, images in rising order of their identifiers; area: float64 (m,), the
    annotated one in pixels; crowd: bool (m,), regions that are ignored and may be matched again and again; unnumbered:
    bool (m,), annotations whose id is 0, of which pycocotools counts every match as a false positive.
    """

    image: Integers
    label: Integers
    area: Floats
    crowd: Flags
    unnumbered: Flags


@dataclass(frozen=True, slots=True, eq=False)
class CocoDetections:
    """Detections, in the order of the results file.

    image, label: int32 (n,), as in CocoObjects; confidence: float64 (n,), no NaN; area: float64 (n,), in pixels;
    exempt: bool (n,), or None for nowhere: detections that are ignored where they match nothing, as LVIS does in images
    whose objects of the class are not all annotated.
    """

    image: Integers
    label: Integers
    confidence: Floats
    area: Floats
    exempt: Flags | None = None

    def __len__(self) -> int:
        return len(self.image)


@dataclass(frozen=True, slots=True, eq=False)
class CocoInstances:
    """Annotated objects of a set of images, images and classes by rising identifiers.

    images, categories: int64 (images,) and (classes,), identifiers; sizes: int64 (images, 2), width and height in pixels,
    0 where they are missing; boxes: float64 (m, 4), left, top, width, height; masks: None unless they were asked for;
    difficult: bool (m,), `ignore` or `difficult` is 1, None where no object is; federation: of LVIS,
    None where every class is annotated in every image; named: the `file_name` of each image that has one, with its identifier.
    """

    images: NDArray[np.int64]
    sizes: NDArray[np.int64]
    categories: NDArray[np.int64]
    classes: tuple[str, ...]
    objects: CocoObjects
    boxes: Floats
    masks: Masks | None
    federation: Federation | None = None
    difficult: Flags | None = None
    named: Mapping[str, int] = field(default_factory=dict)


_PAIRS_AT_ONCE: Final = 1 << 16
"""Pairs that are compared in one go: what fits the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class SidesOfEdges:
    """Boxes as left, top, width and height, computed from edges for the rows that are asked for; fields as in `Detections`."""

    edges: Floats
    convention: BoxConvention
    sizes: Floats | None

    def __getitem__(self, rows: Places | slice, /) -> Floats:
        """The boxes of these rows: float64 (k, 4)."""
        return np.stack(self.columns(rows), axis=1)

    def columns(self, rows: Places | slice) -> Sequence[Floats]:
        """Left, top, width and height of these rows: float64 (k,) each."""
        edges = np.ascontiguousarray(self.edges[rows].T)  # a column at a time is twice as fast
        left, top, right, bottom = self.convention.convert(edges.T, BoxConvention.HALF_OPEN).T
        if self.sizes is None:
            return left, top, right - left, bottom - top
        width, height = np.ascontiguousarray(self.sizes[rows].T)
        return left, top, width, height

    @property
    def areas(self) -> Floats:
        """The area of each box, infinite of a huge one: float64 (n,)."""
        found = np.empty(len(self.edges))
        for begin in range(0, len(found), _PAIRS_AT_ONCE):
            part = slice(begin, begin + _PAIRS_AT_ONCE)
            *_, found[part] = _sides(self, part)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class CocoResults:
    """Detections in the order of the file; sides: those of boxes, float64 (n, 4), left, top, width, height; masks: None for boxes."""

    detections: CocoDetections
    sides: Floats | SidesOfEdges
    masks: Masks | None

    @property
    def boxes(self) -> Floats:
        """All boxes: float64 (n, 4), left, top, width, height."""
        return self.sides[:]


def take_results(results: CocoResults, rows: Places) -> CocoResults:
    """These detections, in this order; rows: intp (k,).

    >>> where, one = np.zeros(2, np.int32), np.ones(2)
    >>> found = CocoResults(CocoDetections(where, where, np.array([0.5, 0.9]), one), np.zeros((2, 4)), None)
    >>> take_results(found, np.array([1])).detections.confidence.tolist()
    [0.9]
    """
    found = results.detections
    return CocoResults(
        CocoDetections(found.image[rows], found.label[rows], found.confidence[rows], found.area[rows]),
        results.sides[rows],
        None if results.masks is None else take_masks(results.masks, rows),
    )


PairIoU = Callable[[Places, Places], Floats]
"""IoU of pairs: intp (p,), rows of detections, and intp (p,), rows of objects, give float64 (p,)."""


def box_iou(detected: Floats | SidesOfEdges, annotated: Floats, crowd: Flags) -> PairIoU:
    """IoU of half-open boxes, and with a crowd the share of the detection that lies in it.

    detected: float64 (n, 4), annotated: float64 (m, 4), left, top, width, height in pixels; crowd: bool (m,).
    The operations and their order are those of pycocotools 2.0.11, maskApi.c, bbIou.

    >>> iou = box_iou(np.array([[0.0, 0, 10, 10]]), np.array([[0.0, 0, 10, 5]]), np.array([False]))
    >>> iou(np.array([0]), np.array([0])).item()
    0.5
    """
    return partial(_iou_of_pairs, detected, annotated, crowd)  # no closure, which could not be pickled


def _iou_of_pairs(
    detected: Floats | SidesOfEdges, annotated: Floats, crowd: Flags, detections: Places, objects: Places
) -> Floats:
    left, top, right, bottom, area = _sides(detected, detections)
    other_left, other_top, other_right, other_bottom, other_area = _sides(annotated, objects)
    width = np.minimum(right, other_right) - np.maximum(left, other_left)
    height = np.minimum(bottom, other_bottom) - np.maximum(top, other_top)
    shared = np.maximum(width, 0) * np.maximum(height, 0)
    union = np.where(crowd[objects], area, area + other_area - shared)
    found: Floats = shared / np.where(shared > 0, union, 1)
    return found


@np.errstate(over="ignore")
def _sides(boxes: Floats | SidesOfEdges, rows: Places | slice) -> tuple[Floats, ...]:
    if isinstance(boxes, SidesOfEdges):
        left, top, width, height = boxes.columns(rows)
    else:
        left, top, width, height = np.ascontiguousarray(boxes[rows].T)
    return left, top, width + left, height + top, width * height


Keys = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """Detections by class and image, in each of them by falling confidence, without those beyond the most allowed.

    rows: intp (k,), which detection each is; group: int64 (k,), class · images + image; nth: int32 (k,), how many of the
    group stand before it; place: int32 (k,), where it stands among all kept ones by class and then falling confidence.
    by_class: intp (k,), the rows in that order; label: int64 (k,), their classes.
    """

    rows: Places
    group: Keys
    nth: Integers
    place: Integers
    by_class: Places
    label: Keys


def arrange(detections: CocoDetections, rows: Places, images: int, most: int) -> Arranged:
    """Sort some detections, and keep the `most` confident ones of each class in each image; rows: intp (n,), which ones.

    Equal confidences keep the order of the images, and in an image that of `rows`, as in pycocotools.

    >>> two = CocoDetections(np.array([1, 0], np.int32), np.zeros(2, np.int32), np.array([0.5, 0.5]), np.ones(2))
    >>> arrange(two, np.arange(2), images=2, most=100).by_class.tolist()
    [1, 0]
    """
    label = detections.label[rows].astype(np.int64)
    group = label * images + detections.image[rows]
    if np.any(group[1:] < group[:-1]):
        group, order = _stably_sorted(group)
        rows, label = rows[order], label[order]
    by_class = _by_class(detections.confidence[rows], label)
    place = np.empty(len(rows), np.int64)
    place[by_class] = np.arange(len(rows))
    begins, nth = _places_in_groups(group)
    bits = len(rows).bit_length()
    joined = (np.cumsum(begins) << bits) | place  # sorting values is far quicker than sorting indices
    joined.sort()
    place = joined & ((1 << bits) - 1)
    kept = nth < most
    if kept.all():
        return Arranged(rows[by_class[place]], group, nth, place.astype(np.int32), rows[by_class], label)
    is_kept = np.zeros(len(rows), np.bool_)
    is_kept[place[kept]] = True
    new_place = np.cumsum(is_kept, dtype=np.int32) - 1
    place = place[kept]
    by_group = rows[by_class[place]]
    return Arranged(
        by_group, group[kept], nth[kept], new_place[place], rows[by_class[is_kept]], label[is_kept]
    )


def _by_class(confidence: Floats, label: Keys) -> Places:
    """Where the detections stand, by class and falling confidence; label: rising."""
    bounds = [0, *(np.flatnonzero(label[1:] != label[:-1]) + 1).tolist(), len(label)]
    return np.concatenate([begin + rank(confidence[begin:end]) for begin, end in pairwise(bounds)])


def _stably_sorted(keys: Keys) -> tuple[Keys, Places]:
    """The keys in rising order, none below 0, and where each one stood; equal ones keep their order."""
    bits = len(keys).bit_length()
    if len(keys) and int(keys.max()).bit_length() + bits >= 63:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    joined = (keys << bits) | np.arange(len(keys))
    joined.sort()
    return joined >> bits, joined & ((1 << bits) - 1)


def _places_in_groups(groups: Keys) -> tuple[Flags, Integers]:
    """Where groups, in rising order, begin, and how many of the same group stand before each place."""
    at = np.arange(len(groups), dtype=np.int32)
    begins = np.ones(len(groups), np.bool_)
    begins[1:] = groups[1:] != groups[:-1]
    found: Integers = at - np.maximum.accumulate(np.where(begins, at, 0), dtype=np.int32)
    return begins, found


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of one class in one image whose IoU may be a match, by class, image, object and falling confidence.

    detection: intp (p,), places in Arranged; object: intp (p,), rows of CocoObjects; iou: float64 (p,).
    """

    detection: Places
    object: Places
    iou: Floats

    def part(self, which: Places | slice) -> "Pairs":
        """Some of the pairs."""
        return Pairs(self.detection[which], self.object[which], self.iou[which])


def find_pairs(
    arranged: Arranged, objects: CocoObjects, rows: Places, images: int, iou: PairIoU, lowest: float
) -> Pairs:
    """Every pair of a detection and an object of its class in its image with an IoU of at least `lowest`.

    rows: intp (m,), the objects that are looked at.

    >>> from heldout_scoring.metrics.coco import arrange
    >>> from heldout_scoring.metrics.coco import CocoDetections
    >>> one, no = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> arranged = arrange(CocoDetections(one, one, np.ones(1), np.ones(1)), np.arange(1), images=1, most=100)
    >>> find_pairs(arranged, CocoObjects(one, one, np.ones(1), no, no), np.arange(1), 1, lambda d, o: np.array([0.7]), 0.5).iou
    array([0.7])
    """
    group: Keys = objects.label[rows].astype(np.int64) * images + objects.image[rows]
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(arranged.group, group[order], side="left")
    count = np.searchsorted(arranged.group, group[order], side="right") - first

    def near(detections: Places, things: Places) -> Pairs:
        overlap = iou(arranged.rows[detections], things)
        return Pairs(detections, things, overlap).part(np.flatnonzero(overlap >= lowest))

    found = [near(*block) for block in _pair_blocks(rows[order], first, count)]
    if not found:
        return Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    return Pairs(
        np.concatenate([part.detection for part in found]),
        np.concatenate([part.object for part in found]),
        np.concatenate([part.iou for part in found]),
    )


def _pair_blocks(order: Places, first: Places, count: Places) -> Iterator[tuple[Places, Places]]:
    """All pairs of an object and a detection of its group, some at a time: places of detections, rows of objects."""
    ends = np.cumsum(count)
    begin = 0
    while begin < len(order):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")))
        counts = count[begin:end]
        within = np.arange(ends[end - 1] - done) - np.repeat(np.cumsum(counts) - counts, counts)
        yield np.repeat(first[begin:end], counts) + within, np.repeat(order[begin:end], counts)
        begin = end


_AT_ONCE: Final = 100_000
"""Pairs of contested groups that are matched in one go."""
_NOBODY: Final = np.iinfo(np.int64).max
_IDENTICAL: Final = 1 - 1e-10
"""What counts as an IoU of 1. Source: pycocotools 2.0.11, evaluateImg."""


@dataclass(frozen=True, slots=True, eq=False)
class CocoMatches:
    """Matches at every threshold: threshold int8 (k,), detection intp or int32 (k,) in Arranged, object intp (k,)."""

    threshold: Labels
    detection: Places | Integers
    object: Places


def match_coco(
    pairs: Pairs, objects: CocoObjects, ignored: Flags, iou_thresholds: Floats
) -> tuple[CocoMatches, list[CocoMatches]]:
    """The matches that are the same in every area range, and for each range the others, threshold by threshold.

    ignored: bool (areas, m), which objects do not count in each range. The most confident detection of an image comes
    first and takes the free object that it overlaps most, if by at least the threshold; the last one in an exact tie.
    Objects that count go before ignored ones, and crowds are never used up. Source: pycocotools 2.0.11, evaluateImg.

    >>> pairs = Pairs(np.array([0, 1]), np.array([0, 0]), np.array([0.6, 0.9]))
    >>> car = CocoObjects(*np.zeros((2, 1), np.int32), np.ones(1), *np.zeros((2, 1), np.bool_))
    >>> found, _ = match_coco(pairs, car, np.zeros((1, 1), np.bool_), np.array([0.5, 0.75]))
    >>> found.threshold.tolist(), found.detection.tolist()
    ([0, 1], [0, 1])
    """
    thresholds = np.minimum(iou_thresholds, _IDENTICAL)
    level = np.searchsorted(thresholds, pairs.iou, side="right").astype(np.int64)
    contested = _contested(pairs, len(objects.image))
    plain = _match_plainly(pairs, level, np.flatnonzero(~contested), objects.crowd)
    rest = np.flatnonzero(contested)
    hard = pairs.part(rest)
    blocks = list(_blocks(hard, objects))
    return plain, [
        _joined(
            [
                _match_in_turn(hard.part(block), level[rest][block], objects.crowd, unwanted)
                for block in blocks
            ]
        )
        for unwanted in ignored
    ]


def _contested(pairs: Pairs, objects: int) -> Flags:
    """Pairs with an object that a detection with a choice may take: what is matched there depends on other matches."""
    if not len(pairs.detection):
        return np.zeros(0, np.bool_)
    choices = np.bincount(pairs.detection)
    chosen = np.zeros(objects, np.bool_)
    chosen[pairs.object[choices[pairs.detection] > 1]] = True
    found: Flags = chosen[pairs.object]
    return found


def _match_plainly(pairs: Pairs, level: Places, rows: Places, crowd: Flags) -> CocoMatches:
    """Where no detection has a choice, an object goes to the first that overlaps it enough at the threshold.

    A detection therefore wins the thresholds above all that an earlier one reaches, up to those that it reaches itself.
    """
    level, objects = level[rows], pairs.object[rows]
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = objects[1:] != objects[:-1]
    offset = (
        np.cumsum(begins) * 128
    )  # more than there are thresholds: the running maximum begins anew with each object
    running = np.maximum.accumulate(offset + level)
    reached = np.concatenate([[0], running[:-1]]) - offset
    low = np.where(crowd[objects], 0, np.maximum(reached, 0))
    times = np.maximum(level - low, 0)
    within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    threshold = (np.repeat(low, times) + within).astype(np.int8)
    return CocoMatches(threshold, np.repeat(pairs.detection[rows], times), np.repeat(objects, times))


def _blocks(pairs: Pairs, objects: CocoObjects) -> Iterator[slice]:
    """Parts of the pairs that share no class and image, each of them small if it can be."""
    image, label = objects.image[pairs.object], objects.label[pairs.object]
    ends = np.flatnonzero((image[1:] != image[:-1]) | (label[1:] != label[:-1])) + 1
    ends = np.append(ends, len(image))
    begin = 0
    while begin < len(image):
        whole = ends[(ends > begin) & (ends <= begin + _AT_ONCE)]
        end = int(whole[-1] if len(whole) else ends[np.searchsorted(ends, begin, side="right")])
        yield slice(begin, end)
        begin = end


def _match_in_turn(pairs: Pairs, level: Places, crowd: Flags, ignored: Flags) -> CocoMatches:
    """Matches where detections have a choice.

    Each detection asks for the object that it wants most, an object keeps the most confident of those that ask, and the
    others ask for their next one, until none is sent away: this is what choosing in turn comes to.
    """
    order = np.lexsort((-pairs.object, -pairs.iou, ignored[pairs.object], pairs.detection))
    threshold, place = np.nonzero(level[order] > np.arange(level.max())[:, None])
    wish = order[place]
    people, person = np.unique(pairs.detection, return_inverse=True)
    things, thing = np.unique(pairs.object, return_inverse=True)
    row = threshold * len(people) + person[wish]
    slot = threshold * len(things) + thing[wish]
    begin = np.flatnonzero(np.diff(row, prepend=-1))
    end = np.append(begin[1:], len(row))
    for_all = crowd[things][thing[wish]]
    wished = _settle(row, slot, for_all, begin, end)
    chosen = wish[wished]
    return CocoMatches(threshold[wished].astype(np.int8), pairs.detection[chosen], pairs.object[chosen])


def _settle(row: Places, slot: Places, for_all: Flags, begin: Places, end: Places) -> Places:
    """The wish that each row is granted, for those that are granted one."""
    holder = np.empty(int(slot.max()) + 1, np.int64)
    at = begin.copy()
    while True:
        asking = np.flatnonzero(at < end)
        wish = at[asking]
        single = ~for_all[wish]
        holder.fill(_NOBODY)
        np.minimum.at(holder, slot[wish[single]], row[wish[single]])
        refused = single & (holder[slot[wish]] != row[wish])
        if not refused.any():
            return wish
        at[asking[refused]] += 1


def _joined(parts: Sequence[CocoMatches]) -> CocoMatches:
    return CocoMatches(
        np.concatenate([part.threshold for part in parts] or [np.empty(0, np.int8)]),
        np.concatenate([part.detection for part in parts] or [np.empty(0, np.intp)]),
        np.concatenate([part.object for part in parts] or [np.empty(0, np.intp)]),
    )


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

    >>> from heldout_scoring.metrics.coco import COCO_RULES
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


def most_confident_in_images(detections: CocoDetections, most: int) -> Places:
    """The rows of the `most` most confident detections of each image, intp (k,), in their order; equal ones count as they stand.

    Source: lvis 0.5.3, results.py, limit_dets_per_image.

    >>> three = CocoDetections(np.zeros(3, np.int32), np.zeros(3, np.int32), np.array([0.5, 0.9, 0.5]), np.ones(3))
    >>> most_confident_in_images(three, 2).tolist()
    [0, 1]
    """
    ranked = rank(detections.confidence)
    order = ranked[np.argsort(detections.image[ranked], kind="stable")]
    image = detections.image[order]
    nth = np.arange(len(order)) - np.searchsorted(image, image)
    found: Places = np.sort(order[nth < most])
    return found


def annotated(detections: CocoDetections, objects: CocoObjects, federation: Federation) -> Flags:
    """Whether each detection has an area, and its class is annotated in its image or known to be absent: bool (n,).

    Source: lvis 0.5.3, eval.py, LVISEval._prepare; lvis.py, LVIS.get_ann_ids.

    >>> zero, one, no = np.zeros(1, np.int32), np.ones(1), np.zeros(1, np.bool_)
    >>> pairs = Federation(np.empty((0, 2), np.int32), np.empty((0, 2), np.int32), np.zeros(2, np.int8))
    >>> found = CocoDetections(np.zeros(2, np.int32), np.array([0, 1], np.int32), np.ones(2), np.ones(2))
    >>> annotated(found, CocoObjects(zero, zero, one, no, no), pairs).tolist()
    [True, False]
    """
    positive = np.stack([objects.image, objects.label], axis=1)
    known = _are_among(detections, np.concatenate([positive, federation.negative]))
    found: Flags = known & (detections.area > 0)
    return found


def with_exemptions(detections: CocoDetections, federation: Federation) -> CocoDetections:
    """The detections, those exempt whose class is not annotated throughout in their image.

    Source: lvis 0.5.3, eval.py, LVISEval.evaluate_img.

    >>> pairs = Federation(np.empty((0, 2), np.int32), np.array([[0, 1]], np.int32), np.zeros(2, np.int8))
    >>> found = CocoDetections(np.zeros(2, np.int32), np.array([0, 1], np.int32), np.ones(2), np.ones(2))
    >>> with_exemptions(found, pairs).exempt.tolist()
    [False, True]
    """
    return replace(detections, exempt=_are_among(detections, federation.inexhaustive))


def _are_among(detections: CocoDetections, pairs: Integers) -> Flags:
    images, labels = pairs.astype(np.int64).T
    width = int(max(labels.max(initial=0), detections.label.max(initial=0))) + 1
    found: Flags = np.isin(
        detections.image.astype(np.int64) * width + detections.label, images * width + labels
    )
    return found
