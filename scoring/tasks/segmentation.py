"""Segmentation: a class for each pixel, one label image for each image."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scoring.counts import ImageCounts
from scoring.description import Description
from scoring.formats.label_images import LabelImage, read_label_image
from scoring.measures.confusion import ConfusionMatrix, Counts, count_labels
from scoring.protocols import SegmentationRules
from scoring.registry import CompetitionInfo
from scoring.report import ClassResult, Exhibit, ScoreTable
from scoring.tasks.outcome import headline, table_of_classes
from scoring.tasks.task import Entered, Scores, Task
from scoring.truth.ground_truth import GroundTruth
from scoring.truth.masks import Masks

BACKGROUND: Final = "background"
"""The label of pixels that belong to no object; it is scored like a class."""
NOWHERE: Final = "there is no pixel of it in the set"

_TOGETHER: Final = 1 << 21  # pixels that are counted at once


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """The true labels; labels: their names from 0 on; images: where in `masks` each is; chosen: labels to be scored."""

    labels: tuple[str, ...]
    images: Mapping[str, int]
    masks: Masks
    chosen: tuple[str, ...]


def columns(_info: CompetitionInfo, description: Description, _rules: SegmentationRules) -> tuple[str, ...]:
    """The background and the classes."""
    return (BACKGROUND, *description.classes)


def load(truth: GroundTruth) -> Labelling:
    """The label images of the Segmentation set."""
    labels = (BACKGROUND, *truth.lists.classes)
    places = {image: place for place, image in enumerate(truth.lists.segmentation)}
    return Labelling(labels, places, truth.tables.masks, labels)


def choose(labelling: Labelling, names: Sequence[str]) -> Labelling:
    """Score the background and these classes only; pixels of others stay what they are, and count as before."""
    chosen = tuple(name for name in labelling.labels if name in names or name == BACKGROUND)
    return replace(labelling, chosen=chosen)


def judge(
    entered: Iterator[Entered[LabelImage | None]], labelling: Labelling, _rules: SegmentationRules
) -> Iterator[Entered[Counts]]:
    """Count the pixels of each image; what could not be read has been complained of."""
    images, pixels = list[LabelImage](), 0
    for each in entered:
        if each.answers is not None:
            images.append(each.answers)
            pixels += each.answers.labels.size
        if pixels >= _TOGETHER:
            yield from _count(images, labelling)
            images, pixels = [], 0
    if images:
        yield from _count(images, labelling)


def _count(images: Sequence[LabelImage], labelling: Labelling) -> Iterator[Entered[Counts]]:
    truths = [labelling.masks.runs(labelling.images[each.image]) for each in images]
    counts = count_labels([each.labels for each in images], truths, len(labelling.labels))
    return (Entered(each.image, counted) for each, counted in zip(images, counts, strict=True))


def score(judged: Iterator[Entered[Counts]], labelling: Labelling, rules: SegmentationRules) -> Scores:
    """The value of each label from the pixels of all images together, their mean, and the confusion matrix.

    A class without a pixel in the truth has no value where the kit has none (NaN), and then there is no mean either.
    """
    counted = {each.about: each.answers for each in judged}
    nothing = np.zeros((len(labelling.labels),) * 2, np.int64)
    counts = ImageCounts.of(labelling.labels, [counted.get(image, nothing) for image in labelling.images])
    matrix = counts.total()
    values = dict(zip(labelling.labels, rules.measure.of(matrix).tolist(), strict=True))
    mean, reason = headline(labelling.chosen, values, rules.average)
    classes = tuple(_class_results(labelling, values, matrix))
    table = table_of_classes(rules.measure.name, classes)
    confusion = ConfusionMatrix(labelling.labels, tuple(map(tuple, matrix.tolist())))
    exhibits: tuple[Exhibit, ...] = (table, *_totals(matrix, rules), confusion)
    return Scores(rules.measure.name, mean, reason, classes, exhibits, (), counts)


def _class_results(
    labelling: Labelling, values: Mapping[str, float], matrix: Counts
) -> Iterator[ClassResult]:
    there, given = matrix.sum(1).tolist(), matrix.sum(0).tolist()
    for place, name in enumerate(labelling.labels):
        if name in labelling.chosen:
            value, reason = (values[name], None) if there[place] or given[place] else (None, NOWHERE)
            yield ClassResult(name, value, reason, there[place], given[place])


def _totals(matrix: Counts, rules: SegmentationRules) -> Iterator[ScoreTable]:
    if rules.total is not None:
        value = rules.total.of(matrix)
        yield ScoreTable(rules.total.name, (("all pixels", None if math.isnan(value) else value),))


SEGMENTATION: Final = Task(read_label_image, load, judge, score, columns, choose)
