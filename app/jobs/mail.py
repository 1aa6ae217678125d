"""Mail: requested in a transaction, rendered and sent by a worker, rate-limited."""

import hashlib
import os
import secrets
import smtplib
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from enum import StrEnum
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import ColumnElement, delete, exists, func, select
from sqlalchemy.orm import Session, aliased

from app.core.secret_hashes import hash_of_token
from app.core.settings import ROOT, MailEncryption, Settings
from app.core.site import NAME
from app.jobs import queue
from app.models import JobKind, MailLink, MailRequest, User
from app.platform import Platform

log = structlog.get_logger()

TIMEOUT = 20  # seconds, for each response of the mail server
MAX_FILES = 1000  # messages kept in the mail folder


class MailError(Exception):
    """A message could not be sent now; says why, without personal data."""


class MailRejectedError(MailError):
    """The mail server rejected a message for good, so that sending it again is no use."""


class MailServerError(MailError, ConnectionError):
    """The mail server, or the folder in its place, cannot be used at the moment, whatever the message."""


def hand_to_server(settings: Settings, message: EmailMessage) -> Path | None:
    """Send a message to its only recipient; without a mail server, write it to a file and return its path.

    Raises MailError, so that it is retried.
    """
    with outgoing(settings) as send:
        return send(message)


@contextmanager
def outgoing(settings: Settings) -> Iterator[Callable[[EmailMessage], Path | None]]:
    """Connect to the mail server, if there is one, and yield what sends a message as `hand_to_server` does.

    Raises MailServerError. What it yields raises MailRejectedError, MailServerError after which the connection is lost, and
    MailError for any other refusal.
    """
    if settings.smtp_host is None:
        yield partial(_write_or_raise, settings.data / "mail")
        return
    with _connected(settings, settings.smtp_host) as server:
        yield partial(_send, settings, server)


def check_connection(settings: Settings) -> None:
    """Log in to the mail server, if there is one, without sending anything.

    Raises MailServerError.
    """
    if settings.smtp_host is not None:
        with _connected(settings, settings.smtp_host) as server, _server_errors(settings.smtp_host):
            server.noop()


@contextmanager
def _connected(settings: Settings, host: str) -> Iterator[smtplib.SMTP]:
    """Connect to the mail server, with encryption and login as set."""
    with _server_errors(host):
        server = _connect(settings, host)
    try:
        yield server
    finally:
        with suppress(smtplib.SMTPException, OSError):  # what was sent is sent
            server.quit()


def _connect(settings: Settings, host: str) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if settings.smtp_tls is MailEncryption.TLS:
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, settings.smtp_port, timeout=TIMEOUT, context=context)
    else:
        server = smtplib.SMTP(host, settings.smtp_port, timeout=TIMEOUT)
    try:
        if settings.smtp_tls is MailEncryption.STARTTLS:
            server.starttls(context=context)
        if settings.smtp_user and settings.smtp_password:
            server.login(settings.smtp_user, settings.smtp_password)
    except BaseException:
        server.close()
        raise
    return server


@contextmanager
def _server_errors(host: str) -> Iterator[None]:
    try:
        yield
    except smtplib.SMTPException as error:
        message = f"the mail server refused a connection: {type(error).__name__} {_code(error)}"
        raise MailServerError(message) from None
    except OSError as error:
        raise _unusable(host, error) from None


def _unusable(where: str, error: OSError) -> MailServerError:
    return MailServerError(f"{where} cannot be used: {error.strerror or type(error).__name__}")


def _send(settings: Settings, server: smtplib.SMTP, message: EmailMessage) -> None:
    try:
        server.send_message(message, settings.sender, [str(message["To"])])
    except smtplib.SMTPException as error:
        raise _error_of(error) from None
    except OSError as error:
        raise _unusable(str(settings.smtp_host), error) from None


def _error_of(error: smtplib.SMTPException) -> MailError:
    """Return what a refusal means: 5xx for a recipient or a text is final, all about the sender or the session is not."""
    code = _code(error)
    message = f"the mail server refused a message: {type(error).__name__} {code}"
    match error:
        case smtplib.SMTPRecipientsRefused() | smtplib.SMTPDataError():
            return MailRejectedError(message) if code.startswith("5") else MailError(message)
    return MailServerError(message)


def _code(error: smtplib.SMTPException) -> str:
    """The status codes in an SMTP error; its text may contain the address."""
    if isinstance(error, smtplib.SMTPResponseException):
        return str(error.smtp_code)
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return ", ".join(str(code) for code, _ in error.recipients.values())
    return ""


def _write_or_raise(folder: Path, message: EmailMessage) -> Path:
    try:
        return _write(folder, message)
    except OSError as error:
        raise _unusable("the mail folder", error) from None


def _write(folder: Path, message: EmailMessage) -> Path:
    """Write a message to a folder that only this user can read, and delete the oldest ones."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in sorted(folder.glob("*.eml"))[: -MAX_FILES + 1]:
        old.unlink(missing_ok=True)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    for number in count():
        path = folder / f"{moment}-{number}.eml"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # another process, in the same microsecond
            continue
        with os.fdopen(file, "wb") as stream:
            stream.write(message.as_bytes())
        return path
    raise AssertionError("unreachable")


class MailTemplate(StrEnum):
    """A kind of mail; its text is `templates/mail/<value>.txt`."""

    CONFIRM_ADDRESS = "confirm-address"
    ALREADY_REGISTERED = "already-registered"
    RESET_PASSWORD = "reset-password"  # noqa: S105 - the name of a template
    LOGIN_LINK = "login-link"
    CONFIRM_NEW_ADDRESS = "confirm-new-address"
    ADDRESS_CHANGED = "address-changed"
    PASSWORD_CHANGED = "password-changed"  # noqa: S105 - the name of a template
    SECOND_FACTOR_ON = "second-factor-on"
    SECOND_FACTOR_OFF = "second-factor-off"
    RECOVERY_CODES_RENEWED = "recovery-codes-renewed"
    RECOVERY_CODE_USED = "recovery-code-used"
    TOKEN_CREATED = "token-created"  # noqa: S105 - the name of a template
    PROVIDER_LINKED = "provider-linked"
    PROVIDER_UNLINKED = "provider-unlinked"
    NEW_BROWSER = "new-browser"
    ACCOUNT_DELETED = "account-deleted"
    TRIAL = "trial"
    CREATION_ASKED = "creation-asked"
    CREATION_APPROVED = "creation-approved"
    CREATION_REFUSED = "creation-refused"
    ROLE_INVITATION = "role-invitation"


@dataclass(frozen=True, slots=True)
class Link:
    """The page that the link in a mail leads to, and how long it is valid."""

    path: str
    lifetime: timedelta


@dataclass(frozen=True, slots=True)
class MailLimit:
    """At most `count` mails within `window`."""

    count: int
    window: timedelta


@dataclass(frozen=True, slots=True)
class RecentRequests:
    """Mail requests of the last day: for this kind and address, by this person, and by everyone in the last hour."""

    now: datetime
    to_address: tuple[datetime, ...]  # oldest first
    by_person: tuple[datetime, ...]
    last_hour: int


@dataclass(frozen=True, slots=True)
class Recipient:
    """The properties of a person that decide which mail is sent, and to which address."""

    user_id: int
    address: str
    new_address: str | None  # not confirmed yet
    is_verified: bool
    is_taken: bool  # another account has confirmed the address


@dataclass(frozen=True, slots=True)
class MailText:
    """Subject and body of a mail. html: the same body as HTML, if there is one."""

    subject: str
    body: str
    html: str = ""


@dataclass(frozen=True, slots=True)
class MailLocation:
    """Where people find their mail: in their mailbox, or in a folder of this machine."""

    is_sent: bool
    folder: str | None = None


DAY = timedelta(days=1)
NO_HEADERS: Mapping[str, str] = {}
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
# mails of one kind to one address, whoever requests them; all links of the last day work, so no one can be locked out
TO_ADDRESS = (MailLimit(3, timedelta(hours=1)), MailLimit(5, DAY))
# a login link is valid for 15 minutes, and the next may be sent after ten, so requests by strangers never leave an owner
# without a working link; with a daily limit they could
TO_ADDRESS_OF: Mapping[MailTemplate, tuple[MailLimit, ...]] = {
    MailTemplate.LOGIN_LINK: (MailLimit(1, timedelta(minutes=10)),)
}
BY_PERSON = (MailLimit(20, DAY),)
PER_HOUR = 500  # by the whole installation

LINKS: Mapping[MailTemplate, Link] = {
    MailTemplate.CONFIRM_ADDRESS: Link("/confirm-address", timedelta(days=7)),
    MailTemplate.CONFIRM_NEW_ADDRESS: Link("/confirm-address", timedelta(days=7)),
    MailTemplate.RESET_PASSWORD: Link("/reset-password", DAY),
    MailTemplate.LOGIN_LINK: Link("/login-link", timedelta(minutes=15)),
}
# lines may have up to 998 characters, so links are not broken; with 7 bits, every server accepts names in any alphabet
POLICY = SMTP.clone(max_line_length=998, cte_type="7bit")


def next_allowed(letter: MailTemplate, requested: RecentRequests) -> datetime | None:
    """Return when one more mail of this kind may be sent; None if it may be sent now."""
    times = [
        *_waits(requested.now, requested.to_address, TO_ADDRESS_OF.get(letter, TO_ADDRESS)),
        *_waits(requested.now, requested.by_person, BY_PERSON),
    ]
    if requested.last_hour >= PER_HOUR:
        times.append(requested.now + timedelta(hours=1))
    return max(times, default=None)


def _waits(now: datetime, times: Sequence[datetime], limits: Sequence[MailLimit]) -> list[datetime]:
    """Return when each of the reached limits next allows a mail."""
    waits = []
    for limit in limits:
        recent = sorted(time for time in times if time > now - limit.window)
        if len(recent) >= limit.count:
            waits.append(recent[-limit.count] + limit.window)
    return waits


def mail_location_of(mail_server: str | None, address: str, folder: str) -> MailLocation:
    """Return where people find their mail; the folder is shown only if the server is used on its own machine.

    >>> mail_location_of(None, "http://127.0.0.1:8000", "/home/ash/heldout-data/mail").folder
    '/home/ash/heldout-data/mail'
    >>> mail_location_of(None, "https://voc.example", "/srv/heldout/mail")
    MailLocation(is_sent=False, folder=None)
    """
    is_here = urlsplit(address).hostname in LOOPBACK
    return MailLocation(mail_server is not None, folder if is_here and mail_server is None else None)


def template_for(letter: MailTemplate, recipient: Recipient) -> MailTemplate | None:
    """Return the mail that is actually sent: a hint instead of a link if another account has confirmed the address.

    None if the mail is no longer needed.
    """
    match letter:
        case MailTemplate.CONFIRM_ADDRESS if recipient.is_verified:
            return None
        case MailTemplate.CONFIRM_NEW_ADDRESS if recipient.new_address is None:
            return None
        case MailTemplate.CONFIRM_ADDRESS | MailTemplate.CONFIRM_NEW_ADDRESS if recipient.is_taken:
            return MailTemplate.ALREADY_REGISTERED
    return letter


def address_for(letter: MailTemplate, recipient: Recipient) -> str:
    """Return the address of a person to which a mail goes."""
    if letter is MailTemplate.CONFIRM_NEW_ADDRESS and recipient.new_address is not None:
        return recipient.new_address
    return recipient.address


def split_subject(text: str) -> MailText:
    r"""Split a rendered template into the subject, which is in its first line, and the body.

    >>> text = split_subject("Subject: Confirm\n\nHello,\n")
    >>> text.subject, text.body
    ('Confirm', 'Hello,\n')
    """
    head, _, body = text.partition("\n")
    return MailText(single_line(head.removeprefix("Subject:")), body.lstrip("\n"))


def single_line(text: str) -> str:
    """Collapse white space and control characters to single spaces, so that the text is safe in a header."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def message_of(
    text: MailText,
    *,
    sender: str,
    to: str,
    now: datetime,
    name: str = NAME,
    headers: Mapping[str, str] = NO_HEADERS,
) -> EmailMessage:
    """Create a message to exactly one address. name: of the site; headers: further ones. Raises ValueError if it is invalid."""
    local, _, domain = to.rpartition("@")
    message = EmailMessage(policy=POLICY)
    message["From"] = Address(single_line(name), addr_spec=sender)
    message["To"] = Address(username=local, domain=domain)
    message["Subject"] = text.subject
    message["Date"] = format_datetime(now)
    if "Message-ID" not in headers:
        message["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"  # suppresses out-of-office replies
    for header, value in headers.items():
        message[header] = value
    message.set_content(text.body)
    if text.html:
        message.add_alternative(text.html, subtype="html")
    return message


def hash_of_address(address: str) -> bytes:
    """Return the hash under which requests for an address are counted."""
    return hashlib.sha256(address.encode()).digest()


def requested(session: Session, letter: MailTemplate, address: str, user_id: int | None) -> RecentRequests:
    """Return the requests of the last day, and lock this address until the end of the transaction."""
    hashed = hash_of_address(address)
    session.execute(select(func.pg_advisory_xact_lock(int.from_bytes(hashed[:8], signed=True))))
    now = session.execute(select(func.clock_timestamp())).scalar_one()
    of_address = (MailRequest.address_hash == hashed, MailRequest.letter == letter.value)
    of_person = () if user_id is None else _times(session, now, MailRequest.user_id == user_id)
    hour = select(func.count()).where(MailRequest.at > now - timedelta(hours=1))
    return RecentRequests(now, _times(session, now, *of_address), of_person, session.scalar(hour) or 0)


def _times(session: Session, now: datetime, *conditions: ColumnElement[bool]) -> tuple[datetime, ...]:
    recent = select(MailRequest.at).where(*conditions, MailRequest.at > now - DAY).order_by(MailRequest.at)
    return tuple(session.scalars(recent))


def count_request(session: Session, letter: MailTemplate, address: str, user_id: int | None) -> None:
    """Record a request for a mail."""
    row = MailRequest(
        at=func.clock_timestamp(), letter=letter.value, address_hash=hash_of_address(address), user_id=user_id
    )
    session.add(row)


def find_recipient(session: Session, user_id: int) -> Recipient | None:
    """Return a person as a recipient of mail; None if the account was deleted."""
    other = aliased(User)
    is_taken = exists().where(
        other.email == func.coalesce(User.new_email, User.email),
        other.verified_at.is_not(None),
        other.id != User.id,
    )
    statement = select(User.id, User.email, User.new_email, User.verified_at.is_not(None), is_taken).where(
        User.id == user_id, User.deleted_at.is_(None)
    )
    row = session.execute(statement).one_or_none()
    return Recipient(*row) if row else None


def add_link(session: Session, link: MailLink) -> None:
    """Store a link that is about to be mailed."""
    session.add(link)


def link_of(session: Session, token_hash: bytes, purposes: Collection[str]) -> MailLink | None:
    """Return a valid link, locked until the end of the transaction."""
    statement = select(MailLink).where(
        MailLink.token_hash == token_hash,
        MailLink.purpose.in_([str(purpose) for purpose in purposes]),
        MailLink.expires_at > func.now(),
    )
    return session.scalar(statement.with_for_update())


def revoke_links(session: Session, user_id: int, purpose: MailTemplate | None = None) -> None:
    """Invalidate all links that were mailed to this person, or only those for one purpose."""
    dropped = delete(MailLink).where(MailLink.user_id == user_id)
    if purpose is not None:
        dropped = dropped.where(MailLink.purpose == purpose.value)
    session.execute(dropped)


def delete_expired(session: Session) -> None:
    """Delete requests that no longer count towards a limit, and expired links."""
    session.execute(delete(MailRequest).where(MailRequest.at < func.now() - DAY))
    session.execute(delete(MailLink).where(MailLink.expires_at < func.now()))


def request_mail(
    session: Session, letter: MailTemplate, *, address: str, user_id: int | None, asked_by: int | None
) -> datetime | None:
    """Queue a mail to a person, to be sent after this transaction; if limits forbid it, return when it is allowed.

    The limits count `address` and `asked_by`. Without `user_id` nothing is sent, but the request takes the same time, so
    that it does not reveal whether an account exists. A worker sends the mail within seconds.
    """
    wait = next_allowed(letter, requested(session, letter, address, asked_by))
    if wait is not None:
        log.info("mail limit reached", letter=letter.value)
        return wait
    count_request(session, letter, address, asked_by)
    owner = f"person {asked_by}" if asked_by else None
    queue.add(session, JobKind.MAIL, {"letter": letter.value, "user_id": user_id, "fields": {}}, owner=owner)
    return None


def notify(session: Session, letter: MailTemplate, *, address: str, **fields: str | int) -> None:
    """Queue a notification about a change to an account; no limit applies.

    `address` is part of the job, because the account may no longer have it.
    """
    payload = {"letter": letter.value, "address": address, "fields": fields}
    queue.add(session, JobKind.MAIL, payload, owner=None)


def notify_owner(session: Session, letter: MailTemplate, user: User, **fields: str | int) -> None:
    """Notify the owner of an account about a change to it, if the address is confirmed."""
    if user.verified_at is not None:
        notify(session, letter, address=user.email, **fields)


def mail_location(settings: Settings) -> MailLocation:
    """Return where people find their mail."""
    return mail_location_of(settings.smtp_host, settings.address, str(settings.data / "mail"))


def deliver(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Render and send a mail. Raises MailError, so that it is retried."""
    letter, fields = MailTemplate(payload["letter"]), dict(payload["fields"])
    if "address" in payload:
        _hand_over(platform, letter, payload["address"], fields)
    elif payload["user_id"] is not None:
        _deliver_to_person(platform, letter, payload["user_id"], fields)


def _deliver_to_person(platform: Platform, asked: MailTemplate, user_id: int, fields: dict[str, Any]) -> None:
    with platform.transaction() as session:
        recipient = find_recipient(session, user_id)
        letter = template_for(asked, recipient) if recipient else None
        if recipient is None or letter is None:
            return
        address = address_for(asked, recipient)
        if letter in LINKS:
            fields["link"] = _link(session, platform.settings, letter, user_id, address)
    _hand_over(platform, letter, address, fields)


def _link(session: Session, settings: Settings, letter: MailTemplate, user_id: int, address: str) -> str:
    """Create a link; its secret is only in the mail, the database has its hash."""
    token, link = secrets.token_urlsafe(32), LINKS[letter]
    row = MailLink(
        token_hash=hash_of_token(token),
        user_id=user_id,
        purpose=letter.value,
        address=address,
        expires_at=func.now() + link.lifetime,
    )
    add_link(session, row)
    return f"{settings.address}{link.path}/{token}"


def _hand_over(platform: Platform, letter: MailTemplate, address: str, fields: Mapping[str, Any]) -> None:
    settings = platform.settings
    text = render_mail(letter, server=settings.address, passwords=settings.passwords, **fields)
    message = message_of(
        text, sender=settings.sender, to=address, now=datetime.now(UTC), name=platform.site().name
    )
    file = hand_to_server(settings, message)
    log.info("mail sent", letter=letter.value, file=str(file) if file else None)


def render_mail(letter: MailTemplate, *, server: str, passwords: bool, **fields: Any) -> MailText:
    """Render a mail; passwords: whether this server uses them."""
    way_back = f"log in and end all logins at {server}/account/sessions"
    if passwords:
        way_back = f"choose a new password at {server}/forgot-password, which logs out everybody else"
    template = _templates().get_template(f"{letter.value}.txt")
    return split_subject(template.render(server=server, passwords=passwords, way_back=way_back, **fields))


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


def delete_expired_requests(platform: Platform) -> None:
    """Delete requests that no longer count towards a limit, and expired links."""
    with platform.transaction() as session:
        delete_expired(session)
