import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from pycocotools import mask as official

from heldout_scoring import DataError, GroundTruth, InstanceMasks, evaluate, evaluate_coco
from tests.scoring.coco_detectors import as_json
from tests.scoring.coco_masks import draw_mask_set
from tests.scoring.coco_sets import Plain

TRUTH: Plain = {
    "images": [{"id": 3, "width": 6, "height": 4}],
    "categories": [{"id": 7, "name": "cat"}],
    "annotations": [
        {
            "id": 1,
            "image_id": 3,
            "category_id": 7,
            "segmentation": {"size": [4, 6], "counts": [4, 8, 12]},
            "bbox": [1, 0, 2, 4],
            "area": 8,
            "iscrowd": 0,
        }
    ],
}
CAT = np.zeros((4, 6), np.bool_)
CAT[:, 1:3] = True


def decoded(segmentation: Plain) -> NDArray[np.uint8]:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of NumPy, about pycocotools
        pixels: NDArray[np.uint8] = official.decode(segmentation)
    return pixels


def from_results(found: list[Plain]) -> InstanceMasks:
    return InstanceMasks.from_arrays(
        [str(each["image_id"]) for each in found],
        [f"class {each['category_id']}" for each in found],
        [each["score"] for each in found],
        [decoded(each["segmentation"]) for each in found],
    )


@pytest.mark.parametrize("seed", range(6))
def test_masks_score_the_same_in_arrays_and_in_json(seed: int) -> None:
    truth, found = draw_mask_set(seed)

    result = evaluate(from_results(found), GroundTruth.from_coco(truth), protocol="coco")

    of_json = evaluate_coco(as_json(found), as_json(truth), masks=True)
    assert result.task == "coco-segmentation"
    assert result.headline == of_json.figures["AP"]
    assert [each.value for each in result.classes] == [each.value for each in of_json.classes]


@pytest.mark.parametrize("mask", [CAT, CAT.astype(np.uint8), CAT.astype(np.int64).tolist()])
def test_masks_are_booleans_or_zeros_and_ones(mask: NDArray[np.bool_]) -> None:
    found = InstanceMasks.from_arrays(["3"], ["cat"], [0.5], [mask])

    assert len(found) == 1
    assert evaluate(found, GroundTruth.from_coco(TRUTH), protocol="coco").headline == pytest.approx(1)


def test_no_detections_score_0() -> None:
    found = InstanceMasks.from_arrays([], [], [], [])

    assert evaluate(found, GroundTruth.from_coco(TRUTH), protocol="coco").headline == 0.0


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.ones(24), "expected masks of shape \\(height, width\\), found one of shape \\(24,\\)"),
        (CAT * 2, "expected masks of 0 and 1, found one with values from 0 to 2"),
        (
            CAT * 0.5,
            "expected masks of 0 and 1, found one with values from 0.0 to 0.5; of probabilities take `masks > 0.5`",
        ),
    ],
)
def test_invalid_masks_are_refused(mask: NDArray[np.float64], words: str) -> None:
    with pytest.raises(DataError, match=words):
        InstanceMasks.from_arrays(["3"], ["cat"], [0.5], [mask])


def test_the_number_of_masks_must_match_the_detections() -> None:
    with pytest.raises(DataError, match="masks"):
        InstanceMasks.from_arrays(["3", "3"], ["cat", "cat"], [0.5, 0.4], [CAT])


def test_masks_that_differ_in_size_from_their_image_are_refused() -> None:
    found = InstanceMasks.from_arrays(["3"], ["cat"], [0.5], [CAT.T])

    with pytest.raises(DataError, match=r"expected masks of shape \(4, 6\) in the image '3', found \(6, 4\)"):
        evaluate(found, GroundTruth.from_coco(TRUTH), protocol="coco")
