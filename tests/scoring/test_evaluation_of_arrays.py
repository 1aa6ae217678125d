"""Predictions in memory score the same as those in an archive, whatever the task."""

import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import (
    PROTOCOLS,
    AnnotatedObject,
    Annotation,
    Box,
    Confidences,
    Detections,
    GroundTruth,
    LabelMaps,
    Layout,
    Layouts,
    Part,
    Result,
    bootstrap,
    evaluate,
    intervals_of,
    labels_to_png,
    layouts_to_xml,
    read_tree,
    truth_of_boxes,
)
from heldout_scoring.data.annotations import BoxConvention
from heldout_scoring.data.matches import open_matches
from heldout_scoring.errors import DataError
from heldout_scoring.tasks.detection import load
from heldout_scoring.tasks.labels import split_persons
from tests.scoring.builders import kit

IMAGES = tuple(f"i_{number:02}" for number in range(12))
CLASSES = ("car", "cat", "dog")
DICE = np.random.default_rng(8)


def boxes(count: int) -> Any:
    corner = DICE.integers(1, 40, (count, 2)).astype(float)
    return np.concatenate([corner, corner + DICE.integers(4, 30, (count, 2))], axis=1)


TRUE_IMAGE, TRUE_LABEL, TRUE_BOXES = DICE.integers(0, 12, 40), DICE.integers(0, 3, 40), boxes(40)
DIFFICULT = DICE.random(40) < 0.2
SOURCE = DICE.integers(0, 40, 120)
IMAGE = np.concatenate([TRUE_IMAGE[SOURCE], DICE.integers(0, 12, 30)])
LABEL = np.concatenate([TRUE_LABEL[SOURCE], DICE.integers(0, 3, 30)])
SCORE = DICE.integers(1, 30, 150) / 32
FOUND = np.concatenate([TRUE_BOXES[SOURCE] + DICE.integers(-3, 4, (120, 4)), boxes(30)])


def truth(**changed: Any) -> GroundTruth:
    given: dict[str, Any] = {
        "convention": "inclusive",
        "difficult": DIFFICULT,
        "images": IMAGES,
        "classes": CLASSES,
    }
    return GroundTruth.from_arrays(TRUE_IMAGE, TRUE_LABEL, TRUE_BOXES, **(given | changed))


def detections(**changed: Any) -> Detections:
    given: dict[str, Any] = {"image": IMAGE, "label": LABEL, "score": SCORE, "boxes": FOUND}
    return Detections.from_arrays(**({"images": IMAGES, "classes": CLASSES} | given | changed))


def of_voc(known: GroundTruth) -> GroundTruth:
    """The same ground truth as a challenge of 2012, which has competitions with files."""
    return GroundTruth.of(replace(known.lists, dataset="VOC2012", image_set="val"), known.tables)


def archive(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def assert_alike(one: Result, other: Result) -> None:
    for name in (
        "task",
        "protocol",
        "measure",
        "headline",
        "headline_reason",
        "classes",
        "exhibits",
        "truth",
    ):
        assert getattr(one, name) == getattr(other, name)


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name not in {"coco", "lvis"}])
def test_detections_score_what_their_files_score(protocol: str, tmp_path: Path) -> None:
    known = of_voc(truth())
    files = {
        f"comp3_det_val_{name}.txt": "".join(
            f"{IMAGES[IMAGE[row]]} {SCORE[row]} {' '.join(map(str, FOUND[row]))}\n"
            for row in np.flatnonzero(number == LABEL)
        )
        for number, name in enumerate(CLASSES)
    }

    # some of the boxes end before they begin, which arrays may have
    sent = evaluate(archive(tmp_path, files), known, competition=3, protocol=protocol, accepted=True)

    assert_alike(evaluate(detections(), known, protocol=protocol), sent)
    assert 0 < (sent.headline or 0) < 1


@pytest.mark.parametrize("protocol", ["voc2006", "voc2007", "voc2012"])
def test_confidences_of_images_score_what_their_files_score(protocol: str, tmp_path: Path) -> None:
    y_true, y_score = DICE.integers(0, 2, (12, 3)), DICE.random((12, 3))
    known = of_voc(GroundTruth.from_labels(y_true, images=IMAGES, classes=CLASSES))
    files = {
        f"comp1_cls_val_{name}.txt": "".join(
            f"{image} {score}\n" for image, score in zip(IMAGES, y_score[:, number], strict=True)
        )
        for number, name in enumerate(CLASSES)
    }

    sent = evaluate(archive(tmp_path, files), known, competition=1, protocol=protocol)

    found = Confidences.from_matrix(y_score, images=IMAGES, classes=CLASSES)
    assert_alike(evaluate(found, known, protocol=protocol), sent)


def test_confidences_of_persons_score_what_their_files_score(tmp_path: Path) -> None:
    y_true, y_score = DICE.integers(0, 2, (20, 2)), DICE.random((20, 2))
    image, person = [IMAGES[row // 2] for row in range(20)], [1 + row % 2 for row in range(20)]
    actions = ("reading", "running")
    known = of_voc(GroundTruth.from_actions(y_true, image=image, person=person, actions=actions))
    files = {
        f"comp9_action_val_{name}.txt": "".join(
            f"{image[row]} {person[row]} {y_score[row, number]}\n" for row in range(20)
        )
        for number, name in enumerate(actions)
    }

    sent = evaluate(archive(tmp_path, files), known, competition=9, protocol="voc2012")

    found = Confidences.from_matrix(y_score, images=image, classes=actions, person=person)
    assert_alike(evaluate(found, known, protocol="voc2012"), sent)


@pytest.mark.parametrize("protocol", ["voc2007", "voc2012"])
def test_label_maps_score_what_their_files_score(protocol: str, tmp_path: Path) -> None:
    true = [DICE.choice([0, 1, 2, 3, 255], (5, 6 + number)) for number in range(12)]
    found = [DICE.integers(0, 4, labels.shape).astype(np.uint8) for labels in true]
    known = of_voc(GroundTruth.from_label_maps(true, classes=CLASSES, images=IMAGES))
    files = {
        f"comp5_val_cls/{image}.png": labels_to_png(each) for image, each in zip(IMAGES, found, strict=True)
    }

    sent = evaluate(archive(tmp_path, files), known, competition=5, protocol=protocol)

    in_memory = evaluate(LabelMaps.from_arrays(found, images=IMAGES), known, protocol=protocol)
    assert_alike(in_memory, sent)
    assert in_memory["cat"].curve is None


def with_parts(number: int | None) -> GroundTruth:
    parts = (Part("head", Box(2, 2, 9, 9)), Part("hand", Box(20, 20, 29, 29)))
    person = AnnotatedObject("person", Box(1, 1, 40, 40), parts=parts)
    known = truth_of_boxes(
        {image: Annotation(60, 60, (person,)) for image in IMAGES}, dataset="VOC2012", image_set="val"
    )
    persons = tuple((image, number or 0) for image in IMAGES)
    return GroundTruth.of(replace(known.lists, persons=persons), known.tables)


@pytest.mark.parametrize(("protocol", "number"), [("voc2012", 1), ("voc2008", 1), ("voc2007", None)])
def test_layouts_score_what_their_file_scores(protocol: str, number: int | None, tmp_path: Path) -> None:
    known = with_parts(number)
    layouts = [
        Layout(
            image,
            float(DICE.random()),
            (Part("head", Box(2, 2, 9 + row, 9)), Part("hand", Box(20, 20, 29, 29))),
            object=number,
            box=None if number else Box(1, 1, 40, 40 + row),
        )
        for row, image in enumerate(IMAGES[:9])
    ]

    sent = archive(tmp_path, {"comp7_layout_val.xml": layouts_to_xml(layouts)})

    assert_alike(
        evaluate(Layouts.from_list(layouts), known, protocol=protocol),
        evaluate(sent, known, competition=7, protocol=protocol),
    )


def test_boxes_score_the_same_in_another_convention() -> None:
    edges = BoxConvention.INCLUSIVE.convert(FOUND, BoxConvention.HALF_OPEN)
    objects = BoxConvention.INCLUSIVE.convert(TRUE_BOXES, BoxConvention.HALF_OPEN)
    expected = evaluate(detections(), truth(), protocol="voc2012")

    mixed = evaluate(detections(boxes=edges, convention="half-open"), truth(), protocol="voc2012")
    known = GroundTruth.from_arrays(
        TRUE_IMAGE,
        TRUE_LABEL,
        objects,
        convention="half-open",
        difficult=DIFFICULT,
        images=IMAGES,
        classes=CLASSES,
    )

    assert mixed.classes == expected.classes
    assert evaluate(detections(boxes=edges), known, protocol="voc2012").classes == expected.classes


def test_a_subset_of_classes_is_scored_alone() -> None:
    result = evaluate(detections(), truth(), protocol="voc2012", classes=["cat"])

    assert [each.name for each in result.classes] == ["cat"]
    assert result.headline == evaluate(detections(), truth(), protocol="voc2012")["cat"].ap


def test_different_predictions_have_different_receipts() -> None:
    same = [
        evaluate(detections(), truth(), protocol=name).receipt for name in ("voc2012", "voc2012", "voc2007")
    ]
    moved = evaluate(detections(score=SCORE[::-1]), truth(), protocol="voc2012").receipt

    assert same[0] == same[1]
    assert len({*same, moved}) == 3


def test_a_class_without_detections_scores_0() -> None:
    few = detections(label=np.zeros(150, int))

    result = evaluate(few, truth(), protocol="voc2012")

    assert (result["dog"].value, result["dog"].score.predictions) == (0.0, 0)
    assert result.headline is not None


def test_intervals_of_a_result_in_memory_need_no_file(tmp_path: Path) -> None:
    known = truth()
    result = evaluate(detections(), known, protocol="voc2012", statistics=tmp_path / "matches")

    in_memory = bootstrap(result, known, replicates=50)
    from_file = bootstrap(result, known, statistics=tmp_path / "matches", replicates=50)

    assert np.array_equal(in_memory.values, from_file.values)
    assert intervals_of(result, known, replicates=50) == intervals_of(
        Result.from_json(result.to_json()), known, statistics=tmp_path / "matches", replicates=50
    )
    assert open_matches(tmp_path / "matches")[0] == result.origin


def test_matches_of_another_result_are_refused(tmp_path: Path) -> None:
    result = evaluate(detections(), truth(), protocol="voc2012")
    evaluate(detections(), truth(), protocol="voc2007", statistics=tmp_path / "other")

    with pytest.raises(ValueError, match="the statistics of another result"):
        intervals_of(result, truth(), statistics=tmp_path / "other")
    with pytest.raises(ValueError, match="of another ground truth"):
        bootstrap(result, truth(difficult=None))
    with pytest.raises(ValueError, match="not in memory"):
        intervals_of(Result.from_json(result.to_json()), truth())


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"images": [*IMAGES[:11], "z_9"]}, "the ground truth has no image 'z_9'; it has i_00, i_01"),
        ({"classes": ["car", "cat", "wolf"]}, "the ground truth has no class 'wolf'; it has car, cat, dog"),
        ({"classes": ["1", "2", "3"]}, "the ground truth has no class '1', '2', '3'; it has car, cat, dog"),
    ],
)
def test_detections_of_unknown_images_or_classes_are_refused(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        evaluate(detections(**changed), truth(), protocol="voc2012")

    assert sentence in str(error.value)


def test_unused_names_may_be_unknown() -> None:
    found = detections(classes=[*CLASSES, "wolf"], images=[*IMAGES, "z_9"])

    assert evaluate(found, truth(), protocol="voc2012").headline is not None


def test_two_confidences_for_one_image_are_refused() -> None:
    known = GroundTruth.from_labels([[1], [0]], images=["a", "b"], classes=["cat"])

    with pytest.raises(
        DataError, match="expected one prediction for each image and class, found several, as of row 0"
    ):
        evaluate(Confidences.from_arrays(["a", "b", "a"], ["cat"] * 3, [1, 2, 3]), known, protocol="voc2012")


def test_a_class_without_confidences_is_not_entered() -> None:
    known = GroundTruth.from_labels([[1, 0], [0, 1]], images=["a", "b"], classes=["cat", "dog"])

    result = evaluate(Confidences.from_arrays(["a", "b"], ["cat"] * 2, [0.9, 0.1]), known, protocol="voc2012")

    assert (result["cat"].ap, result["dog"].score.reason) == (1.0, "not entered")


def test_confidences_of_images_cannot_be_scored_as_those_of_persons() -> None:
    known = GroundTruth.from_actions([[1], [0]], image=["a", "a"], person=[1, 2], actions=["reading"])

    with pytest.raises(DataError, match="expected the number of a person in each row"):
        list(split_persons(Confidences.from_arrays(["a"], ["reading"], [1]), known))


def test_confidences_for_unknown_persons_are_refused() -> None:
    known = GroundTruth.from_actions([[1], [0]], image=["a", "a"], person=[1, 2], actions=["reading"])

    with pytest.raises(DataError, match="the ground truth has no person a 3"):
        evaluate(Confidences.from_arrays(["a"], ["reading"], [1], person=[3]), known, protocol="voc2012")


@pytest.mark.parametrize(
    ("maps", "images", "sentence"),
    [
        ([np.zeros((2, 3), int)], ["b"], "the ground truth has no image b; it has a"),
        ([], [], "expected a label map for every image, found none for a"),
        ([np.zeros((3, 2), int)], ["a"], "labels of the image 'a' with shape (2, 3), found (3, 2)"),
        ([np.full((2, 3), 2)], ["a"], "expected labels up to 1 in the image 'a', found 2"),
    ],
)
def test_label_maps_that_do_not_fit_are_refused(maps: list[Any], images: list[str], sentence: str) -> None:
    known = GroundTruth.from_label_maps([np.zeros((2, 3), int)], classes=["cat"], images=["a"])

    with pytest.raises(DataError) as error:
        evaluate(LabelMaps.from_arrays(maps, images=images), known, protocol="voc2012")

    assert sentence in str(error.value)


def test_scoring_an_archive_needs_a_competition_and_arrays_a_type(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="say which, such as competition=3"):
        evaluate(tmp_path, truth(), protocol="voc2012")
    with pytest.raises(DataError, match="or the path of an archive, found list"):
        evaluate([], truth(), protocol="voc2012")  # type: ignore[arg-type]


def test_arrays_are_scored_against_the_annotation_of_a_tree(tmp_path: Path) -> None:
    known = read_tree(kit(tmp_path).root, "test")
    found = Detections.from_arrays(
        ["a_1", "a_2"], ["cat", "dog"], [0.9, 0.8], [[1, 1, 10, 10], [5, 5, 30, 30]]
    )

    assert evaluate(found, known, protocol="voc2012")["cat"].ap == 1


@pytest.mark.sampled
def test_memory_for_a_thousand_classes_grows_with_objects_and_one_table() -> None:
    classes, images, count = 1_203, 4_000, 5_000
    draw = np.random.default_rng(3)
    image, label = draw.integers(0, images, count), draw.integers(0, classes, count)
    names: dict[str, Any] = {
        "images": [str(n) for n in range(images)],
        "classes": [f"class {n}" for n in range(classes)],
    }
    truth = GroundTruth.from_arrays(image, label, boxes(count), convention="inclusive", **names)
    found = Detections.from_arrays(image, label, draw.random(count), truth.tables.objects.boxes, **names)

    tracemalloc.start()
    result = evaluate(found, truth, protocol="voc2012")
    of_scoring = tracemalloc.get_traced_memory()[1]
    bootstrap(result, truth, replicates=8)
    of_both = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    table = classes * images * 4  # a whole number for each class and image: 19 MB
    assert len(load(truth)) == classes
    assert of_scoring < table / 2
    assert of_both < table * 1.7
