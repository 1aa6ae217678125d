"""Files in, numbers out: checks and scores the results of visual recognition challenges.

A name is imported with its module when it is first used, so that `import scoring` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from scoring.competitions import (
    CompetitionInfo,
    competition_of,
    competitions,
)  # at once: the module has the same name

if TYPE_CHECKING:
    from scoring.analysis.object_counts import Statistics, count_objects
    from scoring.archives.png import labels_to_png
    from scoring.coco_evaluation import evaluate_coco
    from scoring.data.annotations import AnnotatedObject, Annotation, Box, Part
    from scoring.data.boxes import BoxConvention
    from scoring.data.checking import DataError
    from scoring.data.confidences import Confidences
    from scoring.data.description import Description, Image, PublicCounts
    from scoring.data.detections import Detections
    from scoring.data.ground_truth import GroundTruth
    from scoring.data.instance_masks import InstanceMasks
    from scoring.data.label_maps import LabelMaps
    from scoring.data.layouts import Layout, Layouts
    from scoring.data.limits import Limits
    from scoring.errors import Entry, Problem, Problems, Rule, Severity, SubmissionError
    from scoring.evaluation import SCORER, evaluate
    from scoring.exhibits import EXHIBITS, ConfusionMatrix, Curve, Exhibit, RocCurve, ScoreTable
    from scoring.files import PathError
    from scoring.metrics.shorthand import ApRule, average_precision, confusion_matrix, iou_matrix
    from scoring.painting import create_segmentations_from_detections
    from scoring.parallel import use_threads
    from scoring.protocols import (
        COCO,
        LVIS,
        PROTOCOLS,
        VOC2006,
        VOC2007,
        VOC2008,
        VOC2009,
        VOC2010,
        VOC2011,
        VOC2012,
        default_protocol,
        protocol_of,
    )
    from scoring.readers.open_images import read_hierarchy, read_open_images
    from scoring.readers.open_images_detections import expand_detections, read_open_images_detections
    from scoring.readers.tables import truth_of_boxes
    from scoring.readers.voc.kit_files import TreeError
    from scoring.readers.voc.public_tree import read_public
    from scoring.readers.voc.tree import read_tree
    from scoring.results import Result
    from scoring.scores import ClassResult, Explanation
    from scoring.statistics.bootstrap import bootstrap, intervals_of
    from scoring.statistics.comparison import (
        Comparison,
        HolmFamily,
        Standings,
        compare,
        standard_error_of_difference,
        standings,
    )
    from scoring.statistics.intervals import Interval, IntervalTable
    from scoring.statistics.rank_tests import RankDiagram, compare_pairs, holm, rank_methods
    from scoring.statistics.resampling import Replicates
    from scoring.statistics.scoreboard import Scoreboard, read_scoreboard
    from scoring.tasks.layout.writer import layouts_to_xml
    from scoring.tasks.protocol import Protocol
    from scoring.tasks.task import TaskRules
    from scoring.validation import FoundCompetition, Validation, validate

__all__ = [
    "COCO",
    "EXHIBITS",
    "LVIS",
    "PROTOCOLS",
    "SCORER",
    "VOC2006",
    "VOC2007",
    "VOC2008",
    "VOC2009",
    "VOC2010",
    "VOC2011",
    "VOC2012",
    "AnnotatedObject",
    "Annotation",
    "ApRule",
    "Box",
    "BoxConvention",
    "ClassResult",
    "Comparison",
    "CompetitionInfo",
    "Confidences",
    "ConfusionMatrix",
    "Curve",
    "DataError",
    "Description",
    "Detections",
    "Entry",
    "Exhibit",
    "Explanation",
    "FoundCompetition",
    "GroundTruth",
    "HolmFamily",
    "Image",
    "InstanceMasks",
    "Interval",
    "IntervalTable",
    "LabelMaps",
    "Layout",
    "Layouts",
    "Limits",
    "Part",
    "PathError",
    "Problem",
    "Problems",
    "Protocol",
    "PublicCounts",
    "RankDiagram",
    "Replicates",
    "Result",
    "RocCurve",
    "Rule",
    "ScoreTable",
    "Scoreboard",
    "Severity",
    "Standings",
    "Statistics",
    "SubmissionError",
    "TaskRules",
    "TreeError",
    "Validation",
    "average_precision",
    "bootstrap",
    "compare",
    "compare_pairs",
    "competition_of",
    "competitions",
    "confusion_matrix",
    "count_objects",
    "create_segmentations_from_detections",
    "default_protocol",
    "evaluate",
    "evaluate_coco",
    "expand_detections",
    "holm",
    "intervals_of",
    "iou_matrix",
    "labels_to_png",
    "layouts_to_xml",
    "protocol_of",
    "rank_methods",
    "read_hierarchy",
    "read_open_images",
    "read_open_images_detections",
    "read_public",
    "read_scoreboard",
    "read_tree",
    "standard_error_of_difference",
    "standings",
    "truth_of_boxes",
    "use_threads",
    "validate",
]


_NAMES: Final = {
    "analysis.object_counts": ("Statistics", "count_objects"),
    "coco_evaluation": ("evaluate_coco",),
    "data.annotations": ("AnnotatedObject", "Annotation", "Box", "Part"),
    "data.boxes": ("BoxConvention",),
    "data.checking": ("DataError",),
    "data.confidences": ("Confidences",),
    "data.description": ("Description", "Image", "PublicCounts"),
    "data.detections": ("Detections",),
    "data.ground_truth": ("GroundTruth",),
    "data.instance_masks": ("InstanceMasks",),
    "data.label_maps": ("LabelMaps",),
    "data.layouts": ("Layout", "Layouts"),
    "data.limits": ("Limits",),
    "errors": ("Entry", "Problem", "Problems", "Rule", "Severity", "SubmissionError"),
    "evaluation": ("SCORER", "evaluate"),
    "exhibits": ("EXHIBITS", "ConfusionMatrix", "Curve", "Exhibit", "RocCurve", "ScoreTable"),
    "files": ("PathError",),
    "archives.png": ("labels_to_png",),
    "metrics.shorthand": ("ApRule", "average_precision", "confusion_matrix", "iou_matrix"),
    "painting": ("create_segmentations_from_detections",),
    "parallel": ("use_threads",),
    "protocols": (
        "COCO",
        "LVIS",
        "PROTOCOLS",
        "VOC2006",
        "VOC2007",
        "VOC2008",
        "VOC2009",
        "VOC2010",
        "VOC2011",
        "VOC2012",
        "default_protocol",
        "protocol_of",
    ),
    "readers.tables": ("truth_of_boxes",),
    "readers.open_images": ("read_hierarchy", "read_open_images"),
    "readers.open_images_detections": ("expand_detections", "read_open_images_detections"),
    "readers.voc.kit_files": ("TreeError",),
    "readers.voc.public_tree": ("read_public",),
    "readers.voc.tree": ("read_tree",),
    "results": ("Result",),
    "scores": ("ClassResult", "Explanation"),
    "statistics.bootstrap": ("bootstrap", "intervals_of"),
    "statistics.comparison": (
        "Comparison",
        "HolmFamily",
        "Standings",
        "compare",
        "standard_error_of_difference",
        "standings",
    ),
    "statistics.intervals": ("Interval", "IntervalTable"),
    "statistics.rank_tests": ("RankDiagram", "compare_pairs", "holm", "rank_methods"),
    "statistics.resampling": ("Replicates",),
    "statistics.scoreboard": ("Scoreboard", "read_scoreboard"),
    "tasks.layout.writer": ("layouts_to_xml",),
    "tasks.protocol": ("Protocol",),
    "tasks.task": ("TaskRules",),
    "validation": ("FoundCompetition", "Validation", "validate"),
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names}


if not TYPE_CHECKING:  # pragma: no branch - type checkers would take every name for an attribute

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'scoring' has no attribute '{name}'")
        value = globals()[name] = getattr(import_module(f"scoring.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
