"""The bootstrap of a result."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..data.arrays import Floats, assert_is
from ..data.matches import AllMatches, Origin, open_matches
from ..data.truth import GroundTruth
from ..errors import DataError
from ..protocols import PROTOCOLS, TASKS, spell
from ..results import Result, matches_in_memory, rules_of
from ..tasks.task import PixelSample, RankingSample, Sample
from .resampling import (
    LEVEL,
    REPLICATES,
    SEED,
    WIDENING,
    Draws,
    IntervalTable,
    Replicates,
    Setup,
    headline_by_replicate,
    interval_table,
    resample_confusions,
    resample_pool,
    resample_rankings,
)


def bootstrap(
    result: Result,
    truth: GroundTruth,
    *,
    statistics: Path | str | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Replicates:
    r"""Bootstrap replicates of a result, over images, without matching anything again.

    statistics: the file of its matches that `evaluate` or `save_matches` wrote, for a result without them in memory.
    Replicates of several results with the same ground truth, number and seed are paired. Raises ForeignFileError for a
    file of another kind, and DataError for the matches of another result, another ground truth, or no matches.

    >>> from heldout_scoring import Detections, GroundTruth, evaluate
    >>> box = [1, 1, 10, 10]
    >>> truth = GroundTruth.from_arrays(["a", "b"], ["cat", "cat"], [box, box], convention="inclusive")
    >>> found = Detections.from_arrays(["a", "b"], ["cat", "cat"], [0.9, 0.5], [box, [1, 1, 9, 2]])
    >>> bootstrap(evaluate(found, truth, protocol="voc2012"), truth, replicates=6).values[-1].tolist()
    [0.5, 1.0, 1.0, 1.0, 0.5, 0.0]
    """
    if replicates < 1:
        raise DataError(f"expected at least 1 replicate, found {replicates}")
    sample = sample_of(result, truth, statistics=statistics)
    scores = {each.name: each.value for each in result.classes}
    if isinstance(sample, PixelSample):
        draws = Draws(len(sample.counts), replicates, seed)
        names = tuple(name for name in sample.counts.labels if name in scores)
        values = _pixel_values(sample, names, draws)
    else:
        draws = Draws(sample.positives.shape[1], replicates, seed)
        names = tuple(each.class_name for each in sample.rankings[:: sample.together])
        values = _ranking_values(sample, draws)
    setup = Setup(result.task, _spelled_protocol(result), truth.fingerprint)
    return Replicates(setup, draws, names, (*(scores[name] for name in names), result.headline), values)


def sample_of(result: Result, truth: GroundTruth, *, statistics: Path | str | None = None) -> Sample:
    r"""What the bootstrap of a result draws from; arguments and errors as for `bootstrap`.

    >>> from heldout_scoring import Detections, GroundTruth, evaluate
    >>> box = [1, 1, 10, 10]
    >>> truth = GroundTruth.from_arrays(["a", "b"], ["cat", "cat"], [box, box], convention="inclusive")
    >>> found = Detections.from_arrays(["a"], ["cat"], [0.9], [box])
    >>> sample_of(evaluate(found, truth, protocol="voc2012"), truth).positives.tolist()
    [[1, 1]]
    """
    if isinstance(result, GroundTruth) and isinstance(truth, Result):
        raise DataError("expected a Result and then GroundTruth: the two seem to be swapped")
    assert_is(result, Result, "whose matches are drawn")
    assert_is(truth, GroundTruth, "of the result")
    origin, matches = _open(result, statistics)
    _check_same(origin, result, truth)
    if isinstance(matches, tuple):
        scored = {each.name for each in result.classes}
        matches = tuple(each for each in matches if each.class_name in scored)
    return TASKS[result.task].resample(matches, truth, rules_of(result))


def intervals_of(
    result: Result,
    truth: GroundTruth,
    *,
    statistics: Path | str | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
    widening: float = WIDENING,
) -> IntervalTable:
    r"""Confidence intervals of the classes of a result that have predictions, and of its headline.

    statistics: as for `bootstrap`; level: in (0, 1); widening: see `heldout_scoring.statistics.resampling.WIDENING`, 1 for none.

    >>> from heldout_scoring import Detections, GroundTruth, evaluate
    >>> boxes, images, cats = [[1, 1, 10, 10]] * 10, list("abcdefghij"), ["cat"] * 10
    >>> truth = GroundTruth.from_arrays(images, cats, boxes, convention="inclusive")
    >>> found = Detections.from_arrays(images[:6], cats[:6], [0.9] * 6, boxes[:6])
    >>> *_, headline = intervals_of(evaluate(found, truth, protocol="voc2012"), truth, replicates=100).rows
    >>> headline.name, round(headline.low, 3), round(headline.value, 3), round(headline.high, 3)
    ('mean', 0.3, 0.6, 0.9)
    """
    drawn = bootstrap(result, truth, statistics=statistics, replicates=replicates, seed=seed)
    return interval_table(drawn, level=level, widening=widening)


def _spelled_protocol(result: Result) -> str:
    """The name of the protocol, with the rules of one that is not official: others may have that name, too."""
    is_official = result.protocol in PROTOCOLS
    return result.protocol if is_official else f"{result.protocol}: {spell(rules_of(result))}"


def _open(result: Result, statistics: Path | str | None) -> tuple[Origin, AllMatches]:
    if statistics is None:
        return result.origin, matches_in_memory(result)
    return open_matches(statistics)


def _check_same(origin: Origin, result: Result, truth: GroundTruth) -> None:
    if origin.receipt != result.receipt:
        raise DataError(
            f"these are the statistics of another result: expected the receipt {result.receipt},"
            f" found {origin.receipt}"
        )
    if origin.truth != truth.fingerprint:
        raise DataError(f"this result is of another ground truth, {origin.truth}")


def _ranking_values(sample: RankingSample, draws: Draws) -> Floats:
    positives_of = [row for row in sample.positives for _ in range(sample.together)]
    values = resample_rankings(sample.rankings, positives_of, sample.weighted_metric, draws)
    values = values.reshape(-1, sample.together, values.shape[1]).mean(axis=1)
    if sample.pool is None:
        return np.vstack([values, headline_by_replicate(values, sample.average)])
    pooled = resample_pool(sample.rankings, sample.positives, sample.pool, sample.weighted_metric, draws)
    return np.vstack([values, pooled])


def _pixel_values(sample: PixelSample, names: Sequence[str], draws: Draws) -> Floats:
    values = resample_confusions(sample.counts, sample.measure, draws)
    values = values[[sample.counts.labels.index(name) for name in names]]
    return np.vstack([values, headline_by_replicate(values, sample.average)])
