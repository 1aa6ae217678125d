"""What the four numbers of a box mean, and that ground truth remembers it."""

from dataclasses import replace

import numpy as np
import pytest

from scoring.data.annotations import AnnotatedObject, Annotation, Box
from scoring.data.boxes import BoxConvention, convert_boxes
from scoring.data.detections import ClassDetections
from scoring.data.ground_truth import GroundTruth
from scoring.metrics.boxes import iou_half_open, iou_inclusive
from scoring.readers.boxes import truth_of_boxes

INCLUSIVE, HALF_OPEN = BoxConvention


def truth() -> GroundTruth:
    page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    return truth_of_boxes({"a": page}, dataset="own", image_set="val")


@pytest.mark.parametrize(("source", "target"), [(INCLUSIVE, HALF_OPEN), (HALF_OPEN, INCLUSIVE)])
def test_converting_there_and_back_changes_nothing(source: BoxConvention, target: BoxConvention) -> None:
    boxes = np.array([[5.0, 6.5, 20.0, 30.25]])

    assert convert_boxes(convert_boxes(boxes, source, target), target, source).tolist() == boxes.tolist()


def test_boxes_overlap_alike_in_either_convention() -> None:
    pixels = np.array([[1.0, 1, 10, 10], [4, 3, 12, 9]])

    edges = convert_boxes(pixels, INCLUSIVE, HALF_OPEN)

    assert iou_inclusive(pixels[0], pixels[1]) == iou_half_open(edges[0], edges[1])


def test_boxes_of_the_same_convention_are_not_copied() -> None:
    boxes = np.zeros((1, 4))

    assert convert_boxes(boxes, HALF_OPEN, HALF_OPEN) is boxes


def test_a_selection_of_detections_keeps_their_convention() -> None:
    detections = ClassDetections(np.zeros(2, np.int32), np.ones(2), np.zeros((2, 4)), HALF_OPEN)

    assert detections.where(np.array([True, False])).convention is HALF_OPEN


def test_ground_truth_keeps_its_convention_in_its_file() -> None:
    pixels = truth()
    edges = GroundTruth.of(pixels.lists, replace(pixels.tables, convention=HALF_OPEN))

    assert GroundTruth.of_bytes(edges.content).tables.convention is HALF_OPEN
    assert GroundTruth.of_bytes(pixels.content).tables.convention is INCLUSIVE
    assert edges.fingerprint != pixels.fingerprint
