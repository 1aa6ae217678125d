"""Names of classes and labels that do not belong together."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import DataError, GroundTruth, LabelMaps, TreeError, evaluate, read_public, read_tree
from tests.scoring.builders import Kit, annotation, kit, thing

TRUE = np.array([[0, 0, 1, 1], [2, 2, 255, 255]], np.uint8)
FOUND = np.array([[0, 0, 1, 1], [2, 0, 1, 2]], np.uint8)
COUNTED = "0 is the background, k the k-th class, 255 void"


def test_labels_are_the_background_the_classes_and_void() -> None:
    truth = GroundTruth.from_label_maps([TRUE], classes=["cat", "dog"])

    result = evaluate(LabelMaps.from_arrays([FOUND]), truth, protocol="voc2012")

    values = {each.name: each.value for each in result.classes}
    assert values == {"background": pytest.approx(2 / 3), "cat": 1.0, "dog": 0.5}
    assert result.headline == pytest.approx(13 / 18)


@pytest.mark.parametrize(
    ("classes", "wrong"),
    [
        (["background", "cat", "dog"], "background"),
        (["Background", "cat", "dog"], "Background"),
        (["__background__", "cat", "dog"], "__background__"),
        (["cat", "dog", "background"], "background"),
        (["bg", "cat", "dog"], "bg"),
        (["unlabeled", "cat", "dog"], "unlabeled"),
        (["void", "cat", "dog"], "void"),
    ],
)
def test_the_background_is_no_class_of_label_images(classes: list[str], wrong: str) -> None:
    with pytest.raises(DataError) as refused:
        GroundTruth.from_label_maps([TRUE], classes=classes)

    assert str(refused.value) == f"in 'classes', '{wrong}' is no class: {COUNTED}; leave it out"


@pytest.mark.parametrize("classes", [["sky", "void"], ["backgrounds", "cat"], ["cat", "ignore"]])
def test_names_that_only_resemble_them_are_classes(classes: list[str]) -> None:
    assert GroundTruth.from_label_maps([TRUE], classes=classes).lists.classes == tuple(classes)


@pytest.mark.parametrize("label", [3, 4, 254])
@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_labels_between_the_classes_and_void_are_refused(label: int, kind: Any) -> None:
    maps = np.where(TRUE == 2, label, TRUE).astype(kind)

    with pytest.raises(DataError) as refused:
        GroundTruth.from_label_maps([TRUE, maps], classes=["cat", "dog"], images=["a", "b"])

    assert (
        str(refused.value)
        == f"in the image 'b', expected labels from 0 to 2, and 255, found {label}: {COUNTED}"
    )


def test_the_background_is_no_class_of_a_tree_with_label_images(tmp_path: Path) -> None:
    tree = (
        kit(tmp_path)
        .write("ImageSets/Segmentation/test.txt", "a_1\n")
        .mask("a_1", np.ones((40, 50), np.uint8))
    )
    tree.write("ImageSets/Main/background_test.txt", "a_1 1\na_2 1\n")

    for read in (read_tree, read_public):
        with pytest.raises(TreeError) as refused:
            read(tree.root, "test")
        [problem] = refused.value.problems
        assert (problem.code, problem.file) == ("background-class", "ImageSets/Segmentation/test.txt")
        assert problem.message == f"'background' is no class: {COUNTED}; leave it out"


def test_a_class_of_boxes_may_have_any_name(tmp_path: Path) -> None:
    tree = Kit(tmp_path / "VOC2012").main({"a_1": annotation(thing("background"))}, {"background": "1"})

    assert "background" in read_tree(tree.root, "test").lists.classes
