"""Scores in the database, with what readers may see of them."""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.disclosure.schemas import StoredScore
from app.models import ClassScore, Entry, Run, RunState

SCORE: Final = (ClassScore.value, ClassScore.held_out_value, ClassScore.reason)
"""The columns of a `StoredScore`."""


def has_results(session: Session, phase_id: int) -> bool:
    """Whether something was scored in a phase, be it withdrawn."""
    scored = select(Run.id).join(Entry, Run.entry_id == Entry.id)
    return (
        session.scalar(scored.where(Entry.phase_id == phase_id, Run.state == RunState.SCORED).limit(1))
        is not None
    )


def headlines(session: Session, run_ids: Iterable[int | None]) -> dict[int, StoredScore]:
    """The means of these runs; there is none under None."""
    known = {run for run in run_ids if run is not None}
    statement = select(ClassScore.run_id, *SCORE).where(
        ClassScore.run_id.in_(known), ClassScore.class_name.is_(None)
    )
    return {
        run: StoredScore(value, held_out, reason)
        for run, value, held_out, reason in session.execute(statement)
    }
