from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from heldout_scoring.metrics.matching import (
    Match,
    all_objects_positive,
    ioa,
    iou_half_open,
    match_open_images,
    match_open_images_challenge,
    match_open_images_challenge_documented,
    match_open_images_documented,
    match_pascal_tensorflow,
    positives_without_difficult,
    single_objects_positive,
)
from tests.scoring import tensorflow_oracles as oracles
from tests.scoring.builders import IMAGES, detections, ground_truth
from tests.scoring.oracles import Corners, Prediction, Thing
from tests.scoring.test_matching import box, predictions

image = st.integers(0, IMAGES - 1)
fair_box = box.map(lambda b: (b[0], b[1], max(b[0], b[2]), max(b[1], b[3])))
things = st.lists(st.builds(Thing, image, fair_box, st.booleans(), st.booleans()), max_size=12).map(
    lambda found: sorted(found, key=lambda thing: thing.image)
)


def open_images(
    given: list[Prediction], there: list[Thing], match: Match = match_open_images, least: float = 0.5
) -> tuple[list[int], int]:
    wanted = single_objects_positive(ground_truth(there))
    matched = match(detections(given), wanted, iou_half_open, least)
    return matched.outcomes.tolist(), wanted.positives


def challenge(
    given: list[Prediction],
    there: list[Thing],
    match: Match = match_open_images_challenge,
    verified: list[bool] | None = None,
) -> tuple[list[int], int]:
    wanted = all_objects_positive(ground_truth(there))
    if verified is not None:
        wanted = replace(wanted, verified=np.array(verified))
    return match(detections(given), wanted, iou_half_open, 0.5).outcomes.tolist(), wanted.positives


@generated(box, fair_box)
def test_the_iou_of_areas_matches_plain_arithmetic(one: Corners, other: Corners) -> None:
    ours, theirs = np.array(one), np.array(other)

    assert iou_half_open(ours, theirs) == pytest.approx(oracles.iou(one, other), abs=1e-15)
    if oracles.shared(one, other):
        assert ioa(ours, theirs) == oracles.shared(one, other) / oracles.size(one)
    assert 0 <= iou_half_open(ours, theirs) <= 1


def test_boxes_without_an_area_overlap_nothing() -> None:
    pixel, line = np.array([1.0, 1, 1, 1]), np.array([[0.0, 0, 0, 9], [9, 9, 0, 0]])

    assert iou_half_open(pixel, pixel) == 0
    assert iou_half_open(line, line).tolist() == ioa(line, line).tolist() == [0, 0]
    assert iou_half_open(np.array([0.0, 0, 10, 10]), np.array([0.0, 0, 10, 5])) == 0.5


@generated(predictions, things)
def test_outcomes_by_areas_equal_those_of_a_plain_loop(given: list[Prediction], there: list[Thing]) -> None:
    wanted = positives_without_difficult(ground_truth(there))
    matched = match_pascal_tensorflow(detections(given), wanted, iou_half_open, 0.5)

    assert matched.outcomes.tolist() == oracles.outcomes(given, there)
    assert wanted.positives == oracles.positives(there)


@generated(predictions, things)
def test_documented_open_images_outcomes_equal_those_of_a_plain_loop(
    given: list[Prediction], there: list[Thing]
) -> None:
    more = float(np.nextafter(0.5, 1))

    found, _ = open_images(given, there, match_open_images_documented, more)

    assert found == oracles.outcomes(given, there, open_images=True, documented=True)


@generated(predictions, things)
def test_open_images_outcomes_equal_those_of_a_plain_loop(
    given: list[Prediction], there: list[Thing]
) -> None:
    assert open_images(given, there) == (
        oracles.outcomes(given, there, open_images=True),
        oracles.positives(there, open_images=True),
    )


GROUP = Thing(0, (0, 0, 100, 100), group_of=True)


HALF_INSIDE, MORE_INSIDE = Prediction(0, 1, (90, 0, 110, 10)), Prediction(0, 1, (90, 0, 109, 10))


def test_half_a_detection_in_a_group_suffices_by_program_but_not_by_text() -> None:
    assert open_images([HALF_INSIDE], [GROUP]) == ([-1], 0)
    assert open_images([HALF_INSIDE], [GROUP], match_open_images_documented) == ([0], 0)
    assert open_images([MORE_INSIDE], [GROUP], match_open_images_documented) == ([-1], 0)
    assert challenge([HALF_INSIDE], [GROUP]) == ([1], 1)
    assert challenge([HALF_INSIDE], [GROUP], match_open_images_challenge_documented) == ([0], 1)


def test_the_challenge_counts_the_best_detection_in_a_group_and_ignores_others() -> None:
    other = Thing(0, (200, 0, 300, 100), group_of=True)
    inside = [Prediction(0, confidence, (10, 10, 20, 20)) for confidence in (0.7, 0.9, 0.8)]

    assert challenge(inside, [GROUP, other]) == ([1, -1, -1], 2)
    assert challenge([*inside, Prediction(0, 0.1, (210, 0, 220, 10))], [GROUP, other])[0] == [1, -1, -1, 1]


def test_the_challenge_assigns_a_detection_to_the_group_that_covers_it_most() -> None:
    left, right = Thing(0, (0, 0, 16, 10), group_of=True), Thing(0, (3, 0, 40, 10), group_of=True)

    assert challenge(
        [Prediction(0, 0.9, (0, 0, 20, 10)), Prediction(0, 0.8, (0, 0, 10, 10))], [left, right]
    ) == (
        [1, 1],
        2,
    )


def test_confidence_0_finds_a_challenge_group_by_text_but_not_by_program() -> None:
    inside = [Prediction(0, 0.0, (10, 10, 20, 20))]

    assert challenge(inside, [GROUP]) == ([-1], 1)
    assert challenge(inside, [GROUP], match_open_images_challenge_documented) == ([1], 1)


def test_the_challenge_counts_detections_where_labels_or_boxes_name_the_class() -> None:
    given = [Prediction(image, 1 - image / 10, (500, 500, 510, 510)) for image in range(3)]
    there = [Thing(1, (0, 0, 10, 10))]

    for match in (match_open_images_challenge, match_open_images_challenge_documented):
        assert challenge(given, there, match, [True, False, False, False])[0] == [0, 0, -1]
        assert challenge(given, there, match)[0] == [0, 0, 0]


def test_a_second_detection_of_an_object_inside_a_group_is_ignored() -> None:
    single = Thing(0, (10, 10, 20, 20))
    twice = [Prediction(0, 2, (10, 10, 20, 20)), Prediction(0, 1, (10, 10, 20, 19))]

    assert open_images(twice, [GROUP, single]) == ([1, -1], 1)
    assert open_images(twice, [single]) == ([1, 0], 1)


def test_only_groups_of_the_same_image_cover_a_detection() -> None:
    groups = [Thing(0, (0, 0, 5, 5), group_of=True), GROUP, Thing(1, (0, 0, 5, 5), group_of=True)]
    inside = (50, 50, 60, 60)

    assert open_images([Prediction(0, 2, inside), Prediction(1, 1, inside)], groups)[0] == [-1, 0]


def test_open_images_has_no_difficult_objects() -> None:
    hard = Thing(0, (1, 1, 10, 10), difficult=True)

    assert open_images([Prediction(0, 1, (1, 1, 10, 10))], [hard]) == ([1], 1)
