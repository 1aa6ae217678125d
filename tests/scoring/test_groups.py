import numpy as np
import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from scoring.metrics.boxes import ioa, iou_half_open
from scoring.metrics.groups import match_open_images, single_objects_positive
from scoring.metrics.matching import match_pascal, positives_without_difficult
from tests.scoring import tensorflow_oracles as oracles
from tests.scoring.builders import IMAGES, detections, ground_truth
from tests.scoring.oracles import Answer, Corners, Thing
from tests.scoring.test_matching import box, predictions

image = st.integers(0, IMAGES - 1)
fair_box = box.map(lambda b: (b[0], b[1], max(b[0], b[2]), max(b[1], b[3])))
things = st.lists(st.builds(Thing, image, fair_box, st.booleans(), st.booleans()), max_size=12).map(
    lambda found: sorted(found, key=lambda thing: thing.image)
)


def open_images(given: list[Answer], there: list[Thing]) -> tuple[list[int], int]:
    wanted = single_objects_positive(ground_truth(there))
    matched = match_open_images(detections(given), wanted, iou_half_open, 0.5)
    return matched.outcomes.tolist(), wanted.positives


@generated(box, fair_box)
def test_areas_overlap_as_by_plain_arithmetic(one: Corners, other: Corners) -> None:
    ours, theirs = np.array(one), np.array(other)

    assert iou_half_open(ours, theirs) == pytest.approx(oracles.iou(one, other), abs=1e-15)
    if oracles.shared(one, other):
        assert ioa(ours, theirs) == oracles.shared(one, other) / oracles.size(one)
    assert 0 <= iou_half_open(ours, theirs) <= 1


def test_edges_are_lines_and_boxes_without_an_area_overlap_nothing() -> None:
    pixel, line = np.array([1.0, 1, 1, 1]), np.array([[0.0, 0, 0, 9], [9, 9, 0, 0]])

    assert iou_half_open(pixel, pixel) == 0
    assert iou_half_open(line, line).tolist() == ioa(line, line).tolist() == [0, 0]
    assert iou_half_open(np.array([0.0, 0, 10, 10]), np.array([0.0, 0, 10, 5])) == 0.5


@generated(predictions, things)
def test_verdicts_by_areas_are_those_of_a_plain_loop(given: list[Answer], there: list[Thing]) -> None:
    wanted = positives_without_difficult(ground_truth(there))
    matched = match_pascal(detections(given), wanted, iou_half_open, 0.5)

    assert matched.outcomes.tolist() == oracles.outcomes(given, there)
    assert wanted.positives == oracles.positives(there)


@generated(predictions, things)
def test_verdicts_of_open_images_are_those_of_a_plain_loop(given: list[Answer], there: list[Thing]) -> None:
    assert open_images(given, there) == (
        oracles.outcomes(given, there, open_images=True),
        oracles.positives(there, open_images=True),
    )


GROUP = Thing(0, (0, 0, 100, 100), group_of=True)


def test_more_than_half_of_an_ignored_answer_lies_in_a_group_exactly_one_half_is_not_enough() -> None:
    assert open_images([Answer(0, 1, (90, 0, 110, 10))], [GROUP]) == ([0], 0)
    assert open_images([Answer(0, 1, (90, 0, 109, 10))], [GROUP]) == ([-1], 0)


def test_a_right_answer_is_right_inside_a_group_too_and_a_second_one_there_is_ignored() -> None:
    single = Thing(0, (10, 10, 20, 20))
    twice = [Answer(0, 2, (10, 10, 20, 20)), Answer(0, 1, (10, 10, 20, 19))]

    assert open_images(twice, [GROUP, single]) == ([1, -1], 1)
    assert open_images(twice, [single]) == ([1, 0], 1)


def test_any_of_several_groups_will_do_and_those_of_other_images_will_not() -> None:
    groups = [Thing(0, (0, 0, 5, 5), group_of=True), GROUP, Thing(1, (0, 0, 5, 5), group_of=True)]
    inside = (50, 50, 60, 60)

    assert open_images([Answer(0, 2, inside), Answer(1, 1, inside)], groups)[0] == [-1, 0]


def test_open_images_knows_no_difficult_objects() -> None:
    hard = Thing(0, (1, 1, 10, 10), difficult=True)

    assert open_images([Answer(0, 1, (1, 1, 10, 10))], [hard]) == ([1], 1)
