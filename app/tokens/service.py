"""Making and revoking API tokens."""

import secrets

from app.models import ApiToken
from app.platform import Platform
from app.secret_hashes import hash_of_token
from app.tokens import queries
from app.tokens.schemas import NewToken, TokenView

TOKEN_PREFIX = "hld_"  # noqa: S105 - lets scanners of leaked secrets recognise a token


def tokens(platform: Platform, user_id: int | None) -> tuple[TokenView, ...]:
    """A person's tokens, newest first."""
    if user_id is None:
        return ()
    with platform.transaction() as session:
        return queries.tokens_of(session, user_id)


def create_token(platform: Platform, user_id: int | None, new: NewToken) -> str:
    """A token for a program, to be shown once."""
    assert user_id is not None
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    with platform.transaction() as session:
        session.add(ApiToken(user_id=user_id, name=new.name, token_hash=hash_of_token(token), hint=token[:8]))
    return token


def revoke_token(platform: Platform, user_id: int | None, token_id: int) -> bool:
    """Whether there was such a token of this person to revoke."""
    assert user_id is not None
    with platform.transaction() as session:
        return queries.revoke_token(session, user_id, token_id)
