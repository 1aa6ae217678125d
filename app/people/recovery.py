"""Changing a password, and resetting it or logging in by a mailed link."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Actor
from app.core.database import violated_constraint
from app.core.names import MailAddress
from app.core.secret_hashes import hash_of_token
from app.jobs import mail
from app.jobs.mail import MailTemplate
from app.models import MailLink, User
from app.people import sessions, tokens
from app.people.locking import IS_OPEN, lock_person
from app.people.passwords import accepted_password, hash_password
from app.people.sessions import Browser, check_owner, lock_owner, password_hash_of, start_session
from app.platform import Platform


class ResetOutcome(StrEnum):
    """How the use of a link ended."""

    DONE = "done"
    GONE = "gone"  # used or expired
    TAKEN = "taken"  # another account has confirmed the address


class Forgotten(BaseModel):
    """The form for a forgotten password."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    email: MailAddress


@dataclass(frozen=True, slots=True)
class Passwords:
    """The current password and the new one; neither is trimmed."""

    present: str
    new: str


def person_of_address(session: Session, address: str) -> int | None:
    """Return the account that has confirmed an address, else the newest unconfirmed one."""
    statement = (
        select(User.id)
        .where(User.email == address, User.deleted_at.is_(None), User.suspended_at.is_(None))
        .order_by(User.verified_at.is_(None), User.id.desc())
        .limit(1)
    )
    return session.scalar(statement)


def owner_of_address(session: Session, address: str) -> int | None:
    """Return the account that has confirmed an address."""
    statement = select(User.id).where(User.email == address, User.verified_at.is_not(None))
    return session.scalar(statement.where(User.deleted_at.is_(None), User.suspended_at.is_(None)))


def confirm_address(session: Session, user: User, link: MailLink) -> bool:
    """Confirm the address of a link. Return whether it was unconfirmed before. Raises IntegrityError if another account has it."""
    if user.verified_at is not None or link.address != user.email:
        return False
    user.verified_at = func.now()
    session.flush()
    return True


PURPOSES = (MailTemplate.RESET_PASSWORD,)
# after a reset, its link can still list and revoke tokens for this long
REVOKE_TOKENS, REVOKE_TIME = "revoke-tokens", timedelta(hours=1)


def ask_for_link(platform: Platform, form: Forgotten) -> None:
    """Mail a reset link to an address if it has an account. Time and response are the same if it has none."""
    with platform.transaction() as session:
        user_id = person_of_address(session, form.email)
        mail.request_mail(
            session, MailTemplate.RESET_PASSWORD, address=form.email, user_id=user_id, asked_by=None
        )


def is_usable(platform: Platform, token: str) -> bool:
    """Whether a link has neither been used nor expired."""
    with platform.transaction() as session:
        return _find(session, token) is not None


def _find(session: Session, token: str) -> tuple[User, MailLink] | None:
    link = mail.link_of(session, hash_of_token(token), PURPOSES)
    user = lock_person(session, link.user_id, *IS_OPEN, ends_access=True) if link else None
    return (user, link) if user is not None and link is not None else None


def reset(platform: Platform, token: str, password: str) -> ResetOutcome:
    """Set a new password by a mailed link, which also confirms the address, and log out everywhere.

    Raises ValueError with the password's problem, BusyError.
    """
    with platform.transaction() as session:
        found = _find(session, token)
    if found is None:
        return ResetOutcome.GONE
    accepted_password(password, found[0].email, found[0].name)
    password_hash = hash_password(password)
    try:
        with platform.transaction() as session:
            found = _find(session, token)
            if found is None:
                return ResetOutcome.GONE
            user, link = found
            if confirm_address(session, user, link):
                # until now, the creator of this account had not proved that the address is theirs
                tokens.revoke_tokens_of(session, user.id)
            if _replace(session, user, password_hash, "account.reset_password"):
                _keep_for_tokens(session, user, token)
    except IntegrityError as error:
        if violated_constraint(error) != "uq_user_account_email":
            raise
        return ResetOutcome.TAKEN
    return ResetOutcome.DONE


def _keep_for_tokens(session: Session, user: User, token: str) -> None:
    """Let a used link revoke the API tokens that are still active, and nothing else."""
    row = MailLink(
        token_hash=hash_of_token(token),
        user_id=user.id,
        purpose=REVOKE_TOKENS,
        address=user.email,
        expires_at=func.now() + REVOKE_TIME,
    )
    mail.add_link(session, row)


def may_revoke_tokens(platform: Platform, token: str) -> int | None:
    """Return the owner of the API tokens that a link may revoke because it has just reset the password."""
    with platform.transaction() as session:
        link = mail.link_of(session, hash_of_token(token), (REVOKE_TOKENS,))
        user = lock_person(session, link.user_id, *IS_OPEN) if link else None
        return user.id if user else None


def ask_for_login_link(platform: Platform, form: Forgotten) -> None:
    """Mail a login link to an address if an account has confirmed it. Time and response are the same if none has."""
    with platform.transaction() as session:
        user_id = owner_of_address(session, form.email)
        mail.request_mail(
            session, MailTemplate.LOGIN_LINK, address=form.email, user_id=user_id, asked_by=None
        )


def address_of_login_link(platform: Platform, token: str) -> str | None:
    """Return the address of the account that a login link opens, or None if it has been used or has expired."""
    with platform.transaction() as session:
        user = _owner_of_login_link(session, token)
        return user.email if user else None


def _owner_of_login_link(session: Session, token: str) -> User | None:
    link = mail.link_of(session, hash_of_token(token), (MailTemplate.LOGIN_LINK,))
    user = lock_person(session, link.user_id, *IS_OPEN) if link else None
    is_theirs = user and link and user.verified_at is not None and link.address == user.email
    return user if is_theirs else None


def log_in_by_link(platform: Platform, token: str, browser: Browser) -> str | None:
    """Return the token of a new session, which awaits a code if the account has a second factor; None if the link has ended.

    The limits of wrong passwords do not apply, because strangers could exhaust them; access to the mail is the proof.
    """
    with platform.transaction() as session:
        user = _owner_of_login_link(session, token)
        if user is None:
            return None
        mail.revoke_links(session, user.id, MailTemplate.LOGIN_LINK)
        audit.record(session, user.id, "session.start", f"person {user.id}", details={"by": "mailed link"})
        return start_session(session, platform, user.id, browser)


def change(platform: Platform, actor: Actor, cookie: str, passwords: Passwords) -> int:
    """Replace a password, log out everywhere except in the session of `cookie`, and count the active API tokens.

    Raises WrongPasswordError, ValueError with the new password's problem, BusyError.
    """
    assert actor.user_id is not None
    known = password_hash_of(platform, actor.user_id)
    check_owner(actor, passwords.present, known)
    password_hash = hash_password(accepted_password(passwords.new, actor.email, actor.name))
    with platform.transaction() as session:
        user = lock_owner(session, actor.user_id, known, ends_access=True)
        return _replace(session, user, password_hash, "account.change_password", keep=hash_of_token(cookie))


def _replace(
    session: Session, user: User, password_hash: str, action: str, *, keep: bytes | None = None
) -> int:
    """Replace a password and end sessions and links. Return how many API tokens, which stay, are active."""
    user.password_hash = password_hash
    sessions.end_sessions_of(session, user.id, keep=keep)
    mail.revoke_links(session, user.id)
    audit.record(session, user.id, action, f"person {user.id}")
    count = tokens.count_active(session, user.id)
    mail.notify_owner(session, MailTemplate.PASSWORD_CHANGED, user, tokens=count)
    return count
