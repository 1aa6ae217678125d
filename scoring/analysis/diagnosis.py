"""Everything that is analysed of a single result: kinds of errors, and sweeps over overlap and size."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from scoring.analysis.errors import ErrorBreakdown, break_down
from scoring.analysis.ranked_detections import RankedDetections, detections_of, read_ranked_detections
from scoring.analysis.sweeps import (
    Sweep,
    covered_areas,
    sweep_image_area,
    sweep_iou_threshold,
    sweep_object_area,
)
from scoring.data.checking import DataError
from scoring.data.description import UNKNOWN_SIDE
from scoring.data.detections import Detections
from scoring.data.ground_truth import GroundTruth
from scoring.data.limits import Limits
from scoring.results import Result, matches_in_memory, rules_of
from scoring.saved_matches import open_rankings
from scoring.tasks.classification.task import CLASSIFICATION
from scoring.tasks.detection.scoring import load
from scoring.tasks.detection.task import DETECTION


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The errors of each class by kind, and its scores over IoU thresholds and over minimal areas; classification has areas only."""

    kind: ClassVar[str] = "diagnosis"
    errors: tuple[ErrorBreakdown, ...] = ()
    sweeps: tuple[Sweep, ...] = ()


class NoDiagnosisError(ValueError):
    """There is no diagnosis of such a result; the message says which results have one."""


@dataclass(frozen=True, slots=True, eq=False)
class Files:
    """The archive that was scored, its limits, and the file of its matches."""

    archive: Path | str
    limits: Limits
    statistics: Path | str


def diagnose(result: Result, truth: GroundTruth, predictions: Detections | Files | None = None) -> Diagnosis:
    """Analyse a result of detection by the protocols of VOC and TensorFlow, or of classification.

    predictions: the detections that were evaluated, which have the boxes; of an archive its files. Without the sizes of the
    images there is no sweep over areas. Raises NoDiagnosisError for a result of another task, and of classification without sizes;
    DataError for detection without predictions, ValueError for those of another result, and for matches that are neither in memory
    nor in a file.

    >>> from scoring import evaluate
    >>> truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 10, 10]], convention="inclusive")
    >>> found = Detections.from_arrays(["a", "a"], ["cat", "cat"], [0.9, 0.8], [[21, 1, 30, 10], [1, 1, 10, 9]])
    >>> diagnosis = diagnose(evaluate(found, truth, protocol="voc2012"), truth, found)
    >>> [(row.error.value, row.count, row.gain) for row in diagnosis.errors[0].rows if row.count]
    [('background', 1, 0.5)]
    """
    analyse = _ANALYSES.get(result.task)
    if analyse is None:
        raise NoDiagnosisError(
            "errors are analysed of detection by the protocols of VOC and TensorFlow, and of classification; found a result of "
            f"{result.task} by '{result.protocol}'"
        )
    return analyse(result, truth, predictions)


def _of_detections(result: Result, truth: GroundTruth, predictions: Detections | Files | None) -> Diagnosis:
    rules, objects_of, sizes = rules_of(result), load(truth), truth.tables.sizes
    errors, sweeps = [], []
    for detections in _with_boxes(result, truth, predictions):
        objects = rules.select_positives(objects_of[detections.ranked.class_name])
        errors.append(break_down(detections, truth, rules))
        sweeps.append(sweep_iou_threshold(detections, objects, rules))
        if _has_sizes(truth):
            sweeps.append(sweep_object_area(detections, objects, sizes, rules))
    return Diagnosis(tuple(errors), tuple(sweeps))


def _with_boxes(
    result: Result, truth: GroundTruth, predictions: Detections | Files | None
) -> Iterator[RankedDetections]:
    if isinstance(predictions, Detections):
        return detections_of(result, truth, predictions)
    if predictions is None:
        raise DataError("expected the Detections that were evaluated, or Files, found NoneType")
    if result.competition is None:
        raise ValueError("expected the result of an archive, which has the boxes")
    _, rankings = open_rankings(predictions.statistics)
    return read_ranked_detections(
        predictions.archive, truth, result.competition, rankings, limits=predictions.limits
    )


def _of_classifications(
    result: Result, truth: GroundTruth, predictions: Detections | Files | None
) -> Diagnosis:
    if not _has_sizes(truth):
        raise NoDiagnosisError(
            "expected the sizes of all images, of which areas are fractions; found some unknown"
        )
    rankings: Any = (
        open_rankings(predictions.statistics)[1]
        if isinstance(predictions, Files)
        else matches_in_memory(result)
    )
    value = rules_of(result).measure.of
    areas = ((ranked, covered_areas(truth, ranked.class_name)) for ranked in rankings)
    return Diagnosis(sweeps=tuple(sweep_image_area(ranked, covered, value) for ranked, covered in areas))


def _has_sizes(truth: GroundTruth) -> bool:
    """Whether the sizes of all images are known, which areas are fractions of."""
    return bool((truth.tables.sizes[: truth.lists.main] != UNKNOWN_SIDE).all())


_ANALYSES: Final[Mapping[str, Callable[[Result, GroundTruth, Detections | Files | None], Diagnosis]]] = {
    DETECTION.name: _of_detections,
    CLASSIFICATION.name: _of_classifications,
}
"""How the results of a task are analysed; those of other tasks are not."""
