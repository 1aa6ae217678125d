"""Examples to look at, on small sets where the expected ones are known."""

import numpy as np
import pytest

from heldout_scoring import AnnotatedObject, Annotation, Box, GroundTruth, truth_of_boxes
from heldout_scoring.analysis.errors import RankedDetections
from heldout_scoring.analysis.images import (
    Example,
    examples_of_detections,
    examples_of_ranking,
    examples_of_segmentation,
)
from heldout_scoring.data.matches import ImageCounts, RankedPredictions
from heldout_scoring.data.predictions import ClassDetections
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.tasks.detection import DETECTION, load

RULES = PROTOCOLS["voc2012"].rules_of(DETECTION)


def truth() -> GroundTruth:
    cats = (
        AnnotatedObject("cat", Box(1, 1, 10, 10)),
        AnnotatedObject("cat", Box(21, 1, 60, 40)),
        AnnotatedObject("cat", Box(71, 1, 90, 20), difficult=True),
        AnnotatedObject("dog", Box(1, 51, 10, 60)),
    )
    return truth_of_boxes(
        {"a": Annotation(100, 80, cats), "b": Annotation(100, 80, cats[:1])},
        dataset="VOC2012",
        image_set="val",
    )


def ranked(image: list[int], confidence: list[float], boxes: list[list[float]]) -> RankedDetections:
    lines = ClassDetections(np.array(image, np.int32), np.array(confidence), np.array(boxes, np.float64))
    objects = load(truth())["cat"]
    matched = RULES.match_class(lines, objects)
    kept = RankedPredictions(
        "cat",
        objects.positives,
        lines.image[matched.order],
        lines.confidence[matched.order],
        matched.outcomes,
    )
    return RankedDetections(kept, lines.boxes[matched.order])


def test_detections_are_listed_by_kind() -> None:
    found = examples_of_detections(
        ranked(
            [0, 0, 0, 0, 0, 1],
            [0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
            [
                [1, 1, 10, 10],  # right
                [1, 1, 10, 9],  # the same one again
                [1, 51, 10, 60],  # a dog
                [71, 1, 90, 20],  # difficult: ignored
                [21, 1, 60, 14],  # a third of the large one
                [50, 50, 60, 60],  # nothing
            ],
        ),
        truth(),
        RULES,
    )

    assert [(each.rank, each.box, each.kind) for each in found.true_positives] == [(1, (0, 0, 10, 10), None)]
    assert [each.rank for each in found.near_misses] == [5]
    assert found.near_misses[0].iou == pytest.approx(0.35)
    assert [each.kind for each in found.false_positives] == ["duplicate", "similar", "background"]
    assert found.missed == (Example(0, box=(20, 0, 60, 40)), Example(1, box=(0, 0, 10, 10)))


def test_no_more_examples_are_listed_than_requested() -> None:
    found = examples_of_detections(
        ranked([0, 0], [0.9, 0.8], [[50, 50, 60, 60], [50, 50, 61, 61]]), truth(), RULES, count=1
    )

    assert (len(found.false_positives), len(found.missed)) == (1, 1)


def test_a_ranking_lists_its_first_and_last_images() -> None:
    confidence = np.array([0.9, 0.8, 0.7, 0.2, -np.inf, -np.inf])
    outcomes = np.array([1, 0, 1, -1, 1, 0], np.int8)

    found = examples_of_ranking(
        RankedPredictions("cat", 3, np.array([5, 4, 3, 2, 1, 0], np.int32), confidence, outcomes), count=1
    )

    assert found.true_positives == (Example(5, 1, 0.9),)
    assert found.false_positives == (Example(4, 2, 0.8),)
    assert found.missed == (Example(1, 5, None),)
    assert found.near_misses == ()


def test_segmentation_lists_images_by_the_iou_of_a_class() -> None:
    images = [
        np.array([[8, 0], [0, 2]]),
        np.array([[8, 1], [1, 0]]),
        np.array([[7, 3], [0, 0]]),
        np.array([[10, 0], [0, 0]]),
    ]

    _, cat = examples_of_segmentation(ImageCounts.of(["background", "cat"], images))

    assert cat.true_positives == (Example(0, value=1.0),)
    assert cat.missed == (Example(1, value=0.0),)
    assert cat.false_positives == (Example(2, value=0.3),)
