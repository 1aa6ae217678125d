"""A test of mail: an admin sends a message to themselves and sees what became of it, and what mail lacks."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from sqlalchemy import func, select

from app.core.access import Actor
from app.core.settings import LOOPBACK, Settings
from app.jobs import mail, queue
from app.jobs.mail import MailTemplate
from app.models import Job, JobKind, MailRequest
from app.operations import administration
from app.platform import Platform


@dataclass(frozen=True, slots=True)
class TrialMail:
    """The last test of an admin within a day, and what mail lacks.

    error: of the last attempt to send it, which is repeated.
    """

    address: str
    asked_at: datetime | None
    is_waiting: bool
    error: str | None
    place: mail.MailLocation
    lacks: tuple[str, ...]


def view(platform: Platform, actor: Actor) -> TrialMail:
    """Return what became of this person's last test."""
    asked = select(func.max(MailRequest.at)).where(
        MailRequest.letter == MailTemplate.TRIAL.value, MailRequest.user_id == actor.user_id
    )
    with platform.transaction() as session:
        asked_at = session.scalar(asked)
        waiting = session.scalars(
            select(Job)
            .where(Job.kind == JobKind.MAIL, Job.key == _key(actor))
            .order_by(Job.id.desc())
            .limit(1)
        ).one_or_none()
    return TrialMail(
        actor.email,
        asked_at,
        waiting is not None,
        waiting.error if waiting else None,
        mail.mail_location(platform.settings),
        tuple(_lacks(platform.settings, has_sender=bool(administration.alive_senders(platform)))),
    )


def _key(actor: Actor) -> str:
    return f"trial {actor.user_id}"


def _lacks(settings: Settings, *, has_sender: bool) -> list[str]:
    found = []
    if settings.smtp_host is None:
        found.append(
            "HELDOUT_SMTP_HOST names no mail server, so mail is written to a folder and nobody gets it."
        )
    if urlsplit(settings.address).hostname in LOOPBACK:
        found.append(
            f"Links in mail begin with {settings.address}, which works on this machine only; set HELDOUT_PUBLIC_URL."
        )
    if not has_sender:
        found.append("No sender is alive. Mail waits until one is.")
    return found


def send(platform: Platform, actor: Actor) -> datetime | None:
    """Send this person a message. Return when that will be possible if a limit forbids it now."""
    with platform.transaction() as session:
        before = mail.requested(session, MailTemplate.TRIAL, actor.email, actor.user_id)
        wait = mail.next_allowed(MailTemplate.TRIAL, before)
        if wait is None:
            mail.count_request(session, MailTemplate.TRIAL, actor.email, actor.user_id)
            payload = {"letter": MailTemplate.TRIAL.value, "address": actor.email, "fields": {}}
            queue.add(session, JobKind.MAIL, payload, owner=f"person {actor.user_id}", key=_key(actor))
    return wait
