"""Classification and action classification: rankings of images or of persons, one file per class or action."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from ..data.arrays import Integers, some_of
from ..data.matches import TRUE_POSITIVE, RankedPredictions
from ..data.predictions import ClassConfidences, Confidences
from ..data.truth import GroundTruth
from ..errors import DataError
from ..metrics.labels import (
    ClassLabels,
    Value,
    rank_by_confidence,
    ranked_average_precision,
    ranked_average_precision_11_points,
    roc_auc,
    with_difficult,
)
from ..metrics.ranking import (
    AP_11_POINTS,
    AP_AREA,
    Average,
    WeightedMetric,
    weighted_roc_auc,
)
from ..scores import ClassResult, Draw, Scores, draw_precision, draw_roc
from .task import (
    Keyed,
    RankingSample,
    Task,
    assert_once,
    count_by_class,
    headline,
    only_images,
    places_of,
    say_what_counts,
    table_of_classes,
    table_with_difficult,
)


@dataclass(frozen=True, slots=True)
class LabelMeasure:
    """A measure of a ranking of labelled images or persons: its name, the function, and the curve that shows it.

    weighted: the same function for weighted images. It serves the bootstrap only, decides no score and so does not
    appear in a receipt.
    """

    name: str
    of: Value
    draw: Draw
    weighted: WeightedMetric = field(repr=False)


@dataclass(frozen=True, slots=True)
class LabelRules:
    """The measure of each class, and how the classes are averaged.

    Images or persons with the label 1 are positives, those with -1 negatives; those with 0, which have difficult objects
    only, are ignored. What has no prediction ranks last, in the order of the ground truth.
    """

    measure: LabelMeasure
    average: Average


ROC_AUC: Final = LabelMeasure("ROC AUC", roc_auc, draw_roc, weighted_roc_auc)

LABELS_AP_11_POINTS: Final = LabelMeasure(
    AP_11_POINTS.name, ranked_average_precision_11_points, draw_precision, AP_11_POINTS.weighted
)

LABELS_AP_AREA: Final = LabelMeasure(AP_AREA.name, ranked_average_precision, draw_precision, AP_AREA.weighted)


def accepts_images(predictions: object) -> bool:
    """Whether these are confidences of images."""
    return isinstance(predictions, Confidences) and predictions.person is None


def accepts_persons(predictions: object) -> bool:
    """Whether these are confidences of persons."""
    return isinstance(predictions, Confidences) and predictions.person is not None


def split_images(predictions: Confidences, truth: GroundTruth) -> Iterator[Keyed[ClassConfidences]]:
    """The confidences of every class that has some.

    Raises DataError for an image or class that the ground truth does not have, and for two confidences of one of them.
    """
    lists = truth.lists
    image = places_of("image", predictions.image, predictions.images, lists.images[: lists.main])
    yield from _by_class(predictions, image, "image", lists.classes)


def split_persons(predictions: Confidences, truth: GroundTruth) -> Iterator[Keyed[ClassConfidences]]:
    """The confidences of every action that has some.

    Raises DataError for a person or action that the ground truth does not have, and for two confidences of one of them.
    """
    if predictions.person is None:
        raise DataError("expected the number of a person in each row, found confidences of images")
    places = {person: place for place, person in enumerate(truth.lists.acting)}
    persons = [
        (predictions.images[image], number)
        for image, number in zip(predictions.image.tolist(), predictions.person.tolist(), strict=True)
    ]
    if unknown := [f"{image} {number}" for image, number in persons if (image, number) not in places]:
        raise DataError(f"the ground truth has no person {some_of(unknown)}")
    place = np.array([places[person] for person in persons], np.int32)
    yield from _by_class(predictions, place, "person", truth.lists.actions)


def _by_class(
    predictions: Confidences, subject: Integers, kind: str, classes: Sequence[str]
) -> Iterator[Keyed[ClassConfidences]]:
    label = places_of("class", predictions.label, predictions.classes, classes)
    assert_once({kind: subject, "class": label})
    for number, name in enumerate(classes):
        rows = np.flatnonzero(label == number)
        if len(rows):
            yield Keyed(name, ClassConfidences(subject[rows], predictions.score[rows]))


@dataclass(frozen=True, slots=True)
class Reasons:
    """The reasons for a class without a value, in the terms of the task."""

    no_positive: str
    no_negative: str


def match(
    parsed: Iterator[Keyed[ClassConfidences]], known: Mapping[str, ClassLabels], _rules: LabelRules
) -> Iterator[Keyed[RankedPredictions]]:
    """Rank the images or persons of each class by confidence."""
    for each in parsed:
        yield Keyed(each.key, rank_by_confidence(each.key, each.value, known[each.key]))


def in_order(
    matched: Iterator[Keyed[RankedPredictions]], known: Mapping[str, ClassLabels]
) -> dict[str, RankedPredictions]:
    """The rankings by class, in the order of the challenge."""
    ranked = {each.key: each.value for each in matched}
    return {name: ranked[name] for name in known if name in ranked}


def scores_of(
    ranked: Mapping[str, RankedPredictions],
    known: Mapping[str, ClassLabels],
    rules: LabelRules,
    reasons: Reasons,
) -> Scores:
    """The value of each class and their mean, with a curve for each class that has a file.

    A class without positives has no value. In the mean it counts as in the development kit: as 0 for 11-point AP, which its
    reason says, otherwise as NaN, so that there is no mean either.
    """
    values = {name: rules.measure.of(each) for name, each in ranked.items()}
    classes = tuple(
        _class_result(name, labelled.positives, ranked.get(name), values.get(name, math.nan), reasons)
        for name, labelled in known.items()
    )
    mean, reason = headline(tuple(known), values, rules.average)
    classes = say_what_counts(classes, values, mean)
    table = table_of_classes(rules.measure.name, classes)
    curves = map(rules.measure.draw, ranked.values())
    return Scores(rules.measure.name, mean, reason, classes, (table, *curves), tuple(ranked.values()))


def _class_result(
    name: str, positives: int, ranked: RankedPredictions | None, value: float, reasons: Reasons
) -> ClassResult:
    if ranked is None:
        return ClassResult.not_entered(name, positives)
    predictions = int(np.count_nonzero(np.isfinite(ranked.confidence)))
    if positives == 0:
        return ClassResult(name, None, reasons.no_positive, positives, predictions)
    if math.isnan(value):
        return ClassResult(name, None, reasons.no_negative, positives, predictions)
    return ClassResult(name, value, None, positives, predictions)


def sample_of_labels(
    rankings: Sequence[RankedPredictions], images: Sequence[str], rules: LabelRules
) -> RankingSample:
    """Rankings with their positives in each of these images."""
    positives = count_positives_by_image(rankings, len(images))
    return RankingSample(rankings, positives, rules.measure.weighted, rules.average, images)


def count_positives_by_image(rankings: Sequence[RankedPredictions], images: int) -> Integers:
    """The positives of each class in each image, int32 (classes, images), where every image or person is ranked.

    >>> ranking = RankedPredictions("cat", 1, np.array([2, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([1, 0], np.int8))
    >>> count_positives_by_image([ranking], 3).tolist()
    [[0, 0, 1]]
    """
    right = (each.image[each.outcomes == TRUE_POSITIVE] for each in rankings)
    return count_by_class(right, len(rankings), images)


_REASONS_OF_CLASSES: Final = Reasons(
    "there is no such object in the set", "there is such an object in every image"
)


def load_images(truth: GroundTruth) -> Mapping[str, ClassLabels]:
    """The labels of each class for the images of the Main set."""
    main = truth.lists.main
    images = np.arange(main, dtype=np.int32)
    labels = zip(truth.lists.classes, truth.tables.labels, strict=True)
    return {name: ClassLabels(main, images, images, label) for name, label in labels}


def missing_images(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score classification; None if it can."""
    if not truth.lists.main:
        return "the Main set lists no image"
    has_object = (truth.tables.labels == 1).any()
    return None if has_object else "no object is annotated in the images of the Main set"


def score_images(
    matched: Iterator[Keyed[RankedPredictions]], known: Mapping[str, ClassLabels], rules: LabelRules
) -> Scores:
    """The scores of each class, and a table of those with difficult objects included."""
    ranked = in_order(matched, known)
    scores = scores_of(ranked, known, rules, _REASONS_OF_CLASSES)
    values = {name: rules.measure.of(with_difficult(each)) for name, each in ranked.items()}
    second = table_with_difficult(rules.measure.name, tuple(known), values, rules.average)
    return replace(scores, exhibits=(*scores.exhibits, second))


def resample_images(
    rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LabelRules
) -> RankingSample:
    """The ranked images of the Main set."""
    return sample_of_labels(rankings, truth.lists.images[: truth.lists.main], rules)


CLASSIFICATION: Final = Task(
    name="classification",
    title="Classification",
    accepts=accepts_images,
    split=split_images,
    missing_truth=missing_images,
    load=load_images,
    match=match,
    score=score_images,
    resample=resample_images,
    files="heldout_scoring.tasks.labels_files:OF_IMAGES",
)


_REASONS_OF_ACTIONS: Final = Reasons("nobody in the set does it", "everybody in the set does it")


def load_persons(truth: GroundTruth) -> Mapping[str, ClassLabels]:
    """The labels of each action for the persons in its own label file, in the order of that file.

    Source: VOC2012 development kit, VOCevalaction.m. There a prediction for a person in other actions' files only is an
    error; here it is ignored, because participants get one list of persons and not one for each action.
    """
    acts, image = truth.tables.acts, truth.tables.objects.image
    place = np.empty(len(image), np.int32)
    owners = _owners(truth)
    place[owners] = np.arange(len(owners))
    known = {}
    for number, action in enumerate(truth.lists.actions):
        rows = acts.action == number
        owner = acts.owner[rows]
        known[action] = ClassLabels(len(owners), place[owner], image[owner], acts.label[rows])
    return known


def missing_persons(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score action classification; None if it can."""
    if not truth.lists.acting:
        return "there is no Action set"
    return None if len(truth.tables.acts.label) else "no person of the Action set is annotated with an action"


def _owners(truth: GroundTruth) -> Integers:
    """The objects that the Action set's pairs of image and number refer to: int32 (persons,)."""
    lists = truth.lists
    places = dict(zip(lists.images, range(len(lists.images)), strict=True))
    image = np.array([places[name] for name, _ in lists.acting], np.int32)
    number = np.array([number for _, number in lists.acting], np.int32)
    return np.searchsorted(truth.tables.objects.image, image).astype(np.int32) + number - 1


def score_persons(
    matched: Iterator[Keyed[RankedPredictions]], known: Mapping[str, ClassLabels], rules: LabelRules
) -> Scores:
    """The scores of each action."""
    return scores_of(in_order(matched, known), known, rules, _REASONS_OF_ACTIONS)


def resample_persons(
    rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LabelRules
) -> RankingSample:
    """The ranked persons, drawn by the images of the Action set."""
    sample = sample_of_labels(rankings, truth.lists.images, rules)
    return only_images(sample, truth, [image for image, _ in truth.lists.acting])


ACTION: Final = Task(
    name="action",
    title="Action classification",
    accepts=accepts_persons,
    split=split_persons,
    missing_truth=missing_persons,
    load=load_persons,
    match=match,
    score=score_persons,
    resample=resample_persons,
    files="heldout_scoring.tasks.labels_files:OF_PERSONS",
)
