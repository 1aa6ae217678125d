"""Detection: boxes with confidences, one file per class.

A row computes what the evaluator computes; its variant "-documented" follows the published text where that differs.
Coordinates are used as they are stored: TensorFlow converts neither VOC's pixels nor the edges of Open Images.
Source: tf-models-research-object-detection 2.8.0; g3doc/evaluation_protocols.md; the page of the Open Images Challenge.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from ..data.annotations import BoxConvention, as_convention
from ..data.arrays import Flags, Integers, Places, as_threshold
from ..data.label_maps import is_background
from ..data.matches import RankedPredictions
from ..data.predictions import ClassDetections, Detections
from ..data.truth import GroundTruth
from ..errors import Problem
from ..metrics.matching import (
    ClassObjects,
    IoU,
    Match,
    Matches,
    SelectPositives,
    all_objects_positive,
    iou_half_open,
    match_open_images,
    match_open_images_challenge,
    match_open_images_challenge_documented,
    match_open_images_documented,
    match_pascal,
    match_pascal_tensorflow,
    positives_without_difficult,
    single_objects_positive,
)
from ..metrics.ranking import (
    AP_AREA_OF_OBJECTS,
    Average,
    Pool,
    RankingMeasure,
    mean_of_classes_with_a_value,
    pool_all_classes,
    pool_classes_with_positives,
)
from ..scores import ClassResult, Exhibit, Scores, draw_precision
from .task import (
    CROWDS_ARE_DIFFICULT,
    NO_DIFFICULT,
    Keyed,
    RankingSample,
    Task,
    count_by_class,
    headline,
    notes_on_objects,
    places_of,
    say_what_counts,
    table_of_classes,
    table_with_difficult,
)


@dataclass(frozen=True, slots=True)
class DetectionRules:
    """How detections are scored.

    match: matches the detections of a class to its objects, with `iou` and `iou_threshold`; measure: the value of a class;
    select_positives: the objects that count as positives; second_table: those of a second table of values, such as with
    difficult objects included. The headline is the `average` of the
    classes, or where `pool` merges their rankings the measure of the whole. absent_is_empty: a class without a file is
    scored as one without detections. convention: that of the boxes that `iou` expects, to which those of ground truth and
    detections are converted where theirs differs; None takes them as those of the ground truth are stored.
    """

    match: Match
    iou: IoU
    iou_threshold: float
    measure: RankingMeasure
    average: Average
    select_positives: SelectPositives = positives_without_difficult
    pool: Pool | None = None
    second_table: SelectPositives | None = None
    absent_is_empty: bool = False
    convention: BoxConvention | None = BoxConvention.INCLUSIVE

    def __post_init__(self) -> None:
        """Check what is a number or a name. Raises DataError."""
        object.__setattr__(self, "iou_threshold", as_threshold("iou_threshold", self.iou_threshold))
        if self.convention is not None:
            object.__setattr__(self, "convention", as_convention(self.convention))

    def align(
        self, predictions: ClassDetections, ground_truth: ClassObjects
    ) -> tuple[ClassDetections, ClassObjects]:
        """Detections and objects of a class with their boxes in the convention of these rules."""
        convention = self.convention or ground_truth.convention
        return predictions.to(convention), ground_truth.to(convention)

    def match_class(
        self, predictions: ClassDetections, ground_truth: ClassObjects, *, iou_threshold: float | None = None
    ) -> Matches:
        """Match by these rules, whatever the conventions of the boxes; iou_threshold: another one than theirs."""
        predictions, ground_truth = self.align(predictions, ground_truth)
        threshold = self.iou_threshold if iou_threshold is None else iou_threshold
        return self.match(predictions, ground_truth, self.iou, threshold)


_PASCAL: Final = DetectionRules(
    match_pascal_tensorflow,
    iou_half_open,
    0.5,
    AP_AREA_OF_OBJECTS,
    mean_of_classes_with_a_value,
    absent_is_empty=True,
    convention=None,
)


_WEIGHTED: Final = replace(_PASCAL, pool=pool_classes_with_positives)


_OPEN_IMAGES: Final = replace(_PASCAL, match=match_open_images, select_positives=single_objects_positive)


_CHALLENGE: Final = replace(_PASCAL, match=match_open_images_challenge, select_positives=all_objects_positive)


@dataclass(frozen=True, slots=True)
class TensorflowRow:
    """A configuration: its name, what it is called, and its rules."""

    name: str
    title: str
    rules: DetectionRules


def _documented(rules: DetectionRules) -> DetectionRules:
    """The programs ask for an IoU of at least 0.5, the texts for more.

    Source: VOC2010 development kit ("must exceed 50%"), to which g3doc/evaluation_protocols.md refers for PASCAL VOC, weighted or
    not; that page for Open Images V2 ("greater than"); the page of the Open Images Challenge ("IoU > 0.5").
    """
    return replace(rules, iou_threshold=math.nextafter(rules.iou_threshold, 1.0))


TENSORFLOW_ROWS: Final = (
    TensorflowRow("pascal_voc_detection_metrics", "PASCAL VOC", _PASCAL),
    TensorflowRow("weighted_pascal_voc_detection_metrics", "weighted PASCAL VOC", _WEIGHTED),
    TensorflowRow("oid_V2_detection_metrics", "Open Images V2", _OPEN_IMAGES),
    TensorflowRow("oid_challenge_detection_metrics", "Open Images Challenge", _CHALLENGE),
    TensorflowRow(
        "pascal_voc_detection_metrics-documented",
        "PASCAL VOC as documented",
        _documented(replace(_PASCAL, match=match_pascal)),
    ),
    TensorflowRow(
        "weighted_pascal_voc_detection_metrics-documented",
        "weighted PASCAL VOC as documented",
        _documented(replace(_WEIGHTED, match=match_pascal, pool=pool_all_classes)),
    ),
    TensorflowRow(
        "oid_V2_detection_metrics-documented",
        "Open Images V2 as documented",
        _documented(replace(_OPEN_IMAGES, match=match_open_images_documented)),
    ),
    TensorflowRow(
        "oid_challenge_detection_metrics-documented",
        "Open Images Challenge as documented",
        _documented(replace(_CHALLENGE, match=match_open_images_challenge_documented)),
    ),
)


EARLIER_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pascal_voc_metrics": "pascal_voc_detection_metrics",
        "weighted_pascal_voc_metrics": "weighted_pascal_voc_detection_metrics",
        "open_images_metrics": "oid_V2_detection_metrics",
    }
)
"""Names that rows had in earlier versions, and those that they have now."""


def accepts(predictions: object) -> bool:
    """Whether these are detections."""
    return isinstance(predictions, Detections)


def split(predictions: Detections, truth: GroundTruth) -> Iterator[Keyed[ClassDetections]]:
    """The detections of every class of the ground truth, also of classes that have none.

    Raises DataError for detections in an image, or of a class, that the ground truth does not have.
    """
    lists = truth.lists
    image = places_of("image", predictions.image, predictions.images, lists.images[: lists.main])
    label = places_of("class", predictions.label, predictions.classes, lists.classes)
    convention = predictions.convention or truth.tables.convention
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(len(lists.classes) + 1))
    for number, name in enumerate(lists.classes):
        rows = order[ends[number] : ends[number + 1]]
        found = ClassDetections(image[rows], predictions.score[rows], predictions.boxes[rows], convention)
        yield Keyed(name, found)


NOTHING_TO_FIND: Final = "there is no such object in the set"
ALL_IGNORED: Final = "every detection matches a difficult object and is ignored"

_NO_DETECTIONS: Final = ClassDetections(np.empty(0, np.int32), np.empty(0), np.empty((0, 4)))


def load(truth: GroundTruth) -> Mapping[str, ClassObjects]:
    """The objects of each class in the images of the Main set."""
    objects = truth.tables.objects
    rows = np.flatnonzero(objects.image < truth.lists.main)
    order = rows[np.argsort(objects.name[rows], kind="stable")]
    numbers = np.arange(len(truth.lists.classes) + 1)
    begins = np.searchsorted(objects.name[order], numbers).tolist()
    return _ObjectsOfClasses(truth, {name: n for n, name in enumerate(truth.lists.classes)}, order, begins)


@dataclass(frozen=True, slots=True, eq=False)
class _ObjectsOfClasses(Mapping[str, ClassObjects]):
    """Made when they are asked for: counts of all images for each of a thousand classes would fill memory.

    rows: intp (n,), of the objects by class; begins: where the rows of each class begin, and the last ones end.
    """

    truth: GroundTruth
    numbers: Mapping[str, int]
    rows: Places
    begins: Sequence[int]

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, name: str) -> ClassObjects:
        number, objects = self.numbers[name], self.truth.tables.objects
        rows = self.rows[self.begins[number] : self.begins[number + 1]]
        count = np.bincount(objects.image[rows], minlength=self.truth.lists.main).astype(np.int32)
        return ClassObjects(
            (np.cumsum(count) - count).astype(np.int32),
            count,
            objects.boxes[rows],
            objects.difficult[rows],
            objects.group_of[rows],
            verified=_verified_images(self.truth, number),
            convention=self.truth.tables.convention,
        )


def _verified_images(truth: GroundTruth, number: int) -> Flags | None:
    """In which images of the Main set an image-level label speaks of the class of this number: bool (main,)."""
    pairs = truth.tables.verified
    if pairs is None:
        return None
    images = np.zeros(len(truth.lists.images), np.bool_)
    images[pairs[pairs[:, 1] == number, 0]] = True
    return images[: truth.lists.main]


def missing_truth(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score detection; None if it can."""
    main = truth.lists.main
    if not main:
        return "the Main set lists no image"
    has_object = (truth.tables.objects.image < main).any()
    return None if has_object else "no object is annotated in the images of the Main set"


@dataclass(frozen=True, slots=True, eq=False)
class ScoredClass:
    """A class as the development kit scores it; the values may be NaN. second_value: that of the second table."""

    value: float
    second_value: float
    predictions: RankedPredictions


def match(
    parsed: Iterator[Keyed[ClassDetections]],
    ground_truth: Mapping[str, ClassObjects],
    rules: DetectionRules,
) -> Iterator[Keyed[ScoredClass]]:
    """Match and score each class on its own."""
    for each in parsed:
        yield Keyed(each.key, _score_class(each, rules.select_positives(ground_truth[each.key]), rules))


def score(
    matched: Iterator[Keyed[ScoredClass]], ground_truth: Mapping[str, ClassObjects], rules: DetectionRules
) -> Scores:
    """The average precision of each class and their mean, with a curve for each class that has a file.

    A class without any object has no value; in the mean it counts as in the development kit: as 0 for 11-point AP or where it
    has no detection, which its reason says, otherwise as NaN, so that there is no mean either. A second table counts the positives of `rules.second_table`, if there is one.
    """
    found = {each.key: each.value for each in matched}
    if rules.absent_is_empty:
        absent = (Keyed(name, _NO_DETECTIONS) for name in ground_truth if name not in found)
        found |= {each.key: each.value for each in match(absent, ground_truth, rules)}
    rows: list[ClassResult] = []
    odd: Counter[str] = Counter()
    for name, objects in ground_truth.items():
        positive = rules.select_positives(objects)
        rows.append(_class_result(name, positive.positives, found.get(name)))
        odd[CROWDS_ARE_DIFFICULT] += _count_difficult_crowds(objects, rules)
        odd[NO_DIFFICULT] += int(
            np.count_nonzero(objects.difficult & ~objects.group_of & ~positive.difficult)
        )
    classes = tuple(rows)
    found = {name: found[name] for name in ground_truth if name in found}
    mean, reason = _headline(tuple(ground_truth), found, rules)
    if rules.pool is None:
        classes = say_what_counts(classes, {name: each.value for name, each in found.items()}, mean)
    predictions = tuple(each.predictions for each in found.values())
    curves = map(draw_precision, predictions)
    table = table_of_classes(rules.measure.name, classes)
    exhibits: tuple[Exhibit, ...] = (table, *curves)
    if rules.second_table is not None:
        values = {name: each.second_value for name, each in found.items()}
        second = table_with_difficult(rules.measure.name, tuple(ground_truth), values, rules.average)
        exhibits = (*exhibits, second)
    notes = (*notes_on_objects(odd), *_notes_on_background(classes))
    return Scores(rules.measure.name, mean, reason, classes, exhibits, predictions, notes=notes)


def _notes_on_background(classes: Iterable[ClassResult]) -> Iterator[Problem]:
    """A note for each class that is no object and yet lowers the mean."""
    for each in classes:
        if each.counted_as is not None and is_background(each.name):
            message = (
                f"the mean counts the class '{each.name}' as {each.counted_as:g}, which has no object: "
                "a mapping of numbers to names, such as {1: 'cat'}, leaves it out"
            )
            yield Problem("background-counted", message, found=each.name)


def _count_difficult_crowds(objects: ClassObjects, rules: DetectionRules) -> int:
    """How many crowds are difficult objects, where the rules know nothing but these."""
    knows_crowds = rules.select_positives is not positives_without_difficult
    return 0 if knows_crowds else int(np.count_nonzero(objects.group_of))


def _score_class(
    parsed: Keyed[ClassDetections], ground_truth: ClassObjects, rules: DetectionRules
) -> ScoredClass:
    detections = parsed.value
    matched = rules.match_class(detections, ground_truth)
    value = rules.measure.of(matched.outcomes, ground_truth.positives)
    order = matched.order
    ranked = RankedPredictions(
        parsed.key,
        ground_truth.positives,
        detections.image[order],
        detections.confidence[order],
        matched.outcomes,
    )
    second_value = (
        math.nan
        if rules.second_table is None
        else rules.measure.of(matched.including_difficult, rules.second_table(ground_truth).positives)
    )
    return ScoredClass(value, second_value, ranked)


def _class_result(name: str, positives: int, scored: ScoredClass | None) -> ClassResult:
    if scored is None:
        return ClassResult.not_entered(name, positives)
    predictions = len(scored.predictions.image)
    if positives == 0:
        return ClassResult(name, None, NOTHING_TO_FIND, positives, predictions)
    if math.isnan(scored.value):
        return ClassResult(name, None, ALL_IGNORED, positives, predictions)
    return ClassResult(name, scored.value, None, positives, predictions)


def _headline(
    names: Sequence[str], found: Mapping[str, ScoredClass], rules: DetectionRules
) -> tuple[float | None, str | None]:
    if rules.pool is None or len(found) < len(names):
        return headline(names, {name: each.value for name, each in found.items()}, rules.average)
    everything = rules.pool([each.predictions for each in found.values()])
    value = rules.measure.of(everything.outcomes, everything.positives)
    return (None, NOTHING_TO_FIND) if math.isnan(value) else (value, None)


def resample(
    rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: DetectionRules
) -> RankingSample:
    """The ranked detections, drawn by the images of the Main set."""
    ground_truth = load(truth)
    positives = (
        _images_of_positives(rules.select_positives(ground_truth[each.class_name])) for each in rankings
    )
    images = truth.lists.images[: truth.lists.main]
    table = count_by_class(positives, len(rankings), len(images))
    return RankingSample(rankings, table, rules.measure.weighted, rules.average, images, rules.pool)


def _images_of_positives(ground_truth: ClassObjects) -> Integers:
    """The image of each object that is not difficult, int32 (n,)."""
    image = np.repeat(np.arange(len(ground_truth.count), dtype=np.int32), ground_truth.count)
    return image[~ground_truth.difficult]


DETECTION: Final = Task(
    name="detection",
    title="Detection",
    accepts=accepts,
    split=split,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
    files="heldout_scoring.tasks.detection_files:FILES",
)
