"""The sample edition: drawn pictures with annotation for all tasks, and baselines to score on it."""

from sample.baselines import Baseline, draw_baselines
from sample.edition import SETS, SampleEdition, draw_edition
from sample.kit import NAME
from sample.shapes import ACTIONS, CLASSES

__all__ = [
    "ACTIONS",
    "CLASSES",
    "NAME",
    "SETS",
    "Baseline",
    "SampleEdition",
    "draw_baselines",
    "draw_edition",
]
