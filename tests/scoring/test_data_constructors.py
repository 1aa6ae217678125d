"""Arrays become typed data or are refused in one sentence."""

import hashlib
from typing import Any

import numpy as np
import pytest

from heldout_scoring.data.annotations import Box, BoxConvention, Part
from heldout_scoring.data.label_maps import LabelMaps
from heldout_scoring.data.layouts import Layout, Layouts
from heldout_scoring.data.predictions import Confidences, Detections
from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.errors import DataError

BOXES = [[1, 1, 10, 10], [2, 2, 9, 9], [3, 3, 8, 8]]


def detections(**changed: Any) -> Detections:
    given: dict[str, Any] = {
        "image": ["a", "b", "a"],
        "label": ["cat", "dog", "dog"],
        "score": [0.9, 0.5, 0.1],
        "boxes": BOXES,
    }
    return Detections.from_arrays(**(given | changed))


def truth(**changed: Any) -> GroundTruth:
    given: dict[str, Any] = {
        "image": ["b", "a", "b"],
        "label": ["dog", "cat", "dog"],
        "boxes": BOXES,
        "convention": "inclusive",
    }
    return GroundTruth.from_arrays(**(given | changed))


def test_names_are_numbered_by_first_occurrence() -> None:
    found = detections()

    assert (found.images, found.image.tolist()) == (("a", "b"), [0, 1, 0])
    assert (found.classes, found.label.tolist()) == (("cat", "dog"), [0, 1, 1])
    assert found.convention is None


def test_integers_are_positions_in_the_given_names() -> None:
    found = detections(image=np.array([1, 0, 1]), images=["a", "b"], label=[2, 2, 0], classes=["x", "y", "z"])

    assert [found.images[place] for place in found.image] == ["b", "a", "b"]
    assert [found.classes[place] for place in found.label] == ["z", "z", "x"]


def test_integers_without_names_are_names_themselves() -> None:
    found = detections(image=[12, 7, 12], label=[3, 1, 1])

    assert (found.images, found.image.tolist()) == (("7", "12"), [1, 0, 1])
    assert found.classes == ("1", "3")


def test_detections_share_arrays_that_have_their_types() -> None:
    place, score, boxes = np.zeros(3, np.int32), np.ones(3), np.array(BOXES, np.float64)

    found = detections(image=place, images=["a"], label=place, classes=["cat"], score=score, boxes=boxes)

    assert all(
        mine is its for mine, its in ((place, found.image), (score, found.score), (boxes, found.boxes))
    )


def test_ground_truth_stays_when_the_arrays_that_it_was_made_of_change() -> None:
    place, area, boxes = np.zeros(3, np.int32), np.zeros(3), np.array(BOXES, np.float64) * 2
    found = truth(image=place, images=["a"], label=place, classes=["cat", "dog"], boxes=boxes, area=area)

    for array in (place, area, boxes):
        array[0] = 1

    assert hashlib.sha256(found.content).hexdigest() == found.fingerprint


def test_numbers_of_any_type_are_converted_to_float64() -> None:
    found = detections(score=np.array([0.9, 0.5, 0.1], np.float32), boxes=np.array(BOXES, np.float16))

    assert found.score.dtype == found.boxes.dtype == np.float64
    assert found.score[0] == np.float32(0.9)


@pytest.mark.parametrize(
    ("box_format", "box"),
    [("xyxy", [10, 20, 30, 60]), ("xywh", [10, 20, 20, 40]), ("cxcywh", [20, 40, 20, 40])],
)
def test_boxes_may_be_written_in_three_ways(box_format: str, box: list[int]) -> None:
    found = Detections.from_arrays(["a"], ["cat"], [0.5], [box], box_format=box_format)

    assert found.boxes.tolist() == [[10, 20, 30, 60]]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"score": [0.9, np.nan, 0.1]}, "expected finite numbers in 'score', found nan in row 1"),
        ({"score": [[0.9, 0.5, 0.1]]}, "expected 'score' as one number each, shape (n,), found shape (1, 3)"),
        ({"score": ["high", "low", "low"]}, "expected numbers in 'score', found texts"),
        (
            {"score": [0.9, 0.5]},
            "expected columns of one length, found 3 of 'image' and 2 of 'score'",
        ),
        (
            {"boxes": [[1, 2, 3]] * 3},
            "expected 'boxes' as four numbers each, shape (n, 4), found shape (3, 3)",
        ),
        (
            {"boxes": [[1, 2, 3, np.inf]] * 3},
            "expected finite numbers in 'boxes', found [1.0, 2.0, 3.0, inf] in",
        ),
        ({"boxes": [[1, 2], [3]]}, "expected an array, found rows of different lengths"),
        (
            {"label": ["cat", "cow", "dog"], "classes": ["cat", "dog"]},
            "unknown 'label': 'cow'; known: cat, dog",
        ),
        ({"label": [0, 2, 1], "classes": ["cat", "dog"]}, "expected numbers from 0 to 1 in 'label', found 2"),
        ({"label": [0.5, 1.0, 2.0]}, "expected texts or whole numbers in 'label', found 0.5"),
        ({"label": ["cat", None, "dog"]}, "expected texts or whole numbers in 'label', found None"),
        ({"label": [["cat", "dog", "dog"]]}, "expected 'label' as one each, shape (n,), found shape (1, 3)"),
        ({"images": ["a", "b", "a"]}, "'a' stands twice among the names of 'images'"),
        ({"images": "ab"}, "expected a list in 'images', found 'ab'"),
        ({"image": ["a\nb", "b", "b"]}, "a name must not contain a line break"),
        ({"box_format": "yxyx"}, "expected 'xyxy', 'xywh', 'cxcywh' as 'box_format', found 'yxyx'"),
        ({"convention": "closed"}, "as 'convention', found 'closed'"),
    ],
)
def test_invalid_arguments_are_refused_in_one_sentence(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        detections(**changed)

    assert sentence in str(error.value)
    assert isinstance(error.value, ValueError)


def test_empty_detections_and_ground_truth_are_allowed() -> None:
    assert len(Detections.from_arrays([], [], [], [])) == 0
    assert GroundTruth.from_arrays([], [], [], convention="inclusive", images=["a"]).lists.main == 1


def test_ground_truth_lists_objects_by_image_and_keeps_their_order() -> None:
    found = truth(difficult=[1, 0, 0], crowd=[0, 1, 0], sizes=[[50, 40], [30, 20]])

    objects = found.tables.objects
    assert found.lists.images == ("b", "a")
    assert objects.image.tolist() == [0, 0, 1]
    assert objects.boxes[:, 0].tolist() == [1, 3, 2]
    assert (objects.difficult.tolist(), objects.group_of.tolist()) == (
        [True, False, True],
        [False, False, True],
    )
    assert found.tables.labels.tolist() == [[1, -1], [-1, 0]]
    assert [(image.width, image.height) for image in found.description.images] == [(50, 40), (30, 20)]


def test_an_image_with_only_difficult_objects_is_labelled_difficult() -> None:
    assert truth(difficult=[1, 0, 1]).tables.labels.tolist() == [[0, -1], [-1, 1]]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"difficult": [2, 0, 0]}, "expected 0 or 1 in 'difficult', found"),
        ({"crowd": [0]}, "expected columns of one length, found 3 of 'image' and 1 of 'crowd'"),
        ({"images": ["a"]}, "unknown 'image': 'b'; known: a"),
        ({"sizes": [[50, 40]]}, "expected width and height in whole pixels for each of 2 images"),
        ({"sizes": [[50, 0], [1, 1]]}, "expected width and height in whole pixels for each of 2 images"),
    ],
)
def test_ground_truth_that_does_not_fit_is_refused(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        truth(**changed)

    assert sentence in str(error.value)


def test_torchvision_targets_are_read_as_ground_truth() -> None:
    targets = [
        {"boxes": BOXES[:1], "labels": [1], "iscrowd": [1]},
        {"boxes": np.empty((0, 4)), "labels": [], "iscrowd": []},
    ]

    found = GroundTruth.from_dicts(targets, convention="half-open", classes=["background", "cat"])

    assert found.lists.main == 2
    assert found.tables.objects.group_of.tolist() == [True]
    assert found.tables.convention is BoxConvention.HALF_OPEN


def test_image_labels_are_positive_negative_or_difficult() -> None:
    found = GroundTruth.from_labels([[1, 0], [0, 1]], difficult=[[0, 0], [1, 0]], images=["a", "b"])

    assert found.lists.classes == ("0", "1")
    assert found.tables.labels.tolist() == [[1, 0], [-1, 1]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"y_true": [[1, -1]]}, "expected 0 or 1 in 'y_true', found -1"),
        ({"y_true": [1, 0]}, "expected 'y_true' as a table, shape (images, classes), found shape (2,)"),
        (
            {"y_true": [[1, 0]], "difficult": [1, 0]},
            "expected 'difficult' with shape (1, 2), found shape (2,)",
        ),
        ({"y_true": [[1, 0]], "classes": ["cat"]}, "expected 2 names in 'classes'"),
    ],
)
def test_labels_that_do_not_fit_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        GroundTruth.from_labels(**arguments)

    assert sentence in str(error.value)


def test_persons_are_numbered_within_their_images() -> None:
    found = GroundTruth.from_actions(
        [[1, 0], [0, 1], [1, 1]], image=["b", "a", "b"], person=[3, 1, 1], difficult=[[0, 1], [0, 0], [0, 0]]
    )

    assert found.lists.acting == (("b", 3), ("a", 1), ("b", 1))
    assert found.tables.objects.image.tolist() == [0, 0, 0, 1]
    assert found.tables.acts.owner.tolist() == [2, 3, 0] * 2
    assert found.tables.acts.label.tolist() == [1, -1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("person", "sentence"),
    [
        ([1, 1], "a person stands twice"),
        ([0, 1], "expected whole numbers from 1"),
        ([1], "found 2 of 'y_true' and 1 of 'person'"),
    ],
)
def test_persons_that_do_not_fit_are_refused(person: list[int], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        GroundTruth.from_actions([[1], [0]], image=["a", "a"], person=person)


def test_confidences_may_be_rows_or_a_table() -> None:
    rows = Confidences.from_arrays(
        ["a", "b"], ["cat", "cat"], np.array([0.5, 0.25], np.float32), person=[1, 2]
    )
    table = Confidences.from_matrix([[0.5], [0.25]], images=["a", "b"], classes=["cat"], person=[1, 2])

    for name in ("images", "classes"):
        assert getattr(rows, name) == getattr(table, name)
    for name in ("image", "label", "score", "person"):
        assert getattr(rows, name).tolist() == getattr(table, name).tolist()
    assert len(rows) == 2


def test_a_table_of_confidences_needs_a_name_for_each_row_and_column() -> None:
    with pytest.raises(DataError, match="found shape"):
        Confidences.from_matrix([[0.5], [0.25]], images=["a"])
    with pytest.raises(DataError, match="expected columns of one length"):
        Confidences.from_matrix([[0.5], [0.25]], images=["a", "b"], person=[1])
    with pytest.raises(DataError, match="shape \\(images, classes\\)"):
        Confidences.from_matrix([0.5])


def test_label_maps_are_integers_that_fit_a_byte() -> None:
    found = LabelMaps.from_arrays(
        [np.array([[0, 21]], np.int64), np.ones((3, 2), np.bool_)], images=["a", "b"]
    )

    assert [each.tolist() for each in found.labels] == [[[0, 21]], [[1, 1], [1, 1], [1, 1]]]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([[0, 1]], "with shape (height, width), found (2,)"),
        ([[[0.5]]], "expected whole numbers as the labels of the image '0', found float64"),
        ([[[-1, 256]]], "expected labels from 0 to 255 in the image '0', found -1 to 256"),
    ],
)
def test_invalid_label_maps_are_refused(labels: list[Any], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        LabelMaps.from_arrays(labels)

    assert sentence in str(error.value)


def test_every_label_map_needs_a_name() -> None:
    with pytest.raises(DataError, match="found 1"):
        GroundTruth.from_label_maps([np.zeros((2, 2), int)], classes=["cat"], images=["a", "b"])


def test_layouts_may_be_columns_or_values() -> None:
    head = Part("head", Box(1, 1, 9, 9))

    found = Layouts.from_list(
        [Layout("a", 0.9, (head,), object=2), Layout("b", 0.5, (), box=Box(1, 2, 3, 4))]
    )

    assert (found.person.tolist(), len(found)) == ([2, 0], 2)
    assert found.boxes[1].tolist() == [1, 2, 3, 4]
    assert np.isnan(found.boxes[0]).all()
    columns = Layouts.from_arrays(["a"], [2], [0.9], owner=[0, 0], kind=["foot", "head"], parts=BOXES[:2])
    assert columns.kind.tolist() == [2, 0]


def test_layouts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="either an object or a box"):
        Layouts.from_list([Layout("a", 0.9, ())])
    with pytest.raises(DataError, match="expected rows of layouts, 0 to 0, in 'owner'"):
        Layouts.from_arrays(["a"], [1], [0.9], owner=[1], kind=["head"], parts=[[1, 1, 9, 9]])
    with pytest.raises(DataError, match="unknown 'kind': 'nose'"):
        Layouts.from_arrays(["a"], [1], [0.9], owner=[0], kind=["nose"], parts=[[1, 1, 9, 9]])
