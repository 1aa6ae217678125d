"""Stored scores of runs, of which `Visibility` decides what readers may see."""

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import Session

from app.challenges.disclosure import StoredScore
from app.models import ClassScore

RunScores = Mapping[str | None, StoredScore]
"""The scores of a run by class, in the order of classes; the headline is under None."""


def load_scores(session: Session, runs: Collection[int] | Select[int]) -> dict[int, RunScores]:
    """Return the scores of these runs."""
    return _load(session, ClassScore.run_id.in_(runs))


def load_headlines(session: Session, runs: Iterable[int | None]) -> dict[int, StoredScore]:
    """Return the means of these runs, ignoring None."""
    known = {run for run in runs if run is not None}
    if not known:
        return {}
    found = _load(session, ClassScore.run_id.in_(known), ClassScore.class_name.is_(None))
    return {run: scores[None] for run, scores in found.items()}


def _load(session: Session, *which: ColumnElement[bool]) -> dict[int, RunScores]:
    statement = (
        select(
            ClassScore.run_id, ClassScore.class_name, ClassScore.value, ClassScore.held_out_value, ClassScore.reason,
            ClassScore.low, ClassScore.high, ClassScore.positives, ClassScore.predictions,
        )
        .where(*which)
        .order_by(ClassScore.run_id, ClassScore.position)
    )  # fmt: skip
    found: dict[int, dict[str | None, StoredScore]] = {}
    for row in session.execute(statement):
        found.setdefault(row.run_id, {})[row.class_name] = StoredScore(
            value=row.value,
            held_out_value=row.held_out_value,
            reason=row.reason,
            low=row.low,
            high=row.high,
            positives=row.positives,
            predictions=row.predictions,
        )
    return {**found}
