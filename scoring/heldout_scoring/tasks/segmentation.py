"""Segmentation: a class for each pixel, one label image per image."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..competitions import CompetitionInfo
from ..data.arrays import some_of
from ..data.description import Description
from ..data.label_maps import BACKGROUND, LabelMap, LabelMaps, LabelRuns
from ..data.matches import NO_PAIRS, ImageCounts, LabelPairs
from ..data.truth import GroundTruth
from ..errors import DataError
from ..metrics.labels import (
    Counts,
    PixelMeasure,
    PixelTotal,
    class_accuracy,
    count_labels,
    iou_of_labels,
    pixel_accuracy,
)
from ..metrics.ranking import Average, mean_of_classes
from ..scores import ClassResult, ConfusionMatrix, Exhibit, Scores, ScoreTable
from .task import Keyed, PixelSample, Task, headline, say_what_counts, table_of_classes


@dataclass(frozen=True, slots=True)
class LabelMapMeasure:
    """A measure of each label from a confusion matrix, and its name."""

    name: str
    of: PixelMeasure


@dataclass(frozen=True, slots=True)
class LabelMapTotal:
    """A measure of a whole confusion matrix, and its name."""

    name: str
    of: PixelTotal


@dataclass(frozen=True, slots=True)
class SegmentationRules:
    """How label images are scored.

    Every pixel that is not void (255) counts once, by its true and its predicted label; the background is a label like others.
    total: a further measure of all pixels.
    """

    measure: LabelMapMeasure
    average: Average
    total: LabelMapTotal | None = None


BY_IOU: Final = SegmentationRules(LabelMapMeasure("Intersection over union", iou_of_labels), mean_of_classes)
"""From 2008 on, and for 2006, which had no segmentation."""


BY_CLASS_ACCURACY: Final = SegmentationRules(
    LabelMapMeasure("Class accuracy", class_accuracy),
    mean_of_classes,
    LabelMapTotal("Pixel accuracy", pixel_accuracy),
)


def accepts(predictions: object) -> bool:
    """Whether these are label maps."""
    return isinstance(predictions, LabelMaps)


def split(predictions: LabelMaps, truth: GroundTruth) -> Iterator[Keyed[LabelMap | None]]:
    """The label map of every image of the ground truth.

    Raises DataError for an image that is missing or that the ground truth does not have, for another size than that of the
    ground truth, and for labels beyond its classes.
    """
    known = truth.lists.segmentation
    found = dict(zip(predictions.images, predictions.labels, strict=True))
    if unknown := [image for image in found if image not in set(known)]:
        raise DataError(f"the ground truth has no image {some_of(unknown)}; it has {some_of(known)}")
    if missing := [image for image in known if image not in found]:
        raise DataError(f"expected a label map for every image, found none for {some_of(missing)}")
    most = len(truth.lists.classes)
    for image, (width, height) in zip(known, truth.tables.masks.sizes.tolist(), strict=True):
        labels = found[image]
        if labels.shape != (height, width):
            raise DataError(
                f"expected labels of the image '{image}' with shape {(height, width)}, found {labels.shape}"
            )
        if labels.size and int(labels.max()) > most:
            raise DataError(f"expected labels up to {most} in the image '{image}', found {labels.max()}")
        yield Keyed(image, LabelMap(image, labels, grey=False, recoloured=False))


NOWHERE: Final = "there is no pixel of it in the set"

_TOGETHER: Final = 1 << 18
"""Pixels that are counted at once: two images or so. The arrays of more are given back to the system after each time, and mapped
anew page by page, which took a quarter of the processor time."""
_CELLS: Final = 1 << 20
"""Cells of the confusion matrices of images that are counted at once; 45 small images of 151 labels."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentationTruth:
    """The ground truth; labels: names from 0 on; images: the place of each in `masks`; selected: the labels to score."""

    labels: tuple[str, ...]
    images: Mapping[str, int]
    masks: LabelRuns
    selected: tuple[str, ...]


def columns(_info: CompetitionInfo, description: Description, _rules: SegmentationRules) -> tuple[str, ...]:
    """The background and the classes."""
    return (BACKGROUND, *description.classes)


def load(truth: GroundTruth) -> SegmentationTruth:
    """The label images of the Segmentation set."""
    labels = (BACKGROUND, *truth.lists.classes)
    places = {image: place for place, image in enumerate(truth.lists.segmentation)}
    return SegmentationTruth(labels, places, truth.tables.masks, labels)


def missing_truth(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score segmentation; None if it can."""
    return None if truth.lists.segmentation else "there are no label images (SegmentationClass)"


def select(truth_maps: SegmentationTruth, names: Sequence[str]) -> SegmentationTruth:
    """The same truth with the background and these classes to score; the confusion matrix stays that of all."""
    selected = tuple(name for name in truth_maps.labels if name in names or name == BACKGROUND)
    return replace(truth_maps, selected=selected)


def match(
    parsed: Iterator[Keyed[LabelMap | None]], truth_maps: SegmentationTruth, _rules: SegmentationRules
) -> Iterator[Keyed[LabelPairs]]:
    """Count the pixels of each image; images that could not be read are left out."""
    images, pixels, most = list[LabelMap](), 0, max(1, _CELLS // len(truth_maps.labels) ** 2)
    for each in parsed:
        if each.value is not None:
            images.append(each.value)
            pixels += each.value.labels.size
        if pixels >= _TOGETHER or len(images) >= most:
            yield from _count(images, truth_maps)
            images, pixels = [], 0
    if images:
        yield from _count(images, truth_maps)


def _count(images: Sequence[LabelMap], truth_maps: SegmentationTruth) -> Iterator[Keyed[LabelPairs]]:
    truths = [truth_maps.masks.runs(truth_maps.images[each.image]) for each in images]
    counts = count_labels([each.labels for each in images], truths, len(truth_maps.labels))
    return (Keyed(each.image, LabelPairs.of(counted)) for each, counted in zip(images, counts, strict=True))


def score(
    matched: Iterator[Keyed[LabelPairs]], truth_maps: SegmentationTruth, rules: SegmentationRules
) -> Scores:
    """The value of each label from the pixels of all images together, their mean, and the confusion matrix.

    A class without a pixel has no value; in the mean it counts as in the development kit: as 0 for class accuracy, which its
    reason says, otherwise as NaN, so that there is no mean either.
    """
    counted = {each.key: each.value for each in matched}
    pairs = [counted.get(image, NO_PAIRS) for image in truth_maps.images]
    counts = ImageCounts.of_pairs(truth_maps.labels, pairs)
    matrix = counts.total()
    values = dict(zip(truth_maps.labels, rules.measure.of(matrix).tolist(), strict=True))
    mean, reason = headline(truth_maps.selected, values, rules.average)
    classes = say_what_counts(_class_results(truth_maps, values, matrix), values, mean)
    table = table_of_classes(rules.measure.name, classes)
    confusion = ConfusionMatrix(truth_maps.labels, tuple(map(tuple, matrix.tolist())))
    exhibits: tuple[Exhibit, ...] = (table, *_totals(matrix, rules), confusion)
    return Scores(rules.measure.name, mean, reason, classes, exhibits, counts)


def _class_results(
    truth_maps: SegmentationTruth, values: Mapping[str, float], matrix: Counts
) -> Iterator[ClassResult]:
    true, predicted = matrix.sum(1).tolist(), matrix.sum(0).tolist()
    for place, name in enumerate(truth_maps.labels):
        if name in truth_maps.selected:
            value, reason = (values[name], None) if true[place] or predicted[place] else (None, NOWHERE)
            yield ClassResult(name, value, reason, true[place], predicted[place])


def _totals(matrix: Counts, rules: SegmentationRules) -> Iterator[ScoreTable]:
    if rules.total is not None:
        value = rules.total.of(matrix)
        yield ScoreTable(rules.total.name, (("all pixels", None if math.isnan(value) else value),))


def resample(counts: ImageCounts, truth: GroundTruth, rules: SegmentationRules) -> PixelSample:
    """The pixel counts of the images of the Segmentation set."""
    return PixelSample(counts, rules.measure.of, rules.average, truth.lists.segmentation)


SEGMENTATION: Final = Task(
    name="segmentation",
    title="Segmentation",
    accepts=accepts,
    split=split,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
    files="heldout_scoring.tasks.segmentation_files:FILES",
    columns=columns,
    select=select,
)
