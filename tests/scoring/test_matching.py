from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.metrics.matching import Match, iou_inclusive, match_pascal, match_pascal_2006
from tests.scoring import oracles
from tests.scoring.builders import IMAGES, detections, ground_truth
from tests.scoring.oracles import Prediction, Thing

# Small whole and half pixels make ties, identical boxes and overlaps of exactly one half frequent.
corner = st.integers(0, 12).map(lambda number: number / 2)
side = st.integers(-2, 8).map(lambda number: number / 2)
box = st.tuples(corner, corner, side, side).map(lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3]))
image = st.integers(0, IMAGES - 1)
prediction = st.builds(Prediction, image, st.sampled_from([-1.0, 0.0, -0.0, 0.25, 0.5, 0.75]), box)
predictions = st.lists(prediction, max_size=25)
things = st.lists(st.builds(Thing, image, box, st.booleans()), max_size=12).map(
    lambda found: sorted(found, key=lambda thing: thing.image)
)


def said(
    match: Match, given: Sequence[Prediction], there: Sequence[Thing], iou_threshold: float = 0.5
) -> list[int]:
    outcomes: list[int] = match(
        detections(given), ground_truth(there), iou_inclusive, iou_threshold
    ).outcomes.tolist()
    return outcomes


@given(predictions, things)
def test_outcomes_equal_those_of_a_plain_loop(given: list[Prediction], there: list[Thing]) -> None:
    assert said(match_pascal, given, there) == oracles.outcomes(given, there, 0.5)


@given(predictions, things)
def test_outcomes_by_the_rules_of_2006_equal_those_of_a_plain_loop(
    given: list[Prediction], there: list[Thing]
) -> None:
    assert said(match_pascal_2006, given, there) == oracles.outcomes(given, there, 0.5, of_2006=True)


def test_outcomes_of_many_random_predictions_equal_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(2012)
    for _ in range(5):
        low = rng.integers(0, 20, (400, 2))
        corners = np.hstack([low, low + rng.integers(0, 20, (400, 2))]).tolist()
        there = [
            Thing(int(i), tuple(b), bool(d))
            for i, b, d in zip(
                np.sort(rng.integers(0, IMAGES, 60)), corners, rng.random(60) < 0.3, strict=False
            )
        ]
        given = [
            Prediction(int(i), float(c), tuple(b))
            for i, c, b in zip(
                rng.integers(0, IMAGES, 340), rng.integers(0, 40, 340) / 40, corners[60:], strict=True
            )
        ]

        assert said(match_pascal, given, there) == oracles.outcomes(given, there, 0.5)
        assert said(match_pascal_2006, given, there) == oracles.outcomes(given, there, 0.5, of_2006=True)


@given(st.lists(prediction, max_size=15, unique_by=lambda each: each.confidence + 0.0), things, st.randoms())
def test_without_ties_the_order_of_lines_changes_nothing(
    given: list[Prediction], there: list[Thing], random: object
) -> None:
    mixed = list(given)
    random.shuffle(mixed)  # type: ignore[attr-defined]  # hypothesis promises a random.Random, but says less

    assert said(match_pascal, mixed, there) == said(match_pascal, given, there)


@given(predictions, things, st.permutations(range(IMAGES)))
def test_the_order_of_the_images_changes_nothing(
    given: list[Prediction], there: list[Thing], order: list[int]
) -> None:
    moved = [Prediction(order[a.image], a.confidence, a.box) for a in given]
    elsewhere = sorted((Thing(order[t.image], t.box, t.difficult) for t in there), key=lambda t: t.image)

    assert said(match_pascal, moved, elsewhere) == said(match_pascal, given, there)


@pytest.mark.parametrize("match", [match_pascal, match_pascal_2006])
def test_an_overlap_of_exactly_one_half_is_enough(match: Match) -> None:
    assert said(match, [Prediction(0, 1, (1, 1, 10, 5))], [Thing(0, (1, 1, 10, 10))]) == [1]


def test_an_overlap_below_one_half_is_not_enough() -> None:
    assert said(match_pascal, [Prediction(0, 1, (1, 1, 10, 4.99))], [Thing(0, (1, 1, 10, 10))]) == [0]


def test_the_second_of_two_identical_objects_cannot_be_found() -> None:
    same = (1, 1, 10, 10)

    assert said(
        match_pascal, [Prediction(0, 2, same), Prediction(0, 1, same)], [Thing(0, same), Thing(0, same)]
    ) == [
        1,
        0,
    ]


def test_a_detection_whose_best_object_is_taken_is_a_false_positive() -> None:
    there = [Thing(0, (1, 1, 10, 10)), Thing(0, (1, 1, 10, 8))]
    given = [Prediction(0, 2, (1, 1, 10, 10)), Prediction(0, 1, (1, 1, 10, 9.5))]

    assert said(match_pascal, given, there) == [1, 0]


def test_equal_confidences_are_matched_in_the_order_of_the_file() -> None:
    near, exact = Prediction(0, 1, (1, 1, 10, 8)), Prediction(0, 1, (1, 1, 10, 10))

    matched = match_pascal(
        detections([near, exact]), ground_truth([Thing(0, (1, 1, 10, 10))]), iou_inclusive, 0.5
    )

    assert matched.order.tolist() == [0, 1]
    assert matched.outcomes.tolist() == [1, 0]


def test_a_difficult_object_is_ignored_repeatedly_but_only_once_in_2006() -> None:
    hard, again = (
        Thing(0, (1, 1, 10, 10), difficult=True),
        [Prediction(0, 2, (1, 1, 10, 10)), Prediction(0, 1, (1, 1, 9, 10))],
    )

    assert said(match_pascal, again, [hard]) == [-1, -1]
    assert said(match_pascal_2006, again, [hard]) == [-1, 0]


def test_an_inverted_box_matches_nothing() -> None:
    assert said(match_pascal, [Prediction(0, 1, (10, 10, 1, 1))], [Thing(0, (1, 1, 10, 10))]) == [0]


def test_detections_without_objects_are_false_positives() -> None:
    assert said(match_pascal, [Prediction(1, 1, (1, 1, 10, 10))], []) == [0]
    assert said(match_pascal, [], [Thing(0, (1, 1, 10, 10))]) == []


def test_difficult_objects_are_not_positives() -> None:
    assert ground_truth([Thing(0, (1, 1, 2, 2)), Thing(0, (1, 1, 3, 3), difficult=True)]).positives == 1
