"""What workers are given, and reports as rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import scoring
from app.disclosure.rules import held_out_mean, held_out_value
from app.models import ClassScore, Exhibit


@dataclass(frozen=True, slots=True)
class Assignment:
    """The keys of what a run needs from storage, and how it is scored."""

    submission_id: int
    archive: str
    truth: str
    competition: int
    protocol: str
    description: str


@dataclass(frozen=True, slots=True)
class PhaseQueue:
    """How many entries a phase has, and how many of its runs are in which state."""

    entries: int
    queued: int
    running: int
    failed: int


@dataclass(frozen=True, slots=True)
class WaitingForRepair:
    """How many runs of a phase wait because something stored is damaged, e.g. "stored archive"."""

    what: str
    runs: int


NOTHING: Final = PhaseQueue(entries=0, queued=0, running=0, failed=0)


def score_rows(run_id: int, report: scoring.Result) -> Iterator[ClassScore]:
    """The headline and the classes of a report as rows of a run; their intervals are computed afterwards."""
    classes = [held_out_value(each.value, each.reason) for each in report.classes]
    yield ClassScore(
        run_id=run_id,
        position=0,
        value=report.headline,
        held_out_value=held_out_mean(report.headline, report.headline_reason, classes),
        reason=report.headline_reason,
    )
    for position, result in enumerate(report.classes, start=1):
        yield ClassScore(
            run_id=run_id,
            class_name=result.name,
            position=position,
            value=result.value,
            held_out_value=classes[position - 1],
            reason=result.reason,
            positives=result.positives,
            predictions=result.predictions,
        )


def exhibits(run_id: int, report: scoring.Result) -> Iterator[Exhibit]:
    """What else a report shows, as rows of a run."""
    for position, exhibit in enumerate(report.exhibits):
        yield Exhibit(run_id=run_id, position=position, kind=exhibit.kind, content=scoring.to_plain(exhibit))
