"""Methods of a board as comparisons need them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, select, true
from sqlalchemy.orm import Session

from app.access import Action, Actor, State
from app.disclosure.queries import SCORE
from app.disclosure.rules import Sight
from app.disclosure.schemas import StoredScore
from app.editions.queries import is_past_embargo
from app.memberships.queries import is_public
from app.models import Board, ClassScore, Entry, Method, Phase, Run, Team
from app.scored_runs.queries import stands_on_board
from app.standings.queries import rank_column
from app.visibility import rows_for


@dataclass(frozen=True, slots=True)
class StandingRun:
    """A method on a board, and the run that stands there for it."""

    method: int
    name: str
    title: str
    team: str
    submission: int
    is_complete: bool
    run: int
    ladder_run: int | None
    measure: str
    ground_truth: int
    scorer: str
    protocol: str

    @property
    def setup(self) -> tuple[int, str, str]:
        """What it was scored under."""
        return self.ground_truth, self.scorer, self.protocol


def _standing(actor: Actor, phase_id: int, competition: int, *columns: Any) -> Select[Any]:
    """The methods on a board that the reader may see: public ones, those of their own team, and organisers all."""
    shown: ColumnElement[bool] = rows_for(
        actor,
        Action.READ_SUBMISSION,
        team=Method.team_id,
        edition=Phase.edition_id,
        states={State.PRIVATE: true(), State.PUBLIC: and_(is_public(), is_past_embargo(Entry.phase_id))},
    )
    return (
        select(*columns)
        .select_from(Entry)
        .join(Board, stands_on_board())
        .join(Run, Entry.published_run_id == Run.id)
        .join(Method, Entry.method_id == Method.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .where(Entry.phase_id == phase_id, Entry.competition == competition, shown)
    )


def standing_runs(
    session: Session, actor: Actor, phase_id: int, competition: int, methods: Sequence[int]
) -> list[StandingRun]:
    """Those of these methods that stand on a board for the reader, in their order."""
    columns = (
        Method.id, Method.name, Method.title, Team.name, Entry.submission_id, Entry.is_complete, Run.id,
        Run.ladder_run_id, Run.measure, Run.ground_truth_id, Run.scorer, Run.protocol,
    )  # fmt: skip
    statement = _standing(actor, phase_id, competition, *columns).join(Team, Method.team_id == Team.id)
    rows = [StandingRun(*row) for row in session.execute(statement.where(Method.id.in_(methods)))]
    return sorted(rows, key=lambda row: methods.index(row.method))


def candidates(  # noqa: PLR0913 - which, for whom, of what board
    session: Session,
    actor: Actor,
    phase_id: int,
    competition: int,
    chosen: Sequence[int],
    *,
    sight: Sight,
    most: int,
) -> list[tuple[int, str, int | None, StoredScore]]:
    """The chosen methods and the best others on a board, up to `most`: id, name, the run that a ladder shows, the stored mean.

    Where means are hidden the first by name, so that who is among them says nothing.
    """
    rank = rank_column(sight)
    best_first = () if rank is None else (rank.desc().nulls_last(),)
    statement = (
        _standing(actor, phase_id, competition, Method.id, Method.name, Run.ladder_run_id, *SCORE)
        .join(ClassScore, and_(ClassScore.run_id == Run.id, ClassScore.class_name.is_(None)))
        .order_by(Method.id.in_(chosen).desc(), *best_first, Method.name)
        .limit(most)
    )
    return [
        (method, name, ladder, StoredScore(*score))
        for method, name, ladder, *score in session.execute(statement)
    ]


def has_board(session: Session, phase_id: int, competition: int) -> bool:
    """Whether a phase offers a competition."""
    return session.get(Board, (phase_id, competition)) is not None
