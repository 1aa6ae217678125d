"""Sweeps over overlap and size, compared to scoring with the naive rules."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heldout_scoring.analysis.errors import (
    IOU_THRESHOLDS,
    MIN_AREAS,
    RankedDetections,
    Sweep,
    covered_areas,
    read_ranked_detections,
    relative_areas,
    sweep_image_area,
    sweep_iou_threshold,
    sweep_object_area,
    with_boxes,
)
from heldout_scoring.data.matches import RankedPredictions, open_rankings
from heldout_scoring.data.predictions import ClassDetections
from heldout_scoring.evaluation import evaluate
from heldout_scoring.metrics.labels import ranked_average_precision
from heldout_scoring.metrics.matching import ClassObjects
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.stored import from_plain, to_plain
from heldout_scoring.tasks.detection import DETECTION, load
from tests.scoring import oracles
from tests.scoring.builders import IMAGES, annotation, detections, ground_truth, kit, thing
from tests.scoring.conftest import ReadTruth, Unpack
from tests.scoring.oracles import Prediction, Thing

RULES = PROTOCOLS["voc2012"].rules_of(DETECTION)
OF_2006 = PROTOCOLS["voc2006"].rules_of(DETECTION)


def placed(predictions: list[Prediction], objects: ClassObjects) -> RankedDetections:
    lines = detections(predictions)
    matched = RULES.match_class(lines, objects)
    ranked = RankedPredictions(
        "cat",
        objects.positives,
        lines.image[matched.order],
        lines.confidence[matched.order],
        matched.outcomes,
    )
    return with_boxes(ranked, lines)


def scene(seed: int) -> tuple[list[Prediction], list[Thing]]:
    rng = np.random.default_rng(seed)
    things, predictions = [], []
    for image in range(IMAGES):
        for _ in range(rng.integers(0, 4)):
            left, top, width, height = rng.integers(2, 40, 4).tolist()
            things.append(
                Thing(image, (left, top, left + width, top + height), difficult=bool(rng.random() < 0.2))
            )
            for _ in range(rng.integers(0, 4)):
                x, y, right, bottom = (edge + int(rng.integers(-4, 5)) for edge in things[-1].box)
                predictions.append(Prediction(image, float(rng.integers(0, 9) / 8), (x, y, right, bottom)))
    return predictions, things


def naive(predictions: list[Prediction], things: list[Thing], iou_threshold: float) -> float | None:
    positives = sum(not each.difficult for each in things)
    value = (
        oracles.area(oracles.outcomes(predictions, things, iou_threshold), positives)
        if positives
        else math.nan
    )
    return None if math.isnan(value) else value


@pytest.mark.parametrize("seed", range(20))
def test_an_overlap_sweep_equals_scoring_with_other_thresholds(seed: int) -> None:
    predictions, things = scene(seed)
    objects = ground_truth(things)

    sweep = sweep_iou_threshold(placed(predictions, objects), objects, RULES)

    assert [point.level for point in sweep.points] == list(IOU_THRESHOLDS)
    for point in sweep.points:
        assert point.value == pytest.approx(naive(predictions, things, point.level), abs=1e-12)
        assert point.positives == objects.positives


@pytest.mark.parametrize("seed", range(20))
def test_a_size_sweep_equals_scoring_with_small_objects_marked_difficult(seed: int) -> None:
    predictions, things = scene(seed)
    objects, sizes = ground_truth(things), np.full((IMAGES, 2), (80, 50), np.int32)

    sweep = sweep_object_area(placed(predictions, objects), objects, sizes, RULES)

    for point in sweep.points:
        left = [
            replace(each, difficult=each.difficult or share(each) < point.level * (80 * 50))
            for each in things
        ]
        assert point.value == pytest.approx(naive(predictions, left, 0.5), abs=1e-12)
        assert point.positives == sum(not each.difficult for each in left)


def share(each: Thing) -> float:
    left, top, right, bottom = each.box
    return (right - left + 1) * (bottom - top + 1)


def test_sweeps_follow_the_protocol_of_the_year() -> None:
    predictions = [
        Prediction(0, 0.9, (1, 1, 10, 10)),
        Prediction(0, 0.8, (1, 1, 10, 10)),
        Prediction(0, 0.7, (21, 1, 30, 10)),
    ]
    things = [Thing(0, (1, 1, 10, 10), difficult=True), Thing(0, (21, 1, 30, 10))]
    objects = ground_truth(things)

    [of_2006] = sweep_iou_threshold(placed(predictions, objects), objects, OF_2006, [0.5]).points
    [of_2012] = sweep_iou_threshold(placed(predictions, objects), objects, RULES, [0.5]).points

    assert of_2006.value == pytest.approx(0.5)
    assert of_2012.value == 1.0


def test_an_objects_relative_area_is_exact_at_the_threshold() -> None:
    objects = ground_truth([Thing(0, (1, 1, 10, 10))])

    assert relative_areas(objects, np.full((IMAGES, 2), (50, 20), np.int32)).tolist() == [0.1]


def test_images_that_show_too_little_of_a_class_are_left_out() -> None:
    ranked = RankedPredictions(
        "cat", 2, np.array([0, 1, 2, 3], np.int32), np.linspace(1, 0, 4), np.array([1, 0, 1, -1], np.int8)
    )
    shares = np.array([0.04, 0.0, 0.2, 0.2])

    sweep = sweep_image_area(ranked, shares, ranked_average_precision, [0.0, 0.05, 0.3])

    assert [(point.value, point.positives) for point in sweep.points] == [
        (pytest.approx(5 / 6), 2),
        (0.5, 1),
        (None, 0),
    ]


def test_the_covered_area_is_that_of_the_union_of_the_boxes(tmp_path: Path) -> None:
    boxes = [(1, 1, 10, 10), (6, 6, 15, 15), (1, 1, 3, 3), (41, 31, 60, 50)]  # the last one leaves the image
    first = annotation(*(thing("cat", box) for box in boxes), thing("dog"), width=50, height=40)
    tree = kit(tmp_path).main({"a": first, "b": annotation(thing("dog"))}, {"cat": "1 -1", "dog": "1 1"})
    truth = read_tree(tree.root, "test")
    painted = np.zeros((40, 50), np.bool_)
    for left, top, right, bottom in boxes:
        painted[top - 1 : bottom, left - 1 : right] = True

    assert covered_areas(truth, "cat").tolist() == [painted.mean(), 0.0]


def test_a_box_outside_its_image_has_no_relative_area(tmp_path: Path) -> None:
    tree = kit(tmp_path).main(
        {"a": annotation(thing("cat", (60, 1, 70, 9)), thing("dog"))}, {"cat": "1", "dog": "1"}
    )

    assert covered_areas(read_tree(tree.root, "test"), "cat").tolist() == [0.0]


def test_predictions_from_another_file_are_refused() -> None:
    predictions = placed([Prediction(0, 0.5, (1, 1, 9, 9))], ground_truth([]))
    other = detections([Prediction(1, 0.5, (1, 1, 9, 9))])
    surer = ClassDetections(predictions.ranked.image, predictions.ranked.confidence + 1, predictions.boxes)

    for lines in (other, surer):
        with pytest.raises(ValueError, match="not the detections that the ranking of 'cat' was made from"):
            with_boxes(predictions.ranked, lines)


def test_a_sweep_survives_a_round_trip_through_json() -> None:
    objects = ground_truth([Thing(0, (1, 1, 10, 10))])
    sweep = sweep_iou_threshold(placed([Prediction(0, 0.9, (1, 1, 10, 10))], objects), objects, RULES)

    assert from_plain(Sweep, to_plain(sweep)) == sweep
    assert len(MIN_AREAS) == 9


@pytest.mark.shared
def test_sweeps_of_a_real_detector_include_its_scores(
    unpacked: Unpack, real_truth: ReadTruth, tmp_path: Path
) -> None:
    truth = real_truth("voc2007_annotations_imagesets.tar.xz", "VOC2007", "test")
    archive, kept = unpacked("results/yolo2_e150.tar.xz") / "results_yolo2_e150", tmp_path / "kept"
    report = evaluate(archive, truth, competition=4, protocol="voc2012", statistics=kept)
    scores = {each.name: each.value for each in report.classes}
    sizes, objects = truth.tables.sizes[: truth.lists.main], load(truth)

    for each in read_ranked_detections(archive, truth, 4, open_rankings(kept)[1]):
        name = each.ranked.class_name
        [by_overlap] = sweep_iou_threshold(each, objects[name], RULES, [0.5]).points
        [by_size] = sweep_object_area(each, objects[name], sizes, RULES, [0.0]).points

        assert by_overlap.value == by_size.value == scores.pop(name)
    assert scores == {}


def test_boxes_of_ranked_predictions_are_read_from_the_archive(tmp_path: Path) -> None:
    truth = read_tree(kit(tmp_path).root, "test")
    results = tmp_path / "results" / "VOC2012" / "Main"
    results.mkdir(parents=True)
    (results / "comp3_det_test_cat.txt").write_text("a_2 .1 1 1 8 8\na_1 .9 1 1 10 10\n")
    (results / "comp3_det_test_dog.txt").write_text("a_1 .9 20 5 40 30\n")
    evaluate(tmp_path / "results", truth, competition=3, protocol="voc2012", statistics=tmp_path / "kept")
    _, rankings = open_rankings(tmp_path / "kept")

    [cat] = read_ranked_detections(tmp_path / "results", truth, 3, rankings[:1])

    assert cat.ranked.class_name == "cat"
    assert cat.boxes.tolist() == [[1, 1, 10, 10], [1, 1, 8, 8]]
