"""The bootstrap of a report."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scoring.array_files import kind_of
from scoring.competitions import competition_of
from scoring.data.arrays import Floats
from scoring.data.ground_truth import GroundTruth
from scoring.image_counts import KIND as COUNTS
from scoring.image_counts import ImageCounts, open_counts
from scoring.protocols import TASKS, protocol_of
from scoring.ranked_predictions import Origin, RankedPredictions, open_predictions
from scoring.results import Report
from scoring.statistics.intervals import LEVEL, WIDENING, IntervalTable, interval_table
from scoring.statistics.resampling import (
    REPLICATES,
    SEED,
    Draws,
    Replicates,
    Setup,
    headline_by_replicate,
    resample_confusions,
    resample_rankings,
)
from scoring.tasks.resampling import PixelSample, RankingSample

Matched = Sequence[RankedPredictions] | ImageCounts
"""The matched predictions of a report: ranked by class, or counted by image."""


def bootstrap(
    report: Report,
    statistics: Path | str,
    truth: GroundTruth,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Replicates:
    r"""Bootstrap replicates of a report, over images, without matching anything again.

    statistics: the file that `evaluate` wrote with this report. Replicates of several reports with the same ground
    truth, number and seed are paired. Raises ForeignFileError for a file of another kind, and ValueError if the file
    is of another report or ground truth.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import AnnotatedObject, Annotation, Box, evaluate, truth_of_boxes
    >>> page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page, "b": page}, dataset="VOC2012", image_set="val")
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("a 0.9 1 1 10 10\nb 0.5 1 1 9 2\n")
    ...     kept = Path(folder, "kept")
    ...     report = evaluate(Path(folder), truth, competition=3, protocol="voc2012", statistics=kept)
    ...     bootstrap(report, kept, truth, replicates=6).values[-1].tolist()
    [0.5, 1.0, 1.0, 1.0, 0.5, 0.0]
    """
    origin, matched = _open(Path(statistics))
    _check_same(origin, report, truth)
    return bootstrap_matches(report, matched, truth, replicates=replicates, seed=seed)


def bootstrap_matches(
    report: Report,
    matched: Matched,
    truth: GroundTruth,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Replicates:
    """The same from a report's matched predictions in memory.

    >>> from scoring import AnnotatedObject, Annotation, Box, ClassResult, Report, truth_of_boxes
    >>> page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page, "b": page}, dataset="VOC2012", image_set="val")
    >>> ranked = RankedPredictions(
    ...     "cat", 2, np.array([0, 1], np.int32), np.array([0.9, 0.5]), np.array([1, 0], np.int8)
    ... )
    >>> row = ClassResult("cat", 0.5, None, positives=2, predictions=2)
    >>> report = Report(3, "voc2012", "Average precision", 0.5, None, (row,), (), scorer="1", receipt="")
    >>> bootstrap_matches(report, [ranked], truth, replicates=6).values[-1].tolist()
    [0.5, 1.0, 1.0, 1.0, 0.5, 0.0]
    """
    scores = {each.name: each.value for each in report.classes}
    if not isinstance(matched, ImageCounts):
        matched = [each for each in matched if each.class_name in scores]
    task = TASKS[competition_of(truth.lists.dataset, report.competition).task]
    sample = task.resample(matched, truth, protocol_of(report.protocol).rules_of(task))
    if isinstance(sample, PixelSample):
        draws = Draws(len(sample.counts), replicates, seed)
        names = tuple(name for name in sample.counts.labels if name in scores)
        values = _pixel_values(sample, names, draws)
    else:
        draws = Draws(sample.positives.shape[1], replicates, seed)
        names = tuple(each.class_name for each in sample.rankings)
        values = _ranking_values(sample, draws)
    setup = Setup(task.name, report.protocol, truth.fingerprint)
    return Replicates(setup, draws, names, (*(scores[name] for name in names), report.headline), values)


def intervals_of(  # noqa: PLR0913 - what may vary, each by its name
    report: Report,
    statistics: Path | str,
    truth: GroundTruth,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
    widening: float = WIDENING,
) -> IntervalTable:
    r"""Confidence intervals of a report's classes, as far as they were entered, and of its headline.

    statistics: as for `bootstrap`; level: in (0, 1); widening: see `scoring.statistics.intervals.WIDENING`, 1 for none.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import AnnotatedObject, Annotation, Box, evaluate, truth_of_boxes
    >>> page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes(dict.fromkeys("abcdefghij", page), dataset="VOC2012", image_set="val")
    >>> with TemporaryDirectory() as folder:
    ...     found = "".join(f"{image} 0.9 1 1 10 10\n" for image in "abcdef")
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text(found)
    ...     kept = Path(folder, "kept")
    ...     report = evaluate(Path(folder), truth, competition=3, protocol="voc2012", statistics=kept)
    ...     *_, headline = intervals_of(report, kept, truth, replicates=100).rows
    >>> headline.name, round(headline.low, 3), round(headline.value, 3), round(headline.high, 3)
    ('mean', 0.3, 0.6, 0.9)
    """
    drawn = bootstrap(report, statistics, truth, replicates=replicates, seed=seed)
    return interval_table(drawn, level=level, widening=widening)


def _open(statistics: Path) -> tuple[Origin, Matched]:
    return open_counts(statistics) if kind_of(statistics) == COUNTS else open_predictions(statistics)


def _check_same(origin: Origin, report: Report, truth: GroundTruth) -> None:
    if origin.receipt != report.receipt:
        raise ValueError(
            f"these are the statistics of another report: expected the receipt {report.receipt},"
            f" found {origin.receipt}"
        )
    if origin.truth != truth.fingerprint:
        raise ValueError(f"this report is of another ground truth, {origin.truth}")


def _ranking_values(sample: RankingSample, draws: Draws) -> Floats:
    values = resample_rankings(sample.rankings, sample.positives, sample.weighted_metric, draws)
    if sample.pool is None:
        return np.vstack([values, headline_by_replicate(values, sample.average)])
    positives = sample.positives.sum(axis=0, keepdims=True)
    pooled = [sample.pool(sample.rankings)]
    return np.vstack([values, resample_rankings(pooled, positives, sample.weighted_metric, draws)])


def _pixel_values(sample: PixelSample, names: Sequence[str], draws: Draws) -> Floats:
    values = resample_confusions(sample.counts, sample.measure, draws)
    values = values[[sample.counts.labels.index(name) for name in names]]
    return np.vstack([values, headline_by_replicate(values, sample.average)])
