"""The exhibits of runs in the database."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Subquery, and_, select, true
from sqlalchemy.orm import Session

import scoring
from app.access import Action, Actor, State
from app.editions.queries import is_past_embargo
from app.memberships.queries import is_public
from app.models import Entry, Exhibit, Method, Phase, Run
from app.visibility import rows_for

CURVES: Final = ("curve", "roc_curve")


def exhibits_of(session: Session, run_id: int) -> list[dict[str, Any]]:
    """The exhibits of a run, as they were written down."""
    return list(
        session.scalars(select(Exhibit.content).where(Exhibit.run_id == run_id).order_by(Exhibit.position))
    )


def curves_of(session: Session, run_ids: Sequence[int], class_name: str) -> dict[int, dict[str, Any]]:
    """By run, the curve of a class as it was written down."""
    statement = select(Exhibit.run_id, Exhibit.content).where(
        Exhibit.run_id.in_(run_ids),
        Exhibit.kind.in_(CURVES),
        Exhibit.content["class_name"].astext == class_name,
    )
    return dict(session.execute(statement).all())


def score_tables(session: Session, standing: Subquery) -> dict[int, list[dict[str, Any]]]:
    """By run, its tables of scores as they were written down; standing: a column run_id."""
    statement = (
        select(Exhibit.run_id, Exhibit.content)
        .join(standing, standing.c.run_id == Exhibit.run_id)
        .where(Exhibit.kind == scoring.ScoreTable.kind)
        .order_by(Exhibit.run_id, Exhibit.position)
    )
    found: dict[int, list[dict[str, Any]]] = {}
    for run, content in session.execute(statement):
        found.setdefault(run, []).append(content)
    return found


def visible_run(session: Session, actor: Actor, run_id: int) -> tuple[Run, Phase] | None:
    """A run whose submission the reader may see, with its phase; of others' runs only what a board shows."""
    on_board = and_(is_public(), is_past_embargo(Entry.phase_id), Entry.published_run_id == Run.id)
    shown = rows_for(
        actor,
        Action.READ_SUBMISSION,
        team=Method.team_id,
        edition=Phase.edition_id,
        states={State.PRIVATE: true(), State.PUBLIC: on_board},
    )
    statement = (
        select(Run, Phase)
        .join(Entry, Run.entry_id == Entry.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .join(Method, Entry.method_id == Method.id)
        .where(Run.id == run_id, shown)
    )
    return session.execute(statement).one_or_none()
