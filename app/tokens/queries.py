"""Tokens in the database."""

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from app.access import Scope
from app.models import ApiToken, User
from app.tokens.rules import NOTED_EVERY
from app.tokens.schemas import TokenView


def is_live() -> tuple[ColumnElement[bool], ...]:
    """Whether a token is neither revoked nor expired, for statements about ApiToken."""
    return (ApiToken.revoked_at.is_(None), ApiToken.expires_at > func.now())


def is_due() -> ColumnElement[bool]:
    """Whether a use of a token is to be noted, for statements about ApiToken."""
    return func.coalesce(ApiToken.last_used_at, ApiToken.created_at) < func.now() - NOTED_EVERY


def note_use(session: Session, token_hash: bytes) -> None:
    """Note that a token is used, unless another request has done so by now."""
    is_this = ApiToken.token_hash == token_hash
    session.execute(update(ApiToken).where(is_this, is_due()).values(last_used_at=func.now()))


def tokens_of(session: Session, user_id: int) -> tuple[TokenView, ...]:
    """A person's tokens, newest first."""
    statement = select(ApiToken, ApiToken.expires_at <= func.now()).where(ApiToken.user_id == user_id)
    rows = session.execute(statement.order_by(ApiToken.id.desc()))
    return tuple(
        TokenView(
            id=row.id,
            name=row.name,
            hint=row.hint,
            scopes=tuple(scope for scope in Scope if scope in row.scopes),
            created_at=row.created_at,
            expires_at=row.expires_at,
            last_used_at=row.last_used_at,
            revoked_at=row.revoked_at,
            is_expired=is_expired,
        )
        for row, is_expired in rows
    )


def count_active(session: Session, user_id: int) -> int:
    """How many tokens of a person work; the person is locked until the end of the transaction."""
    session.execute(select(User.id).where(User.id == user_id).with_for_update())
    statement = select(func.count()).select_from(ApiToken).where(ApiToken.user_id == user_id, *is_live())
    return session.scalars(statement).one()


def revoke_token(session: Session, user_id: int, token_id: int) -> bool:
    """Whether there was such a token of this person to revoke."""
    statement = (
        update(ApiToken)
        .where(ApiToken.id == token_id, ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
        .values(revoked_at=func.now())
        .returning(ApiToken.id)
    )
    return session.scalar(statement) is not None


def revoke_tokens_of(session: Session, user_id: int) -> int:
    """Revoke every token of a person; how many."""
    live = (ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
    revoked = update(ApiToken).where(*live).values(revoked_at=func.now()).returning(ApiToken.id)
    return len(session.scalars(revoked).all())
