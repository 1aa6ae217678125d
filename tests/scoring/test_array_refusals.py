"""Arguments that do not fit are refused in one sentence, whatever they are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from heldout_scoring import (
    Confidences,
    DataError,
    Detections,
    GroundTruth,
    InstanceMasks,
    LabelMaps,
    Layouts,
    Result,
    Scoreboard,
    SubmissionError,
    average_precision,
    bootstrap,
    compare,
    compare_pairs,
    confusion_matrix,
    evaluate,
    evaluate_coco,
    iou_matrix,
    labels_to_png,
    rank_methods,
    read_scoreboard,
    standings,
    validate,
)

BOX = [[0, 0, 10, 10]]
OBJECT: dict[str, Any] = {"image": ["a"], "label": ["cat"], "boxes": BOX}
FRAME: dict[str, Any] = {
    "image": ["a"],
    "label": ["cat"],
    "score": [0.5],
    "left": [0],
    "top": [0],
    "right": [9],
    "bottom": [9],
}
PERSON: dict[str, Any] = {"image": ["a"], "person": [1], "owner": [0], "kind": ["head"], "parts": BOX}


class Tensor:
    """A tensor that offers only `__array__`."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values


class Found:
    """Detections with the attributes of `supervision.Detections`."""

    def __init__(self, confidence: Any, boxes: Any = BOX) -> None:
        self.xyxy, self.confidence, self.class_id = boxes, confidence, [0] * len(boxes)


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


def scored() -> Result:
    return evaluate(detections(), objects(), protocol="voc2012")


def untyped(value: object) -> Any:
    """A value that type checkers would reject."""
    return value


def plain(values: Any) -> Any:
    return np.array(values, object)


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("expected a list in 'images', found 5", lambda: objects(images=5)),
    ("expected a list in 'classes', found 'cat'", lambda: detections(classes="cat")),
    ("unknown 'image': 'a'; known: none", lambda: detections(images=[])),
    ("unknown 'image': ''; known: a", lambda: detections(image=[""], images=["a"])),
    ("unknown 'label': 0; 'classes' is empty", lambda: objects(label=[0], classes=[])),
    ("a name must not be empty, and one of 'image' is", lambda: objects(image=[""])),
    ("a name must not be empty, and one of 'label' is", lambda: detections(label=[""])),
    ("a name must not be empty, and one of 'images' is", lambda: LabelMaps.from_arrays([[[0]]], images=[""])),
    ("expected a list in 'images', found set, which has no order", lambda: objects(images=untyped({"a", "b"}))),
    ("expected a list in 'classes', found frozenset, which", lambda: detections(classes=untyped(frozenset(["cat"])))),
    ("expected a list in 'images', found set, which", lambda: Confidences.from_matrix([[1]], images=untyped({"a"}))),
    ("expected a list in 'classes', found set, which", lambda: GroundTruth.from_labels([[1]], classes=untyped({"a"}))),
    ("expected a list in 'entries', found set, which", lambda: Detections.from_dicts(untyped(set()))),
    ("expected finite numbers in 'score', found nan in row 0", lambda: detections(score=[np.nan])),
    ("expected numbers in 'score', found texts", lambda: detections(score=["0.5"])),
    ("expected numbers in 'score', found Python objects", lambda: detections(score=plain([0.5]))),
    ("expected an array without masked values", lambda: detections(score=np.ma.masked_array([0.5], [True]))),
    ("expected an array, found rows of different lengths$", lambda: detections(boxes=[[0, 0], [1]])),
    ("expected an array, found what NumPy cannot read", lambda: detections(score=[Tensor(0.5)])),
    ("expected 'boxes' as four numbers each, .*, found None", lambda: detections(boxes=None)),
    ("expected texts as the names of 'images', found 1$", lambda: detections(images=range(1, 9))),
    ("found \\[9.0, 0.0, 1.0, 5.0\\] in row 0, which ends before it", lambda: objects(boxes=[[9, 0, 1, 5]])),
    ("found \\[0.0, 0.0, 0.0, -1.0\\] in row 1", lambda: objects(image=["a"] * 2, label=["cat"] * 2, boxes=[*BOX, [0, 0, 0, -1]])),
    ("expected 0 or 1 in 'difficult', found nan$", lambda: objects(difficult=[np.nan])),
    ("expected 'sizes' as a table, shape \\(images, 2\\)", lambda: objects(sizes=5)),
    ("expected width and height in whole pixels", lambda: objects(sizes=[[1.5, 2]])),
    ("expected 'image' as one each", lambda: persons(image=None)),
    ("expected whole numbers from 1 to 65535 in 'person'.* found 65536", lambda: persons(person=[1 << 16])),
    ("expected whole numbers from 1 to 65535 in 'person'", lambda: layouts(person=[0])),
    ("expected whole numbers from 1 to 65535 in 'person'", lambda: actions(person=[1 << 30])),
    ("expected a list in 'actions', found 5", lambda: actions(actions=5)),
    ("expected 1 names in 'actions', found 2", lambda: actions(actions=["a", "b"])),
    ("expected 0 or 1 in 'difficult', found 'x'", lambda: actions(difficult=[["x"]])),
    ("expected a list in 'images', found 5", lambda: Confidences.from_matrix([[1]], images=untyped(5))),
    ("expected a list in 'labels', found 5", lambda: LabelMaps.from_arrays(untyped(5))),
    ("expected a list in 'labels', found dict", lambda: LabelMaps.from_arrays(untyped({"a": [[0]]}))),
    ("shape \\(height, width\\), found \\(0, 0\\)", lambda: LabelMaps.from_arrays([np.empty((0, 0), int)])),
    ("as the labels of the image '0', found Python objects", lambda: LabelMaps.from_arrays([plain([[0]])])),
    (
        "expected at most 254 classes",
        lambda: GroundTruth.from_label_maps([[[0]]], classes=list(map(str, range(255)))),
    ),
    ("expected a list in 'entries', found None", lambda: Detections.from_dicts(untyped(None))),
    ("expected a data frame, found str", lambda: Detections.from_frame("x")),
    ("expected a data frame, found ndarray", lambda: Detections.from_frame(np.ones(3))),
    ("names of four columns as 'boxes', found 'box'", lambda: Detections.from_frame(FRAME, boxes="box")),
    ("expected columns of one length, .* and 2 of 'top'", lambda: Detections.from_frame(FRAME | {"top": [0, 0]})),
    ("expected xyxy, class_id for 'a', found dict", lambda: GroundTruth.from_supervision({"a": {}})),
    ("the image 'a' has no 'scores'", lambda: Detections.from_supervision({"a": untyped(Found(None)), "b": untyped(Found([1]))})),
    ("expected a list in 'labels', found 5", lambda: LabelMaps.from_arrays(untyped(Tensor(5)))),
    ("expected a data frame, found list", lambda: Confidences.from_frame([1])),
    ("has no column 'image'; it has none", lambda: Confidences.from_frame({})),
    ("expected masks of shape", lambda: InstanceMasks.from_arrays(["a"], ["cat"], [1], [["x"]])),
    ("found one of texts", lambda: InstanceMasks.from_arrays(["a"], ["cat"], [1], [[["x"]]])),
    ("expected GroundTruth to score against, found ndarray", lambda: evaluate(detections(), untyped(np.ones(1)), protocol="coco")),
    ("found Detections: the two seem to be swapped", lambda: evaluate(untyped(objects()), untyped(detections()), protocol="coco")),
    ("expected a list in 'classes', found 'cat'", lambda: evaluate(detections(), objects(), protocol="coco", classes="cat")),
    ("expected Detections, .* found ndarray", lambda: evaluate(untyped(np.ones(1)), objects(), protocol="coco")),
    ("expected GroundTruth that was made from COCO's JSON, found str", lambda: Detections.from_coco([], untyped("truth.json"))),
    ("expected a path, JSON, or lists .*, found set", lambda: GroundTruth.from_coco({"images": untyped({1})})),
    ("expected Description as 'description', found GroundTruth", lambda: validate(".", untyped(objects()))),
    ("expected Result as 'result', found str", lambda: bootstrap(untyped("x"), objects())),
    ("expected GroundTruth as 'truth', found str", lambda: bootstrap(scored(), untyped("x"))),
    ("expected at least 1 replicate, found 0", lambda: bootstrap(scored(), objects(), replicates=0)),
    ("expected Replicates as `bootstrap\\(result, truth\\)` gives them, found Result", lambda: compare(untyped(scored()), untyped(scored()))),
    ("expected Mapping of replicates by the name of their method, found list", lambda: standings(untyped([]))),
    ("expected Scoreboard of scores .*, found ndarray", lambda: rank_methods(untyped(np.ones((2, 2))))),
    ("expected Scoreboard of scores .*, found ndarray", lambda: compare_pairs(untyped(np.ones((2, 2))))),
    ("expected a row for each of 1 methods with 2 scores", lambda: Scoreboard(("a",), ("x", "y"), ((1.0,),))),
    ("expected labels uint8 \\(height, width\\), found uint8 \\(1,\\)", lambda: labels_to_png(np.ones(1, np.uint8))),
    ("expected texts or whole numbers in 'y_true', found NaN", lambda: confusion_matrix([np.nan], [1])),
    ("expected texts or whole numbers in 'y_pred', found Python", lambda: confusion_matrix([1], [None])),
    ("expected either texts or numbers as labels, found both", lambda: confusion_matrix([1], ["cat"])),
    ("expected 'y_true' as 1 for a positive", lambda: average_precision([[1]], [0.5])),
    ("expected 'boxes' as four numbers each", lambda: iou_matrix(5, BOX)),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "call"), REFUSED)
def test_arguments_that_do_not_fit_are_refused(sentence: str, call: Callable[[], object]) -> None:
    with pytest.raises(DataError, match=sentence):
        call()


def test_masks_and_labels_may_be_tensors_that_cannot_be_iterated() -> None:
    assert len(InstanceMasks.from_arrays(["a"], ["cat"], [1], untyped(Tensor(np.ones((1, 2, 3), bool))))) == 1
    assert len(LabelMaps.from_arrays(untyped(Tensor(np.ones((2, 2, 3), int))))) == 2


def test_names_may_be_the_keys_of_a_mapping() -> None:
    sizes = {"b": 1, "a": 2}

    assert objects(images=sizes.keys()).lists.images == ("b", "a")
    assert objects(images=sizes.keys()).fingerprint == objects(images=["b", "a"]).fingerprint


def test_a_lazy_frame_is_collected() -> None:
    assert len(Detections.from_frame(pl.LazyFrame(FRAME))) == 1


def test_images_of_a_mapping_may_be_numbers() -> None:
    targets = untyped({397133: {"boxes": BOX, "labels": ["cat"]}})

    assert GroundTruth.from_dicts(targets, convention="half-open").lists.images == ("397133",)


def test_an_image_without_detections_needs_no_confidence() -> None:
    found = Detections.from_supervision({"a": Found([0.5]), "b": Found(None, boxes=[])}, classes=["cat"])

    assert (len(found), found.images) == (1, ("a", "b"))


def test_the_repr_of_data_is_one_line() -> None:
    maps = LabelMaps.from_arrays([[[0]]])
    masks = InstanceMasks.from_arrays(["a"], ["cat"], [1], [[[1]]])

    assert repr(objects()) == "GroundTruth(1 image, 1 object, classes: cat)"
    assert repr(detections()) == "Detections(1 in 1 image, classes: cat)"
    assert repr(Confidences.from_matrix([[1]])) == "Confidences(1 in 1 image, classes: 0)"
    assert repr(masks) == "InstanceMasks(1 in 1 image, classes: cat)"
    assert repr(layouts()) == "Layouts(1 in 1 image)"
    assert repr(maps) == "LabelMaps(1 image)"


def test_a_method_with_a_nan_score_is_left_out() -> None:
    table = Scoreboard(("a", "b"), ("x",), untyped(np.array([[np.nan], [0.5]], np.float32)))

    assert rank_methods(table).left_out == ("a",)


def test_a_scoreboard_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("method,car\nours,0.5\n")
    broken = tmp_path / "latin.csv"
    broken.write_bytes(b"method,car\n\xe9,0.5\n")

    assert read_scoreboard(path) == read_scoreboard(str(path)) == read_scoreboard(path.read_text())
    with pytest.raises(SubmissionError, match=r"latin\.csv: this is no text in UTF-8"):
        read_scoreboard(broken)


def test_coco_json_may_hold_numpy_numbers() -> None:
    annotation = {
        "id": 1,
        "image_id": 3,
        "category_id": 7,
        "bbox": np.array([0, 0, 10, 10], np.float32),
        "area": np.float32(100),
    }
    truth = GroundTruth.from_coco(
        {
            "images": [{"id": np.int64(3)}],
            "categories": [{"id": 7, "name": "car"}],
            "annotations": [annotation],
        }
    )

    assert truth.tables.objects.boxes.tolist() == [[0, 0, 10, 10]]


def test_a_protocol_name_must_be_a_known_string() -> None:
    with pytest.raises(LookupError, match="no protocol is called"):
        evaluate(detections(), objects(), protocol=untyped(["coco"]))
    with pytest.raises(LookupError, match="COCO's JSON is scored by coco or lvis, not by 'voc2012'"):
        evaluate_coco(b"[]", b"{}", protocol="voc2012")


def test_strings_in_an_object_array_are_labels() -> None:
    assert confusion_matrix(plain(["a", "b"]), ["a", "a"]).tolist() == [[1, 0], [1, 0]]


def test_without_classes_there_is_no_headline() -> None:
    truth = objects(image=[], label=[], boxes=[])
    found = detections(image=[], label=[], score=[], boxes=[])

    for protocol in ("coco", "voc2012"):
        result = evaluate(found, truth, protocol=protocol)
        assert (result.headline, len(result.to_frame())) == (None, 0)
