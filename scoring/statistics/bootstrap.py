"""The bootstrap of a run, whatever its task: from what was kept beside a score and the ground truth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from scoring.array_files import kind_of
from scoring.competitions import competition_of
from scoring.data.arrays import Integers
from scoring.data.ground_truth import PARTS, GroundTruth
from scoring.findings import IntervalTable
from scoring.image_counts import KIND as COUNTS
from scoring.image_counts import ImageCounts, open_counts
from scoring.metrics.averaging import Average, Pool
from scoring.metrics.labels import (
    Value,
    ranked_average_precision,
    ranked_average_precision_11_points,
    roc_auc,
)
from scoring.metrics.persons import persons_of_layout_set
from scoring.metrics.ranking import average_precision, average_precision_11_points
from scoring.protocols import PROTOCOLS, Protocol
from scoring.ranked_predictions import Origin, RankedPredictions, open_predictions
from scoring.results import Report
from scoring.statistics.intervals import LEVEL, interval_table
from scoring.statistics.resampling import (
    REPLICATES,
    SEED,
    Draws,
    Replicates,
    count_objects_by_image,
    count_positives_by_image,
    resample_confusions,
    resample_rankings,
)
from scoring.statistics.weighted_roc import weighted_roc_auc
from scoring.statistics.weighting import WeightedMetric, weighted_metric_of
from scoring.tasks.detection.scoring import load
from scoring.tasks.labelled.rules import LabelRules


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
    if kind_of(statistics) == COUNTS:
        return _bootstrap_pixels(*open_counts(statistics), truth, classes, Draws(0, replicates, seed))
    origin, rankings = open_predictions(statistics)
    _assert_same(origin, truth)
    task = competition_of(truth.lists.dataset, origin.competition).task
    chosen = [each for each in rankings if classes is None or each.class_name in classes]
    contest = _CONTESTS[task](chosen, truth, PROTOCOLS[origin.protocol])
    return _bootstrap_rankings(contest, Draws(contest.wanted.shape[1], replicates, seed))


def intervals_of(
    report: Report,
    statistics: Path,
    truth: GroundTruth,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
) -> IntervalTable:
    r"""The intervals of a report's classes, as far as they were entered, and of its headline.

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
    return interval_table([*(values[name] for name in drawn.names), report.headline], drawn, level=level)


@dataclass(frozen=True, slots=True, eq=False)
class _Contest:
    """What is resampled: rankings, what is to be found by class and image, int32 (classes, images), and how
    it is valued.
    """

    rankings: Sequence[RankedPredictions]
    wanted: Integers
    weighted_metric: WeightedMetric
    average: Average
    pool: Pool | None = None


def _bootstrap_rankings(contest: _Contest, draws: Draws) -> Replicates:
    names = tuple(each.class_name for each in contest.rankings)
    values = resample_rankings(contest.rankings, contest.wanted, contest.weighted_metric, draws)
    if contest.pool is None:
        return Replicates.averaged(draws, names, values, contest.average)
    pooled, wanted = contest.pool(contest.rankings), contest.wanted.sum(axis=0, keepdims=True)
    return Replicates(
        draws, names, values, resample_rankings([pooled], wanted, contest.weighted_metric, draws)[0]
    )


def _bootstrap_pixels(
    origin: Origin, counts: ImageCounts, truth: GroundTruth, classes: Sequence[str] | None, draws: Draws
) -> Replicates:
    _assert_same(origin, truth)
    rules, draws = PROTOCOLS[origin.protocol].segmentation, replace(draws, images=len(counts))
    names = [name for name in counts.labels if classes is None or name in classes]
    values = resample_confusions(counts.by_image(), rules.measure.of, draws)
    chosen = values[[counts.labels.index(name) for name in names]]
    return Replicates.averaged(draws, names, chosen, rules.average)


def _of_detection(rankings: Sequence[RankedPredictions], truth: GroundTruth, protocol: Protocol) -> _Contest:
    rules, ground_truth = protocol.detection, load(truth)
    wanted = [count_objects_by_image(rules.seek(ground_truth[each.class_name])) for each in rankings]
    return _Contest(
        rankings,
        _table(wanted, truth.lists.main),
        weighted_metric_of(rules.measure.of),
        rules.average,
        rules.pool,
    )


def _of_classification(
    rankings: Sequence[RankedPredictions], truth: GroundTruth, protocol: Protocol
) -> _Contest:
    return _of_labels(rankings, truth.lists.main, protocol.classification)


def _of_action(rankings: Sequence[RankedPredictions], truth: GroundTruth, protocol: Protocol) -> _Contest:
    contest = _of_labels(rankings, len(truth.lists.images), protocol.action)
    return _among(contest, truth, [image for image, _ in truth.lists.acting])


def _of_layout(rankings: Sequence[RankedPredictions], truth: GroundTruth, protocol: Protocol) -> _Contest:
    rules, people = protocol.layout, persons_of_layout_set(truth)
    parts = {name: people.parts_of(kind) for kind, name in enumerate(PARTS)}
    lines = np.repeat(np.arange(len(people.image)), people.persons.count)
    wanted = []
    for ranking in rankings:
        if ranking.class_name in parts:
            image = np.repeat(people.image[lines], parts[ranking.class_name].count)
        else:
            image = people.image[lines[~people.persons.difficult]]
        wanted.append(np.bincount(image, minlength=len(truth.lists.images)).astype(np.int32))
    table = _table(wanted, len(truth.lists.images))
    contest = _Contest(rankings, table, weighted_metric_of(rules.measure.of), rules.average)
    return _among(contest, truth, [image for image, _ in truth.lists.persons])


_CONTESTS: Final[Mapping[str, Callable[[Sequence[RankedPredictions], GroundTruth, Protocol], _Contest]]] = (
    MappingProxyType(
        {
            "detection": _of_detection,
            "classification": _of_classification,
            "action": _of_action,
            "layout": _of_layout,
        }
    )
)

_WEIGHTED_METRICS: Final[Mapping[Value, WeightedMetric]] = MappingProxyType(
    {
        ranked_average_precision: weighted_metric_of(average_precision),
        ranked_average_precision_11_points: weighted_metric_of(average_precision_11_points),
        roc_auc: weighted_roc_auc,
    }
)


def _of_labels(rankings: Sequence[RankedPredictions], images: int, rules: LabelRules) -> _Contest:
    wanted = count_positives_by_image(rankings, images)
    return _Contest(rankings, wanted, _WEIGHTED_METRICS[rules.measure.of], rules.average)


def _among(contest: _Contest, truth: GroundTruth, names: Sequence[str]) -> _Contest:
    """The same, drawn from the images of these names alone: others have nobody who is asked about."""
    places = {name: place for place, name in enumerate(truth.lists.images)}
    listed = np.unique([places[name] for name in names]).astype(np.intp)
    place = np.zeros(len(places), np.int32)  # answers of nobody are ignored wherever they are
    place[listed] = np.arange(len(listed))
    rankings = [replace(each, image=place[each.image]) for each in contest.rankings]
    return replace(contest, rankings=rankings, wanted=contest.wanted[:, listed])


def _table(rows: Sequence[Integers], images: int) -> Integers:
    return np.array(rows, np.int32).reshape(len(rows), images)


def _assert_same(origin: Origin, truth: GroundTruth) -> None:
    if origin.truth != truth.fingerprint:
        raise ValueError(f"these answers were held against another ground truth, {origin.truth}")
