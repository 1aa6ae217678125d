"""Confidence intervals from bootstrap replicates: at 95 % they cover the expected score in 93 to 97 % of simulations."""

from statistics import fmean

import numpy as np
import pytest

from heldout_scoring.data.arrays import Integers
from heldout_scoring.data.matches import RankedPredictions
from heldout_scoring.metrics.ranking import AP_11_POINTS, AP_AREA, RankingMeasure, mean_of_classes
from heldout_scoring.statistics.bootstrap import (
    NO_VALUE,
    TOO_FEW_REPLICATES,
    Draws,
    Interval,
    IntervalTable,
    Replicates,
    Setup,
    headline_by_replicate,
    interval,
    interval_table,
    resample_rankings,
)
from heldout_scoring.stored import from_plain, to_plain

SETUP = Setup("detection", "voc2012", "0f")


def simulated_class(rng: np.random.Generator, images: int) -> tuple[RankedPredictions, Integers]:
    """Three objects in ten images, four of five found, one false positive per image, and some harder images."""
    ease = rng.normal(0, 0.5, images)
    positives = rng.poisson(0.3, images)
    objects = np.repeat(np.arange(images), positives)
    found = objects[rng.random(len(objects)) < 0.8]
    wrong = np.repeat(np.arange(images), rng.poisson(1, images))
    image = np.concatenate([found, wrong])
    confidence = rng.normal(0, 1, len(image)) + 1.5 * (np.arange(len(image)) < len(found)) + ease[image]
    order = np.argsort(-confidence)
    outcomes = (order < len(found)).astype(np.int8)
    ranked = RankedPredictions(
        "cat", int(positives.sum()), image[order].astype(np.int32), confidence[order], outcomes
    )
    return ranked, positives.astype(np.int32)


@pytest.mark.sampled
@pytest.mark.parametrize("measure", [AP_AREA, AP_11_POINTS])
def test_intervals_cover_the_expected_score_at_their_nominal_level(measure: RankingMeasure) -> None:
    rng = np.random.default_rng(2007)
    draws, sets = Draws(300, 200), 600
    scores, bounds, means, bounds_of_means = [], [], [], []
    for _ in range(sets // 3):
        classes = [simulated_class(rng, 300) for _ in range(3)]
        values = [measure.of(ranked.outcomes, ranked.positives) for ranked, _ in classes]
        positives = np.array([each for _, each in classes])
        drawn = resample_rankings([ranked for ranked, _ in classes], positives, measure.weighted, draws)
        scores_of_set = (*values, fmean(values))
        headline = headline_by_replicate(drawn, mean_of_classes)
        table = interval_table(
            Replicates(SETUP, draws, ("a", "b", "c"), scores_of_set, np.vstack([drawn, headline]))
        )
        *singles, mean = [(row.low, row.high) for row in table.rows]
        scores += values
        bounds += singles
        means.append(fmean(values))
        bounds_of_means.append(mean)

    assert 0.93 <= share_that_hold(fmean(scores), bounds) <= 0.97
    assert 0.92 <= share_that_hold(fmean(means), bounds_of_means) <= 0.98  # of 200


def share_that_hold(expected: float, bounds: list[tuple[float | None, float | None]]) -> float:
    return fmean(low is not None and high is not None and low <= expected <= high for low, high in bounds)


def test_an_interval_contains_the_score_itself() -> None:
    drawn = np.linspace(0.2, 0.6, 1000)

    for value in (0.2, 0.3, 0.5, 0.6):
        found = interval("cat", value, drawn)

        assert found.low is not None
        assert found.high is not None
        assert found.low <= value <= found.high


def test_a_score_outside_all_replicates_still_has_an_interval() -> None:
    above, outside = (interval("cat", value, np.linspace(0.2, 0.6, 1001)) for value in (0.7, 0.9))

    assert above.low == pytest.approx(0.7 - 0.192, abs=1e-3)
    assert above.high == pytest.approx(0.7 + 0.192, abs=1e-3)
    assert outside.low == pytest.approx(0.9 - 0.192, abs=1e-3)
    assert outside.high == 1.0  # no score exceeds 1


def test_rounding_does_not_move_a_bound() -> None:
    drawn = np.full(200, 0.3 - 1e-15)

    assert interval("cat", 0.3, drawn).low == pytest.approx(0.3)


def test_the_interval_of_a_perfect_result_has_no_width() -> None:
    assert interval("cat", 1.0, np.ones(200)) == Interval("cat", 1.0, 1.0, 1.0, None, 200)


def test_a_higher_level_gives_a_wider_interval() -> None:
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


def test_too_few_replicates_with_a_value_give_no_interval() -> None:
    drawn = np.where(np.arange(1000) < 19, 0.5, np.nan)

    assert interval("cat", 0.5, drawn) == Interval("cat", 0.5, None, None, TOO_FEW_REPLICATES, 19)


def test_a_table_of_intervals_survives_a_round_trip_through_json() -> None:
    drawn = np.tile(np.linspace(0.4, 0.6, 200), (2, 1))
    table = interval_table(Replicates(SETUP, Draws(9, 200), ("cat",), (0.5, None), drawn))

    assert [row.name for row in table.rows] == ["cat", "mean"]
    assert table.replicates == 200
    assert from_plain(IntervalTable, to_plain(table)) == table
