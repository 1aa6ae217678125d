"""Results that stand on boards, read by index: what a page costs does not grow with what was ever scored."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, null, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from app.disclosure.rules import Sight
from app.editions.queries import is_past_embargo
from app.memberships.queries import is_public
from app.models import Board, Entry, EntryState, Method, Phase, Run, Submission, Team
from app.scored_runs.queries import stands_on_board
from app.standings.schemas import RankedMethod, StoredResult

LOOKED_AT = 200  # the newest results of a phase among which public ones are looked for; home says so
ANY_ENTRY = aliased(Entry)


def is_shown() -> ColumnElement[bool]:
    """Whether everybody sees a result that stands; for statements that join Method and Entry."""
    return and_(is_public(), is_past_embargo(Entry.phase_id))


def first_of_boards(session: Session, phase_id: int, sight: Sight, limit: int) -> list[RankedMethod]:
    """The first public methods of each board of a phase, all that tie with the last of them included.

    Where means are hidden the newest, so that their order says nothing.
    """
    key = rank_column(sight)
    found = (
        select(
            Entry.competition, Entry.method_id, (null() if key is None else func.nullif(key, -1)).label("key")
        )
        .join(Method, Entry.method_id == Method.id)
        .where(stands_on_board(), is_shown())
        .correlate(Board)
    )
    if key is None:
        first = found.order_by(Entry.id.desc()).limit(limit).lateral()
    else:
        first = found.where(key.is_not(None)).order_by(key.desc()).fetch(limit, with_ties=True).lateral()
    statement = select(first.c.competition, first.c.method_id, first.c.key).select_from(Board)
    rows = session.execute(statement.join(first, true()).where(Board.phase_id == phase_id))
    return [RankedMethod(*row) for row in rows]


def rank_column(sight: Sight) -> InstrumentedAttribute[int | None] | None:
    """What ranks are told by; none where they are not told."""
    if not sight.means:
        return None
    return Entry.ladder_rank_key if sight.by_ladder else Entry.rank_key


def newest(session: Session, limit: int) -> list[StoredResult]:
    """The newest public results; of each phase those among its last `LOOKED_AT` results."""
    recent = (
        select(ANY_ENTRY.id)
        .where(ANY_ENTRY.phase_id == Phase.id, ANY_ENTRY.state == EntryState.SCORED)
        .order_by(ANY_ENTRY.id.desc())
        .limit(LOOKED_AT)
        .correlate(Phase)
        .lateral()
    )
    shown = (
        select(Entry.id)
        .select_from(recent)
        .join(Entry, Entry.id == recent.c.id)
        .join(Board, stands_on_board())
        .join(Method, Entry.method_id == Method.id)
        .where(is_shown())
        .order_by(recent.c.id.desc())
        .limit(limit)
        .lateral()
    )
    ids = select(shown.c.id).select_from(Phase).join(shown, true()).order_by(shown.c.id.desc()).limit(limit)
    statement = _results().where(Entry.id.in_(ids.scalar_subquery())).order_by(Entry.id.desc())
    return [StoredResult(*row) for row in session.execute(statement)]


def of_methods(
    session: Session,
    methods: Collection[int],
    phase_ids: Collection[int],
    *,
    only_public: bool,
) -> list[StoredResult]:
    """The results of these methods that stand on boards of these phases."""
    statement = (
        _results()
        .where(Entry.method_id.in_(methods), Entry.phase_id.in_(phase_ids))
        .where(is_shown() if only_public else true())
        .order_by(Entry.phase_id, Entry.competition, Entry.id)
    )
    return [StoredResult(*row) for row in session.execute(statement)]


def methods_of_team(session: Session, team_id: int, limit: int, *, only_public: bool) -> list[int]:
    """The newest methods of a team that have a result on a board."""
    standing = (
        select(Entry.id)
        .join(Board, stands_on_board())
        .where(Entry.method_id == Method.id, is_shown() if only_public else true())
        .correlate(Method)
        .exists()
    )
    statement = select(Method.id).where(Method.team_id == team_id, standing)
    return list(session.scalars(statement.order_by(Method.id.desc()).limit(limit)))


def _results() -> Select[*tuple[Any, ...]]:
    """The columns of a `StoredResult`."""
    return (
        select(
            Entry.phase_id, Entry.competition, Method.id, Method.name, Method.is_baseline, Team.id, Team.name,
            Submission.id, Run.id, Run.ladder_run_id, Submission.created_at,
        )
        .select_from(Entry)
        .join(Board, stands_on_board())
        .join(Method, Entry.method_id == Method.id)
        .join(Team, Method.team_id == Team.id)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Run, Entry.published_run_id == Run.id)
    )  # fmt: skip
