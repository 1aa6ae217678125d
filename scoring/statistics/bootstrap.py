"""The bootstrap of a run, whatever its task: from what was kept beside a score and the ground truth."""

from collections.abc import Sequence
from pathlib import Path

from scoring.array_files import kind_of
from scoring.competitions import competition_of
from scoring.data.ground_truth import GroundTruth
from scoring.findings import IntervalTable
from scoring.image_counts import KIND as COUNTS
from scoring.image_counts import ImageCounts, open_counts
from scoring.protocols import PROTOCOLS, TASKS
from scoring.ranked_predictions import Origin, RankedPredictions, open_predictions
from scoring.results import Report
from scoring.statistics.intervals import LEVEL, WIDENING, interval_table
from scoring.statistics.resampling import (
    REPLICATES,
    SEED,
    Draws,
    Replicates,
    resample_confusions,
    resample_rankings,
)
from scoring.tasks.resampling import PixelSample, RankingSample


def bootstrap(
    statistics: Path,
    truth: GroundTruth,
    *,
    classes: Sequence[str] | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Replicates:
    r"""Replicates of a run from the file that `evaluate` wrote with `statistics`; no answer is judged again.

    classes: those that the headline is of, where a subset was declared; in segmentation with the background.
    Two runs of one competition, drawn with the same numbers, are paired. Raises ForeignFileError for another
    file, and ValueError if the file is of another ground truth.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import AnnotatedObject, Annotation, Box, evaluate, truth_of_boxes
    >>> page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page, "b": page}, dataset="VOC2012", image_set="val")
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("a 0.9 1 1 10 10\nb 0.5 1 1 9 2\n")
    ...     kept = Path(folder, "kept")
    ...     report = evaluate(Path(folder), truth, competition=3, protocol="voc2012", statistics=kept)
    ...     bootstrap(kept, truth, replicates=6).headline.tolist()
    [0.5, 1.0, 1.0, 1.0, 0.5, 0.0]
    """
    kept: ImageCounts | list[RankedPredictions]
    if kind_of(statistics) == COUNTS:
        origin, kept = open_counts(statistics)
    else:
        origin, rankings = open_predictions(statistics)
        kept = [each for each in rankings if classes is None or each.class_name in classes]
    _assert_same(origin, truth)
    task = TASKS[competition_of(truth.lists.dataset, origin.competition).task]
    sample = task.resample(kept, truth, PROTOCOLS[origin.protocol].rules_of(task))
    if isinstance(sample, PixelSample):
        return _bootstrap_pixels(sample, classes, Draws(len(sample.counts), replicates, seed))
    return _bootstrap_rankings(sample, Draws(sample.positives.shape[1], replicates, seed))


def intervals_of(  # noqa: PLR0913 - what may vary, each by its name
    report: Report,
    statistics: Path,
    truth: GroundTruth,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
    widening: float = WIDENING,
) -> IntervalTable:
    r"""Confidence intervals of a report's classes, as far as they were entered, and of its headline.

    level: in (0, 1); widening: see `scoring.statistics.intervals.WIDENING`, 1 for none.

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
    values = {each.name: each.value for each in report.classes}
    drawn = bootstrap(statistics, truth, classes=list(values), replicates=replicates, seed=seed)
    return interval_table(
        [*(values[name] for name in drawn.names), report.headline], drawn, level=level, widening=widening
    )


def _bootstrap_rankings(sample: RankingSample, draws: Draws) -> Replicates:
    names = tuple(each.class_name for each in sample.rankings)
    values = resample_rankings(sample.rankings, sample.positives, sample.weighted_metric, draws)
    if sample.pool is None:
        return Replicates.averaged(draws, names, values, sample.average)
    pooled, positives = sample.pool(sample.rankings), sample.positives.sum(axis=0, keepdims=True)
    return Replicates(
        draws, names, values, resample_rankings([pooled], positives, sample.weighted_metric, draws)[0]
    )


def _bootstrap_pixels(sample: PixelSample, classes: Sequence[str] | None, draws: Draws) -> Replicates:
    labels = sample.counts.labels
    names = [name for name in labels if classes is None or name in classes]
    values = resample_confusions(sample.counts, sample.measure, draws)
    chosen = values[[labels.index(name) for name in names]]
    return Replicates.averaged(draws, names, chosen, sample.average)


def _assert_same(origin: Origin, truth: GroundTruth) -> None:
    if origin.truth != truth.fingerprint:
        raise ValueError(f"these answers were held against another ground truth, {origin.truth}")
