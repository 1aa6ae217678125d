"""Results of analyses: sweeps and kinds of errors."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class Swept(StrEnum):
    """What a sweep goes through."""

    OVERLAP = "overlap"
    SIZE = "size"


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The score in [0, 1] at a level, None where nothing is left to be found; and how many there are to be found."""

    level: float
    value: float | None
    positives: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """How the score of a class changes with the overlap asked for, or with the least size of what counts.

    Levels are in [0, 1]: intersection over union, or the share of the image's area.
    """

    kind: ClassVar[str] = "sweep"
    class_name: str
    swept: Swept
    points: tuple[SweepPoint, ...]


class ErrorKind(StrEnum):
    """What is wrong with a detection, or with none having been made."""

    DUPLICATE = "duplicate"
    LOCALISATION = "localisation"
    SIMILAR = "similar"
    OTHER = "other"
    BACKGROUND = "background"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How often a mistake was made, and what it costs: the score in [0, 1] that would be gained without it."""

    mistake: ErrorKind
    count: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class ErrorBreakdown:
    """The mistakes of a class's detections by kind, beside its score in [0, 1]; None, and no costs, if it has none."""

    kind: ClassVar[str] = "error_breakdown"
    class_name: str
    value: float | None
    rows: tuple[ErrorCount, ...]
