"""Headline scores from the database, and what readers may see of them."""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import (
    select,
)
from sqlalchemy.orm import Session

from app.challenges.disclosure import StoredScore
from app.models import ClassScore

SCORE: Final = (ClassScore.value, ClassScore.held_out_value, ClassScore.reason)
"""The columns of a `StoredScore`."""


def load_headlines(session: Session, run_ids: Iterable[int | None]) -> dict[int, StoredScore]:
    """Return the means of these runs, ignoring None."""
    known = {run for run in run_ids if run is not None}
    if not known:
        return {}
    statement = select(ClassScore.run_id, *SCORE, ClassScore.low, ClassScore.high).where(
        ClassScore.run_id.in_(known), ClassScore.class_name.is_(None)
    )
    return {row[0]: StoredScore(*row[1:]) for row in session.execute(statement)}
