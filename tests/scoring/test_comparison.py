"""Methods compared by paired replicates."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from heldout_scoring.data.arrays import Floats
from heldout_scoring.statistics.bootstrap import Draws, Replicates, Setup
from heldout_scoring.statistics.comparison import (
    TEST_WIDENING,
    Standings,
    compare,
    standard_error_of_difference,
    standings,
)

SETUP = Setup("detection", "voc2012", "0f")


def run_of(score: float | None, drawn: Floats, seed: int = 1) -> Replicates:
    """A run of one class whose headline is the score of that class."""
    return Replicates(SETUP, Draws(9, len(drawn), seed), ("cat",), (score, score), np.tile(drawn, (2, 1)))


def ranked(names: Iterable[str], scores: Iterable[float], drawn: Iterable[Floats]) -> Standings:
    runs = map(run_of, scores, drawn)
    return standings(dict(zip(names, runs, strict=True)))


def test_a_method_ahead_in_most_replicates_is_probably_better() -> None:
    one = np.full(200, 0.5)
    other = np.concatenate([np.full(140, 0.4), np.full(40, 0.5), np.full(20, 0.6)])

    cat, mean = compare(run_of(0.5, one), run_of(0.4, other))

    assert cat.better == mean.better == 0.8
    assert cat.name == "cat"
    assert cat.difference.low is not None
    assert cat.difference.low < 0
    assert cat.difference.value == pytest.approx(0.1)


def test_methods_without_values_are_not_compared() -> None:
    nothing = run_of(None, np.full(200, np.nan))

    assert [each.better for each in compare(nothing, nothing)] == [None, None]
    assert standard_error_of_difference(nothing, nothing) is None


def test_a_difference_of_two_standard_errors_has_the_p_value_of_two_normal_deviations() -> None:
    drawn = np.array([0.4, 0.6] * 100)

    cat, mean = compare(run_of(0.5 + 0.2 * TEST_WIDENING, drawn), run_of(0.5, np.full(200, 0.0)))

    assert cat.p_value == mean.p_value == pytest.approx(0.0455, abs=1e-4)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(0.5, 0.5, 1.0), (0.5, 0.4, None), (None, 0.4, None)],
    ids=["the same twice", "the same distance in every replicate", "no score"],
)
def test_a_difference_without_spread_has_no_p_value_unless_it_is_0(
    one: float | None, other: float, expected: float | None
) -> None:
    [cat, _] = compare(run_of(one, np.full(200, 0.5)), run_of(other, np.full(200, other)))

    assert cat.p_value == expected


def test_replicates_of_different_draws_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match=r"not paired: .*seed=1.* and .*seed=2"):
        compare(run_of(1.0, np.ones(5), 1), run_of(1.0, np.ones(5), 2))


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        (replace(SETUP, protocol="voc2007"), "voc2007"),
        (replace(SETUP, task="segmentation"), "segmentation"),
        (replace(SETUP, truth="1e"), "1e"),
    ],
)
def test_runs_of_different_tasks_protocols_or_truths_cannot_be_compared(setup: Setup, said: str) -> None:
    one = run_of(1.0, np.ones(200))
    other = replace(one, setup=setup)

    with pytest.raises(ValueError, match=f"cannot be compared: .*voc2012.* and .*{said}"):
        compare(one, other)
    with pytest.raises(ValueError, match="cannot be compared"):
        standings({"a": one, "b": other})


def test_methods_far_apart_share_no_letter() -> None:
    noise = np.random.default_rng(1).normal(0, 0.01, (4, 1000))
    values = [0.3, 0.5, 0.505, 0.7]

    found = ranked(["a", "b", "c", "d"], values, [v + n for v, n in zip(values, noise, strict=True)])

    assert [(each.name, each.letters) for each in found.methods] == [
        ("d", "a"),
        ("c", "b"),
        ("b", "b"),
        ("a", "c"),
    ]
    assert found.groups == ((0,), (1, 2), (3,))
    assert found.family.tests == 6


def test_paired_noise_does_not_hide_a_difference() -> None:
    shared = np.random.default_rng(1).normal(0, 0.1, 1000)
    own = np.random.default_rng(2).normal(0, 0.001, 1000)

    found = ranked(["a", "b"], [0.5, 0.51], [0.5 + shared, 0.51 + shared + own])

    assert [each.letters for each in found.methods] == ["a", "b"]


def test_two_equal_results_form_one_group() -> None:
    drawn = np.random.default_rng(1).normal(0.5, 0.1, 1000)

    assert ranked(["a", "b"], [0.5, 0.5], [drawn, drawn]).groups == ((0, 1),)


def test_similar_methods_are_seldom_distinguished() -> None:
    rng = np.random.default_rng(11)
    told_apart = 0
    for _ in range(200):
        truth = rng.normal(0, 1, 6)  # what was measured, around the same expected score
        drawn = truth[:, None] + rng.normal(0, 1, (6, 300))
        told_apart += len(ranked(list("abcdef"), truth.tolist(), list(drawn)).groups) > 1

    assert told_apart <= 20  # 5 of a hundred, give or take


def test_no_methods_or_a_single_one_can_be_ranked() -> None:
    assert [each.letters for each in ranked(["a"], [0.5], [np.full(200, 0.5)]).methods] == ["a"]
    assert ranked([], [], []).methods == ()


def test_standings_need_replicates() -> None:
    with pytest.raises(ValueError, match="only 19 replicates have a value for every method"):
        ranked(["a", "b"], [0.5, 0.4], [np.full(200, 0.5), np.where(np.arange(200) < 19, 0.4, np.nan)])


def test_standings_need_a_score_for_every_method() -> None:
    with pytest.raises(ValueError, match="'b' has no score of all classes"):
        standings({"a": run_of(0.5, np.full(200, 0.5)), "b": run_of(None, np.full(200, 0.5))})


def test_methods_can_be_ranked_by_one_class() -> None:
    one, other = run_of(0.5, np.full(200, 0.5)), run_of(0.4, np.full(200, 0.4))
    by_class = replace(one, scores=(0.3, 0.5), values=np.array([np.full(200, 0.3), one.values[1]]))

    assert [each.name for each in standings({"a": by_class, "b": other}).methods] == ["a", "b"]
    assert [each.name for each in standings({"a": by_class, "b": other}, class_name="cat").methods] == [
        "b",
        "a",
    ]


def test_many_differing_pairs_of_methods_need_few_letters() -> None:
    rng = np.random.default_rng(3)
    drawn, scores = [], []
    for pair in range(8):  # the two of a pair move together and are told apart, others are too noisy
        noise = rng.normal(0, 1, 300)
        for step in (0.0, 0.5):
            drawn.append(noise + rng.normal(0, 0.01, 300))
            scores.append(pair / 100 + step)

    found = ranked([f"method {number}" for number in range(16)], scores, drawn)

    assert 2 <= len(found.groups) <= 16  # there are 256 maximal groups
