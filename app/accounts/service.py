"""Accounts of people and of programs."""

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.access import Scope
from app.accounts.schemas import Registration
from app.mail import service as mail
from app.mail.schemas import Letter
from app.models import Queue, User
from app.names import folded
from app.passwords.service import hash_password
from app.platform import Platform
from app.sessions.queries import user_of_email
from app.sessions.schemas import Browser
from app.sessions.service import start_session
from app.tokens import queries as token_queries
from app.tokens.schemas import NewToken
from app.tokens.service import add_token


def register(platform: Platform, person: Registration, browser: Browser) -> str:
    """Create an account; returns the token of a new session.

    The address is not confirmed yet. An address that somebody has confirmed makes an account like any other, whose
    link is never mailed: so nobody learns who has an account. Raises BusyError.
    """
    password_hash = hash_password(person.password)
    with platform.transaction() as session:
        user = create_person(session, person.email, person.name, password_hash)
        mail.ask_for(session, Letter.CONFIRM_ADDRESS, address=user.email, user_id=user.id, asked_by=user.id)
        token = start_session(session, platform, user.id, browser)
    platform.notifier.wake_workers(Queue.MAIL)
    return token


def create_person(
    session: Session,
    email: str,
    name: str,
    password_hash: str | None,
    *,
    is_verified: bool = False,
) -> User:
    """A new person; without a password they act with tokens only."""
    user = User(email=folded(email), name=name, password_hash=password_hash)
    user.verified_at = func.now() if is_verified else None
    session.add(user)
    session.flush()
    return user


def token_of_program(platform: Platform, email: str, name: str) -> str:
    """A new token for an account that only programs use, created if needed; its earlier tokens are revoked."""
    with platform.transaction() as session:
        user = user_of_email(session, email) or create_person(session, email, name, None, is_verified=True)
        for token in token_queries.tokens_of(session, user.id):
            token_queries.revoke_token(session, user.id, token.id)
        new = NewToken(name="start of the installation", scope=frozenset(Scope), days=1)
        return add_token(session, user.id, new)
