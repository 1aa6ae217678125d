"""The sample challenge: drawn pictures with annotation for all tasks, and results of made-up methods to score on it."""

from sample.challenge import SETS, SampleChallenge, draw_challenge
from sample.kit import NAME
from sample.methods import MadeUpResult, draw_results, results_in
from sample.methods.archives import joined
from sample.methods.teams import METHODS, TEAMS, TRYING, Method, Team
from sample.shapes import ACTIONS, CLASSES

__all__ = [
    "ACTIONS",
    "CLASSES",
    "METHODS",
    "NAME",
    "SETS",
    "TEAMS",
    "TRYING",
    "MadeUpResult",
    "Method",
    "SampleChallenge",
    "Team",
    "draw_challenge",
    "draw_results",
    "joined",
    "results_in",
]
