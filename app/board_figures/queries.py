"""The rows of a board as far as figures need them, and boards whose figures have to be drawn anew."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import and_, cast, func, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.types import Text

from app.board_figures.schemas import FigureRow
from app.disclosure.queries import SCORE
from app.disclosure.schemas import StoredScore
from app.jobs import queue
from app.leaderboards.queries import is_shown_to
from app.leaderboards.rules import Audience
from app.models import (
    Artefact,
    Board,
    ClassScore,
    Entry,
    Exhibit,
    JobKind,
    Method,
    Phase,
    Run,
    Submission,
)
from app.scored_runs.queries import stands_on_board

FIGURES = "board figures"  # kind of the artefact that lists those of a board


def rows(session: Session, phase_id: int, competition: int) -> list[FigureRow]:
    """The public methods on a board."""
    is_outdated = or_(Run.ground_truth_id != Board.ground_truth_id, Run.scorer != Board.scorer)
    statement = (
        select(
            Run.id, Run.ladder_run_id, Entry.is_complete, Method.id, Method.name, Method.is_baseline,
            Submission.created_at, func.coalesce(Run.measure, ""), is_outdated,
        )
        .join(Entry, Entry.published_run_id == Run.id)
        .join(Board, stands_on_board())
        .join(Method, Entry.method_id == Method.id)
        .join(Submission, Entry.submission_id == Submission.id)
        .where(
            Entry.phase_id == phase_id,
            Entry.competition == competition,
            is_shown_to(Audience.PUBLIC),
        )
        .order_by(Run.id)
    )  # fmt: skip
    return [FigureRow(*row) for row in session.execute(statement)]


def scores(session: Session, run_ids: Collection[int]) -> dict[int, dict[str | None, StoredScore]]:
    """By run, the scores of its classes; the headline stands under None."""
    statement = select(ClassScore.run_id, ClassScore.class_name, *SCORE).where(ClassScore.run_id.in_(run_ids))
    found: dict[int, dict[str | None, StoredScore]] = {}
    for run, name, value, held_out, reason in session.execute(statement):
        found.setdefault(run, {})[name] = StoredScore(value, held_out, reason)
    return found


def exhibits(
    session: Session, run_ids: Collection[int], kind: str, name: str | None = None
) -> dict[int, Any]:
    """By run, its exhibit of a kind, of one class where it has one for each; for those alone who see details."""
    statement = select(Exhibit.run_id, Exhibit.content).where(
        Exhibit.run_id.in_(run_ids), Exhibit.kind == kind
    )
    if name is not None:
        statement = statement.where(Exhibit.content["class_name"].astext == name)
    return dict(session.execute(statement).all())


def outdated(session: Session, drawn: str) -> list[tuple[int, int]]:
    """Boards (phase, competition) to draw anew: never drawn, drawn otherwise than `drawn` says, or before their phase was over.

    A board for which a message waits, or was given up, is not among them.
    """
    subject = cast(Board.phase_id, Text) + "/" + cast(Board.competition, Text)
    has_rows = (
        select(Entry.id)
        .where(
            Entry.phase_id == Board.phase_id,
            Entry.competition == Board.competition,
            Entry.published_generation == Board.generation,
        )
        .exists()
    )
    is_asked_for = queue.is_asked_for(JobKind.BOARD, subject)
    end = Phase.closes_at + Phase.grace
    was_open = and_(Artefact.as_of < end, end <= func.clock_timestamp())
    is_old = or_(Artefact.id.is_(None), Artefact.version.not_like(f"{drawn}-%"), was_open)
    statement = (
        select(Board.phase_id, Board.competition)
        .join(Phase, Board.phase_id == Phase.id)
        .outerjoin(Artefact, and_(Artefact.kind == FIGURES, Artefact.subject == subject))
        .where(has_rows, is_old, ~is_asked_for)
    )
    return [(phase, competition) for phase, competition in session.execute(statement)]
