"""Predictions and objects to look at, outcomes in each image, and counts of objects."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, assert_never

import numpy as np

from ..data.annotations import BoxConvention
from ..data.arrays import Flags, Floats, Integers, Places, assert_kinds
from ..data.matches import FALSE_POSITIVE, TRUE_POSITIVE, ImageCounts, RankedPredictions
from ..data.truth import GroundTruth
from ..results import Result
from ..statistics.bootstrap import sample_of
from ..stored import Packed, complete, pack, pack_words, unpack, unpack_words
from ..tasks.detection import DetectionRules
from ..tasks.task import PixelSample, RankingSample, Sample
from .errors import ERROR_KINDS, ErrorKind, RankedDetections, find_errors, objects_of_classes

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Example:
    """A prediction, or an object without one, in an image.

    image: place in `Lists.images`, or of the Segmentation set; rank: of the prediction in its class, from 1; value: its
    confidence, or a share of pixels in [0, 1]; box: left, top, right, bottom, half-open; iou: the largest with an object of the
    class, in [0, 1]; kind: of an error. None for what does not apply.
    """

    image: int
    rank: int | None = None
    value: float | None = None
    box: Box | None = None
    iou: float | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples of a class.

    true_positives, near_misses, false_positives: the most confident ones, best first; a near miss overlaps an object of its class,
    and not enough, a false positive has another kind of error. missed: positives without a match, the largest first, or those
    that were ranked last.
    """

    class_name: str
    true_positives: tuple[Example, ...] = ()
    near_misses: tuple[Example, ...] = ()
    false_positives: tuple[Example, ...] = ()
    missed: tuple[Example, ...] = ()


def examples_of_detections(
    detections: RankedDetections, truth: GroundTruth, rules: DetectionRules, *, count: int = 12
) -> Examples:
    """At most `count` examples of each sort for a class of a detection competition.

    >>> from heldout_scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> from heldout_scoring.protocols import PROTOCOLS
    >>> from heldout_scoring.tasks.detection import DETECTION
    >>> page = Annotation(50, 20, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> ranked = RankedPredictions("cat", 1, np.zeros(1, np.int32), np.array([0.9]), np.zeros(1, np.int8))
    >>> near = RankedDetections(ranked, np.array([[1.0, 1, 10, 3]]))
    >>> found = examples_of_detections(near, truth, PROTOCOLS["voc2012"].rules_of(DETECTION))
    >>> found.near_misses[0].iou, found.missed[0].box
    (0.3, (0.0, 0.0, 10.0, 10.0))
    """
    ranked = detections.ranked
    errors = find_errors(detections, truth, rules)
    near = errors.kinds == ERROR_KINDS.index(ErrorKind.LOCALISATION)
    objects = objects_of_classes(truth, {ranked.class_name}, rules.select_positives)
    boxes = detections.convention.convert(detections.boxes, BoxConvention.HALF_OPEN)

    def first(chosen: Flags) -> tuple[Example, ...]:
        return tuple(
            Example(
                int(ranked.image[row]),
                row + 1,
                float(ranked.confidence[row]),
                _box(boxes[row]),
                float(errors.overlaps.iou[row]),
                None if errors.kinds[row] < 0 else ERROR_KINDS[errors.kinds[row]].value,
            )
            for row in np.flatnonzero(chosen)[:count].tolist()
        )

    matched = np.zeros(len(objects.difficult) + 1, np.bool_)  # the last is that of no object
    matched[errors.overlaps.index[ranked.outcomes == TRUE_POSITIVE]] = True
    missed = np.flatnonzero(~objects.difficult & ~matched[:-1])
    edges = objects.convention.convert(objects.boxes, BoxConvention.HALF_OPEN)
    image = np.repeat(np.arange(len(objects.count)), objects.count)
    largest = missed[np.argsort(-_areas(edges[missed]), kind="stable")][:count].tolist()
    return Examples(
        ranked.class_name,
        first(ranked.outcomes == TRUE_POSITIVE),
        first(near),
        first((ranked.outcomes == FALSE_POSITIVE) & ~near),
        tuple(Example(int(image[row]), box=_box(edges[row])) for row in largest),
    )


def examples_of_ranking(ranked: RankedPredictions, *, count: int = 12) -> Examples:
    """At most `count` examples of each sort for a class of images, persons or parts; missed are positives that are ranked last.

    >>> found = examples_of_ranking(RankedPredictions("cat", 2, np.array([4, 7, 2], np.int32),
    ...     np.array([0.9, 0.5, -np.inf]), np.array([1, 0, 1], np.int8)))
    >>> found.false_positives, found.missed[0].image
    ((Example(image=7, rank=2, value=0.5, box=None, iou=None, kind=None),), 2)
    """
    positives = np.flatnonzero(ranked.outcomes == TRUE_POSITIVE)
    predicted = np.isfinite(ranked.confidence)
    right = positives[predicted[positives]][:count]
    last = positives[np.isin(positives, right, invert=True)][::-1][:count]
    wrong = np.flatnonzero((ranked.outcomes == FALSE_POSITIVE) & predicted)[:count]
    return Examples(
        ranked.class_name,
        true_positives=_ranked(ranked, right),
        false_positives=_ranked(ranked, wrong),
        missed=_ranked(ranked, last),
    )


def examples_of_segmentation(counts: ImageCounts, *, count: int = 12) -> tuple[Examples, ...]:
    """For each label the images whose pixels of it are best and worst segmented, by IoU in the image, in [0, 1].

    Where the label is in the ground truth only images with it are listed; false positives are images without it in which the
    largest share of pixels was given it.

    >>> found = examples_of_segmentation(ImageCounts.of(["background", "cat"], [np.array([[4, 1], [1, 2]])]))
    >>> found[1].true_positives
    (Example(image=0, rank=None, value=0.5, box=None, iou=None, kind=None),)
    """
    shares = image_shares(counts)
    return tuple(
        _segmented(name, shares.iou[:, place], shares.present[:, place], shares.predicted[:, place], count)
        for place, name in enumerate(counts.labels)
    )


@dataclass(frozen=True, slots=True, eq=False)
class ImageShares:
    """What labels have of each image: (images, labels).

    iou: float64, of the pixels of a label in the image, 0 where it is in neither; present: bool, whether it is in the ground
    truth; predicted: float64, the share of the image's pixels that were given it.
    """

    iou: Floats
    present: Flags
    predicted: Floats


def image_shares(counts: ImageCounts) -> ImageShares:
    """The IoU and the share of pixels of each label in each image.

    >>> image_shares(ImageCounts.of(["background", "cat"], [np.array([[4, 1], [1, 2]])])).iou[:, 1].tolist()
    [0.5]
    """
    image = np.repeat(np.arange(len(counts)), np.diff(counts.first))
    true, predicted, both = (np.zeros((len(counts), len(counts.labels)), np.int64) for _ in range(3))
    np.add.at(true, (image, counts.true), counts.pixels)
    np.add.at(predicted, (image, counts.prediction), counts.pixels)
    same = counts.true == counts.prediction
    both[image[same], counts.true[same]] = counts.pixels[same]
    union = true + predicted - both
    iou = np.divide(both, union, out=np.zeros(union.shape), where=union > 0)
    return ImageShares(iou, true > 0, predicted / np.maximum(predicted.sum(1, keepdims=True), 1))


def _segmented(name: str, iou: Floats, present: Flags, share: Floats, count: int) -> Examples:
    with_it = np.flatnonzero(present)
    best = with_it[np.argsort(-iou[with_it], kind="stable")]
    best_half, worst_half = best[: (len(best) + 1) // 2], best[(len(best) + 1) // 2 :][::-1]
    without = np.flatnonzero(~present & (share > 0))
    false = without[np.argsort(-share[without], kind="stable")]
    return Examples(
        name,
        true_positives=_valued(best_half[:count], iou),
        false_positives=_valued(false[:count], share),
        missed=_valued(worst_half[:count], iou),
    )


def _valued(images: Places, values: Floats) -> tuple[Example, ...]:
    return tuple(Example(image, value=float(values[image])) for image in images.tolist())


def _ranked(ranked: RankedPredictions, rows: Places) -> tuple[Example, ...]:
    return tuple(
        Example(
            int(ranked.image[row]),
            row + 1,
            float(ranked.confidence[row]) if np.isfinite(ranked.confidence[row]) else None,
        )
        for row in rows.tolist()
    )


def _box(edges: Floats) -> Box:
    left, top, right, bottom = edges.tolist()
    return left, top, right, bottom


def _areas(edges: Floats) -> Floats:
    areas: Floats = (edges[:, 2] - edges[:, 0]) * (edges[:, 3] - edges[:, 1])
    return areas


KIND: Final = "image-outcomes"
_COUNTS: Final = ("positives", "found", "false")


@dataclass(frozen=True, slots=True, eq=False)
class ImageOutcomes:
    """Positives, true positives and false positives by image, over all classes.

    images: their names; positives, found, false: int32 (images,). Of rankings the objects, labels or persons, with the
    predictions up to the confidence at which F1 of their class is highest; of segmentation the pixels without void, those
    with the right label, and 0.
    """

    images: tuple[str, ...]
    positives: Integers
    found: Integers
    false: Integers

    def errors(self) -> Integers:
        """False negatives and false positives, int32 (images,)."""
        return self.positives - self.found + self.false

    @property
    def content(self) -> bytes:
        """The content of their file, of the kind `image-outcomes` of `heldout_scoring.stored`."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        return pack(KIND, Packed({}, {"names": pack_words(self.images), **counts}))

    @classmethod
    def of_bytes(cls, content: bytes) -> Self:
        """The outcomes in the content of a file. Raises ForeignFileError for anything else.

        >>> one = np.ones(2, np.int32)
        >>> ImageOutcomes.of_bytes(ImageOutcomes(("a", "b"), one, one - 1, one).content).errors().tolist()
        [2, 2]
        """
        arrays = unpack(KIND, content).arrays
        with complete(KIND):
            return cls(unpack_words(arrays["names"]), *(arrays[name] for name in _COUNTS))


def outcomes_by_image(
    result: Result, truth: GroundTruth, *, statistics: Path | str | None = None
) -> ImageOutcomes:
    """Positives, true positives and false positives of a result in each image; arguments and errors as for `bootstrap`.

    >>> from heldout_scoring import Detections, evaluate
    >>> box = [1, 1, 10, 10]
    >>> truth = GroundTruth.from_arrays(["a", "b"], ["cat", "cat"], [box, box], convention="inclusive")
    >>> found = Detections.from_arrays(["a"], ["cat"], [0.9], [box])
    >>> outcomes_by_image(evaluate(found, truth, protocol="voc2012"), truth).errors().tolist()
    [0, 1]
    """
    return outcomes_of_sample(sample_of(result, truth, statistics=statistics))


def outcomes_of_sample(sample: Sample) -> ImageOutcomes:
    """Positives, true positives and false positives in each image that the bootstrap draws from.

    >>> from heldout_scoring.metrics.ranking import mean_of_classes
    >>> from heldout_scoring.metrics.ranking import AP_AREA
    >>> cat = RankedPredictions("cat", 2, np.array([0, 0, 1], np.int32), np.array([0.9, 0.8, 0.1]),
    ...     np.array([1, 0, 0], np.int8))
    >>> sample = RankingSample([cat], np.array([[1, 1]], np.int32), AP_AREA.weighted, mean_of_classes, ("a", "b"))
    >>> found = outcomes_of_sample(sample)
    >>> found.found.tolist(), found.false.tolist(), found.errors().tolist()
    ([1, 0], [0, 0], [0, 1])
    """
    match sample:
        case RankingSample():
            return _of_rankings(sample)
        case PixelSample():
            return _of_pixels(sample)
    assert_never(sample)  # pragma: no cover - mypy knows that there is no other


def _of_rankings(sample: RankingSample) -> ImageOutcomes:
    images = len(sample.images)
    found, false = np.zeros(images, np.int32), np.zeros(images, np.int32)
    for ranking in sample.rankings[:: sample.together]:
        counted = count_at_best_f1(ranking)
        image, outcomes = ranking.image[:counted], ranking.outcomes[:counted]
        found += np.bincount(image[outcomes == TRUE_POSITIVE], minlength=images).astype(np.int32)
        false += np.bincount(image[outcomes == FALSE_POSITIVE], minlength=images).astype(np.int32)
    positives = sample.positives.sum(axis=0, dtype=np.int32)
    return ImageOutcomes(tuple(sample.images), positives, found, false)


def count_at_best_f1(ranking: RankedPredictions) -> int:
    """The number of predictions, the most confident first, with which F1 is highest; the fewest of several.

    >>> count_at_best_f1(RankedPredictions("cat", 2, np.array([0, 0, 1], np.int32), np.array([0.9, 0.8, 0.1]),
    ...     np.array([1, 0, 0], np.int8)))
    1
    """
    hits = np.cumsum(ranking.outcomes == TRUE_POSITIVE)
    false = np.cumsum(ranking.outcomes == FALSE_POSITIVE)
    if not len(hits) or not hits[-1]:
        return 0
    return int(np.argmax(2 * hits / (hits + false + max(ranking.positives, 1)))) + 1


def _of_pixels(sample: PixelSample) -> ImageOutcomes:
    counts = sample.counts
    image = np.repeat(np.arange(len(counts)), np.diff(counts.first))
    is_right = counts.true == counts.prediction
    pixels = np.bincount(image, counts.pixels, len(counts)).astype(np.int32)
    right = np.bincount(image[is_right], counts.pixels[is_right], len(counts)).astype(np.int32)
    return ImageOutcomes(tuple(sample.images), pixels, right, np.zeros_like(right))


@dataclass(frozen=True, slots=True)
class Count:
    """The images with an object that is not difficult, such objects, and the difficult ones."""

    name: str
    images: int
    objects: int
    difficult: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counts of each class, and the totals; `total.images` are all images of the set."""

    rows: tuple[Count, ...]
    total: Count


def count_objects(truth: GroundTruth) -> Statistics:
    """Count images and objects of each class in the Main set.

    >>> from heldout_scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> near, far = AnnotatedObject("cat", Box(1, 1, 9, 9)), AnnotatedObject("cat", Box(9, 1, 9, 2), difficult=True)
    >>> truth = truth_of_boxes({"a": Annotation(50, 40, (near, far))}, dataset="own", image_set="val")
    >>> count_objects(truth).rows
    (Count(name='cat', images=1, objects=1, difficult=1),)
    """
    assert_kinds(truth=(truth, GroundTruth))
    objects, main, names = truth.tables.objects, truth.lists.main, truth.lists.classes
    in_main = objects.image < main
    counted, difficult = in_main & ~objects.difficult, in_main & objects.difficult
    per_class = np.bincount(objects.name[counted], minlength=len(names)).tolist()
    difficult_per_class = np.bincount(objects.name[difficult], minlength=len(names)).tolist()
    pairs = np.sort(objects.name[counted].astype(np.int64) * main + objects.image[counted])
    distinct = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
    images = np.bincount(distinct // max(main, 1), minlength=len(names)).tolist()
    rows = tuple(map(Count, names, images, per_class, difficult_per_class))
    return Statistics(rows, Count("total", main, sum(per_class), sum(difficult_per_class)))
