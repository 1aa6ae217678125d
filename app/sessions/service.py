"""Logging in and out, and finding out who makes a request."""

import hashlib
import secrets
from dataclasses import replace

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.access import Actor
from app.audit import queries as audit
from app.errors import DomainError, RecentLoginNeededError
from app.mail import service as mail
from app.mail.schemas import Letter
from app.models import LoginSession, Queue, User
from app.names import folded
from app.passwords.service import is_password
from app.platform import Platform
from app.rate_limits import Limited
from app.secret_hashes import hash_of_token
from app.sessions import queries
from app.sessions.rules import CODE_TIME
from app.sessions.schemas import Browser, Login, SessionView, Visit
from app.tokens.rules import is_token


class SuspendedError(DomainError):
    """An admin has suspended this account; said only to who knows its password."""


class WrongPasswordError(DomainError):
    """No account has this address and password."""


def log_in(platform: Platform, login: Login, browser: Browser) -> str:
    """The token of a new session.

    Raises WrongPasswordError, after the same time whether or not there is such an account; SuspendedError, BusyError,
    RateLimitedError.
    """
    with platform.transaction() as session:
        user = queries.user_of_email(session, folded(login.email))
    user = _checked(platform, login, user, browser)
    with platform.transaction() as session:
        audit.record(session, user.id, "session.start", f"person {user.id}")
        token = start_session(session, platform, user.id, browser)
    platform.notifier.wake_workers(Queue.MAIL)
    return token


def _checked(platform: Platform, login: Login, user: User | None, browser: Browser) -> User:
    """The person whose address this is, with the right password; raises what `log_in` raises."""
    account = _account_key(login.email)
    with platform.transaction() as session:
        former = queries.owner_of_session(session, hash_of_token(browser.cookie)) if browser.cookie else None
    is_own_browser = user is not None and user.id == former
    # the browser of the owner is counted by itself, so that no stranger can use up its attempts
    client = hash_of_token(browser.cookie or "").hex() if is_own_browser else browser.client
    platform.limiter.hit(Limited.GUESS, account, client)
    if not is_own_browser:
        platform.limiter.hit(Limited.LOGIN, account)
    is_right = is_password(login.password, user.password_hash if user else None)
    if user is None or not is_right:
        raise WrongPasswordError("the e-mail address or the password is wrong")
    if user.suspended_at is not None:
        raise SuspendedError("this account is suspended; ask the admins of this server")
    platform.limiter.clear(Limited.GUESS, account, client)
    return user


def _account_key(email: str) -> str:
    """How the limits name an account, whether or not there is one: by a hash, as the broker need not know addresses."""
    return hashlib.sha256(folded(email).encode()).hexdigest()[:32]


def start_session(session: Session, platform: Platform, user_id: int, browser: Browser) -> str:
    """The token of a new session of this person, for the cookie; the session that this browser had is over.

    It opens nothing yet where the person has a second factor, whoever starts it.
    """
    awaits_code = queries.has_second_factor(session, user_id)
    row = LoginSession(
        user_id=user_id,
        browser=browser.name,
        awaits_code=awaits_code,
        expires_at=func.now() + (CODE_TIME if awaits_code else platform.settings.session_lifetime),
    )
    if not awaits_code:
        _tell_of_new_browser(session, user_id, browser)
    if browser.cookie:
        queries.end_session(session, hash_of_token(browser.cookie))
    token = secrets.token_urlsafe(32)
    row.token_hash = hash_of_token(token)
    session.add(row)
    return token


def _tell_of_new_browser(session: Session, user_id: int, browser: Browser) -> None:
    """Tell a person of a login by a browser that none of their logins of the last month came from."""
    known = queries.browsers_of(session, user_id)
    is_own = browser.cookie and queries.owner_of_session(session, hash_of_token(browser.cookie)) == user_id
    if known and browser.name not in known and not is_own:
        owner = session.get_one(User, user_id)
        mail.tell_owner(session, Letter.NEW_BROWSER, owner, browser=browser.name)


def awaits_code(platform: Platform, token: str) -> bool:
    """Whether the login of this session has to be finished with a code."""
    with platform.transaction() as session:
        return queries.waiting_for_code(session, hash_of_token(token)) is not None


def finish_login(session: Session, platform: Platform, user_id: int, browser: Browser) -> str:
    """The token of a session of this browser that waited for a code, which was right."""
    _tell_of_new_browser(session, user_id, replace(browser, cookie=None))
    cookie = browser.cookie or ""
    token = secrets.token_urlsafe(32)
    lifetime = platform.settings.session_lifetime
    queries.finish_login(session, hash_of_token(cookie), hash_of_token(token), lifetime)
    return token


def confirm(platform: Platform, actor: Actor, password: str, browser: Browser) -> str:
    """The new token of this browser's session, in which its person has given the password once more.

    Raises WrongPasswordError, BusyError, RateLimitedError.
    """
    with platform.transaction() as session:
        user = session.get_one(User, actor.user_id)
    _checked(platform, Login(email=actor.email, password=password), user, browser)
    return renew(platform, browser.cookie or "")


def check_owner(actor: Actor, password: str, known: str | None) -> None:
    """See that the person of a session is the owner of its account, whose password has the hash `known`.

    Raises WrongPasswordError, BusyError; RecentLoginNeededError for an account without a password.
    """
    if (known is None or not actor.has_password) and actor.user_id is not None:
        if not actor.is_recent:
            raise RecentLoginNeededError("Confirm that it is you first")
    elif not is_password(password, known):
        raise WrongPasswordError("the password is wrong")


def renew(platform: Platform, cookie: str) -> str:
    """The new token of this session, after a login was repeated or its person got more rights.

    Whoever knew the old one has nothing. Raises WrongPasswordError for a session that is over.
    """
    token = secrets.token_urlsafe(32)
    with platform.transaction() as session:
        if not queries.renew_session(session, hash_of_token(cookie), hash_of_token(token)):
            raise WrongPasswordError("the session is over; log in again")
    return token


def log_out(platform: Platform, token: str) -> None:
    """End this session."""
    with platform.transaction() as session:
        queries.end_session(session, hash_of_token(token))


def sessions_of(platform: Platform, actor: Actor, cookie: str) -> tuple[SessionView, ...]:
    """Where a person is logged in, the browser of this cookie among them."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        return queries.sessions_of(session, actor.user_id, hash_of_token(cookie), platform.settings)


def end_one(platform: Platform, actor: Actor, key: str) -> None:
    """End a session of this person by its key; nothing where there is none."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        queries.end_session(session, bytes.fromhex(key), actor.user_id)


def end_all(platform: Platform, actor: Actor) -> int:
    """End all sessions of this person, the present one too; how many. Tokens stay."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        count = queries.end_sessions_of(session, actor.user_id)
        audit.record(
            session, actor.user_id, "session.end-all", f"person {actor.user_id}", details={"ended": count}
        )
    return count


def identify(platform: Platform, cookie: str | None, bearer: str | None) -> Actor:
    """Who makes a request: the owner of the token, else of the session, else an anonymous visitor."""
    return open_visit(platform, cookie, bearer).actor


def open_visit(platform: Platform, cookie: str | None, bearer: str | None) -> Visit:
    """Who makes a request."""
    if not (bearer or cookie) or (bearer and not is_token(bearer)):
        return Visit(Actor())
    with platform.reading() as session:
        if bearer:
            return Visit(queries.owner_of_token(session, hash_of_token(bearer)) or Actor())
        found = queries.open_session(session, hash_of_token(cookie or ""), platform.settings)
    if found and found.awaits_code:
        return Visit(Actor(), awaits_code=True)
    if found is None or found.actor is None:
        return Visit(Actor())
    return Visit(found.actor if platform.settings.passwords else replace(found.actor, has_password=False))


def delete_expired_sessions(platform: Platform) -> int:
    """Delete logins that have been over for long; how many."""
    with platform.transaction() as session:
        return queries.delete_expired_sessions(session)
