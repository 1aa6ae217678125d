"""Proving that an address is one's own by a link that was mailed to it, and changing it."""

from datetime import datetime

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.access import Actor
from app.audit import queries as audit
from app.confirmation import queries
from app.confirmation.schemas import NewAddress, Offer, Outcome, Used
from app.database_errors import violated_constraint
from app.errors import LoginNeededError
from app.mail import queries as links
from app.mail import service as mail
from app.mail.schemas import Letter
from app.models import MailLink, Queue, User
from app.passwords.service import is_password
from app.platform import Platform
from app.secret_hashes import hash_of_token
from app.sessions.schemas import Browser
from app.sessions.service import check_owner, start_session

PURPOSES = (Letter.CONFIRM_ADDRESS, Letter.CONFIRM_NEW_ADDRESS)


def offer(platform: Platform, actor: Actor, token: str) -> Offer | None:
    """What a link can confirm; none if it has been used or has expired."""
    with platform.transaction() as session:
        found = _find(session, token)
        if found is None:
            return None
        user, link = found
        _check_login(platform, is_owner=user.id == actor.user_id)
        return Offer(link.address, needs_password=user.id != actor.user_id)


def _check_login(platform: Platform, *, is_owner: bool) -> None:
    """See that whoever opens a link is the owner, or can show it by the password. Raises LoginNeededError."""
    if not (is_owner or platform.settings.passwords):
        raise LoginNeededError("Log in to this account first, then open the link again")


def _find(session: Session, token: str) -> tuple[User, MailLink] | None:
    link = links.link_of(session, hash_of_token(token), PURPOSES)
    user = queries.person(session, link.user_id) if link else None
    if link is None or user is None or not queries.claimed(user, link):
        return None
    return user, link


def confirm(platform: Platform, actor: Actor, token: str, password: str, browser: Browser) -> Used:
    """Confirm an address by the link that was mailed to it, and log in whoever gave the account's password.

    Reading the mail is not enough: an account that a stranger made with this address has their password. Raises BusyError.
    """
    with platform.transaction() as session:
        found = _find(session, token)
        password_hash = found[0].password_hash if found else None
    if found is None:
        return Used(Outcome.GONE)
    is_mine = found[0].id == actor.user_id
    _check_login(platform, is_owner=is_mine)
    if not is_mine and not is_password(password, password_hash):
        return Used(Outcome.WRONG_PASSWORD)
    try:
        return _confirm(platform, token, None if is_mine else browser)
    except IntegrityError as error:
        if violated_constraint(error) != "uq_user_account_email":
            raise
        return Used(Outcome.TAKEN)


def _confirm(platform: Platform, token: str, browser: Browser | None) -> Used:
    """Confirm an address, and log its person in on this browser, if any."""
    with platform.transaction() as session:
        found = _find(session, token)  # once more: another request may have used it meanwhile
        if found is None:
            return Used(Outcome.GONE)
        user, link = found
        before, was_verified = user.email, user.verified_at is not None
        queries.take_address(session, user, link.address)
        links.drop_links(session, user.id)
        audit.record(session, user.id, "account.confirm_address", f"person {user.id}")
        if was_verified and before != user.email:
            mail.tell(session, Letter.ADDRESS_CHANGED, address=before)
        session_token = start_session(session, platform, user.id, browser) if browser else None
    platform.notifier.wake_workers(Queue.MAIL)
    return Used(Outcome.CONFIRMED, session_token)


def resend(platform: Platform, actor: Actor) -> datetime | None:
    """Have the link mailed once more; returns when, if the limits forbid it now."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = queries.person(session, actor.user_id)
        wait = _ask(session, user) if user else None
    platform.notifier.wake_workers(Queue.MAIL)
    return wait


def _ask(session: Session, user: User) -> datetime | None:
    letter = Letter.CONFIRM_ADDRESS if user.new_email is None else Letter.CONFIRM_NEW_ADDRESS
    return mail.ask_for(
        session, letter, address=user.new_email or user.email, user_id=user.id, asked_by=user.id
    )


def change(platform: Platform, actor: Actor, new: NewAddress) -> datetime | None:
    """Have a link mailed to another address, which takes the place of the present one once it is used.

    Returns when, if the limits forbid it now. Raises WrongPasswordError, BusyError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = queries.person(session, actor.user_id)
        known = user.password_hash if user else None
    check_owner(actor, new.password, known)
    with platform.transaction() as session:
        user = queries.person(session, actor.user_id)
        assert user is not None
        links.drop_links(session, user.id)
        user.new_email = new.email if new.email != user.email else None
        wait = _ask(session, user)
    platform.notifier.wake_workers(Queue.MAIL)
    return wait


def pending_address(platform: Platform, actor: Actor) -> str | None:
    """The address that waits to be confirmed in place of the present one."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = queries.person(session, actor.user_id)
        return user.new_email if user else None
