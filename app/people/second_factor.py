"""The second factor: codes of an authenticator app, and recovery codes."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import pyotp
import segno
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, ForbiddenError
from app.core.names import folded
from app.core.rate_limits import Limited
from app.core.secret_hashes import hash_of_token
from app.jobs import mail
from app.jobs.mail import MailTemplate
from app.models import RecoveryCode, SecondFactor, User
from app.people import sessions
from app.people.locking import lock_person
from app.people.sessions import Browser, WrongPasswordError, finish_login
from app.platform import Platform


@dataclass(frozen=True, slots=True)
class FactorView:
    """A person's second factor, in use or being set up."""

    since: datetime | None = None  # None if it is not in use
    recovery_codes: int = 0  # unused ones
    secret: str | None = None  # shown until the factor is in use
    picture: str | None = None  # the secret as a QR code, in SVG


STEP = 30  # seconds that a code is shown
DRIFT = 1  # steps that a clock may be off
RECOVERY_CODES = 10
ALPHABET = "abcdefghjkmnpqrstvwxyz23456789"  # 30 characters that are hard to confuse


def new_secret() -> str:
    """Return a secret for an authenticator app, 160 bits in base 32."""
    return pyotp.random_base32()


def address_for_app(secret: str, email: str, server: str) -> str:
    """Return the URI that the QR code contains for authenticator apps."""
    return pyotp.TOTP(secret, interval=STEP).provisioning_uri(name=email, issuer_name=server)


def step_of_code(secret: str, code: str, now: float) -> int | None:
    """Return the step of 30 seconds since 1970 that shows this code, at most one from `now`; None for a wrong code.

    now: in seconds since 1970.

    >>> step_of_code("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "287082", 59)
    1
    """
    digits = "".join(code.split())
    present = int(now) // STEP
    shown = pyotp.TOTP(secret, interval=STEP)
    steps = range(max(present - DRIFT, 0), present + DRIFT + 1)
    return next(
        (step for step in steps if hmac.compare_digest(shown.generate_otp(step).encode(), digits.encode())),
        None,
    )


def new_recovery_codes() -> tuple[str, ...]:
    """Return codes of 78 bits, each good for one login."""
    return tuple(_recovery_code() for _ in range(RECOVERY_CODES))


def _recovery_code() -> str:
    groups = ("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(4))
    return "-".join(groups)


def plain_recovery_code(text: str) -> str:
    """Normalise a recovery code for hashing, however it was typed.

    >>> plain_recovery_code(" ABCD efgh-jkmn 2345 ")
    'abcdefghjkmn2345'
    """
    return "".join(character for character in text.lower() if character.isalnum())


def factor_of(session: Session, user_id: int) -> SecondFactor | None:
    """Return a person's second factor, in use or not, locked until the end of the transaction."""
    return session.scalar(select(SecondFactor).where(SecondFactor.user_id == user_id).with_for_update())


def now(session: Session) -> datetime:
    """Return the database's time."""
    return session.scalars(select(func.now())).one()


def use_step(session: Session, user_id: int, step: int) -> bool:
    """Use up the code of this step. Return False if it or a later one was already used."""
    statement = (
        update(SecondFactor)
        .where(SecondFactor.user_id == user_id, SecondFactor.last_step < step)
        .values(last_step=step)
        .returning(SecondFactor.user_id)
    )
    return session.scalar(statement) is not None


def use_recovery_code(session: Session, user_id: int, code_hash: bytes) -> bool:
    """Use up a recovery code. Return whether it existed and was unused."""
    statement = (
        update(RecoveryCode)
        .where(
            RecoveryCode.user_id == user_id,
            RecoveryCode.code_hash == code_hash,
            RecoveryCode.used_at.is_(None),
        )
        .values(used_at=func.now())
        .returning(RecoveryCode.id)
    )
    return session.scalar(statement) is not None


def unused_codes(session: Session, user_id: int) -> int:
    """Count a person's unused recovery codes."""
    statement = select(func.count()).where(RecoveryCode.user_id == user_id, RecoveryCode.used_at.is_(None))
    return session.scalars(statement).one()


def delete_codes(session: Session, user_id: int) -> None:
    """Delete all recovery codes of a person."""
    session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))


def delete_factor(session: Session, user_id: int) -> bool:
    """Delete a person's second factor and its codes. Return whether it was in use."""
    delete_codes(session, user_id)
    deleted = delete(SecondFactor).where(SecondFactor.user_id == user_id).returning(SecondFactor.confirmed_at)
    return session.scalar(deleted) is not None


def view(platform: Platform, actor: Actor) -> FactorView:
    """Return a person's second factor; with its secret only until it is in use."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        found = factor_of(session, actor.user_id)
        if found is None:
            return FactorView()
        if found.confirmed_at:
            return FactorView(found.confirmed_at, unused_codes(session, actor.user_id))
    server = urlsplit(platform.settings.address).hostname or "heldout"
    code = segno.make(
        address_for_app(found.secret, actor.email, f"{platform.site().name} {server}"), micro=False
    )
    return FactorView(
        secret=found.secret, picture=code.svg_inline(scale=4, border=4, dark="#000", light="#fff")
    )


def start(platform: Platform, actor: Actor) -> None:
    """Create a secret, which takes effect once a code of it is entered. Raises ConflictError."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        lock_person(session, actor.user_id)
        found = factor_of(session, actor.user_id)
        if found and found.confirmed_at:
            raise ConflictError("your account already has a second factor; remove it first")
        if found is None:
            session.add(SecondFactor(user_id=actor.user_id, secret=new_secret()))


def confirm(platform: Platform, actor: Actor, code: str, cookie: str) -> tuple[str, ...] | None:
    """Enable the second factor. Return the recovery codes, to be shown once, or None if the code is wrong.

    Logs out everywhere except in the session of `cookie`, because the other sessions began without a code.
    Raises ConflictError, RateLimitedError.
    """
    assert actor.user_id is not None
    platform.limiter.hit(Limited.GUESS, f"person {actor.user_id}")
    with platform.transaction() as session:
        found = factor_of(session, actor.user_id)
        if found is None or found.confirmed_at:
            raise ConflictError("there is no second factor to confirm; start again")
        if not _is_code(session, found, code):
            return None
        found.confirmed_at = now(session)
        sessions.end_sessions_of(session, actor.user_id, keep=hash_of_token(cookie))
        _note(session, actor.user_id, "second-factor.on", MailTemplate.SECOND_FACTOR_ON)
        return _new_codes(session, actor.user_id)


def renew_codes(platform: Platform, actor: Actor) -> tuple[str, ...]:
    """Replace all recovery codes. Return the new ones, to be shown once. Raises ConflictError."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        found = factor_of(session, actor.user_id)
        if found is None or not found.confirmed_at:
            raise ConflictError("your account has no second factor")
        _note(session, actor.user_id, "second-factor.codes", MailTemplate.RECOVERY_CODES_RENEWED)
        return _new_codes(session, actor.user_id)


def _note(session: Session, user_id: int, action: str, letter: MailTemplate, **details: int) -> None:
    """Record a change of the second factor, and notify its owner by mail."""
    audit.record(session, user_id, action, f"person {user_id}", details=details)
    mail.notify_owner(session, letter, session.get_one(User, user_id), **details)


def _new_codes(session: Session, user_id: int) -> tuple[str, ...]:
    delete_codes(session, user_id)
    codes = new_recovery_codes()
    for code in codes:
        session.add(RecoveryCode(user_id=user_id, code_hash=hash_of_token(plain_recovery_code(code))))
    return codes


def _is_code(session: Session, factor: SecondFactor, code: str) -> bool:
    """Whether a code is current and unused; uses it up."""
    step = step_of_code(factor.secret, code, now(session).timestamp())
    return step is not None and use_step(session, factor.user_id, step)


def log_in(platform: Platform, browser: Browser, code: str) -> str:
    """Complete a login that began with a password, by a code or a recovery code. Return the session's new token.

    Raises WrongPasswordError, also if no login is waiting for a code; RateLimitedError.
    """
    with platform.transaction() as session:
        user_id = _waiting(session, browser)
    platform.limiter.hit(Limited.GUESS, f"person {user_id}")
    with platform.transaction() as session:
        lock_person(session, user_id)
        _waiting(session, browser)  # again: a reset of the password may have ended it meanwhile
        found = factor_of(session, user_id)
        if found is None or not (_is_code(session, found, code) or _is_recovery_code(session, user_id, code)):
            raise WrongPasswordError("the code is wrong or has already been used; wait for the next one")
        token = finish_login(session, platform, user_id, browser)
    platform.limiter.clear(Limited.GUESS, f"person {user_id}")
    return token


def _waiting(session: Session, browser: Browser) -> int:
    """Return whose login of this browser waits for a code. Raises WrongPasswordError if none does."""
    user_id = sessions.waiting_for_code(session, hash_of_token(browser.cookie or ""))
    if user_id is None:
        raise WrongPasswordError("this login has ended; log in again")
    return user_id


def _is_recovery_code(session: Session, user_id: int, text: str) -> bool:
    """Whether a recovery code is valid and unused; uses it up."""
    is_code = use_recovery_code(session, user_id, hash_of_token(plain_recovery_code(text)))
    if is_code:
        left = unused_codes(session, user_id)
        _note(session, user_id, "second-factor.recovery", MailTemplate.RECOVERY_CODE_USED, left=left)
    return is_code


def remove(platform: Platform, actor: Actor, cookie: str) -> None:
    """Disable the second factor, and log out everywhere except in the session of `cookie`.

    Raises ForbiddenError for admins, who need one.
    """
    assert actor.user_id is not None
    if actor.is_admin:
        raise ForbiddenError("Admins need a second factor")
    with platform.transaction() as session:
        if delete_factor(session, actor.user_id):
            sessions.end_sessions_of(session, actor.user_id, keep=hash_of_token(cookie))
            _note(session, actor.user_id, "second-factor.off", MailTemplate.SECOND_FACTOR_OFF)


def remove_for(platform: Platform, email: str) -> bool:
    """Remove the second factor of a person who has lost it, and end their sessions. Return whether the person exists."""
    with platform.transaction() as session:
        user = sessions.user_of_email(session, folded(email))
        if user is None:
            return False
        if delete_factor(session, user.id):
            mail.notify_owner(session, MailTemplate.SECOND_FACTOR_OFF, user)
        sessions.end_sessions_of(session, user.id)
        audit.record(session, None, "second-factor.off", f"person {user.id}")
        return True
