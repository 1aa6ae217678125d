"""What is no fitting array is refused with one sentence, whatever it is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scoring import (
    Confidences,
    DataError,
    Detections,
    GroundTruth,
    InstanceMasks,
    LabelMaps,
    Layouts,
    average_precision,
    confusion_matrix,
    evaluate,
    iou_matrix,
)

BOX = [[0, 0, 10, 10]]
OBJECT: dict[str, Any] = {"image": ["a"], "label": ["cat"], "boxes": BOX}
PERSON: dict[str, Any] = {"image": ["a"], "person": [1], "owner": [0], "kind": ["head"], "parts": BOX}


def objects(**changed: Any) -> GroundTruth:
    return GroundTruth.from_arrays(**(OBJECT | {"convention": "half-open"} | changed))


def detections(**changed: Any) -> Detections:
    return Detections.from_arrays(**(OBJECT | {"score": [0.5]} | changed))


def persons(**changed: Any) -> GroundTruth:
    return GroundTruth.from_layouts(**(PERSON | {"convention": "inclusive"} | changed))


def layouts(**changed: Any) -> Layouts:
    return Layouts.from_arrays(**(PERSON | {"score": [0.5]} | changed))


def actions(**changed: Any) -> GroundTruth:
    given: dict[str, Any] = {"y_true": [[1]], "image": ["a"], "person": [1]}
    return GroundTruth.from_actions(**(given | changed))


def untyped(value: object) -> Any:
    """A value that the types forbid."""
    return value


def plain(values: Any) -> Any:
    return np.array(values, object)


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("expected a list in 'image', found int", lambda: objects(images=5)),
    ("expected a list in 'label', found 'cat'", lambda: detections(classes="cat")),
    ("unknown 'image': 'a'; known: none", lambda: detections(images=[])),
    ("expected finite numbers in 'score', found nan in row 0", lambda: detections(score=[np.nan])),
    ("expected numbers in 'score', found texts", lambda: detections(score=["0.5"])),
    ("expected numbers in 'score', found Python objects", lambda: detections(score=plain([0.5]))),
    ("expected an array without masked values", lambda: detections(score=np.ma.masked_array([0.5], [True]))),
    ("expected an array, found rows of different lengths$", lambda: detections(boxes=[[0, 0], [1]])),
    ("expected 0 or 1 in 'difficult', found nan$", lambda: objects(difficult=[np.nan])),
    ("expected 'sizes' as a table, shape \\(images, 2\\)", lambda: objects(sizes=5)),
    ("expected width and height in whole pixels", lambda: objects(sizes=[[1.5, 2]])),
    ("expected 'image' as one each", lambda: persons(image=None)),
    ("expected whole numbers from 1 to 65535 in 'person'.* found 65536", lambda: persons(person=[1 << 16])),
    ("expected whole numbers from 1 to 65535 in 'person'", lambda: layouts(person=[0])),
    ("expected whole numbers from 1 to 65535 in 'person'", lambda: actions(person=[1 << 30])),
    ("expected a list in 'actions', found int", lambda: actions(actions=5)),
    ("expected 1 names in 'actions', found 2", lambda: actions(actions=["a", "b"])),
    ("expected 0 or 1 in 'difficult', found 'x'", lambda: actions(difficult=[["x"]])),
    ("expected a list in 'images', found int", lambda: Confidences.from_matrix([[1]], images=untyped(5))),
    ("expected a list in 'labels', found int", lambda: LabelMaps.from_arrays(untyped(5))),
    ("expected a list in 'labels', found dict", lambda: LabelMaps.from_arrays(untyped({"a": [[0]]}))),
    ("shape \\(height, width\\), found \\(0, 0\\)", lambda: LabelMaps.from_arrays([np.empty((0, 0), int)])),
    ("as the labels of the image '0', found Python objects", lambda: LabelMaps.from_arrays([plain([[0]])])),
    (
        "expected at most 254 classes",
        lambda: GroundTruth.from_label_maps([[[0]]], classes=list(map(str, range(255)))),
    ),
    ("expected a list in 'entries', found NoneType", lambda: Detections.from_dicts(untyped(None))),
    ("expected a data frame, found str", lambda: Detections.from_frame("x")),
    ("expected a data frame, found ndarray", lambda: Detections.from_frame(np.ones(3))),
    ("expected a data frame, found list", lambda: Confidences.from_frame([1])),
    ("has no column 'image'; it has none", lambda: Confidences.from_frame({})),
    ("expected masks of shape", lambda: InstanceMasks.from_arrays(["a"], ["cat"], [1], [["x"]])),
    ("found one of texts", lambda: InstanceMasks.from_arrays(["a"], ["cat"], [1], [[["x"]]])),
    ("expected a GroundTruth to score against, found ndarray", lambda: evaluate(detections(), untyped(np.ones(1)), protocol="coco")),
    ("expected a list in 'classes', found 'cat'", lambda: evaluate(detections(), objects(), protocol="coco", classes="cat")),
    ("expected Detections, .* found ndarray", lambda: evaluate(untyped(np.ones(1)), objects(), protocol="coco")),
    ("expected texts or whole numbers in 'y_true', found NaN", lambda: confusion_matrix([np.nan], [1])),
    ("expected texts or whole numbers in 'y_pred', found Python", lambda: confusion_matrix([1], [None])),
    ("expected either texts or numbers as labels, found both", lambda: confusion_matrix([1], ["cat"])),
    ("expected 'y_true' as 1 for a positive", lambda: average_precision([[1]], [0.5])),
    ("expected 'boxes' as four numbers each", lambda: iou_matrix(5, BOX)),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "call"), REFUSED, ids=[sentence for sentence, _ in REFUSED])
def test_what_does_not_fit_is_refused(sentence: str, call: Callable[[], object]) -> None:
    with pytest.raises(DataError, match=sentence):
        call()


def test_texts_in_an_array_of_objects_are_labels() -> None:
    assert confusion_matrix(plain(["a", "b"]), ["a", "a"]).tolist() == [[1, 0], [1, 0]]


def test_without_classes_there_is_no_headline() -> None:
    truth = objects(image=[], label=[], boxes=[])
    found = detections(image=[], label=[], score=[], boxes=[])

    for protocol in ("coco", "voc2012"):
        assert evaluate(found, truth, protocol=protocol).headline is None
