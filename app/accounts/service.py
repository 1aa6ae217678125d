"""Letting people in."""

import hashlib
import secrets
import threading
from datetime import timedelta

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import func
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.access import Actor
from app.accounts import queries
from app.accounts.rules import folded
from app.accounts.schemas import Login, NewToken, Registration, TokenView
from app.models import ApiToken, LoginSession, Member, OneTimeLink, Role, Team, User
from app.platform import Platform

TOKEN_PREFIX = "hld_"  # noqa: S105 - tells scanners of leaked secrets what they found

# OWASP's smaller setting for Argon2id: 19 MiB a hash, and two at a time, keep the web process small
_passwords = PasswordHash((Argon2Hasher(time_cost=2, memory_cost=19_456, parallelism=1),))
_hashing = threading.BoundedSemaphore(2)
_NOBODY = _passwords.hash("the time this takes must not tell whether an address has an account")


class EmailTakenError(Exception):
    """Somebody has an account with this address."""


class WrongPasswordError(Exception):
    """No account has this address and password."""


def register(platform: Platform, person: Registration) -> str:
    """Create an account with a team of one; returns the token of a new login.

    Raises EmailTakenError.
    """
    with _hashing:
        password_hash = _passwords.hash(person.password)
    try:
        with platform.transaction() as session:
            user = create_person(session, person.email, person.name, password_hash)
            return _new_login(session, platform, user.id)
    except IntegrityError as error:
        raise EmailTakenError from error


def create_person(
    session: Session, email: str, name: str, password_hash: str | None, role: Role = Role.PARTICIPANT
) -> User:
    """A person with a team of one; without a password they act with tokens only."""
    user = User(email=folded(email), name=name, password_hash=password_hash, role=role)
    team = Team(name=name)
    session.add_all((user, team))
    session.flush()
    session.add(Member(team_id=team.id, user_id=user.id))
    return user


def log_in(platform: Platform, login: Login) -> str:
    """The token of a new login.

    Raises WrongPasswordError, after the same time whether or not there is such an account.
    """
    with platform.transaction() as session:
        user = queries.user_of_email(session, folded(login.email))
    known = user.password_hash if user else None
    with _hashing:
        right = _passwords.verify(login.password, known or _NOBODY)
    if user is None or known is None or not right:
        raise WrongPasswordError
    with platform.transaction() as session:
        return _new_login(session, platform, user.id)


def _new_login(session: Session, platform: Platform, user_id: int) -> str:
    token = secrets.token_urlsafe(32)
    lasts = timedelta(days=platform.settings.session_days)
    session.add(LoginSession(token_hash=_hash(token), user_id=user_id, expires_at=func.now() + lasts))
    return token


def log_out(platform: Platform, token: str) -> None:
    """Forget this login."""
    with platform.transaction() as session:
        queries.end_session(session, _hash(token))


def identify(platform: Platform, cookie: str | None, bearer: str | None) -> Actor:
    """Who a request comes from: a token before a cookie, else nobody in particular."""
    if not cookie and not bearer:
        return Actor()
    with platform.transaction() as session:
        if bearer:
            found = queries.actor_of_token(session, _hash(bearer))
        else:
            found = queries.actor_of_session(session, _hash(cookie or ""))
    return found or Actor()


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
        session.add(ApiToken(user_id=user_id, name=new.name, token_hash=_hash(token), hint=token[:8]))
    return token


def revoke_token(platform: Platform, user_id: int | None, token_id: int) -> bool:
    """Whether there was such a token of this person to revoke."""
    assert user_id is not None
    with platform.transaction() as session:
        return queries.revoke_token(session, user_id, token_id)


def create_organiser_link(platform: Platform, lasts: timedelta = timedelta(days=7)) -> str:
    """The token of a link that makes whoever opens it first an organiser."""
    token = secrets.token_urlsafe(24)
    with platform.transaction() as session:
        session.add(OneTimeLink(token_hash=_hash(token), role=Role.ORGANISER, expires_at=func.now() + lasts))
    return token


def grant(platform: Platform, email: str, role: Role) -> bool:
    """Give the person with this address a role; whether there is one."""
    with platform.transaction() as session:
        user = queries.user_of_email(session, folded(email))
        if user is None:
            return False
        queries.give_role(session, user.id, role)
        return True


def is_there_an_organiser(platform: Platform) -> bool:
    """Whether anybody who can log in runs challenges here."""
    with platform.transaction() as session:
        return queries.is_there_an_organiser(session)


def token_of_program(platform: Platform, email: str, name: str, role: Role) -> str:
    """A new token for an account that only programs use, which is created if need be; its earlier tokens end."""
    with platform.transaction() as session:
        user = queries.user_of_email(session, email) or create_person(session, email, name, None, role)
        for token in queries.tokens_of(session, user.id):
            queries.revoke_token(session, user.id, token.id)
        number = user.id
    return create_token(platform, number, NewToken(name="start of the installation"))


def use_link(platform: Platform, token: str, user_id: int) -> bool:
    """Give this person the link's role; whether the link was still good."""
    with platform.transaction() as session:
        link = queries.usable_link(session, _hash(token))
        if link is None:
            return False
        link.used_by = user_id
        queries.give_role(session, user_id, link.role)
        return True


def is_link_usable(platform: Platform, token: str) -> bool:
    """Whether nobody has used this link and it has not run out."""
    with platform.transaction() as session:
        return queries.usable_link(session, _hash(token)) is not None


def _hash(token: str) -> bytes:
    # a token is 256 random bits, so one round of a plain hash is enough
    return hashlib.sha256(token.encode()).digest()
