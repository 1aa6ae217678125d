"""Logging in and out, and finding out who makes a request."""

import hashlib
import secrets

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.access import Actor
from app.drafts import Draft
from app.errors import DomainError
from app.models import LoginSession
from app.names import folded
from app.passwords.service import is_password
from app.platform import Platform
from app.rate_limits import Limited
from app.secret_hashes import hash_of_token
from app.sessions import queries
from app.sessions.schemas import Browser, Login, Visit
from app.tokens import queries as tokens


class SuspendedError(DomainError):
    """An admin has suspended this account; said only to who knows its password."""


class WrongPasswordError(DomainError):
    """No account has this address and password."""


def log_in(platform: Platform, login: Login, browser: Browser, draft: Draft | None = None) -> str:
    """The token of a new session; `draft` is the form that its page will show filled in again, if it is this person's.

    Raises WrongPasswordError, after the same time whether or not there is such an account; SuspendedError, BusyError,
    RateLimitedError.
    """
    account = _account_key(login.email)
    with platform.transaction() as session:
        user = queries.user_of_email(session, folded(login.email))
        former = queries.owner_of_session(session, hash_of_token(browser.cookie)) if browser.cookie else None
    is_own_browser = user is not None and user.id == former
    # the browser of the owner is counted by itself, so that no stranger can use up its attempts
    client = hash_of_token(browser.cookie or "").hex() if is_own_browser else browser.client
    platform.limiter.hit(Limited.LOGIN_PAIR, account, client)
    if not is_own_browser:
        platform.limiter.hit(Limited.LOGIN_ACCOUNT, account)
    if not is_password(login.password, user.password_hash if user else None) or user is None:
        raise WrongPasswordError("the e-mail address or the password is wrong")
    if user.suspended_at is not None:
        raise SuspendedError("this account is suspended")
    platform.limiter.clear(Limited.LOGIN_PAIR, account, client)
    with platform.transaction() as session:
        return start_session(session, platform, user.id, draft)


def _account_key(email: str) -> str:
    """How the limits name an account, whether or not there is one: by a hash, as the broker need not know addresses."""
    return hashlib.sha256(folded(email).encode()).hexdigest()[:32]


def start_session(session: Session, platform: Platform, user_id: int, draft: Draft | None = None) -> str:
    """The token of a new session of this person, for the cookie."""
    token = secrets.token_urlsafe(32)
    row = LoginSession(
        token_hash=hash_of_token(token),
        user_id=user_id,
        expires_at=func.now() + platform.settings.session_lifetime,
    )
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
            user_id = tokens.use_token(session, hash_of_token(bearer))
            return Visit(queries.actor_of_person(session, user_id, by_token=True) or Actor())
        token_hash = hash_of_token(cookie or "")
        actor = queries.actor_of_session(session, token_hash)
        draft = queries.draft_of_session(session, token_hash) if actor else None
    return Visit(actor or Actor(), Draft.model_validate(draft) if draft else None)


def drop_draft(platform: Platform, cookie: str) -> None:
    """Forget a form that has been sent again."""
    with platform.transaction() as session:
        queries.drop_draft(session, hash_of_token(cookie))


def delete_expired_sessions(platform: Platform) -> int:
    """Delete logins that have been over for long; how many."""
    with platform.transaction() as session:
        return queries.delete_expired_sessions(session)
