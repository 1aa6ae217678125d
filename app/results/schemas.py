"""Details of a result as its page shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.analyses.schemas import AnalysisView
from app.exhibits.schemas import ExhibitView
from app.figures.shapes import Figure
from app.models import Entry, Run


@dataclass(frozen=True, slots=True)
class Rank:
    """The place of a result on its board, 1 the best, and how many results have one; equal means share a place."""

    rank: int
    of: int


@dataclass(frozen=True, slots=True)
class Change:
    """A class whose value changed, in [0, 1]."""

    name: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """A run that stands or stood on a board since a moment; changes: the classes that it scored otherwise than the run before."""

    run: int
    since: datetime
    ground_truth: int  # version
    scorer: str
    mean: float | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class ResultDetail:
    """What stands below the scores of a run: curves of the drawn classes, figures of the analysis, tables and matrices.

    drawn: the classes; names: all that can be.
    """

    names: tuple[str, ...]
    drawn: tuple[str, ...]
    curves: Figure | None
    exhibits: tuple[ExhibitView, ...]
    analysis: AnalysisView
    errors: Figure | None
    sweeps: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class ShownRun:
    """An entry with the run to show, how many runs it has, and the version of that run's ground truth."""

    entry: Entry
    run: Run
    runs: int
    ground_truth: int


@dataclass(frozen=True, slots=True)
class Standing:
    """By entry, its rank on its board, and the runs that have stood there, if it has more than one."""

    ranks: Mapping[int, Rank]
    histories: Mapping[int, tuple[PublishedRun, ...]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a submission is shown in detail: an entry by its competition, and classes; by default the first ones."""

    competition: int | None = None
    classes: tuple[str, ...] = ()
