"""The Open Images Challenge read from its files: hierarchy, image-level labels, detections."""

import json
from typing import Any

import numpy as np
import pytest

from heldout_scoring.data.description import Image
from heldout_scoring.data.predictions import ClassDetections, Detections
from heldout_scoring.data.truth import GroundTruth, truth_of_boxes
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.readers.open_images import (
    Hierarchy,
    expand_detections,
    read_hierarchy,
    read_open_images,
    read_open_images_detections,
)
from heldout_scoring.readers.voc_annotations import AnnotationError
from heldout_scoring.tasks.detection import DETECTION, load
from heldout_scoring.tasks.task import Keyed
from tests.scoring.tensorflow_evaluators import load_expansion

IMAGES = (Image("a", 100, 100), Image("b", 100, 100))
BOXES = "ImageID,LabelName,XMin,XMax,YMin,YMax,IsGroupOf\n"
LABELS = "ImageID,Source,LabelName,Confidence\n"
DETECTIONS = "ImageID,LabelName,Score,XMin,XMax,YMin,YMax\n"
CLASSES = ("helmet", "football", "bicycle", "ball")


def node(label: str, *children: Any) -> dict[str, Any]:
    return {"LabelName": label, "Subcategory": list(children)} if children else {"LabelName": label}


TREE = node("/m/root", node("helmet", node("football"), node("bicycle")), node("ball"))


def hierarchy(tree: Any = TREE) -> Hierarchy:
    return read_hierarchy(json.dumps(tree).encode())


def truth(boxes: str, labels: str | None = None, *, expanded: bool = True) -> GroundTruth:
    pages = read_open_images(
        (BOXES + boxes).encode(),
        IMAGES,
        labels=None if labels is None else (LABELS + labels).encode(),
        hierarchy=hierarchy() if expanded else None,
    )
    return truth_of_boxes(pages, dataset="own", image_set="val", classes=CLASSES)


def values(truth: GroundTruth, found: Detections) -> dict[str, float | None]:
    """The AP of each class by the challenge's protocol."""
    rules = PROTOCOLS["oid_challenge_detection_metrics"].rules_of(DETECTION)
    ground_truth = load(truth)
    entered = []
    for label, name in enumerate(found.classes):
        rows = found.label == label
        lines = found.image[rows], found.score[rows], found.boxes[rows]
        assert found.convention is not None
        entered.append(Keyed(name, ClassDetections(*lines, convention=found.convention)))
    scores = DETECTION.score(DETECTION.match(iter(entered), ground_truth, rules), ground_truth, rules)
    return {each.name: each.value for each in scores.classes}


def detections(*lines: str) -> Detections:
    content = (DETECTIONS + "".join(f"{line}\n" for line in lines)).encode()
    return read_open_images_detections(content, IMAGES, {name: name for name in CLASSES})


FOOTBALL = "a,football,0,0.1,0,0.1,0\n"


def test_a_box_belongs_to_every_ancestor_of_its_class() -> None:
    objects = truth(FOOTBALL).tables.objects

    assert [CLASSES[number] for number in objects.name] == ["football", "helmet"]
    assert objects.boxes.tolist() == [[0, 0, 10, 10]] * 2
    assert len(truth(FOOTBALL, expanded=False).tables.objects.name) == 1


def test_present_labels_extend_to_ancestors_and_absent_ones_to_descendants() -> None:
    pairs = truth("", "a,v,football,1\nb,v,helmet,0\n").tables.verified

    assert pairs is not None
    said = {(IMAGES[image].id, CLASSES[number]) for image, number in pairs.tolist()}
    assert said == {("a", "football"), ("a", "helmet"), ("b", "helmet"), ("b", "football"), ("b", "bicycle")}
    assert truth("").tables.verified is None


def test_labels_are_stored_in_the_ground_truth_file() -> None:
    labelled = truth(FOOTBALL, "b,v,ball,0\n")

    again = GroundTruth.of_bytes(labelled.content)

    assert again.tables.verified is not None
    assert again.tables.verified.tolist() == [[1, CLASSES.index("ball")]]
    assert load(again)["helmet"].verified is not None
    assert load(truth(FOOTBALL))["helmet"].verified is None


def test_detections_count_only_where_their_class_is_verified() -> None:
    wrong = "b,football,0.9,0.5,0.6,0.5,0.6"
    right = "a,football,0.8,0,0.1,0,0.1"
    found = detections(wrong, right)

    assert values(truth(FOOTBALL, "a,v,football,1\n"), found)["football"] == 1
    assert values(truth(FOOTBALL, "b,v,football,0\n"), found)["football"] == 0.5
    assert (
        values(truth(FOOTBALL, "b,v,helmet,0\n"), found)["football"] == 0.5
    )  # no helmet, no football helmet
    assert values(truth(FOOTBALL), found)["football"] == 0.5


def test_detections_can_be_expanded_to_ancestor_classes() -> None:
    found = detections("a,football,0.8,0,0.1,0,0.1")
    ground_truth = truth(FOOTBALL)

    assert values(ground_truth, found) == {"helmet": 0, "football": 1, "bicycle": None, "ball": None}
    expanded = expand_detections(found, hierarchy())
    assert values(ground_truth, expanded) == {"helmet": 1, "football": 1, "bicycle": None, "ball": None}


def test_expanding_adds_only_missing_boxes_with_the_best_score() -> None:
    box, other = "0,0.1,0,0.1", "0,0.2,0,0.2"
    found = detections(
        f"a,football,0.8,{box}", f"a,helmet,0.3,{box}", f"a,football,0.4,{other}", f"a,bicycle,0.6,{other}"
    )

    expanded = expand_detections(found, hierarchy())

    helmets = expanded.score[expanded.label == CLASSES.index("helmet")]
    assert helmets.tolist() == [0.3, 0.6]
    again = expand_detections(expanded, hierarchy())
    assert again.score.tolist() == expanded.score.tolist()


def test_expanding_keeps_equal_lines_of_one_class() -> None:
    line = "a,ball,0.8,0,0.1,0,0.1"

    assert len(expand_detections(detections(line, line), hierarchy())) == 2
    assert len(expand_detections(detections(), hierarchy())) == 0


def test_detections_of_unknown_images_and_classes_are_left_out() -> None:
    found = detections("elsewhere,ball,0.9,0,1,0,1", "a,cat,0.9,0,1,0,1", "b,ball,0.9,-0.1,1.5,0,1")

    assert found.boxes.tolist() == [[-10, 0, 150, 100]]
    assert (found.images, found.classes) == (("a", "b"), CLASSES)


def test_random_hierarchies_expand_as_in_the_official_program() -> None:
    rng = np.random.default_rng(2018)

    def grow(depth: int) -> dict[str, Any]:  # labels come back in several places
        children = [grow(depth - 1) for _ in range(int(rng.integers(0, 4)))] if depth else []
        return node(f"{depth}{rng.integers(0, 6)}", *children)

    for _ in range(50):
        tree = node("root", *(grow(3) for _ in range(3)))
        ours, theirs = hierarchy(tree), load_expansion().OIDHierarchicalLabelsExpansion(tree)
        for label in ours.ancestors:
            boxes = theirs.expand_boxes_or_segments_from_csv(f"a,{label}")
            assert sorted(ours.expand_box(label)) == sorted(line.split(",")[1] for line in boxes)
            for present in (True, False):
                labels = theirs.expand_labels_from_csv(f"a,{label},{int(present)}")
                said = ours.expand_image_label(label, present=present)
                assert sorted(said) == sorted(line.split(",")[1] for line in labels)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "this is not JSON"),
        (b"[]", "expected a tree of nodes with a 'LabelName'"),
        (json.dumps(node("a", {"LabelName": 7})).encode(), "expected a tree of nodes with a 'LabelName'"),
        (b'{"LabelName": "a", "Subcategory": 7}', "expected a list as 'Subcategory' of 'a'"),
    ],
)
def test_invalid_hierarchies_are_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(AnnotationError, match=sentence):
        read_hierarchy(content)


def test_problems_of_labels_and_detections_are_reported_with_their_line() -> None:
    with pytest.raises(AnnotationError, match="'hat' is not in the hierarchy") as wrong:
        truth(f"{FOOTBALL}a,hat,0,1,0,1,0\n")
    assert wrong.value.line == 3
    with pytest.raises(AnnotationError, match=r"expected 0 or 1 as Confidence, found '0\.7'"):
        truth("", "a,v,ball,0.7\n")
    with pytest.raises(AnnotationError, match="'hat' is not in the hierarchy"):
        truth("", "a,v,hat,0\n")
    with pytest.raises(AnnotationError, match="expected a number as Score, found 'nan'"):
        detections("a,ball,nan,0,1,0,1")
    with pytest.raises(AnnotationError, match="expected a header with the columns Score"):
        read_open_images_detections(BOXES.encode(), IMAGES)


NAMED = {"/m/0": "helmet", "/m/1": "ball"}
CODED = "a,/m/0,0.9,0.1,0.5,0.1,0.5\n"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            CODED.replace("a,", "a.jpg,"),
            "no line is of one of the 2 images, such as 'a'; this one has 'a.jpg' as ImageID",
        ),
        (CODED.replace("a,", "val/a,") * 2, "this one has 'val/a' as ImageID"),
        (CODED.replace("a,", "17,"), "this one has '17' as ImageID"),
        (
            CODED.replace("/m/0", "helmet"),
            "no line has one of the 2 labels, such as '/m/0'; this one has 'helmet' as LabelName",
        ),
        (CODED.replace("/m/0", "0"), "this one has '0' as LabelName"),
        (
            "x,/m/0,0.9,0.1,0.5,0.1,0.5\n" + CODED.replace("/m/0", "Helmet"),
            "this one has 'Helmet' as LabelName",
        ),
        ("a,/m/0,0.9,10,50,10,50\n", "from 0 to 1, found 50 as XMax: are they pixels?"),
        ("a,/m/0,0.9,0,3,0,2\n" + "b,/m/1,0.9,0.5,99,0,20\n" * 2, "are they pixels?"),
    ],
)
def test_detections_of_which_nothing_counts_are_refused_with_an_example(lines: str, message: str) -> None:
    with pytest.raises(AnnotationError) as wrong:
        read_open_images_detections((DETECTIONS + lines).encode(), IMAGES, NAMED)

    assert message in str(wrong.value)
    assert wrong.value.line is not None


def test_some_detections_may_be_elsewhere_or_a_little_outside() -> None:
    lines = CODED + CODED.replace("a,", "a.jpg,") * 9 + "a,/m/1,0.9,-0.5,1.5,0,1\nb,/m/1,0.9,0,40,0,1\n"

    assert len(read_open_images_detections((DETECTIONS + lines).encode(), IMAGES, NAMED)) == 3
    assert len(read_open_images_detections(DETECTIONS.encode(), IMAGES, NAMED)) == 0


@pytest.mark.parametrize(
    "line", ["a.jpg,/m/0,0,1,0,1,0\n", "val/a.png,/m/0,0,1,0,1,0\n", "a,helmet,0,1,0,1,0\n"]
)
def test_annotation_that_is_spelt_otherwise_is_refused(line: str) -> None:
    with pytest.raises(AnnotationError, match="no line"):
        read_open_images((BOXES + line).encode(), IMAGES, NAMED)
    assert read_open_images((BOXES + "x,/m/0,0,1,0,1,0\n").encode(), IMAGES, NAMED)["a"].objects == ()


def test_image_level_labels_must_cover_all_images_or_none() -> None:
    pages = read_open_images(BOXES.encode(), IMAGES[:1], labels=LABELS.encode())
    pages |= read_open_images(BOXES.encode(), IMAGES[1:])

    with pytest.raises(ValueError, match="expected image-level labels for all images or for none"):
        truth_of_boxes(pages, dataset="own", image_set="val", classes=CLASSES)


def test_image_level_labels_of_other_images_are_skipped() -> None:
    found = truth("a,ball,0,0.1,0,0.1,0\n", "elsewhere,human,football,1\nb,human,ball,0\n")

    assert found.tables.verified is not None
    assert np.argwhere(found.tables.verified).size > 0
