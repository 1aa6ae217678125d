"""Sessions in the database, and the people they belong to."""

from typing import Any

from sqlalchemy import ColumnElement, delete, func, null, select, text, update
from sqlalchemy.orm import Session

from app.access import Actor
from app.models import EditionOrganiser, LoginSession, Member, User
from app.sessions.rules import KEEP_ENDED


def user_of_email(session: Session, email: str) -> User | None:
    """The person who has confirmed this e-mail address, which is case folded."""
    return session.scalar(select(User).where(User.email == email, User.verified_at.is_not(None)))


def actor_of_session(session: Session, token_hash: bytes) -> Actor | None:
    """Who is logged in with this cookie."""
    live = (LoginSession.token_hash == token_hash, LoginSession.expires_at > func.now())
    user_id = session.scalar(select(LoginSession.user_id).where(*live))
    return actor_of_person(session, user_id, by_token=False)


def actor_of_person(session: Session, user_id: int | None, *, by_token: bool) -> Actor | None:
    """A person with what decides about permissions."""
    is_active = (User.id == user_id, User.suspended_at.is_(None))
    found = session.execute(select(User, _teams(), _organised()).where(*is_active)).one_or_none()
    if found is None:
        return None
    user, teams, organised = found
    return Actor(
        user_id=user.id,
        teams=frozenset(teams),
        name=user.name,
        email=user.email,
        role=user.role,
        is_verified=user.verified_at is not None,
        organises=frozenset(organised),
        by_token=by_token,
    )


def _teams() -> ColumnElement[list[int]]:
    """The teams of a person in all editions, for statements about User."""
    statement = select(func.coalesce(func.array_agg(Member.team_id), text("'{}'::bigint[]")))
    return statement.where(Member.user_id == User.id).correlate(User).scalar_subquery()


def _organised() -> ColumnElement[list[int]]:
    """The editions that a person runs, for statements about User."""
    statement = select(func.coalesce(func.array_agg(EditionOrganiser.edition_id), text("'{}'::bigint[]")))
    return statement.where(EditionOrganiser.user_id == User.id).correlate(User).scalar_subquery()


def draft_of_session(session: Session, token_hash: bytes) -> dict[str, Any] | None:
    """The form that is to be filled in again."""
    return session.scalar(select(LoginSession.draft).where(LoginSession.token_hash == token_hash))


def drop_draft(session: Session, token_hash: bytes) -> None:
    """Delete the stored form, which has been sent again."""
    session.execute(update(LoginSession).where(LoginSession.token_hash == token_hash).values(draft=null()))


def delete_expired_sessions(session: Session) -> int:
    """Delete logins that have been over for longer than their forms are kept; how many."""
    expired = delete(LoginSession).where(LoginSession.expires_at < func.now() - KEEP_ENDED)
    return len(session.scalars(expired.returning(LoginSession.user_id)).all())


def end_session(session: Session, token_hash: bytes) -> None:
    """End a login; the row says for a while whose forms are still open in other tabs."""
    ended = update(LoginSession).where(LoginSession.token_hash == token_hash)
    session.execute(ended.values(expires_at=func.now(), draft=null()))


def end_sessions_of(session: Session, user_id: int, *, keep: bytes | None = None) -> int:
    """End all logins of a person but the one with this hash; how many."""
    live = [LoginSession.user_id == user_id, LoginSession.expires_at > func.now()]
    if keep is not None:
        live.append(LoginSession.token_hash != keep)
    ended = update(LoginSession).where(*live).values(expires_at=func.now(), draft=null())
    return len(session.scalars(ended.returning(LoginSession.user_id)).all())


def owner_of_session(session: Session, token_hash: bytes) -> int | None:
    """Whose login this is or was; none for one that is long over."""
    return session.scalar(select(LoginSession.user_id).where(LoginSession.token_hash == token_hash))
