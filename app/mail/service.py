"""Asking for mail in a transaction, and delivering it from a worker."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import structlog
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import func
from sqlalchemy.orm import Session

from app.jobs import queue
from app.mail import queries
from app.mail.rules import LINKS, address_for, letter_for, message_of, next_allowed, parted, place_of
from app.mail.schemas import Letter, Place, Text
from app.models import JobKind, MailLink, User
from app.platform import Platform
from app.secret_hashes import hash_of_token
from app.settings import ROOT, Settings
from app.smtp import hand_over

log = structlog.get_logger()


def ask_for(
    session: Session, letter: Letter, *, address: str, user_id: int | None, asked_by: int | None
) -> datetime | None:
    """Have a letter sent to a person once this transaction has committed; returns when, if the limits forbid it now.

    `address` and `asked_by` are what is counted. Without a person nothing is sent, which nobody can tell from the time
    taken. The worker looks for it within seconds.
    """
    wait = next_allowed(letter, queries.requested(session, letter, address, asked_by))
    if wait is not None:
        log.info("mail limit reached", letter=letter.value)
        return wait
    queries.count(session, letter, address, asked_by)
    queue.add(session, JobKind.MAIL, {"letter": letter.value, "user_id": user_id, "fields": {}})
    return None


def tell(session: Session, letter: Letter, *, address: str, **fields: str | int) -> None:
    """Have a letter sent that says what has just been done to an account; every one arrives.

    The address goes with it, because the account may not have it any more.
    """
    queue.add(session, JobKind.MAIL, {"letter": letter.value, "address": address, "fields": fields})


def tell_owner(session: Session, letter: Letter, user: User, **fields: str | int) -> None:
    """Tell the owner of an account what has just been done to it, if the address is known to be theirs."""
    if user.verified_at is not None:
        tell(session, letter, address=user.email, **fields)


def place_of_mail(settings: Settings) -> Place:
    """Where people find their mail."""
    return place_of(settings.smtp_host, settings.address, str(settings.data / "mail"))


def deliver(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Write a letter and hand it over. Raises MailError, so that it is tried again."""
    letter, fields = Letter(payload["letter"]), dict(payload["fields"])
    if "address" in payload:
        _hand_over(platform.settings, letter, payload["address"], fields)
    elif payload["user_id"] is not None:
        _deliver_to_person(platform, letter, payload["user_id"], fields)


def _deliver_to_person(platform: Platform, asked: Letter, user_id: int, fields: dict[str, Any]) -> None:
    with platform.transaction() as session:
        recipient = queries.recipient(session, user_id)
        letter = letter_for(asked, recipient) if recipient else None
        if recipient is None or letter is None:
            return
        address = address_for(asked, recipient)
        if letter in LINKS:
            fields["link"] = _link(session, platform.settings, letter, user_id, address)
    _hand_over(platform.settings, letter, address, fields)


def _link(session: Session, settings: Settings, letter: Letter, user_id: int, address: str) -> str:
    """A new link; its secret is in the mail alone, here is only its hash."""
    token, link = secrets.token_urlsafe(32), LINKS[letter]
    row = MailLink(
        token_hash=hash_of_token(token),
        user_id=user_id,
        purpose=letter.value,
        address=address,
        expires_at=func.now() + link.lifetime,
    )
    queries.add_link(session, row)
    return f"{settings.address}{link.path}/{token}"


def _hand_over(settings: Settings, letter: Letter, address: str, fields: Mapping[str, Any]) -> None:
    text = draw(letter, server=settings.address, passwords=settings.passwords, **fields)
    message = message_of(text, sender=settings.sender, to=address, now=datetime.now(UTC))
    file = hand_over(settings, message)
    log.info("mail sent", letter=letter.value, file=str(file) if file else None)


def draw(letter: Letter, *, server: str, passwords: bool, **fields: Any) -> Text:
    """A letter in words; passwords: whether this server takes them."""
    way_back = f"log in and end all logins at {server}/account/sessions"
    if passwords:
        way_back = f"choose a new password at {server}/forgot-password, which logs out everybody else"
    template = _templates().get_template(f"{letter.value}.txt")
    return parted(template.render(server=server, passwords=passwords, way_back=way_back, **fields))


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(ROOT / "templates" / "mail"),
        autoescape=False,  # noqa: S701 - plain text
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def sweep(platform: Platform) -> None:
    """Forget what no limit counts any more, and links that have expired."""
    with platform.transaction() as session:
        queries.forget(session)
