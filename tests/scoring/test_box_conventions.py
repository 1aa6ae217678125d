"""Ground truth, detections and protocols agree on what the four numbers of a box mean."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heldout_scoring.analysis.errors import RankedDetections, covered_areas, largest_overlaps, relative_areas
from heldout_scoring.data.annotations import AnnotatedObject, Annotation, Box, BoxConvention
from heldout_scoring.data.description import Image
from heldout_scoring.data.matches import RankedPredictions
from heldout_scoring.data.predictions import ClassDetections
from heldout_scoring.data.truth import GroundTruth, truth_of_boxes
from heldout_scoring.evaluation import evaluate
from heldout_scoring.metrics.matching import iou_half_open, iou_inclusive
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.readers.open_images import read_open_images
from heldout_scoring.tasks.detection import DETECTION, load

INCLUSIVE, HALF_OPEN = BoxConvention


def truth() -> GroundTruth:
    page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    return truth_of_boxes({"a": page}, dataset="own", image_set="val")


@pytest.mark.parametrize(("source", "target"), [(INCLUSIVE, HALF_OPEN), (HALF_OPEN, INCLUSIVE)])
def test_converting_boxes_there_and_back_changes_nothing(
    source: BoxConvention, target: BoxConvention
) -> None:
    boxes = np.array([[5.0, 6.5, 20.0, 30.25]])

    assert target.convert(source.convert(boxes, target), source).tolist() == boxes.tolist()


def test_the_iou_is_the_same_in_either_convention() -> None:
    pixels = np.array([[1.0, 1, 10, 10], [4, 3, 12, 9]])

    edges = INCLUSIVE.convert(pixels, HALF_OPEN)

    assert iou_inclusive(pixels[0], pixels[1]) == iou_half_open(edges[0], edges[1])


def test_boxes_of_the_same_convention_are_not_copied() -> None:
    boxes = np.zeros((1, 4))

    assert HALF_OPEN.convert(boxes, HALF_OPEN) is boxes


def test_a_selection_of_detections_keeps_their_convention() -> None:
    detections = ClassDetections(np.zeros(2, np.int32), np.ones(2), np.zeros((2, 4)), HALF_OPEN)

    assert detections.where(np.array([True, False])).convention is HALF_OPEN


def test_ground_truth_keeps_its_convention_in_its_file() -> None:
    pixels = truth()
    edges = GroundTruth.of(pixels.lists, replace(pixels.tables, convention=HALF_OPEN))

    assert GroundTruth.of_bytes(edges.content).tables.convention is HALF_OPEN
    assert GroundTruth.of_bytes(pixels.content).tables.convention is INCLUSIVE
    assert edges.fingerprint != pixels.fingerprint


# A cat ten pixels wide and ten high, in the top left corner of an image of 50 x 40.
COCO = {
    "images": [{"id": 7, "width": 50, "height": 40}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100}],
}
OPEN_IMAGES = b"ImageID,LabelName,XMin,XMax,YMin,YMax\n7,cat,0,0.2,0,0.25\n"


def truth_of_coco() -> GroundTruth:
    return GroundTruth.from_coco(COCO, dataset="VOC2012", image_set="val")


def truth_of_open_images() -> GroundTruth:
    pages = read_open_images(OPEN_IMAGES, [Image("7", 50, 40)])
    return truth_of_boxes(pages, dataset="VOC2012", image_set="val")


def value(folder: Path, truth: GroundTruth, line: str, protocol: str) -> float | None:
    (folder / "comp3_det_val_cat.txt").write_text(f"{line}\n")
    return evaluate(folder, truth, competition=3, protocol=protocol).headline


@pytest.mark.parametrize("read", [truth_of_coco, truth_of_open_images])
def test_readers_of_continuous_formats_keep_that_convention(read: Callable[[], GroundTruth]) -> None:
    tables = read().tables

    assert tables.convention is HALF_OPEN
    assert tables.objects.boxes.tolist() == [[0, 0, 10, 10]]


@pytest.mark.parametrize("read", [truth_of_coco, truth_of_open_images])
@pytest.mark.parametrize("protocol", ["voc2012", "pascal_voc_detection_metrics"])
def test_boxes_in_result_files_are_inclusive_whatever_the_ground_truth_uses(
    read: Callable[[], GroundTruth], protocol: str, tmp_path: Path
) -> None:
    # of the ten columns a detection has five, an IoU of one half, or four
    assert value(tmp_path, read(), "7 0.9 1 1 5 10", protocol) == 1
    assert value(tmp_path, read(), "7 0.9 1 1 4 10", protocol) == 0


def test_the_tensorflow_rules_do_not_convert_pixel_coordinates(tmp_path: Path) -> None:
    assert PROTOCOLS["voc2012"].rules_of(DETECTION).convention is INCLUSIVE
    assert PROTOCOLS["pascal_voc_detection_metrics"].rules_of(DETECTION).convention is None
    five = "7 0.9 1 1 5 10"
    pixels = replace(truth_of_coco().tables, convention=INCLUSIVE)
    moved = replace(pixels, objects=replace(pixels.objects, boxes=np.array([[1.0, 1, 10, 10]])))
    as_pixels = GroundTruth.of(truth_of_coco().lists, moved)
    assert value(tmp_path, as_pixels, five, "voc2012") == 1
    assert value(tmp_path, as_pixels, five, "pascal_voc_detection_metrics") == 0  # (5 - 1) of (10 - 1)


def test_analysis_compares_boxes_in_the_convention_of_the_rules() -> None:
    one, truth = np.zeros(1, np.int32), truth_of_coco()
    cat = load(truth)["cat"]
    ranked = RankedPredictions("cat", 1, one, np.array([0.9]), np.ones(1, np.int8))
    placed = RankedDetections(ranked, np.array([[1.0, 1, 5, 10]]))

    assert largest_overlaps(placed, cat, PROTOCOLS["voc2012"].rules_of(DETECTION)).iou.tolist() == [0.5]
    assert relative_areas(cat, truth.tables.sizes).tolist() == [100 / 2000]
    assert covered_areas(truth, "cat").tolist() == [100 / 2000]


def test_annotations_of_different_conventions_cannot_be_combined() -> None:
    pages = {"a": Annotation(50, 40, ()), "b": Annotation(50, 40, (), HALF_OPEN)}

    with pytest.raises(ValueError, match="expected boxes of one convention, found half-open and inclusive"):
        truth_of_boxes(pages, dataset="own", image_set="val", classes=["cat"])
