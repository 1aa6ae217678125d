"""The sample challenge: drawn pictures with annotation for all tasks, and baselines to score on it."""

from sample.baselines import Baseline, draw_baselines
from sample.challenge import SETS, SampleChallenge, draw_challenge
from sample.kit import NAME
from sample.shapes import ACTIONS, CLASSES

__all__ = [
    "ACTIONS",
    "CLASSES",
    "NAME",
    "SETS",
    "Baseline",
    "SampleChallenge",
    "draw_baselines",
    "draw_challenge",
]
