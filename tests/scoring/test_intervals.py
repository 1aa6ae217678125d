"""What is read off replicates; and that an interval of 95 % holds in 93 to 97 of a hundred cases."""

from statistics import fmean

import numpy as np
import pytest

from scoring.codec import from_plain, to_plain
from scoring.data.arrays import Floats, Integers
from scoring.findings import Interval, IntervalTable
from scoring.metrics.averaging import mean_of_classes
from scoring.metrics.measures import AP_11_POINTS, AP_AREA, RankingMeasure
from scoring.ranked_predictions import RankedPredictions
from scoring.statistics.intervals import NO_VALUE, NOTHING_DRAWN, compare, interval, interval_table, standings
from scoring.statistics.resampling import Draws, Replicates, resample_rankings


def simulated_class(rng: np.random.Generator, images: int) -> tuple[RankedPredictions, Integers]:
    """Three objects to ten images, four of five found; a false alarm an image; some images harder than others."""
    ease = rng.normal(0, 0.5, images)
    wanted = rng.poisson(0.3, images)
    objects = np.repeat(np.arange(images), wanted)
    found = objects[rng.random(len(objects)) < 0.8]
    wrong = np.repeat(np.arange(images), rng.poisson(1, images))
    image = np.concatenate([found, wrong])
    confidence = rng.normal(0, 1, len(image)) + 1.5 * (np.arange(len(image)) < len(found)) + ease[image]
    order = np.argsort(-confidence)
    outcomes = (order < len(found)).astype(np.int8)
    ranked = RankedPredictions(
        "cat", int(wanted.sum()), image[order].astype(np.int32), confidence[order], outcomes
    )
    return ranked, wanted.astype(np.int32)


@pytest.mark.parametrize("measure", [AP_AREA, AP_11_POINTS])
def test_intervals_hold_the_expected_score_as_often_as_they_say(measure: RankingMeasure) -> None:
    rng = np.random.default_rng(2007)
    draws, sets = Draws(300, 200), 600
    scores, bounds, means, bounds_of_means = [], [], [], []
    for _ in range(sets // 3):
        classes = [simulated_class(rng, 300) for _ in range(3)]
        values = [measure.of(ranked.outcomes, ranked.positives) for ranked, _ in classes]
        wanted = np.array([each for _, each in classes])
        drawn = resample_rankings([ranked for ranked, _ in classes], wanted, measure.weighted, draws)
        together = Replicates.averaged(draws, ["a", "b", "c"], drawn, mean_of_classes)
        table = interval_table([*values, fmean(values)], together)
        *singles, mean = [(row.low, row.high) for row in table.rows]
        scores += values
        bounds += singles
        means.append(fmean(values))
        bounds_of_means.append(mean)

    assert 0.93 <= share_that_hold(fmean(scores), bounds) <= 0.97
    assert 0.92 <= share_that_hold(fmean(means), bounds_of_means) <= 0.98  # of 200


def share_that_hold(expected: float, bounds: list[tuple[float | None, float | None]]) -> float:
    return fmean(low is not None and high is not None and low <= expected <= high for low, high in bounds)


def test_an_interval_holds_the_score_itself() -> None:
    drawn = np.linspace(0.2, 0.6, 1000)

    for value in (0.2, 0.3, 0.5, 0.6):
        found = interval("cat", value, drawn)

        assert found.low is not None
        assert found.high is not None
        assert found.low <= value <= found.high


def test_a_score_beyond_all_its_replicates_still_has_an_interval() -> None:
    assert interval("cat", 0.9, np.linspace(0.2, 0.6, 1000)).high == 0.9
    assert interval("cat", 0.1, np.linspace(0.2, 0.6, 1000)).low == 0.1


def test_rounding_does_not_move_a_bound() -> None:
    drawn = np.full(200, 0.3 - 1e-15)

    assert interval("cat", 0.3, drawn).low == pytest.approx(0.3)


def test_a_perfect_result_has_no_width() -> None:
    assert interval("cat", 1.0, np.ones(200)) == Interval("cat", 1.0, 1.0, 1.0, None, 200)


def test_a_wider_level_gives_a_wider_interval() -> None:
    drawn = np.linspace(0, 1, 999)

    narrow, wide = (interval("cat", 0.5, drawn, level=level) for level in (0.9, 0.99))

    assert wide.low is not None
    assert narrow.low is not None
    assert wide.low < narrow.low


def test_without_widening_the_bounds_are_percentiles() -> None:
    drawn = np.arange(1, 1000) / 1000

    plain, wider = interval("cat", 0.5, drawn, widening=1), interval("cat", 0.5, drawn)

    assert (plain.low, plain.high) == (0.025, 0.975)
    assert (wider.low, wider.high) == (0.02, 0.98)


def test_without_a_score_there_is_no_interval() -> None:
    assert interval("cat", None, np.ones(200)) == Interval("cat", None, None, None, NO_VALUE, 200)


def test_of_few_replicates_with_a_value_no_bound_is_read_off() -> None:
    drawn = np.where(np.arange(1000) < 19, 0.5, np.nan)

    assert interval("cat", 0.5, drawn) == Interval("cat", 0.5, None, None, NOTHING_DRAWN, 19)


def test_a_table_of_intervals_survives_json() -> None:
    replicates = drawn_of(np.linspace(0.4, 0.6, 200))
    table = interval_table([0.5, None], replicates)

    assert [row.name for row in table.rows] == ["cat", "mean"]
    assert table.replicates == 200
    assert from_plain(IntervalTable, to_plain(table)) == table


def drawn_of(values: Floats, seed: int = 1) -> Replicates:
    return Replicates.averaged(Draws(9, len(values), seed), ["cat"], values[None], mean_of_classes)


def test_a_method_that_is_ahead_in_most_replicates_is_probably_better() -> None:
    one = np.full(200, 0.5)
    other = np.concatenate([np.full(140, 0.4), np.full(40, 0.5), np.full(20, 0.6)])

    cat, mean = compare(drawn_of(one), drawn_of(other), [0.1, 0.1])

    assert cat.better == mean.better == 0.8
    assert cat.name == "cat"
    assert cat.difference.low is not None
    assert cat.difference.low < 0


def test_methods_without_values_are_not_compared() -> None:
    nothing = drawn_of(np.full(200, np.nan))

    assert [each.better for each in compare(nothing, nothing, [None, None])] == [None, None]


def test_replicates_of_other_draws_are_not_paired() -> None:
    with pytest.raises(ValueError, match=r"not paired: .*seed=1.* and .*seed=2"):
        compare(drawn_of(np.ones(5), 1), drawn_of(np.ones(5), 2), [0.0, 0.0])


def test_methods_far_apart_have_letters_of_their_own() -> None:
    noise = np.random.default_rng(1).normal(0, 0.01, (4, 1000))
    values = [0.3, 0.5, 0.505, 0.7]

    found = standings(["a", "b", "c", "d"], values, [v + n for v, n in zip(values, noise, strict=True)])

    assert [(each.name, each.letters) for each in found.methods] == [
        ("d", "a"),
        ("c", "b"),
        ("b", "b"),
        ("a", "c"),
    ]
    assert found.groups == ((0,), (1, 2), (3,))
    assert 2 < found.needed < 4


def test_paired_noise_does_not_hide_a_difference() -> None:
    shared = np.random.default_rng(1).normal(0, 0.1, 1000)
    own = np.random.default_rng(2).normal(0, 0.001, 1000)

    found = standings(["a", "b"], [0.5, 0.51], [0.5 + shared, 0.51 + shared + own])

    assert [each.letters for each in found.methods] == ["a", "b"]


def test_the_same_result_twice_is_one_group() -> None:
    drawn = np.random.default_rng(1).normal(0.5, 0.1, 1000)

    assert standings(["a", "b"], [0.5, 0.5], [drawn, drawn]).groups == ((0, 1),)


def test_alike_methods_are_seldom_told_apart() -> None:
    rng = np.random.default_rng(11)
    told_apart = 0
    for _ in range(200):
        truth = rng.normal(0, 1, 6)  # what was measured, around the same expected score
        drawn = truth[:, None] + rng.normal(0, 1, (6, 300))
        told_apart += len(standings(list("abcdef"), truth.tolist(), list(drawn)).groups) > 1

    assert told_apart <= 20  # 5 of a hundred, give or take


def test_one_method_or_none_stands_alone() -> None:
    assert [each.letters for each in standings(["a"], [0.5], [np.full(200, 0.5)]).methods] == ["a"]
    assert standings([], [], []).methods == ()


def test_standings_need_replicates() -> None:
    with pytest.raises(ValueError, match="only 19 replicates have a value for every method"):
        standings(["a", "b"], [0.5, 0.4], [np.full(200, 0.5), np.where(np.arange(200) < 19, 0.4, np.nan)])
