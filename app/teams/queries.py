"""Teams that a reader may see, in the database."""

from sqlalchemy import and_, select, true
from sqlalchemy.orm import Session

from app.access import Action, Actor, State
from app.editions.queries import is_past_embargo
from app.memberships.queries import is_shown
from app.models import Edition, Entry, EntryState, Member, Method, Team
from app.teams.schemas import EditionChoice
from app.visibility import rows_for


def visible_team(session: Session, actor: Actor, team_id: int) -> tuple[Team, Edition] | None:
    """A team that the reader may see: its members and organisers always, everybody once it has a public result."""
    result = (
        select(Entry.id)
        .join(Method, Entry.method_id == Method.id)
        .where(Method.team_id == Team.id, Method.public_at.is_not(None), Entry.state == EntryState.SCORED)
        .where(is_past_embargo(Entry.phase_id))
        .correlate(Team)
    )
    states = {State.PRIVATE: true(), State.PUBLIC: and_(result.exists(), is_shown(Team.id))}
    may_see = rows_for(actor, Action.READ_TEAM, team=Team.id, edition=Team.edition_id, states=states)
    statement = select(Team, Edition).join(Edition).where(Team.id == team_id, may_see)
    row = session.execute(statement).one_or_none()
    return (row[0], row[1]) if row else None


def editions_without_team(session: Session, user_id: int | None) -> tuple[EditionChoice, ...]:
    """The editions in which a person is in no team, newest first."""
    theirs = select(Member.edition_id).where(Member.user_id == user_id)
    statement = select(Edition.code, Edition.title).where(Edition.id.not_in(theirs))
    return tuple(EditionChoice(*row) for row in session.execute(statement.order_by(Edition.id.desc())))
