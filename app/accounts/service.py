"""Accounts of people and of programs."""

from sqlalchemy import func
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.accounts.schemas import Registration
from app.drafts import Draft
from app.errors import ConflictError, violated_constraint
from app.models import Role, User
from app.names import folded
from app.passwords.service import hash_password
from app.platform import Platform
from app.sessions.queries import user_of_email
from app.sessions.service import start_session
from app.tokens import queries as token_queries
from app.tokens.schemas import NewToken
from app.tokens.service import create_token


class EmailTakenError(ConflictError):
    """There is an account with this address."""


def register(platform: Platform, person: Registration, draft: Draft | None = None) -> str:
    """Create an account; returns the token of a new session, which keeps a form as a login does.

    Raises EmailTakenError, BusyError.
    """
    password_hash = hash_password(person.password)
    try:
        with platform.transaction() as session:
            user = create_person(session, person.email, person.name, password_hash)
            return start_session(session, platform, user.id, draft)
    except IntegrityError as error:
        if violated_constraint(error) != "uq_user_account_email":
            raise
        raise EmailTakenError("there is an account with this e-mail address; log in instead") from error


def create_person(
    session: Session, email: str, name: str, password_hash: str | None, role: Role = Role.PARTICIPANT
) -> User:
    """A new person; without a password they act with tokens only."""
    user = User(
        email=folded(email), name=name, password_hash=password_hash, role=role, verified_at=func.now()
    )
    session.add(user)
    session.flush()
    return user


def token_of_program(platform: Platform, email: str, name: str, role: Role) -> str:
    """A new token for an account that only programs use, created if needed; its earlier tokens are revoked."""
    with platform.transaction() as session:
        user = user_of_email(session, email) or create_person(session, email, name, None, role)
        for token in token_queries.tokens_of(session, user.id):
            token_queries.revoke_token(session, user.id, token.id)
        user_id = user.id
    return create_token(platform, user_id, NewToken(name="start of the installation"))
