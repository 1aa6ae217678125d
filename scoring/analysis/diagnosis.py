"""Everything that is analysed of a single result: kinds of errors, and sweeps over overlap and size."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from scoring.analysis.errors import ErrorBreakdown, break_down
from scoring.analysis.ranked_detections import read_ranked_detections
from scoring.analysis.sweeps import (
    Sweep,
    covered_areas,
    sweep_image_area,
    sweep_iou_threshold,
    sweep_object_area,
)
from scoring.data.ground_truth import GroundTruth
from scoring.data.limits import Limits
from scoring.data.matches import RankedPredictions
from scoring.protocols import rules_of
from scoring.results import Result
from scoring.saved_matches import open_rankings
from scoring.tasks.classification.task import CLASSIFICATION
from scoring.tasks.detection.scoring import load
from scoring.tasks.detection.task import DETECTION


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The errors of each class by kind, and its scores over IoU thresholds and over minimal areas; empty where a task has none."""

    kind: ClassVar[str] = "diagnosis"
    errors: tuple[ErrorBreakdown, ...] = ()
    sweeps: tuple[Sweep, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Files:
    """The archive that was scored, its limits, and the file of its matches."""

    archive: Path | str
    limits: Limits
    statistics: Path | str


def diagnose(result: Result, truth: GroundTruth, files: Files) -> Diagnosis:
    r"""Analyse a result of a competition, from its archive and its saved matches.

    Raises ValueError for the matches or the archive of another result, and for one of predictions in memory.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import AnnotatedObject, Annotation, Box, evaluate, truth_of_boxes
    >>> page = Annotation(50, 20, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> with TemporaryDirectory() as name:
    ...     folder, matches = Path(name, "results"), Path(name, "matches")
    ...     folder.mkdir()
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("a 0.9 21 1 30 10\na 0.8 1 1 10 9\n")
    ...     result = evaluate(folder, truth, protocol="voc2012", competition=3, statistics=matches, classes=["cat"])
    ...     found = diagnose(result, truth, Files(folder, Limits(), matches))
    >>> [(row.error.value, row.count, row.gain) for row in found.errors[0].rows if row.count]
    [('background', 1, 0.5)]
    """
    analyse = _ANALYSES.get(result.task)
    if analyse is None:
        return Diagnosis()
    _, rankings = open_rankings(files.statistics)
    return analyse(result, truth, files, rules_of(result), rankings)


def _of_detections(
    result: Result, truth: GroundTruth, files: Files, rules: Any, rankings: Sequence[RankedPredictions]
) -> Diagnosis:
    if result.competition is None:
        raise ValueError("expected the result of an archive, which has the boxes")
    objects_of, sizes = load(truth), truth.tables.sizes
    errors, sweeps = [], []
    for detections in read_ranked_detections(
        files.archive, truth, result.competition, rankings, limits=files.limits
    ):
        objects = rules.select_positives(objects_of[detections.ranked.class_name])
        errors.append(break_down(detections, truth, rules))
        sweeps.append(sweep_iou_threshold(detections, objects, rules))
        sweeps.append(sweep_object_area(detections, objects, sizes, rules))
    return Diagnosis(tuple(errors), tuple(sweeps))


def _of_classifications(
    _result: Result, truth: GroundTruth, _files: Files, rules: Any, rankings: Sequence[RankedPredictions]
) -> Diagnosis:
    return Diagnosis(sweeps=tuple(_area_sweeps(truth, rules, rankings)))


def _area_sweeps(truth: GroundTruth, rules: Any, rankings: Sequence[RankedPredictions]) -> Iterator[Sweep]:
    for ranked in rankings:
        yield sweep_image_area(ranked, covered_areas(truth, ranked.class_name), rules.measure.of)


_Analyse = Callable[[Result, GroundTruth, Files, Any, Sequence[RankedPredictions]], Diagnosis]
_ANALYSES: Final[Mapping[str, _Analyse]] = {
    DETECTION.name: _of_detections,
    CLASSIFICATION.name: _of_classifications,
}
"""How the results of a task are analysed; those of other tasks are not."""
