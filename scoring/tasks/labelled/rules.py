"""How classification and action classification are scored."""

from dataclasses import dataclass

from scoring.metrics.averaging import Average
from scoring.metrics.labels import (
    Value,
)
from scoring.results import Draw


@dataclass(frozen=True, slots=True)
class LabelMeasure:
    """What is drawn from a ranking of labelled images or persons, what it is called, and its curve."""

    name: str
    of: Value
    draw: Draw


@dataclass(frozen=True, slots=True)
class LabelRules:
    """How classification is scored, and how actions are."""

    measure: LabelMeasure
    average: Average
