"""Setting up, asking for, and removing the second factor."""

from urllib.parse import urlsplit

import segno
from sqlalchemy.orm import Session

from app.access import Actor
from app.audit import queries as audit
from app.errors import ConflictError, ForbiddenError
from app.mail import service as mail
from app.mail.schemas import Letter
from app.models import Queue, RecoveryCode, SecondFactor, User
from app.names import folded
from app.platform import Platform
from app.rate_limits import Limited
from app.second_factor import queries
from app.second_factor.rules import (
    address_for_app,
    new_recovery_codes,
    new_secret,
    plain_recovery_code,
    step_of_code,
)
from app.second_factor.schemas import FactorView
from app.secret_hashes import hash_of_token
from app.sessions import queries as sessions
from app.sessions.schemas import Browser
from app.sessions.service import WrongPasswordError, finish_login


def view(platform: Platform, actor: Actor) -> FactorView:
    """A person's second factor; its secret only until it is in use."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        found = queries.factor_of(session, actor.user_id)
        if found is None:
            return FactorView()
        if found.confirmed_at:
            return FactorView(found.confirmed_at, queries.unused_codes(session, actor.user_id))
    server = urlsplit(platform.settings.address).hostname or "heldout"
    code = segno.make(address_for_app(found.secret, actor.email, f"Heldout {server}"), micro=False)
    return FactorView(
        secret=found.secret, picture=code.svg_inline(scale=4, border=4, dark="#000", light="#fff")
    )


def start(platform: Platform, actor: Actor) -> None:
    """Make a new secret, which does nothing until a code of it is given. Raises ConflictError."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        session.get_one(User, actor.user_id, with_for_update=True)
        found = queries.factor_of(session, actor.user_id)
        if found and found.confirmed_at:
            raise ConflictError("your account has a second factor; remove it first")
        if found is None:
            session.add(SecondFactor(user_id=actor.user_id, secret=new_secret()))


def confirm(platform: Platform, actor: Actor, code: str, cookie: str) -> tuple[str, ...] | None:
    """Use the second factor from now on; the recovery codes, to be shown once, or none for a wrong code.

    Logs out everywhere but in the session of `cookie`: the others began without a code. Raises ConflictError, RateLimitedError.
    """
    assert actor.user_id is not None
    platform.limiter.hit(Limited.GUESS, f"person {actor.user_id}")
    with platform.transaction() as session:
        found = queries.factor_of(session, actor.user_id)
        if found is None or found.confirmed_at:
            raise ConflictError("there is no second factor to confirm; start again")
        if not _is_code(session, found, code):
            return None
        found.confirmed_at = queries.now(session)
        sessions.end_sessions_of(session, actor.user_id, keep=hash_of_token(cookie))
        _note(session, actor.user_id, "second-factor.on", Letter.SECOND_FACTOR_ON)
        codes = _new_codes(session, actor.user_id)
    platform.notifier.wake_workers(Queue.MAIL)
    return codes


def renew_codes(platform: Platform, actor: Actor) -> tuple[str, ...]:
    """New recovery codes in place of all others, to be shown once. Raises ConflictError."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        found = queries.factor_of(session, actor.user_id)
        if found is None or not found.confirmed_at:
            raise ConflictError("your account has no second factor")
        _note(session, actor.user_id, "second-factor.codes", Letter.RECOVERY_CODES_RENEWED)
        codes = _new_codes(session, actor.user_id)
    platform.notifier.wake_workers(Queue.MAIL)
    return codes


def _note(session: Session, user_id: int, action: str, letter: Letter, **details: int) -> None:
    """Write down what a person has done to their second factor, and tell them by mail."""
    audit.record(session, user_id, action, f"person {user_id}", details=details)
    mail.tell_owner(session, letter, session.get_one(User, user_id), **details)


def _new_codes(session: Session, user_id: int) -> tuple[str, ...]:
    queries.delete_codes(session, user_id)
    codes = new_recovery_codes()
    for code in codes:
        session.add(RecoveryCode(user_id=user_id, code_hash=hash_of_token(plain_recovery_code(code))))
    return codes


def _is_code(session: Session, factor: SecondFactor, code: str) -> bool:
    """Whether this is a code of now that was not used before; it is used up."""
    step = step_of_code(factor.secret, code, queries.now(session).timestamp())
    return step is not None and queries.take_step(session, factor.user_id, step)


def log_in(platform: Platform, browser: Browser, code: str) -> str:
    """The token of the session of this browser that began with a password, and has its code or a recovery code now.

    Raises WrongPasswordError, also where no login waits for a code; RateLimitedError.
    """
    with platform.transaction() as session:
        user_id = sessions.waiting_for_code(session, hash_of_token(browser.cookie or ""))
    if user_id is None:
        raise WrongPasswordError("this login is over; start again")
    platform.limiter.hit(Limited.GUESS, f"person {user_id}")
    with platform.transaction() as session:
        found = queries.factor_of(session, user_id)
        if found is None or not (_is_code(session, found, code) or _is_recovery_code(session, user_id, code)):
            raise WrongPasswordError("the code is wrong, or was used before; wait for the next one")
        token = finish_login(session, platform, user_id, browser)
    platform.limiter.clear(Limited.GUESS, f"person {user_id}")
    platform.notifier.wake_workers(Queue.MAIL)
    return token


def _is_recovery_code(session: Session, user_id: int, text: str) -> bool:
    """Whether this is a recovery code that was not used before; it is used up."""
    is_code = queries.take_recovery_code(session, user_id, hash_of_token(plain_recovery_code(text)))
    if is_code:
        left = queries.unused_codes(session, user_id)
        _note(session, user_id, "second-factor.recovery", Letter.RECOVERY_CODE_USED, left=left)
    return is_code


def remove(platform: Platform, actor: Actor, cookie: str) -> None:
    """Do without a second factor from now on, logged in nowhere but in the session of `cookie`. Raises ForbiddenError for admins, who need one."""
    assert actor.user_id is not None
    if actor.is_admin:
        raise ForbiddenError("Admins need a second factor")
    with platform.transaction() as session:
        if queries.delete_factor(session, actor.user_id):
            sessions.end_sessions_of(session, actor.user_id, keep=hash_of_token(cookie))
            _note(session, actor.user_id, "second-factor.off", Letter.SECOND_FACTOR_OFF)
    platform.notifier.wake_workers(Queue.MAIL)


def remove_for(platform: Platform, email: str) -> bool:
    """Remove the second factor of a person who has lost it, and end their sessions; whether there is such a person."""
    with platform.transaction() as session:
        user = sessions.user_of_email(session, folded(email))
        if user is None:
            return False
        if queries.delete_factor(session, user.id):
            mail.tell_owner(session, Letter.SECOND_FACTOR_OFF, user)
        sessions.end_sessions_of(session, user.id)
        audit.record(session, None, "second-factor.off", f"person {user.id}")
        return True
