"""Ranked predictions joined with the boxes of the result file."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scoring.archives.result_files import competition_files
from scoring.data.arrays import Flags, Floats, Integers
from scoring.data.boxes import BoxConvention
from scoring.data.detections import ClassDetections, Detections
from scoring.data.ground_truth import GroundTruth
from scoring.data.limits import Limits
from scoring.data.matches import RankedPredictions
from scoring.errors import Problems, Severity
from scoring.metrics.matching import ClassObjects
from scoring.metrics.ranking import rank
from scoring.readers.image_index import ImageIndex
from scoring.results import Result, matches_in_memory
from scoring.tasks.detection.reader import read_detections, split
from scoring.tasks.detection.rules import DetectionRules


@dataclass(frozen=True, slots=True, eq=False)
class RankedDetections:
    """The ranked predictions of a class with their boxes, float64 (n, 4), left, top, right, bottom."""

    ranked: RankedPredictions
    boxes: Floats
    convention: BoxConvention = BoxConvention.INCLUSIVE

    def as_detections(self) -> ClassDetections:
        """The detections in the order of the ranking, which ranking them again does not change."""
        return ClassDetections(self.ranked.image, self.ranked.confidence, self.boxes, self.convention)


def with_boxes(ranked: RankedPredictions, detections: ClassDetections) -> RankedDetections:
    """Join ranked predictions with the detections of the file that they were made from.

    Raises ValueError for another file.

    >>> file = ClassDetections(np.array([4, 4], np.int32), np.array([0.1, 0.9]),
    ...     np.array([[1.0, 1, 5, 5], [2, 2, 6, 6]]))
    >>> kept = RankedPredictions("cat", 1, np.array([4, 4], np.int32), np.array([0.9, 0.1]),
    ...     np.array([1, 0], np.int8))
    >>> with_boxes(kept, file).boxes[0].tolist()
    [2.0, 2.0, 6.0, 6.0]
    """
    order = rank(detections.confidence)
    same = np.array_equal(detections.image[order], ranked.image)
    if not same or not np.array_equal(detections.confidence[order], ranked.confidence):
        raise ValueError(
            f"these are not the detections that the ranking of '{ranked.class_name}' was made from"
        )
    return RankedDetections(ranked, detections.boxes[order], detections.convention)


def detections_of(result: Result, truth: GroundTruth, found: Detections) -> Iterator[RankedDetections]:
    """The ranked predictions of each class of a result in memory, with the boxes of the detections that were evaluated.

    Raises ValueError for other detections, and for a result that was read from JSON.

    >>> from scoring import evaluate
    >>> truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 10, 10]], convention="inclusive")
    >>> found = Detections.from_arrays(["a", "a"], ["cat", "cat"], [0.1, 0.9], [[1, 1, 10, 9], [1, 1, 9, 9]])
    >>> [cats] = detections_of(evaluate(found, truth, protocol="voc2012"), truth, found)
    >>> cats.boxes.tolist(), cats.ranked.outcomes.tolist()
    ([[1.0, 1.0, 9.0, 9.0], [1.0, 1.0, 10.0, 9.0]], [1, 0])
    """
    matches = matches_in_memory(result)
    by_class = {each.class_name: each for each in matches} if isinstance(matches, tuple) else {}
    for each in split(found, truth):
        if each.key in by_class:
            yield with_boxes(by_class[each.key], each.value)


@dataclass(frozen=True, slots=True, eq=False)
class LargestOverlaps:
    """For each detection the object with the largest IoU: its index, int32 (n,), -1 for none; the IoU, float64 (n,)."""

    index: Integers
    iou: Floats

    def within(self, chosen: Flags) -> Flags:
        """Whether the object is one of those chosen, bool (objects,), for each detection: bool (n,)."""
        return np.append(chosen, np.False_)[self.index]


def largest_overlaps(
    detections: RankedDetections, objects: ClassObjects, rules: DetectionRules
) -> LargestOverlaps:
    """For each detection the object in its image with the largest IoU, at any IoU above 0.

    As in scoring, boxes are converted to the convention of the rules, and the first of several equal objects is taken.

    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> ranked = RankedPredictions("cat", 1, np.zeros(2, np.int32), np.ones(2), np.ones(2, np.int8))
    >>> detections = RankedDetections(ranked, np.array([[1.0, 1, 10, 5], [20, 1, 30, 5]]))
    >>> one = np.zeros(1, np.int32)
    >>> objects = ClassObjects(one, one + 1, np.array([[1.0, 1, 10, 10]]), one > 0, one > 0)
    >>> found = largest_overlaps(detections, objects, PROTOCOLS["voc2012"].rules_of(DETECTION))
    >>> found.index.tolist(), found.iou.tolist()
    ([0, -1], [0.5, 0.0])
    """
    aligned, objects = rules.align(detections.as_detections(), objects)
    count, first = objects.count[aligned.image], objects.first[aligned.image]
    index, largest = np.full(len(aligned), -1, np.int32), np.zeros(len(aligned))
    for nth in range(int(count.max(initial=0))):
        rows = np.flatnonzero(count > nth)
        others = first[rows] + nth
        iou = rules.iou(aligned.boxes[rows], objects.boxes[others])
        larger = iou > largest[rows]
        largest[rows[larger]], index[rows[larger]] = iou[larger], others[larger]
    return LargestOverlaps(index, largest)


def read_ranked_detections(
    archive: Path | str,
    truth: GroundTruth,
    competition: int,
    rankings: Iterable[RankedPredictions],
    *,
    limits: Limits | None = None,
) -> Iterator[RankedDetections]:
    r"""Join rankings of a detection competition with the boxes of the archive, in the order of its files.

    limits: by default those of `truth.description` for an archive, none for a plain folder. Raises ValueError if the rankings were not made from this archive.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> page = Annotation(50, 20, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> kept = RankedPredictions("cat", 1, np.zeros(1, np.int32), np.array([0.9]), np.ones(1, np.int8))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("a 0.9 1 1 10 9\n")
    ...     [cats] = read_ranked_detections(Path(folder), truth, 3, [kept])
    >>> cats.boxes.tolist()
    [[1.0, 1.0, 10.0, 9.0]]
    """
    by_class, images, problems = (
        {each.class_name: each for each in rankings},
        ImageIndex.of(truth.description),
        Problems(mistakes=Severity.NOTE),  # they were scored
    )
    for file in competition_files(archive, truth.description, competition, problems=problems, limits=limits):
        if file.key in by_class:
            detections = read_detections(file.read(), images, file=file.name, problems=problems)
            yield with_boxes(by_class[file.key], detections)
