"""Which results are compared, and which are similar."""

import pytest

from app.evaluation.near_duplicates import Likeness
from app.evaluation.similarity import MAX_COMPARED, Subject, are_similar, choose_for_comparison


def result(number: int, fingerprint: str = "") -> Subject:
    return Subject(number, 1, 3, "VOC2007", number, fingerprint, "archive", "description")


@pytest.mark.parametrize(
    ("likeness", "alike"),
    [
        (Likeness(0.95, None, None), True),
        (Likeness(0.94, 0.49, None), False),
        (Likeness(None, 0.5, None), True),
        (Likeness(None, None, 0.9), True),
        (Likeness(None, None, None), False),
    ],
)
def test_one_high_measure_makes_results_similar(likeness: Likeness, *, alike: bool) -> None:
    assert are_similar(likeness) is alike


def test_a_result_is_compared_with_equal_results_first_and_then_the_most_similar() -> None:
    others = [result(1, "aa"), result(2, "bb"), result(3), result(4), result(5, "")]

    found = choose_for_comparison(result(9, "bb"), others, {1: 0.1, 2: 0.0, 3: 0.8, 4: 0.9, 5: 0.69})

    assert found == (2, 4, 3)


def test_results_without_a_fingerprint_are_not_equal() -> None:
    assert choose_for_comparison(result(9), [result(1), result(2)], {}) == ()


def test_the_number_of_compared_results_is_limited() -> None:
    others = [result(number) for number in range(1000)]

    assert len(choose_for_comparison(result(2000), others, dict.fromkeys(range(1000), 1.0))) == MAX_COMPARED
