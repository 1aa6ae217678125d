"""Where answers are: the kept ranking, and the boxes of the file that it was made from."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers
from scoring.data.boxes import BoxConvention
from scoring.data.detections import ClassDetections
from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.errors import Problems
from scoring.intake.result_files import competition_files
from scoring.metrics.boxes import IoU
from scoring.metrics.matching import ClassObjects
from scoring.metrics.ranking import rank
from scoring.readers.image_index import ImageIndex
from scoring.tasks.detection.reader import read_detections
from scoring.tasks.detection.rules import DetectionRules


@dataclass(frozen=True, slots=True, eq=False)
class PlacedDetections:
    """The ranked predictions of a class with their boxes: float64 (n, 4), left, top, right, bottom in pixels.

    convention: what these four numbers mean.
    """

    ranked: RankedPredictions
    boxes: Floats
    convention: BoxConvention = BoxConvention.INCLUSIVE

    def as_detections(self) -> ClassDetections:
        """The same as the lines of a file in the order of the ranking: ranking them again changes nothing."""
        return ClassDetections(self.ranked.image, self.ranked.confidence, self.boxes, self.convention)


def place_detections(ranked: RankedPredictions, detections: ClassDetections) -> PlacedDetections:
    """Put the boxes of the file that was scored to its ranking, which is the file's own order by confidence.

    Raises ValueError for another file.

    >>> file = ClassDetections(np.array([4, 4], np.int32), np.array([0.1, 0.9]),
    ...     np.array([[1.0, 1, 5, 5], [2, 2, 6, 6]]))
    >>> kept = RankedPredictions("cat", 1, np.array([4, 4], np.int32), np.array([0.9, 0.1]),
    ...     np.array([1, 0], np.int8))
    >>> place_detections(kept, file).boxes[0].tolist()
    [2.0, 2.0, 6.0, 6.0]
    """
    order = rank(detections.confidence)
    same = np.array_equal(detections.image[order], ranked.image)
    if not same or not np.array_equal(detections.confidence[order], ranked.confidence):
        raise ValueError(f"these lines are not the ones whose answers for {ranked.class_name} were kept")
    return PlacedDetections(ranked, detections.boxes[order], detections.convention)


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """For each box the object that it overlaps most: its place, int32 (n,), -1 for none; the overlap, float64 (n,)."""

    place: Integers
    iou: Floats

    def within(self, chosen: Flags) -> Flags:
        """Which boxes have one of the chosen objects, bool (objects,), as their nearest: bool (n,)."""
        return np.append(chosen, np.False_)[self.place]


def find_nearest(boxes: Floats, image: Integers, ground_truth: ClassObjects, iou: IoU) -> Nearest:
    """Hold boxes, float64 (n, 4), against the objects in their images, int32 (n,), whatever the overlap.

    The first of several that overlap a box equally is its nearest, as in scoring; a box that meets nothing has none.

    >>> from scoring.metrics.boxes import iou_inclusive
    >>> one, boxes = np.zeros(1, np.int32), np.array([[1.0, 1, 10, 10]])
    >>> objects = ClassObjects(one, one + 1, boxes, one > 0, one > 0)
    >>> found = find_nearest(np.array([[1.0, 1, 10, 5], [20, 1, 30, 5]]), np.zeros(2, np.int32), objects, iou_inclusive)
    >>> found.place.tolist(), found.iou.tolist()
    ([0, -1], [0.5, 0.0])
    """
    count, first = ground_truth.count[image], ground_truth.first[image]
    place, most = np.full(len(boxes), -1, np.int32), np.zeros(len(boxes))
    for nth in range(int(count.max(initial=0))):
        asking = np.flatnonzero(count > nth)
        objects = first[asking] + nth
        found = iou(boxes[asking], ground_truth.boxes[objects])
        better = found > most[asking]
        most[asking[better]], place[asking[better]] = found[better], objects[better]
    return Nearest(place, most)


def nearest_objects(placed: PlacedDetections, ground_truth: ClassObjects, rules: DetectionRules) -> Nearest:
    """For each detection the object with the largest IoU by these rules, whatever the conventions of the boxes.

    >>> from scoring.protocols import PROTOCOLS
    >>> from scoring.tasks.detection.task import DETECTION
    >>> one, boxes = np.zeros(1, np.int32), np.array([[1.0, 1, 10, 10]])
    >>> placed = PlacedDetections(RankedPredictions("cat", 1, one, np.ones(1), np.ones(1, np.int8)), boxes)
    >>> edges = ClassObjects(one, one + 1, boxes - (1, 1, 0, 0), one > 0, one > 0, convention=BoxConvention.HALF_OPEN)
    >>> nearest_objects(placed, edges, PROTOCOLS["voc2012"].rules_of(DETECTION)).iou.tolist()
    [1.0]
    """
    predictions, ground_truth = rules.align(placed.as_detections(), ground_truth)
    return find_nearest(predictions.boxes, predictions.image, ground_truth, rules.iou)


def read_placed(
    archive: Path, truth: GroundTruth, competition: int, rankings: Iterable[RankedPredictions]
) -> Iterator[PlacedDetections]:
    r"""The kept rankings of a detection competition with the boxes of the archive, in the order of its files.

    Raises ValueError if these are not the answers that the archive holds.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> page = Annotation(50, 20, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> kept = RankedPredictions("cat", 1, np.zeros(1, np.int32), np.array([0.9]), np.ones(1, np.int8))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("a 0.9 1 1 10 9\n")
    ...     [placed] = read_placed(Path(folder), truth, 3, [kept])
    >>> placed.boxes.tolist()
    [[1.0, 1.0, 10.0, 9.0]]
    """
    kept, images, problems = (
        {each.class_name: each for each in rankings},
        ImageIndex.of(truth.description),
        Problems(),
    )
    for file in competition_files(archive, truth.description, competition, problems=problems):
        if file.key in kept:
            detections = read_detections(file.read(), images, file=file.name, problems=problems)
            yield place_detections(kept[file.key], detections)
