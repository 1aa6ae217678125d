"""Analyses of matched predictions: nothing is matched or scored again, except at another threshold.

They take ranked predictions (`heldout_scoring.data.matches`) and the ground truth; where they need boxes, the ranked
predictions are joined with the detections that were evaluated (`detections_of`), or with those of the archive.
"""

from .errors import (
    Diagnosis,
    ErrorBreakdown,
    ErrorKind,
    Files,
    NoDiagnosisError,
    RankedDetections,
    Sweep,
    Swept,
    break_down,
    detections_of,
    diagnose,
    find_errors,
    read_ranked_detections,
    sweep_image_area,
    sweep_iou_threshold,
    sweep_object_area,
)
from .images import (
    Examples,
    ImageOutcomes,
    count_at_best_f1,
    examples_of_detections,
    examples_of_ranking,
    examples_of_segmentation,
    image_shares,
    outcomes_by_image,
)

__all__ = [
    "Diagnosis",
    "ErrorBreakdown",
    "ErrorKind",
    "Examples",
    "Files",
    "ImageOutcomes",
    "NoDiagnosisError",
    "RankedDetections",
    "Sweep",
    "Swept",
    "break_down",
    "count_at_best_f1",
    "detections_of",
    "diagnose",
    "examples_of_detections",
    "examples_of_ranking",
    "examples_of_segmentation",
    "find_errors",
    "image_shares",
    "outcomes_by_image",
    "read_ranked_detections",
    "sweep_image_area",
    "sweep_iou_threshold",
    "sweep_object_area",
]
