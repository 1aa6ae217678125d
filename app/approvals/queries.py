"""Teams in the database, as organisers see them."""

from sqlalchemy import ColumnElement, func, select, true
from sqlalchemy.orm import Session

from app.access import Action, Actor
from app.approvals.schemas import TeamRow, TeamSearch, TeamState
from app.models import Approval, Edition, Entry, EntryState, Member, Method, Team
from app.visibility import rows_for


def organised_edition(session: Session, actor: Actor, code: str) -> Edition | None:
    """An edition that the reader organises."""
    theirs = rows_for(actor, Action.ORGANISE, edition=Edition.id)
    return session.scalar(select(Edition).where(Edition.code == code, theirs))


def organised_team(session: Session, actor: Actor, team_id: int) -> Team | None:
    """A team of an edition that the reader organises, locked."""
    theirs = rows_for(actor, Action.ORGANISE, edition=Team.edition_id)
    statement = select(Team).where(Team.id == team_id, theirs)
    return session.scalar(statement.with_for_update(key_share=True))


def _is_in(state: TeamState) -> ColumnElement[bool]:
    match state:
        case TeamState.WAITING:
            return Team.approval == Approval.WAITING
        case TeamState.REFUSED:
            return Team.approval == Approval.REFUSED
        case TeamState.SUSPENDED:
            return Team.suspended_at.is_not(None)
    return true()


def teams(session: Session, edition_id: int, search: TeamSearch, limit: int) -> list[TeamRow]:
    """The teams of an edition that are asked for, newest first."""
    members = select(func.count()).where(Member.team_id == Team.id).correlate(Team).scalar_subquery()
    results = (
        select(func.count(Entry.id))
        .join(Method, Entry.method_id == Method.id)
        .where(Method.team_id == Team.id, Entry.state == EntryState.SCORED)
        .correlate(Team)
        .scalar_subquery()
    )
    found = Team.name.icontains(search.text, autoescape=True) if search.text else true()
    earlier = Team.id < search.after if search.after is not None else true()
    statement = (
        select(
            Team.id, Team.name, Team.affiliation, members, results, Team.created_at, Team.approval,
            Team.approval_reason, Team.suspended_at, Team.suspension_reason, Team.hides_results,
        )
        .where(Team.edition_id == edition_id, found, _is_in(search.state), earlier)
        .order_by(Team.id.desc())
        .limit(limit)
    )  # fmt: skip
    return [TeamRow(*row) for row in session.execute(statement)]


def count_waiting(session: Session, edition_id: int) -> int:
    """How many teams of an edition wait for a decision."""
    waiting = select(func.count()).where(Team.edition_id == edition_id, _is_in(TeamState.WAITING))
    return session.scalar(waiting) or 0
