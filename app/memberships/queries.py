"""Teams and their members in the database."""

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.models import Approval, Edition, Member, Team, User
from app.names import lookalike_key


def team_in(session: Session, user_id: int | None, edition_id: int) -> int | None:
    """The team of a person in an edition."""
    return session.scalar(
        select(Member.team_id).where(Member.user_id == user_id, Member.edition_id == edition_id)
    )


def lock_person(session: Session, user_id: int) -> User:
    """A person, locked so that one change of their memberships passes at a time."""
    return session.get_one(User, user_id, with_for_update={"key_share": True})


def lock_team(session: Session, team_id: int) -> None:
    """Let one change of a team, and one confirmation of it, pass at a time; rows that refer to it are not held up.

    Who locks a person, too, does so after the team.
    """
    session.execute(select(Team.id).where(Team.id == team_id).with_for_update(key_share=True))


def add_team(session: Session, edition_id: int, name: str) -> int | None:
    """A new team of this name; none where the edition has one whose name looks the same."""
    waits = session.scalar(select(Edition.approves_teams).where(Edition.id == edition_id))
    statement = insert(Team).values(
        edition_id=edition_id,
        name=name,
        name_key=lookalike_key(name),
        approval=Approval.WAITING if waits else Approval.APPROVED,
    )
    return session.scalar(statement.on_conflict_do_nothing().returning(Team.id))
