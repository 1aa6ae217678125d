"""COCO's mask and box AP computed from arrays alone, compared to pycocotools."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pycocotools import mask as official_mask

from heldout_scoring import DataError, Detections, GroundTruth, InstanceMasks, Result, ScoreTable, evaluate
from tests.scoring.coco_masks import draw_mask_set
from tests.scoring.coco_sets import FIGURES, Plain, draw_coco_set, official, official_figures
from tests.scoring.test_instance_masks import decoded

CLOSE = 1e-12
CAT = np.array([[0, 1, 1], [0, 1, 0]])


def pixels(segmentation: Any) -> NDArray[np.uint8]:
    """A mask of 90 x 120 pixels drawn by pycocotools."""
    if isinstance(segmentation, list):
        return decoded(official_mask.merge(official_mask.frPyObjects(segmentation, 90, 120)))
    is_told = isinstance(segmentation["counts"], list)
    return decoded(official_mask.frPyObjects(segmentation, 90, 120) if is_told else segmentation)


def rows(entries: list[Plain]) -> dict[str, Any]:
    return {
        "image": [f"image {each['image_id']}" for each in entries],
        "label": [f"class {each['category_id']}" for each in entries],
    }


def names(truth: Plain) -> dict[str, Any]:
    return {
        "images": [f"image {number}" for number in sorted(each["id"] for each in truth["images"])],
        "classes": [f"class {number}" for number in sorted(each["id"] for each in truth["categories"])],
    }


def told(truth: Plain) -> dict[str, Any]:
    """The fields of an object besides its image, class and outline."""
    objects = truth["annotations"]
    return {
        "crowd": [each["iscrowd"] for each in objects],
        "area": np.array([each["area"] for each in objects]),
    }


def figures(result: Result) -> dict[str, float | None]:
    table = result.exhibits[1]
    assert isinstance(table, ScoreTable)
    found = dict(table.rows)
    return {name: found[name] for name in FIGURES}


@pytest.mark.parametrize("seed", range(40, 46))
def test_masks_in_arrays_score_as_in_pycocotools(seed: int) -> None:
    instances, detections = draw_mask_set(seed)
    objects = instances["annotations"]
    truth = GroundTruth.from_masks(
        **rows(objects),
        masks=[pixels(each["segmentation"]) for each in objects],
        **told(instances),
        **names(instances),
    )
    found = InstanceMasks.from_arrays(
        **rows(detections),
        score=np.array([each["score"] for each in detections]),
        masks=[pixels(each["segmentation"]) for each in detections],
    )

    result = evaluate(found, truth, protocol="coco")

    expected = official_figures(official(instances, detections, "segm"))
    assert figures(result) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("seed", range(300, 312))
def test_boxes_and_areas_in_arrays_score_as_in_pycocotools(seed: int) -> None:
    instances, detections = draw_coco_set(seed)
    objects = instances["annotations"]
    truth = GroundTruth.from_arrays(
        **rows(objects),
        boxes=np.array([each["bbox"] for each in objects]),
        box_format="xywh",
        convention="half-open",
        **told(instances),
        **names(instances),
    )
    found = Detections.from_arrays(
        **rows(detections),
        score=[each["score"] for each in detections],
        boxes=[each["bbox"] for each in detections],
        box_format="xywh",
    )

    result = evaluate(found, truth, protocol="coco")

    expected = official_figures(official(instances, detections, "bbox"))
    assert figures(result) == pytest.approx(expected, abs=CLOSE)


def test_masks_of_an_object_give_its_box_and_its_area() -> None:
    truth = GroundTruth.from_masks(
        ["a"], ["cat"], [CAT], crowd=[1], images=["b", "a"], classes=["dog", "cat"]
    )

    table = truth.tables.coco
    assert table is not None
    assert truth.tables.objects.boxes.tolist() == [[1, 0, 3, 2]]
    assert (table.area.tolist(), table.crowd.tolist()) == ([3.0], [True])
    assert (truth.lists.images, truth.lists.classes) == (("b", "a"), ("dog", "cat"))
    assert truth.description.images[1].width == 3


def test_masks_score_detections_with_boxes_too() -> None:
    truth = GroundTruth.from_masks(["a"], ["cat"], [CAT])
    found = Detections.from_arrays(["a"], ["cat"], [0.5], [[1, 0, 3, 2]])

    for protocol in ("coco", "voc2012"):
        assert evaluate(found, truth, protocol=protocol).headline == pytest.approx(1, abs=CLOSE)


def test_a_mask_in_an_image_without_objects_is_a_false_positive_of_any_size() -> None:
    truth = GroundTruth.from_masks(["a"], ["cat"], [CAT], images=["a", "b"])
    found = InstanceMasks.from_arrays(["b", "a"], ["cat", "cat"], [0.9, 0.5], [np.ones((5, 5)) > 0, CAT])

    assert evaluate(found, truth, protocol="coco").headline == pytest.approx(0.5, abs=CLOSE)


def test_masks_are_checked_against_the_given_sizes_of_images() -> None:
    truth = GroundTruth.from_masks(["a"], ["cat"], [CAT], images=["a", "b"], sizes=[[3, 2], [7, 4]])
    found = InstanceMasks.from_arrays(["b"], ["cat"], [0.9], [CAT])

    with pytest.raises(DataError, match=r"expected masks of shape \(4, 7\) in the image 'b', found \(2, 3\)"):
        evaluate(found, truth, protocol="coco")


def test_an_annotation_without_objects_has_no_score() -> None:
    truth = GroundTruth.from_masks([], [], [], images=["a"])
    found = InstanceMasks.from_arrays([], [], [], [])

    assert evaluate(found, truth, protocol="coco").headline is None


def test_areas_in_frames_and_in_dictionaries_decide_the_size_of_an_object() -> None:
    column = {"image": ["a"], "label": ["cat"], "x": [0], "y": [0], "r": [90], "b": [90], "size": [50]}
    of_frame = GroundTruth.from_frame(column, boxes=("x", "y", "r", "b"), area="size", convention="half-open")
    entry = {"boxes": [[0, 0, 90, 90]], "labels": ["cat"], "area": [50], "iscrowd": [0]}
    of_dicts = GroundTruth.from_dicts({"a": entry}, convention="half-open")
    found = Detections.from_arrays(["a"], ["cat"], [0.5], [[0, 0, 90, 90]])

    assert of_frame.fingerprint == of_dicts.fingerprint
    assert figures(evaluate(found, of_frame, protocol="coco"))["APs"] == pytest.approx(1, abs=CLOSE)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"masks": [CAT, CAT.T]}, r"expected masks of shape \(2, 3\) in the image 'a', found \(3, 2\)"),
        ({"masks": [CAT, CAT], "sizes": [[2, 3]]}, r"expected masks of shape \(3, 2\) in the image 'a'"),
        ({"masks": [CAT]}, "expected columns of one length"),
        ({"masks": 5}, "expected a list in 'masks', found 5"),
        (
            {"masks": [CAT, CAT * 0.5]},
            "expected masks of 0 and 1, found one with values from 0.0 to 0.5; of probabilities take `masks > 0.5`",
        ),
        ({"masks": [CAT, CAT * 2]}, "expected masks of 0 and 1, found one with values from 0 to 2"),
        ({"masks": [CAT, np.empty((0, 3))]}, "expected masks of at least one pixel"),
        ({"area": [1, np.nan]}, "expected finite numbers in 'area', found nan in row 1"),
        ({"area": [1, -2]}, "expected areas from 0 in 'area', found -2"),
        ({"area": [1]}, "expected columns of one length, found 2 of 'image' and 1 of 'area'"),
        ({"crowd": [0, 2]}, "expected 0 or 1 in 'crowd', found 2"),
        ({"classes": ["dog"]}, "unknown 'label': 'cat'; known: dog"),
        ({"image": 5}, "expected 'image' as one each"),
        ({"sizes": [[3, 2.5]]}, "expected width and height in whole pixels"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_one_sentence(
    changed: dict[str, Any], sentence: str
) -> None:
    given: dict[str, Any] = {"image": ["a", "a"], "label": ["cat", "cat"], "masks": [CAT, CAT]}

    with pytest.raises(DataError, match=sentence):
        GroundTruth.from_masks(**(given | changed))


def test_scoring_against_ground_truth_without_masks_explains_how_to_make_one() -> None:
    truth = GroundTruth.from_arrays(["a"], ["cat"], [[0, 0, 9, 9]], area=[50], convention="half-open")

    with pytest.raises(
        LookupError, match=r"has no masks: make it by `GroundTruth.from_masks` or `from_coco`"
    ):
        evaluate(InstanceMasks.from_arrays(["a"], ["cat"], [0.5], [CAT]), truth, protocol="coco")
