"""People, sessions and tokens in the database."""

from typing import Any

from sqlalchemy import ColumnElement, delete, func, null, select, text, update
from sqlalchemy.orm import Session

from app.access import Actor
from app.accounts.rules import KEEP_ENDED
from app.accounts.schemas import TokenView
from app.models import ApiToken, EditionOrganiser, LoginSession, Member, User


def user_of_email(session: Session, email: str) -> User | None:
    """The person with this e-mail address, which is case folded."""
    return session.scalar(select(User).where(User.email == email))


def actor_of_session(session: Session, token_hash: bytes) -> Actor | None:
    """Who is logged in with this cookie."""
    return _actor(
        session,
        select(LoginSession.user_id).where(
            LoginSession.token_hash == token_hash, LoginSession.expires_at > func.now()
        ).scalar_subquery(),
        by_token=False,
    )  # fmt: skip


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


def actor_of_token(session: Session, token_hash: bytes) -> Actor | None:
    """Whose token this is; notes, once a minute, that it was used."""
    live = (ApiToken.token_hash == token_hash, ApiToken.revoked_at.is_(None))
    recently = func.now() - func.make_interval(0, 0, 0, 0, 0, 1)
    session.execute(
        update(ApiToken)
        .where(*live, func.coalesce(ApiToken.last_used_at, ApiToken.created_at) < recently)
        .values(last_used_at=func.now())
    )
    return _actor(session, select(ApiToken.user_id).where(*live).scalar_subquery(), by_token=True)


def _actor(session: Session, user_id: object, *, by_token: bool) -> Actor | None:
    row = session.execute(
        select(User.id, Member.team_id, User.name, User.email, User.role, _organised())
        .join(Member)
        .where(User.id == user_id, User.suspended_at.is_(None))
    ).one_or_none()
    return Actor(*row[:-1], organises=frozenset(row[-1]), by_token=by_token) if row else None


def _organised() -> ColumnElement[list[int]]:
    """The editions that a person runs, for statements about User."""
    statement = select(func.coalesce(func.array_agg(EditionOrganiser.edition_id), text("'{}'::bigint[]")))
    return statement.where(EditionOrganiser.user_id == User.id).correlate(User).scalar_subquery()


def tokens_of(session: Session, user_id: int) -> tuple[TokenView, ...]:
    """A person's tokens, newest first."""
    columns = (
        ApiToken.id,
        ApiToken.name,
        ApiToken.hint,
        ApiToken.created_at,
        ApiToken.last_used_at,
        ApiToken.revoked_at,
    )
    rows = session.execute(select(*columns).where(ApiToken.user_id == user_id).order_by(ApiToken.id.desc()))
    return tuple(TokenView(*row) for row in rows)


def revoke_token(session: Session, user_id: int, token_id: int) -> bool:
    """Whether there was such a token of this person to revoke."""
    statement = (
        update(ApiToken)
        .where(ApiToken.id == token_id, ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
        .values(revoked_at=func.now())
        .returning(ApiToken.id)
    )
    return session.scalar(statement) is not None


def end_session(session: Session, token_hash: bytes) -> None:
    """End a login; the row says for a while whose forms are still open in other tabs."""
    ended = update(LoginSession).where(LoginSession.token_hash == token_hash)
    session.execute(ended.values(expires_at=func.now(), draft=null()))


def owner_of_session(session: Session, token_hash: bytes) -> int | None:
    """Whose login this is or was; none for one that is long over."""
    return session.scalar(select(LoginSession.user_id).where(LoginSession.token_hash == token_hash))
