"""Accounts, sessions and tokens."""

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
from app.accounts.rules import folded, hash_of_token
from app.accounts.schemas import Login, NewToken, Registration, TokenView, Visit
from app.drafts import Draft
from app.errors import ConflictError, DomainError, violated_constraint
from app.models import ApiToken, LoginSession, Member, Role, Team, User
from app.platform import Platform

TOKEN_PREFIX = "hld_"  # noqa: S105 - lets scanners of leaked secrets recognise a token

# OWASP's smaller setting for Argon2id: 19 MiB a hash, and two at a time, keep the web process small
_passwords = PasswordHash((Argon2Hasher(time_cost=2, memory_cost=19_456, parallelism=1),))
_hashing = threading.BoundedSemaphore(2)
# verified for unknown addresses, so that the time taken does not reveal which addresses have an account
_DUMMY_HASH = _passwords.hash("no account")


class EmailTakenError(ConflictError):
    """There is an account with this address."""


class WrongPasswordError(DomainError):
    """No account has this address and password."""


def register(platform: Platform, person: Registration, draft: Draft | None = None) -> str:
    """Create an account with a team of one; returns the token of a new session, which keeps a form as a login does.

    Raises EmailTakenError.
    """
    with _hashing:
        password_hash = _passwords.hash(person.password)
    try:
        with platform.transaction() as session:
            user = create_person(session, person.email, person.name, password_hash)
            return _new_session(session, platform, user.id, draft)
    except IntegrityError as error:
        if violated_constraint(error) != "uq_user_account_email":
            raise
        raise EmailTakenError("there is an account with this e-mail address; log in instead") from error


def delete_expired_sessions(platform: Platform) -> int:
    """Delete logins that have been over for long; how many."""
    with platform.transaction() as session:
        return queries.delete_expired_sessions(session)


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


def log_in(platform: Platform, login: Login, draft: Draft | None = None) -> str:
    """The token of a new session; `draft` is the form that its page will show filled in again, if it is this person's.

    Raises WrongPasswordError, after the same time whether or not there is such an account.
    """
    with platform.transaction() as session:
        user = queries.user_of_email(session, folded(login.email))
    known = user.password_hash if user else None
    with _hashing:
        is_right = _passwords.verify(login.password, known or _DUMMY_HASH)
    if user is None or known is None or not is_right:
        raise WrongPasswordError("the e-mail address or the password is wrong")
    with platform.transaction() as session:
        return _new_session(session, platform, user.id, draft)


def _new_session(session: Session, platform: Platform, user_id: int, draft: Draft | None = None) -> str:
    token = secrets.token_urlsafe(32)
    lifetime = timedelta(days=platform.settings.session_days)
    row = LoginSession(token_hash=hash_of_token(token), user_id=user_id, expires_at=func.now() + lifetime)
    if draft is not None and _belongs_to(session, draft, user_id):
        row.draft = draft.model_dump()
    session.add(row)
    return token


def _belongs_to(session: Session, draft: Draft, user_id: int) -> bool:
    """Whether a form was sent in a session of this person, or in none."""
    return draft.session is None or queries.owner_of_session(session, bytes.fromhex(draft.session)) == user_id


def log_out(platform: Platform, token: str) -> None:
    """End this session."""
    with platform.transaction() as session:
        queries.end_session(session, hash_of_token(token))


def identify(platform: Platform, cookie: str | None, bearer: str | None) -> Actor:
    """Who makes a request: the owner of the token, else of the session, else an anonymous visitor."""
    return open_visit(platform, cookie, bearer).actor


def open_visit(platform: Platform, cookie: str | None, bearer: str | None) -> Visit:
    """Who makes a request, and the form that they have not sent again yet."""
    if not cookie and not bearer:
        return Visit(Actor())
    with platform.transaction() as session:
        if bearer:
            return Visit(queries.actor_of_token(session, hash_of_token(bearer)) or Actor())
        token_hash = hash_of_token(cookie or "")
        actor = queries.actor_of_session(session, token_hash)
        draft = queries.draft_of_session(session, token_hash) if actor else None
    return Visit(actor or Actor(), Draft.model_validate(draft) if draft else None)


def drop_draft(platform: Platform, cookie: str) -> None:
    """Forget a form that has been sent again."""
    with platform.transaction() as session:
        queries.drop_draft(session, hash_of_token(cookie))


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


def token_of_program(platform: Platform, email: str, name: str, role: Role) -> str:
    """A new token for an account that only programs use, created if needed; its earlier tokens are revoked."""
    with platform.transaction() as session:
        user = queries.user_of_email(session, email) or create_person(session, email, name, None, role)
        for token in queries.tokens_of(session, user.id):
            queries.revoke_token(session, user.id, token.id)
        user_id = user.id
    return create_token(platform, user_id, NewToken(name="start of the installation"))
