"""Files in, numbers out: checks and scores the results of visual recognition challenges."""

from scoring.archive import Limits
from scoring.competition import SCORER, columns, evaluate, is_scorable
from scoring.confusion import ConfusionMatrix
from scoring.description import Description, Image
from scoring.errors import Problem, Severity, SubmissionError
from scoring.protocols import PROTOCOLS, default_protocol
from scoring.registry import CompetitionInfo, competition_of, competitions
from scoring.report import EXHIBITS, ClassResult, Curve, Exhibit, Report, ScoreTable
from scoring.roc import RocCurve
from scoring.statistics import Statistics, count_objects
from scoring.tree import TreeError, read_tree
from scoring.truth import GroundTruth
from scoring.validation import FoundCompetition, Validation, validate

__all__ = [
    "EXHIBITS",
    "PROTOCOLS",
    "SCORER",
    "ClassResult",
    "CompetitionInfo",
    "ConfusionMatrix",
    "Curve",
    "Description",
    "Exhibit",
    "FoundCompetition",
    "GroundTruth",
    "Image",
    "Limits",
    "Problem",
    "Report",
    "RocCurve",
    "ScoreTable",
    "Severity",
    "Statistics",
    "SubmissionError",
    "TreeError",
    "Validation",
    "columns",
    "competition_of",
    "competitions",
    "count_objects",
    "default_protocol",
    "evaluate",
    "is_scorable",
    "read_tree",
    "validate",
]
