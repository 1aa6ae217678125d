"""Files in, numbers out: checks and scores the results of visual recognition challenges."""

from scoring.comparison.bootstrap import bootstrap, intervals_of
from scoring.comparison.intervals import Comparison, Standings, compare, standings
from scoring.comparison.resampling import Replicates
from scoring.comparison.scoreboard import Scoreboard, read_scoreboard
from scoring.comparison.significance import compare_pairs, rank_methods
from scoring.competition import SCORER, columns, evaluate, is_scorable
from scoring.description import Description, Image
from scoring.errors import Problem, Severity, SubmissionError
from scoring.findings import Interval, IntervalTable, RankDiagram
from scoring.formats.colours import label_colours
from scoring.formats.layouts import Layout, layouts_to_xml
from scoring.formats.png import labels_to_png
from scoring.limits import Limits
from scoring.measures.confusion import ConfusionMatrix
from scoring.measures.roc import RocCurve
from scoring.painting import create_segmentations_from_detections
from scoring.protocols import PROTOCOLS, default_protocol
from scoring.registry import CompetitionInfo, competition_of, competitions
from scoring.report import EXHIBITS, ClassResult, Curve, Exhibit, Report, ScoreTable
from scoring.truth.annotations import AnnotatedObject, Annotation, Box, Part
from scoring.truth.boxed_truth import truth_of_boxes
from scoring.truth.coco import read_coco
from scoring.truth.ground_truth import GroundTruth
from scoring.truth.kit_files import TreeError
from scoring.truth.object_counts import Statistics, count_objects
from scoring.truth.open_images import read_open_images
from scoring.truth.public_tree import read_public
from scoring.truth.tree import read_tree
from scoring.validation import FoundCompetition, Validation, validate

__all__ = [
    "EXHIBITS",
    "PROTOCOLS",
    "SCORER",
    "AnnotatedObject",
    "Annotation",
    "Box",
    "ClassResult",
    "Comparison",
    "CompetitionInfo",
    "ConfusionMatrix",
    "Curve",
    "Description",
    "Exhibit",
    "FoundCompetition",
    "GroundTruth",
    "Image",
    "Interval",
    "IntervalTable",
    "Layout",
    "Limits",
    "Part",
    "Problem",
    "RankDiagram",
    "Replicates",
    "Report",
    "RocCurve",
    "ScoreTable",
    "Scoreboard",
    "Severity",
    "Standings",
    "Statistics",
    "SubmissionError",
    "TreeError",
    "Validation",
    "bootstrap",
    "columns",
    "compare",
    "compare_pairs",
    "competition_of",
    "competitions",
    "count_objects",
    "create_segmentations_from_detections",
    "default_protocol",
    "evaluate",
    "intervals_of",
    "is_scorable",
    "label_colours",
    "labels_to_png",
    "layouts_to_xml",
    "rank_methods",
    "read_coco",
    "read_open_images",
    "read_public",
    "read_scoreboard",
    "read_tree",
    "standings",
    "truth_of_boxes",
    "validate",
]
