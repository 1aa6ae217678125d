from dataclasses import replace

import numpy as np
import pytest

from heldout_scoring.metrics.coco import arrange, box_iou
from heldout_scoring.metrics.coco_tables import figures_by_class, figures_of, tabulate_coco
from tests.scoring.coco_oracle import slow_figures
from tests.scoring.coco_sets import (
    Plain,
    boxes_of,
    detections_of,
    draw_coco_set,
    objects_of,
    official,
    official_figures,
    tables_of,
)

CLOSE = 1e-12


def instances(*boxes: Plain, images: int = 1, classes: int = 1) -> Plain:
    return {
        "images": [
            {"id": n, "file_name": f"{n}.jpg", "width": 640, "height": 480} for n in range(1, images + 1)
        ],
        "categories": [{"id": n, "name": f"class {n}"} for n in range(1, classes + 1)],
        "annotations": [
            {"id": n, "image_id": 1, "category_id": 1, "area": box["bbox"][2] * box["bbox"][3], "iscrowd": 0}
            | box
            for n, box in enumerate(boxes, 1)
        ],
    }


def detection(*bbox: float, score: float = 0.9, **other: int) -> Plain:
    return {"image_id": 1, "category_id": 1, "bbox": list(bbox), "score": score} | other


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(40))
def test_random_sets_score_as_in_the_official_program(seed: int) -> None:
    truth, found = draw_coco_set(seed)

    tables, evaluation = tables_of(truth, found), official(truth, found)

    np.testing.assert_array_equal(
        tables.precision.transpose(1, 3, 2, 0), evaluation.eval["precision"][..., -1]
    )
    np.testing.assert_array_equal(tables.recall.transpose(2, 3, 0, 1), evaluation.eval["recall"])
    assert figures_of(tables) == pytest.approx(official_figures(evaluation), abs=CLOSE)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(100, 112))
def test_random_sets_score_as_in_a_slow_reference(seed: int) -> None:
    truth, found = draw_coco_set(seed)

    assert figures_of(tables_of(truth, found)) == pytest.approx(slow_figures(truth, found), abs=CLOSE)


def test_matching_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, found = draw_coco_set(11)
    whole = tables_of(truth, found)

    monkeypatch.setattr("heldout_scoring.metrics.coco._AT_ONCE", 3)
    monkeypatch.setattr("heldout_scoring.metrics.coco._AT_ONCE", 3)
    parts = tables_of(truth, found)

    np.testing.assert_array_equal(parts.precision, whole.precision)
    np.testing.assert_array_equal(parts.recall, whole.recall)


def test_any_number_of_detections_in_a_crowd_is_ignored() -> None:
    truth = instances({"bbox": [0, 0, 100, 100], "iscrowd": 1}, {"bbox": [200, 200, 50, 50]})
    inside = [detection(10, 10, 20, 20, score=0.9), detection(50, 50, 20, 20, score=0.8)]

    figures = figures_of(tables_of(truth, [*inside, detection(200, 200, 50, 50, score=0.1)]))

    assert figures["AP"] == pytest.approx(1, abs=CLOSE)


def test_a_class_with_crowds_only_has_no_value() -> None:
    truth = instances({"bbox": [0, 0, 100, 100], "iscrowd": 1})

    assert set(figures_of(tables_of(truth, [detection(0, 0, 100, 100)])).values()) == {None}


def test_the_last_of_two_objects_with_the_same_iou_is_matched() -> None:
    truth = instances({"bbox": [0, 0, 10, 20]}, {"bbox": [0, 10, 10, 20]})
    between, second = detection(0, 5, 10, 20, score=0.9), detection(0, 10, 10, 20, score=0.8)

    tables = tables_of(truth, [between, second])

    assert tables.recall[0, -1, 0].item() == 0.5


def test_the_hundred_and_first_detection_of_a_class_in_an_image_does_not_count() -> None:
    truth = instances({"bbox": [0, 0, 10, 10]})
    clutter = [detection(300, 300, 10, 10, score=0.9)] * 100

    assert figures_of(tables_of(truth, [*clutter, detection(0, 0, 10, 10, score=0.5)]))["AR100"] == 0
    assert figures_of(tables_of(truth, [*clutter[1:], detection(0, 0, 10, 10, score=0.5)]))["AR100"] == 1


def test_a_match_with_annotation_id_0_is_a_false_positive_as_in_pycocotools() -> None:
    truth = instances({"bbox": [0, 0, 10, 10], "id": 0}, {"bbox": [50, 50, 10, 10], "id": 1})
    found = [detection(0, 0, 10, 10, score=0.9), detection(50, 50, 10, 10, score=0.8)]

    figures = figures_of(tables_of(truth, found))

    assert figures["AP50"] == pytest.approx(official_figures(official(truth, found))["AP50"], abs=CLOSE)
    assert figures["AR100"] == 0.5


def test_every_figure_is_reported_for_each_class() -> None:
    truth = instances({"bbox": [0, 0, 10, 10]}, {"bbox": [0, 0, 10, 10], "category_id": 3}, classes=3)

    by_class = figures_by_class(tables_of(truth, [detection(0, 0, 10, 10)]))

    assert by_class["AP"] == [pytest.approx(1), None, 0]
    assert by_class["AR1"] == [1, None, 0]
    assert by_class["APl"] == [None, None, None]


def test_without_detections_annotated_sizes_score_0() -> None:
    figures = figures_of(tables_of(instances({"bbox": [0, 0, 10, 10]}), []))

    assert (figures["AP"], figures["AR1"], figures["APs"], figures["APl"]) == (0, 0, 0, None)


def test_without_annotations_there_are_no_figures() -> None:
    assert set(figures_of(tables_of(instances(), [detection(0, 0, 10, 10)])).values()) == {None}


def test_unmatched_detections_that_are_exempt_are_ignored() -> None:
    truth = instances({"bbox": [0, 0, 10, 10]})
    found = [detection(300, 300, 10, 10, score=0.9), detection(0, 0, 10, 10, score=0.8)]
    objects = objects_of(truth)
    iou = box_iou(boxes_of(found), boxes_of(truth["annotations"]), objects.crowd)
    every = [
        tabulate_coco(
            replace(detections_of(truth, found), exempt=np.array(exempt)), objects, iou, images=1, classes=1
        )
        for exempt in ([False, False], [True, False], [True, True])
    ]

    assert [figures_of(tables)["AP"] for tables in every] == pytest.approx([0.5, 1, 1])


def test_detections_are_sorted_correctly_for_huge_numbers_of_images() -> None:
    truth = instances({"bbox": [0, 0, 10, 10]}, images=3, classes=2)
    found = [
        detection(0, 0, 10, 10, image_id=image, category_id=label) for image in (3, 1) for label in (2, 1)
    ]
    detections = detections_of(truth, found)
    few, many = (arrange(detections, np.arange(4), images=images, most=100) for images in (3, 2**62))

    assert few.rows.tolist() == many.rows.tolist() == [3, 1, 2, 0]


def test_classes_are_scored_the_same_together_and_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, found = draw_coco_set(7)
    together = tables_of(truth, found)
    monkeypatch.setattr("heldout_scoring.metrics.coco_tables._AT_ONCE", 1)
    apart = tables_of(truth, found)

    assert len(together.parts) == 1 < len(apart.parts)
    np.testing.assert_array_equal(together.precision, apart.precision)
    np.testing.assert_array_equal(together.recall, apart.recall)
    one, other = together.matched(), apart.matched()
    assert one.by_class.tolist() == other.by_class.tolist()
    assert one.begin.tolist() == other.begin.tolist()
