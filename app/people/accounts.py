"""Accounts: registration, and confirming or changing an e-mail address by a mailed link."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Actor, Scope
from app.core.database import violated_constraint
from app.core.errors import LoginRequiredError
from app.core.names import MailAddress, Visible, folded
from app.core.secret_hashes import hash_of_token
from app.core.settings import LoginSettings
from app.jobs import mail
from app.jobs.mail import MailTemplate
from app.models import MailLink, Role, User
from app.people import tokens
from app.people.locking import IS_OPEN, lock_person
from app.people.passwords import accepted_password, hash_password, is_password
from app.people.sessions import (
    Browser,
    can_log_in,
    check_owner,
    lock_owner,
    password_hash_of,
    start_session,
    user_of_email,
)
from app.people.tokens import NewToken, add_token
from app.platform import Platform

# not trimmed: a password is exactly what was typed
Password = Annotated[
    str, StringConstraints(strip_whitespace=False), Field(description="at least 10 characters")
]


class RegistrationForm(BaseModel):
    """The form for a new account."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    email: Annotated[MailAddress, Field(description="where we can reach you")]
    name: Annotated[str, Field(min_length=2, max_length=80, description="as shown to others"), Visible]
    password: Password

    @field_validator("password")
    @classmethod
    def _accepted(cls, password: str, others: ValidationInfo) -> str:
        return accepted_password(password, others.data.get("email", ""), others.data.get("name", ""))


def register(platform: Platform, person: RegistrationForm, browser: Browser) -> str:
    """Create an account and return the token of a new session.

    The address is not confirmed yet. If another account has already confirmed it, this still creates an account but
    never mails its link, so that nobody learns who has an account. Raises BusyError.
    """
    password_hash = hash_password(person.password)
    with platform.transaction() as session:
        user = create_person(session, person.email, person.name, password_hash)
        mail.request_mail(
            session, MailTemplate.CONFIRM_ADDRESS, address=user.email, user_id=user.id, asked_by=user.id
        )
        return start_session(session, platform, user.id, browser)


def create_person(
    session: Session,
    email: str,
    name: str,
    password_hash: str | None,
    *,
    is_verified: bool = False,
) -> User:
    """Create a person. Without a password they can act only with tokens."""
    user = User(email=folded(email), name=name, password_hash=password_hash)
    user.verified_at = func.now() if is_verified else None
    session.add(user)
    session.flush()
    return user


def has_admin(session: Session, settings: LoginSettings) -> bool:
    """Return whether there is an admin who can log in; a server without one is not set up yet."""
    statement = select(User.id).where(User.role == Role.ADMIN, can_log_in(settings))
    return session.scalar(statement.limit(1)) is not None


def is_set_up(platform: Platform) -> bool:
    """Whether this server has an admin."""
    with platform.reading() as session:
        return has_admin(session, platform.settings)


def lock_admins(session: Session, settings: LoginSettings) -> list[int]:
    """Lock all admins who can log in, in the common order, so that the last two cannot leave at once. Return their ids."""
    statement = select(User.id).where(User.role == Role.ADMIN, can_log_in(settings), *IS_OPEN)
    return list(session.scalars(statement.order_by(User.id).with_for_update(key_share=True)))


def create_program_token(platform: Platform, email: str, name: str) -> str:
    """Create a token for an account used only by programs, and revoke its earlier tokens; create the account if needed."""
    with platform.transaction() as session:
        user = user_of_email(session, email) or create_person(session, email, name, None, is_verified=True)
        for token in tokens.tokens_of(session, user.id):
            tokens.set_revoked(session, user.id, token.id)
        new = NewToken(name="start of the installation", scope=frozenset(Scope), days=1)
        return add_token(session, user.id, new)


class LinkOutcome(StrEnum):
    """How the use of a link ended."""

    CONFIRMED = "confirmed"
    GONE = "gone"  # used, expired, or for an address that the account no longer has
    WRONG_PASSWORD = "wrong-password"  # noqa: S105 - a name
    TAKEN = "taken"  # another account has confirmed the address


@dataclass(frozen=True, slots=True)
class Offer:
    """What a link can confirm. A reader who is not logged in to the account needs its password."""

    address: str
    needs_password: bool


@dataclass(frozen=True, slots=True)
class Used:
    """The outcome of using a link, with a new session if the password was given."""

    outcome: LinkOutcome
    session_token: str | None = None


class NewAddress(BaseModel):
    """The form to change the address."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    email: MailAddress
    password: Annotated[str, Field(max_length=200)]


def claimed(user: User, link: MailLink) -> bool:
    """Whether the address a link was mailed to is still the account's own or pending address."""
    return link.address in (user.email, user.new_email)


def claim_address(session: Session, user: User, address: str) -> None:
    """Record that an address belongs to this person. Raises IntegrityError if another account has confirmed it."""
    if user.new_email == address:
        user.email, user.new_email = address, None
    user.verified_at = func.now()
    session.flush()


PURPOSES = (MailTemplate.CONFIRM_ADDRESS, MailTemplate.CONFIRM_NEW_ADDRESS)


def offer(platform: Platform, actor: Actor, token: str) -> Offer | None:
    """Return what a link can confirm, or None if it has been used or has expired."""
    with platform.transaction() as session:
        found = _find(session, token)
        if found is None:
            return None
        user, link = found
        _check_login(platform, is_owner=user.id == actor.user_id)
        return Offer(link.address, needs_password=user.id != actor.user_id)


def _check_login(platform: Platform, *, is_owner: bool) -> None:
    """Check that the reader is the owner or can prove it with the password. Raises LoginRequiredError."""
    if not (is_owner or platform.settings.passwords):
        raise LoginRequiredError("Log in to this account first, then open the link again")


def _find(session: Session, token: str) -> tuple[User, MailLink] | None:
    link = mail.link_of(session, hash_of_token(token), PURPOSES)
    user = lock_person(session, link.user_id, *IS_OPEN) if link else None
    if link is None or user is None or not claimed(user, link):
        return None
    return user, link


def confirm(platform: Platform, actor: Actor, token: str, password: str, browser: Browser) -> Used:
    """Confirm an address by the link mailed to it, and start a session if the account's password was given.

    Reading the mail is not enough: if a stranger registered with this address, the account has the stranger's
    password. Raises BusyError.
    """
    with platform.transaction() as session:
        found = _find(session, token)
        password_hash = found[0].password_hash if found else None
    if found is None:
        return Used(LinkOutcome.GONE)
    is_mine = found[0].id == actor.user_id
    _check_login(platform, is_owner=is_mine)
    if not is_mine and not is_password(password, password_hash):
        return Used(LinkOutcome.WRONG_PASSWORD)
    try:
        return _confirm(platform, token, None if is_mine else browser)
    except IntegrityError as error:
        if violated_constraint(error) != "uq_user_account_email":
            raise
        return Used(LinkOutcome.TAKEN)


def _confirm(platform: Platform, token: str, browser: Browser | None) -> Used:
    """Confirm an address, and log the person in if a browser is given."""
    with platform.transaction() as session:
        found = _find(session, token)  # again: another request may have used it meanwhile
        if found is None:
            return Used(LinkOutcome.GONE)
        user, link = found
        before, was_verified = user.email, user.verified_at is not None
        claim_address(session, user, link.address)
        mail.revoke_links(session, user.id)
        audit.record(session, user.id, "account.confirm_address", f"person {user.id}")
        if was_verified and before != user.email:
            mail.notify(session, MailTemplate.ADDRESS_CHANGED, address=before)
        session_token = start_session(session, platform, user.id, browser) if browser else None
    return Used(LinkOutcome.CONFIRMED, session_token)


def resend(platform: Platform, actor: Actor) -> datetime | None:
    """Mail the link again. Return when that will be possible if a limit forbids it now."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = lock_person(session, actor.user_id, *IS_OPEN)
        return _ask(session, user) if user else None


def _ask(session: Session, user: User) -> datetime | None:
    letter = MailTemplate.CONFIRM_ADDRESS if user.new_email is None else MailTemplate.CONFIRM_NEW_ADDRESS
    return mail.request_mail(
        session, letter, address=user.new_email or user.email, user_id=user.id, asked_by=user.id
    )


def change(platform: Platform, actor: Actor, new: NewAddress) -> datetime | None:
    """Mail a link to a new address, which replaces the current one once the link is used.

    Return when that will be possible if a limit forbids it now. Raises WrongPasswordError, BusyError.
    """
    assert actor.user_id is not None
    known = password_hash_of(platform, actor.user_id)
    check_owner(actor, new.password, known)
    with platform.transaction() as session:
        user = lock_owner(session, actor.user_id, known)
        mail.revoke_links(session, user.id)
        user.new_email = new.email if new.email != user.email else None
        return _ask(session, user)


def pending_address(platform: Platform, actor: Actor) -> str | None:
    """Return the new address that is waiting to be confirmed."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = lock_person(session, actor.user_id, *IS_OPEN)
        return user.new_email if user else None
