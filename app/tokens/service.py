"""Making and revoking API tokens."""

from datetime import timedelta

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.audit import queries as audit
from app.errors import ConflictError
from app.mail import service as mail
from app.mail.schemas import Letter
from app.models import ApiToken, Queue, User
from app.platform import Platform
from app.secret_hashes import hash_of_token
from app.tokens import queries
from app.tokens.rules import MAX_ACTIVE, new_token
from app.tokens.schemas import NewToken, TokenView


def tokens(platform: Platform, user_id: int | None) -> tuple[TokenView, ...]:
    """A person's tokens, newest first."""
    if user_id is None:
        return ()
    with platform.transaction() as session:
        return queries.tokens_of(session, user_id)


def create_token(platform: Platform, user_id: int | None, new: NewToken) -> str:
    """A token for a program, to be shown once; its owner is told by mail.

    Raises ConflictError where a person has too many.
    """
    assert user_id is not None
    with platform.transaction() as session:
        if queries.count_active(session, user_id) >= MAX_ACTIVE:
            raise ConflictError(f"{MAX_ACTIVE} tokens are active; revoke one first")
        token = add_token(session, user_id, new)
        scopes = ", ".join(sorted(new.scope))
        owner = session.get_one(User, user_id)
        mail.tell_owner(session, Letter.TOKEN_CREATED, owner, name=new.name, scopes=scopes, days=new.days)
    platform.notifier.wake_workers(Queue.MAIL)
    return token


def add_token(session: Session, user_id: int, new: NewToken) -> str:
    """A token of a person or of an account that only programs use, to be shown once."""
    token = new_token()
    scopes = sorted(new.scope)
    row = ApiToken(
        user_id=user_id,
        name=new.name,
        token_hash=hash_of_token(token),
        hint=token[:8],
        scopes=scopes,
        expires_at=func.now() + timedelta(days=new.days),
    )
    session.add(row)
    session.flush()
    details = {"name": new.name, "scopes": scopes, "days": new.days}
    audit.record(session, user_id, "token.create", f"token {row.id}", details=details)
    return token


def revoke_token(platform: Platform, user_id: int | None, token_id: int) -> bool:
    """Whether there was such a token of this person to revoke."""
    assert user_id is not None
    with platform.transaction() as session:
        is_revoked = queries.revoke_token(session, user_id, token_id)
        if is_revoked:
            audit.record(session, user_id, "token.revoke", f"token {token_id}")
        return is_revoked


def revoke_all(platform: Platform, user_id: int | None) -> None:
    """Revoke every token of a person."""
    assert user_id is not None
    with platform.transaction() as session:
        count = queries.revoke_tokens_of(session, user_id)
        audit.record(session, user_id, "token.revoke-all", f"person {user_id}", details={"revoked": count})
