"""Tokens in the database."""

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.models import ApiToken
from app.tokens.schemas import TokenView


def use_token(session: Session, token_hash: bytes) -> int | None:
    """Whose token this is; notes, once a minute, that it was used."""
    live = (ApiToken.token_hash == token_hash, ApiToken.revoked_at.is_(None))
    recently = func.now() - func.make_interval(0, 0, 0, 0, 0, 1)
    session.execute(
        update(ApiToken)
        .where(*live, func.coalesce(ApiToken.last_used_at, ApiToken.created_at) < recently)
        .values(last_used_at=func.now())
    )
    return session.scalar(select(ApiToken.user_id).where(*live))


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


def revoke_tokens_of(session: Session, user_id: int) -> int:
    """Revoke every token of a person; how many."""
    live = (ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
    revoked = update(ApiToken).where(*live).values(revoked_at=func.now()).returning(ApiToken.id)
    return len(session.scalars(revoked).all())
