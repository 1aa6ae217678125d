"""How often 95 % intervals cover the expected score in simulated sets with rare and frequent classes."""

from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pytest

from heldout_scoring.data.arrays import Floats, Integers
from heldout_scoring.data.matches import RankedPredictions
from heldout_scoring.metrics.ranking import AP_AREA, average_precision, mean_of_classes
from heldout_scoring.statistics.bootstrap import (
    Draws,
    Interval,
    Replicates,
    Setup,
    headline_by_replicate,
    interval_table,
    resample_rankings,
)

CLASSES, IMAGES, SETS = 20, 200, 80
SETUP = Setup("detection", "voc2012", "0f")
DRAWS = Draws(IMAGES, 200)


@dataclass(frozen=True)
class Simulated:
    """The average precision of each class of a set, their mean, and the intervals of both."""

    scores: list[float]
    rows: tuple[Interval, ...]


def simulated_class(
    rng: np.random.Generator, ease: Floats, positives: int, skill: float
) -> tuple[RankedPredictions, Integers]:
    """Objects in separate images, four of five found, and three times as many false positives."""
    objects = rng.choice(IMAGES, positives, replace=False)
    found = objects[rng.random(positives) < 0.8]
    image = np.concatenate([found, rng.integers(0, IMAGES, rng.poisson(3 * positives))])
    is_found = np.arange(len(image)) < len(found)
    confidence = rng.normal(0, 1, len(image)) + skill * is_found + ease[image]
    order = np.argsort(-confidence)
    ranked = RankedPredictions(
        "cat", positives, image[order].astype(np.int32), confidence[order], is_found[order].astype(np.int8)
    )
    return ranked, np.bincount(objects, minlength=IMAGES).astype(np.int32)


def simulated_set(rng: np.random.Generator, positives: int, classes: int = CLASSES) -> Simulated:
    ease = rng.normal(0, 0.5, IMAGES)
    made = [simulated_class(rng, ease, positives, skill) for skill in np.linspace(-0.5, 3.5, classes)]
    rankings, by_image = [ranked for ranked, _ in made], np.array([counts for _, counts in made])
    values = resample_rankings(rankings, by_image, AP_AREA.weighted, DRAWS)
    scores = [average_precision(ranked.outcomes, positives) for ranked in rankings]
    scores.append(fmean(scores))
    values = np.vstack([values, headline_by_replicate(values, mean_of_classes)])
    replicates = Replicates(SETUP, DRAWS, tuple(map(str, range(classes))), tuple(scores), values)
    return Simulated(scores, interval_table(replicates).rows)


def covers(row: Interval, expected: float) -> bool:
    low, high = (-1.0 if bound is None else bound for bound in (row.low, row.high))
    return low - 1e-12 <= expected <= high + 1e-12


@pytest.mark.parametrize(("positives", "single_class"), [(2, 0.6), (5, 0.9), (50, 0.94)])
@pytest.mark.slow
def test_intervals_of_the_mean_cover_it_however_rare_the_classes_are(
    positives: int, single_class: float
) -> None:
    rng = np.random.default_rng(positives)
    sets = [simulated_set(rng, positives) for _ in range(SETS)]
    *expected, expected_mean = np.mean([each.scores for each in sets], axis=0).tolist()

    means = fmean(covers(each.rows[-1], expected_mean) for each in sets)
    singles = fmean(
        covers(row, score) for each in sets for row, score in zip(each.rows, expected, strict=False)
    )

    assert 0.92 <= means <= 1  # of 80
    assert single_class <= singles <= 0.99
    assert all(each.rows[-1].replicates == DRAWS.replicates for each in sets)


@pytest.mark.sampled
def test_a_row_has_the_number_of_replicates_behind_its_interval() -> None:
    rows = simulated_set(np.random.default_rng(1), 2).rows

    assert all(150 <= row.replicates < 195 for row in rows[:-1])  # one in seven has neither of two objects


@pytest.mark.slow
def test_the_interval_of_the_mean_of_many_rare_classes_is_not_one_sided() -> None:
    rng = np.random.default_rng(7)
    sets = [simulated_set(rng, 3, classes=200) for _ in range(30)]
    expected = fmean(each.scores[-1] for each in sets)

    rows = [each.rows[-1] for each in sets]

    assert all(row.low is not None and row.value is not None and row.low < row.value for row in rows)
    assert fmean(covers(row, expected) for row in rows) >= 0.9
