"""Files in, numbers out: checks and scores the results of visual recognition challenges.

A name is imported with its module when it is first used, so that `import heldout_scoring` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .competitions import (
    CompetitionInfo,
    competition_of,
    competitions,
)  # at once: the module has the same name

if TYPE_CHECKING:
    from .analysis.images import Statistics, count_objects
    from .archives.png import labels_to_png
    from .data.annotations import PARTS, AnnotatedObject, Annotation, Box, BoxConvention, Part
    from .data.description import Description, Image, Limits, PublicCounts
    from .data.label_maps import InstanceMasks, LabelMaps
    from .data.layouts import PERSON, Layout, Layouts, layouts_to_xml
    from .data.matches import (
        FALSE_POSITIVE,
        IGNORED,
        TRUE_POSITIVE,
        ImageCounts,
        RankedPredictions,
        open_matches,
    )
    from .data.predictions import Confidences, Detections
    from .data.truth import GroundTruth, truth_of_boxes
    from .errors import (
        DataError,
        Entry,
        NotFoundError,
        PathError,
        Problem,
        Problems,
        Rule,
        ScoringError,
        Severity,
        SubmissionError,
    )
    from .evaluation import SCORER, evaluate, evaluate_coco
    from .metrics.shorthand import ApRule, average_precision, confusion_matrix, iou_matrix
    from .parallel import use_threads
    from .protocols import (
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
        Protocol,
        coco,
        default_protocol,
        protocol_of,
    )
    from .readers.open_images import (
        expand_detections,
        read_hierarchy,
        read_open_images,
        read_open_images_detections,
    )
    from .readers.voc_tree import TreeError, read_public, read_tree
    from .results import Result
    from .scores import (
        EXHIBITS,
        ClassResult,
        ConfusionMatrix,
        Curve,
        Exhibit,
        Explanation,
        RocCurve,
        ScoreTable,
    )
    from .statistics.bootstrap import Interval, IntervalTable, Replicates, bootstrap, intervals_of
    from .statistics.comparison import (
        Comparison,
        HolmFamily,
        Standings,
        compare,
        standard_error_of_difference,
        standings,
    )
    from .statistics.ranks import (
        RankDiagram,
        Scoreboard,
        compare_pairs,
        holm,
        rank_methods,
        read_scoreboard,
    )
    from .tasks.segmentation_files import create_segmentations_from_detections
    from .tasks.task import TaskRules
    from .validation import FoundCompetition, Validation, validate

__version__ = "0.1.0"

__all__ = [
    "COCO",
    "EXHIBITS",
    "FALSE_POSITIVE",
    "IGNORED",
    "LVIS",
    "PARTS",
    "PERSON",
    "PROTOCOLS",
    "SCORER",
    "TRUE_POSITIVE",
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
    "ImageCounts",
    "InstanceMasks",
    "Interval",
    "IntervalTable",
    "LabelMaps",
    "Layout",
    "Layouts",
    "Limits",
    "NotFoundError",
    "Part",
    "PathError",
    "Problem",
    "Problems",
    "Protocol",
    "PublicCounts",
    "RankDiagram",
    "RankedPredictions",
    "Replicates",
    "Result",
    "RocCurve",
    "Rule",
    "ScoreTable",
    "Scoreboard",
    "ScoringError",
    "Severity",
    "Standings",
    "Statistics",
    "SubmissionError",
    "TaskRules",
    "TreeError",
    "Validation",
    "average_precision",
    "bootstrap",
    "coco",
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
    "open_matches",
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
    "analysis.images": ("Statistics", "count_objects"),
    "archives.png": ("labels_to_png",),
    "data.annotations": ("AnnotatedObject", "Annotation", "Box", "BoxConvention", "PARTS", "Part"),
    "data.description": ("Description", "Image", "Limits", "PublicCounts"),
    "data.label_maps": ("InstanceMasks", "LabelMaps"),
    "data.layouts": ("Layout", "Layouts", "layouts_to_xml", "PERSON"),
    "data.matches": (
        "FALSE_POSITIVE",
        "IGNORED",
        "ImageCounts",
        "RankedPredictions",
        "TRUE_POSITIVE",
        "open_matches",
    ),
    "data.predictions": ("Confidences", "Detections"),
    "data.truth": ("GroundTruth", "truth_of_boxes"),
    "errors": (
        "DataError",
        "Entry",
        "NotFoundError",
        "PathError",
        "Problem",
        "Problems",
        "Rule",
        "ScoringError",
        "Severity",
        "SubmissionError",
    ),
    "evaluation": ("SCORER", "evaluate", "evaluate_coco"),
    "metrics.shorthand": ("ApRule", "average_precision", "confusion_matrix", "iou_matrix"),
    "parallel": ("use_threads",),
    "protocols": (
        "COCO",
        "LVIS",
        "PROTOCOLS",
        "Protocol",
        "VOC2006",
        "VOC2007",
        "VOC2008",
        "VOC2009",
        "VOC2010",
        "VOC2011",
        "VOC2012",
        "coco",
        "default_protocol",
        "protocol_of",
    ),
    "readers.open_images": (
        "expand_detections",
        "read_hierarchy",
        "read_open_images",
        "read_open_images_detections",
    ),
    "readers.voc_tree": ("TreeError", "read_public", "read_tree"),
    "results": ("Result",),
    "scores": (
        "ClassResult",
        "ConfusionMatrix",
        "Curve",
        "EXHIBITS",
        "Exhibit",
        "Explanation",
        "RocCurve",
        "ScoreTable",
    ),
    "statistics.bootstrap": ("Interval", "IntervalTable", "Replicates", "bootstrap", "intervals_of"),
    "statistics.comparison": (
        "Comparison",
        "HolmFamily",
        "Standings",
        "compare",
        "standard_error_of_difference",
        "standings",
    ),
    "statistics.ranks": (
        "RankDiagram",
        "Scoreboard",
        "compare_pairs",
        "holm",
        "rank_methods",
        "read_scoreboard",
    ),
    "tasks.segmentation_files": ("create_segmentations_from_detections",),
    "tasks.task": ("TaskRules",),
    "validation": ("FoundCompetition", "Validation", "validate"),
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names}


if not TYPE_CHECKING:  # pragma: no branch - type checkers would take every name for an attribute

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'heldout_scoring' has no attribute '{name}'")
        value = globals()[name] = getattr(import_module(f"heldout_scoring.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
