"""Results of analyses and statistics: intervals, ranks, sweeps, kinds of errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Interval:
    """A score in [0, 1], or a difference in [-1, 1], with the bounds of its interval; or why there are none.

    replicates: how many had a value, which the bounds are from.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    reason: str | None
    replicates: int


@dataclass(frozen=True, slots=True)
class IntervalTable:
    """Intervals at a level in (0, 1); replicates: how many were drawn; the last row is of all classes together."""

    kind: ClassVar[str] = "interval_table"
    level: float
    replicates: int
    rows: tuple[Interval, ...]

    def by_class(self) -> Mapping[str | None, Interval]:
        """The interval of each class, and under None that of all together.

        >>> car, mean = Interval("car", 0.5, 0.41, 0.6, None, 1000), Interval("mean", 0.4, 0.3, 0.5, None, 1000)
        >>> IntervalTable(0.95, 1000, (car, mean)).by_class()[None].high
        0.5
        """
        *classes, together = self.rows
        return {each.name: each for each in classes} | {None: together}


@dataclass(frozen=True, slots=True)
class RankedMethod:
    """A method by its mean rank over the classes, 1 the best; a letter for each group that it belongs to."""

    name: str
    mean_rank: float
    median: float
    letters: str


@dataclass(frozen=True, slots=True)
class RankDiagram:
    """Methods by mean rank, best first, and which of them cannot be told apart.

    statistic: Friedman's, distributed as chi square with so many degrees if all methods are alike; p: the
    chance of such a statistic or a larger one then. critical_difference: mean ranks that differ by more are
    told apart, at this level; None for a single method. groups: methods by their place in this order, none of
    them told apart from another. left_out: methods that do not have a value in every class.
    """

    kind: ClassVar[str] = "rank_diagram"
    classes: int
    methods: tuple[RankedMethod, ...]
    statistic: float | None
    degrees: int
    p: float | None
    level: float
    critical_difference: float | None
    groups: tuple[tuple[int, ...], ...]
    left_out: tuple[str, ...]


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
