"""The rows of a board as far as figures need them."""

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from app.leaderboards.queries import is_shown_to
from app.leaderboards.rules import Audience
from app.models import Board, Entry, Method, Run
from app.scored_runs.queries import stands_on_board


def comparable_runs(session: Session, phase_id: int, competition: int) -> list[int]:
    """The runs of public methods on a board that were scored under the board's own versions."""
    is_outdated = or_(Run.ground_truth_id != Board.ground_truth_id, Run.scorer != Board.scorer)
    statement = (
        select(Run.id)
        .join(Entry, Entry.published_run_id == Run.id)
        .join(Board, stands_on_board())
        .join(Method, Entry.method_id == Method.id)
        .where(
            Entry.phase_id == phase_id,
            Entry.competition == competition,
            is_shown_to(Audience.PUBLIC),
            ~is_outdated,
        )
    )
    return list(session.scalars(statement.order_by(Run.id)))
