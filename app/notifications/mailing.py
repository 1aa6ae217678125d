"""Mail about events: one mail per person, kind and ten minutes, sent by one job after another, retried or given up one by one."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any, Final

import structlog
from markupsafe import Markup
from sqlalchemy import ColumnElement, and_, delete, exists, func, select, true, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, aliased

from app.core.errors import NotFoundError
from app.core.paging import RowPage, page_of
from app.core.settings import Settings
from app.jobs import mail, queue
from app.jobs.mail import MailError, MailRejectedError, MailServerError, MailText, message_of, single_line
from app.models import (
    ChallengePage,
    Event,
    Job,
    JobKind,
    MailedNotification,
    Notification,
    NotificationMail,
    User,
)
from app.notifications import choosing, reading
from app.notifications.choosing import Subscription
from app.notifications.kinds import GONE, KINDS, Line
from app.people import sessions
from app.platform import Platform
from app.web.dependencies import render_template
from app.web.markdown import markdown

log = structlog.get_logger()

GAP: Final = timedelta(minutes=10)  # between two mails of a kind to a person
SENDING: Final = timedelta(minutes=5)  # an attempt that takes longer was interrupted
SECONDS: Final = 20.0  # of one job, so that a mail about an account does not wait for long
MOST_EVENTS: Final = 500  # in a mail
MOST_LINES: Final = 50  # of a mail; the rest is on the page
MOST_ATTEMPTS: Final = 8
PAUSES: Final = (
    timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1), timedelta(hours=4), timedelta(hours=12),
)  # fmt: skip
KEY: Final = "mail"  # of the jobs: one at a time sends


@dataclass(frozen=True, slots=True)
class Claimed:
    """A mail that this job is to send. attempts: with this one."""

    id: int
    subscription: Subscription
    attempts: int


def pause_after(attempts: int) -> timedelta:
    """Return how long to wait after so many unsuccessful attempts.

    >>> [pause_after(attempts).total_seconds() / 60 for attempts in (1, 2, 7)]
    [1.0, 10.0, 720.0]
    """
    return PAUSES[min(attempts, len(PAUSES)) - 1]


# what is due


def queue_due(platform: Platform) -> None:
    """Add a job that sends due mail, unless one waits."""
    with platform.transaction() as session:
        if session.scalar(select(_due(platform.settings).exists())):
            pending = select(queue.is_pending(JobKind.NOTIFICATION_MAIL, KEY))
            if not session.scalar(pending):
                queue.add(session, JobKind.NOTIFICATION_MAIL, {}, owner=None, key=KEY)


def _is_waiting() -> ColumnElement[bool]:
    return and_(NotificationMail.sent_at.is_(None), NotificationMail.failed_at.is_(None))


def _due(settings: Settings) -> Any:
    """Select the mail to send next, if the limits allow one now: of all mail in a minute, of a kind to a person in ten."""
    now = func.clock_timestamp()
    other, recent = aliased(NotificationMail), aliased(NotificationMail)
    in_gap = exists().where(
        other.user_id == NotificationMail.user_id,
        other.kind == NotificationMail.kind,
        other.sent_at > now - GAP,
    )
    last = (
        select(recent.id).where(recent.sent_at > now - timedelta(minutes=1)).limit(settings.mails_per_minute)
    )
    sent = select(func.count()).select_from(last.subquery()).scalar_subquery()
    return (
        select(NotificationMail.id)
        .where(_is_waiting(), NotificationMail.due_at <= now, ~in_gap, sent < settings.mails_per_minute)
        .order_by(NotificationMail.due_at, NotificationMail.id)
        .limit(1)
    )


def _claim_next(platform: Platform) -> Claimed | None:
    """Claim the next mail; until `SENDING` has passed, no other job sends it."""
    due = _due(platform.settings).with_for_update(skip_locked=True, of=NotificationMail)
    statement = (
        update(NotificationMail)
        .where(NotificationMail.id == due.scalar_subquery())
        .values(attempts=NotificationMail.attempts + 1, due_at=func.clock_timestamp() + SENDING)
        .returning(
            NotificationMail.id, NotificationMail.user_id, NotificationMail.kind, NotificationMail.attempts
        )
    )
    with platform.transaction() as session:
        row = session.execute(statement).one_or_none()
    return Claimed(row.id, Subscription(row.user_id, row.kind), row.attempts) if row else None


# sending


def send_due(platform: Platform, _payload: Mapping[str, Any]) -> None:
    """Send due mails one after another for some seconds; a sweep adds the job for the rest.

    A worker that is killed after the mail server took a mail and before that was recorded sends that one mail again, with the
    same Message-ID. Raises MailServerError while the server takes none.
    """
    until = time.monotonic() + SECONDS
    while _send_over_one_connection(platform, until):
        pass


def _send_over_one_connection(platform: Platform, until: float) -> bool:
    """Send due mails; return whether the server ended the connection after some of them, as if it wanted a new one."""
    sent = 0
    with mail.outgoing(platform.settings) as send:
        while time.monotonic() < until and (claimed := _claim_next(platform)) is not None:
            try:
                _send_one(platform, claimed, send)
            except MailServerError:
                if not sent:
                    raise
                _set(platform, claimed, due_at=func.clock_timestamp())
                return True
            sent += 1
    return False


def _send_one(platform: Platform, claimed: Claimed, send: Callable[[EmailMessage], object]) -> None:
    try:
        composed = _compose(platform, claimed)
    except SQLAlchemyError:
        raise
    except Exception as error:  # the other mails go on
        log.exception("mail not written", mail=claimed.id)
        _settle(platform, claimed, None, MailError(f"it could not be written: {type(error).__name__}"))
        return
    if composed is None:
        with platform.transaction() as session:
            session.execute(delete(NotificationMail).where(NotificationMail.id == claimed.id))
        return
    try:
        send(composed)
    except MailServerError as error:
        with suppress(SQLAlchemyError):  # the claim expires
            _postpone(platform, claimed, error)
        raise
    except MailError as error:
        _settle(platform, claimed, str(composed["To"]), error)
    else:
        _settle(platform, claimed, str(composed["To"]))
        log.info("mail sent", mail=claimed.id, kind=claimed.subscription.kind.value)


def _postpone(platform: Platform, claimed: Claimed, error: MailError) -> None:
    """Record that the mail server could not be used, which does not count against the mail."""
    due = func.clock_timestamp() + PAUSES[0]
    _set(platform, claimed, due_at=due, attempts=max(1, claimed.attempts - 1), error=str(error))


def _settle(
    platform: Platform, claimed: Claimed, address: str | None, error: MailError | None = None
) -> None:
    """Record how an attempt ended: the mail was sent, or is tried again later, or is given up."""
    now = func.clock_timestamp()
    if error is None:
        _set(platform, claimed, address=address, sent_at=now, error=None)
    elif isinstance(error, MailRejectedError) or claimed.attempts >= MOST_ATTEMPTS:
        log.warning("mail given up", mail=claimed.id, error=str(error))
        _set(platform, claimed, address=address, failed_at=now, error=str(error))
    else:
        due = now + pause_after(claimed.attempts)
        _set(platform, claimed, address=address, due_at=due, error=str(error))


def _set(platform: Platform, claimed: Claimed, **values: Any) -> None:
    with platform.transaction() as session:
        session.execute(update(NotificationMail).where(NotificationMail.id == claimed.id).values(values))


# composing


def _compose(platform: Platform, claimed: Claimed) -> EmailMessage | None:
    """Compose a mail of everything that has joined it; None if nothing is left to tell, or nobody to be told."""
    wanted = claimed.subscription
    with platform.transaction() as session:
        person = sessions.actor_of(session, wanted.user_id)
        if person is None or not person.is_verified or not choosing.is_wanted(session, wanted):
            return None
        chosen = select(MailedNotification.notification_id).where(MailedNotification.mail_id == claimed.id)
        unread = (Notification.id.in_(chosen), Notification.read_at.is_(None))
        rows = reading.told(session, person, *unread, limit=MOST_EVENTS + 1)
        contact = _contact(session, {row.scope.challenge_id for row in rows})
        link = f"{platform.settings.address}/unsubscribe/{choosing.token_of(session, wanted)}"
    lines = [row.line for row in rows if row.line is not GONE]
    if not lines:
        return None
    settings, site = platform.settings, platform.site().name
    headers = {
        "Message-ID": f"<notification-{claimed.id}@{settings.sender.rpartition('@')[2]}>",
        "List-Unsubscribe": f"<{link}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        **({"Reply-To": contact} if contact else {}),
    }
    return message_of(
        content_of(wanted.title, lines, server=settings.address, site=site, unsubscribe=link),
        sender=settings.sender,
        to=person.email,
        now=datetime.now(UTC),
        name=site,
        headers=headers,
    )


def _contact(session: Session, challenges: set[int | None]) -> str | None:
    """Return the organisers' address if a mail is about one challenge."""
    if len(challenges) != 1:
        return None
    return session.scalar(select(ChallengePage.contact).where(ChallengePage.challenge_id.in_(challenges)))


def content_of(title: str, lines: Sequence[Line], *, server: str, site: str, unsubscribe: str) -> MailText:
    """Write subject, text and HTML of a mail from the same lines. title: of their kind; unsubscribe: the link that ends it.

    Lines that say the same are one, with their number.
    """
    different = counted(lines[:MOST_EVENTS])
    shown, has_more = different[:MOST_LINES], len(different) > MOST_LINES or len(lines) > MOST_EVENTS
    subject = single_line(subject_of(title, shown, has_more=has_more))
    texts = {each.line.text for each in shown if each.line.text}
    bodies = {text: _absolute(markdown(text, None, 2), server) for text in texts}
    context = {
        "title": title,
        "subject": subject,
        "lines": shown,
        "bodies": bodies,
        "has_more": has_more,
        "server": server,
        "site_name": site,
        "unsubscribe": unsubscribe,
    }
    text, html = (render_template(f"notifications/mail.{form}", **context) for form in ("txt", "html"))
    return MailText(subject, text, html)


def _absolute(html: Markup, server: str) -> Markup:
    """Let links to pages of this site begin with its address; attributes stand in double quotes."""
    return html.replace('href="/', Markup('href="{}/').format(server))


LONGEST_SUBJECT: Final = 150  # characters


@dataclass(frozen=True, slots=True)
class Counted:
    """A line of a mail, and how many events say the same."""

    line: Line
    count: int

    @property
    def words(self) -> str:
        """The sentence, with how often it happened if that is more than once.

        >>> Counted(Line("VOC2012, test opened"), 3).words
        'VOC2012, test opened (3 times)'
        """
        return f"{self.line.sentence} ({self.count} times)" if self.count > 1 else self.line.sentence

    @property
    def ended(self) -> str:
        """The words with a full stop where they need one."""
        return replace(self.line, sentence=self.words).ended


def counted(lines: Iterable[Line]) -> tuple[Counted, ...]:
    """Count equal lines, each at the place of the first.

    >>> [each.count for each in counted([Line("a"), Line("b"), Line("a")])]
    [2, 1]
    """
    return tuple(Counted(line, count) for line, count in Counter(lines).items())


def subject_of(title: str, lines: Sequence[Counted], *, has_more: bool = False) -> str:
    """Return the subject of a mail: what its only event says, or the title of its kind with their number.

    >>> subject_of("A phase opened", [Counted(Line("VOC2012, test opened"), 1)])
    'VOC2012, test opened'
    >>> subject_of("A phase opened", [Counted(Line("a"), 2), Counted(Line("b"), 1)], has_more=True)
    'A phase opened (3+)'
    """
    if len(lines) > 1 or has_more:
        return f"{title} ({sum(each.count for each in lines)}{'+' if has_more else ''})"
    words = lines[0].words
    return words if len(words) <= LONGEST_SUBJECT else f"{words[: LONGEST_SUBJECT - 1]}…"


# what could not be sent


@dataclass(frozen=True, slots=True)
class FailedMail:
    """A mail that was given up."""

    title: str  # of its kind
    id: int
    user_id: int
    name: str
    address: str  # empty if it could not be written
    attempts: int
    error: str
    failed_at: datetime


PAGE: Final = 100  # mails
RECENT: Final = timedelta(days=7)
TROUBLE: Final = timedelta(minutes=10)  # for which the mail server may be away before anybody is told


def failed_mails(platform: Platform, before: int | None = None) -> RowPage[FailedMail]:
    """Return a page of the mails that were given up, newest first. before: the last of the previous page."""
    statement = (
        select(NotificationMail, User.name)
        .join(User, User.id == NotificationMail.user_id)
        .where(NotificationMail.failed_at.is_not(None), NotificationMail.id < before if before else true())
        .order_by(NotificationMail.id.desc())
        .limit(PAGE + 1)
    )
    with platform.transaction() as session:
        found = [
            FailedMail(
                title=KINDS[mail.kind].title,
                id=mail.id,
                user_id=mail.user_id,
                name=name,
                address=mail.address or "",
                attempts=mail.attempts,
                error=mail.error or "",
                failed_at=mail.failed_at or mail.created_at,
            )
            for mail, name in session.execute(statement)
        ]
    return page_of(found, PAGE, number=lambda mail: mail.id)


def resend(platform: Platform, mail_id: int | None = None) -> None:
    """Send a mail again that was given up, or all of them, to the address that the person has now. Raises NotFoundError."""
    failed = NotificationMail.failed_at.is_not(None)
    statement = (
        update(NotificationMail)
        .where(failed, NotificationMail.id == mail_id if mail_id is not None else true())
        .values(failed_at=None, attempts=1, due_at=func.clock_timestamp())
        .returning(NotificationMail.id)
    )
    with platform.transaction() as session:
        found = session.scalars(statement, execution_options={"synchronize_session": False}).all()
    if mail_id is not None and not found:
        raise NotFoundError(f"no mail {mail_id} was given up")


def failures_by_challenge(session: Session) -> dict[int, int]:
    """Return to how many people mail about each challenge could not be delivered in the last week."""
    statement = (
        select(Event.challenge_id, func.count(NotificationMail.user_id.distinct()))
        .join(Notification, Notification.event_id == Event.id)
        .join(MailedNotification, MailedNotification.notification_id == Notification.id)
        .join(NotificationMail, NotificationMail.id == MailedNotification.mail_id)
        .where(NotificationMail.failed_at > func.now() - RECENT, Event.challenge_id.is_not(None))
        .group_by(Event.challenge_id)
    )
    return {challenge_id: count for challenge_id, count in session.execute(statement) if challenge_id}


def trouble(session: Session) -> str | None:
    """Return why no mail at all could be sent for a while; None if mail is sent."""
    waits = (
        Job.kind.in_((JobKind.MAIL, JobKind.NOTIFICATION_MAIL)),
        Job.dead_at.is_(None),
        Job.postponements > 0,
    )
    late = Job.queued_at < func.clock_timestamp() - TROUBLE
    error = session.scalar(select(Job.error).where(*waits, late).order_by(Job.id).limit(1))
    return error.partition(": ")[2] or error if error else None  # without the type of the exception


def current_trouble(platform: Platform) -> str | None:
    """Return why no mail at all could be sent for a while, for admins."""
    with platform.transaction() as session:
        return trouble(session)
