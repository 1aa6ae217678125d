"""Files in, numbers out: checks and scores the results of visual recognition challenges."""

from scoring.annotations import Box, Part
from scoring.archive import Limits
from scoring.boxed_truth import truth_of_boxes
from scoring.coco import read_coco
from scoring.colours import label_colours
from scoring.competition import SCORER, columns, evaluate, is_scorable
from scoring.confusion import ConfusionMatrix
from scoring.description import Description, Image
from scoring.errors import Problem, Severity, SubmissionError
from scoring.findings import Interval, IntervalTable, RankDiagram
from scoring.kit_files import TreeError
from scoring.layouts import Layout, layouts_to_xml
from scoring.openimages import read_open_images
from scoring.painting import create_segmentations_from_detections
from scoring.png import labels_to_png
from scoring.protocols import PROTOCOLS, default_protocol
from scoring.public_tree import read_public
from scoring.registry import CompetitionInfo, competition_of, competitions
from scoring.report import EXHIBITS, ClassResult, Curve, Exhibit, Report, ScoreTable
from scoring.roc import RocCurve
from scoring.scoreboard import Scoreboard, read_scoreboard
from scoring.significance import rank_methods
from scoring.statistics import Statistics, count_objects
from scoring.tree import read_tree
from scoring.truth import GroundTruth
from scoring.uncertainty import bootstrap, intervals_of
from scoring.validation import FoundCompetition, Validation, validate

__all__ = [
    "EXHIBITS",
    "PROTOCOLS",
    "SCORER",
    "Box",
    "ClassResult",
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
    "Report",
    "RocCurve",
    "ScoreTable",
    "Scoreboard",
    "Severity",
    "Statistics",
    "SubmissionError",
    "TreeError",
    "Validation",
    "bootstrap",
    "columns",
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
    "truth_of_boxes",
    "validate",
]
