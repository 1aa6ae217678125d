"""COCO's figures of real detectors in all images of VOC2007 equal those of the official program."""

import os

import pytest

from heldout_scoring.evaluation import evaluate_coco
from tests.scoring.coco_detectors import as_json, assert_equal, real_detections
from tests.scoring.conftest import ReadTruth, Unpack

pytestmark = [
    pytest.mark.slow,
    pytest.mark.shared,
    pytest.mark.skipif("HELDOUT_SHORT" in os.environ, reason="the official program takes two minutes"),
]


@pytest.mark.parametrize("detector", ["yolo2_e150", "darknet_hli", "yolov1_choasup"])
def test_real_detectors_score_as_in_the_official_program(
    detector: str, real_truth: ReadTruth, unpacked: Unpack
) -> None:
    truth, found = real_detections(detector, real_truth, unpacked)

    result = evaluate_coco(as_json(found), as_json(truth))

    assert_equal(result, truth, found)
