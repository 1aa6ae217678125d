"""What admins are told of: little disk space, an old backup, workers that are away, mail that cannot be sent."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from socket import gethostname
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.jobs import events, heartbeats
from app.models import EventKind, User
from app.notifications import mailing
from app.operations.metrics import disks
from app.platform import Platform

EVERY: Final = timedelta(minutes=5)
FULL: Final = 0.1  # of a disk is free
OLD: Final = timedelta(days=7)  # for a backup
AWAY: Final = timedelta(minutes=10)  # for a worker


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that admins are told of once. occurrence: what tells it from the next one."""

    kind: EventKind
    occurrence: str
    details: dict[str, Any]


def record_alarms(platform: Platform) -> None:
    """Record for admins what needs their attention: each occurrence once, what lasts once a day, an old backup once a week."""
    with platform.transaction() as session:
        found = [*_standstill(session)]
        if heartbeats.start_if_due(session, "alarms", EVERY):
            now = challenges.now(session)
            found += (*_lost_workers(session), *_old_backup(session, now), *_mail(session, now))
            found += _full_disks(platform, now)
        for alarm in found:
            key = f"{alarm.kind}/{alarm.occurrence}"
            events.record_once(session, key, alarm.kind, **alarm.details)


def _standstill(session: Session) -> Iterator[Alarm]:
    """Yield the time for which nobody swept, which is known only afterwards: this sweep is the first that could tell."""
    age = heartbeats.last_sweep_age(session)
    if age is not None and age > AWAY:
        now = challenges.now(session)
        since = (now - age).replace(microsecond=0)
        yield Alarm(
            EventKind.WORKER_AWAY,
            since.isoformat(),
            {"since": since.isoformat(), "until": now.isoformat()},
        )


def _lost_workers(session: Session) -> Iterator[Alarm]:
    for host, seen in heartbeats.lost_workers(session, AWAY).items():
        since = seen.isoformat()
        yield Alarm(EventKind.WORKER_AWAY, f"{host}/{since}", {"host": host, "since": since})


def _old_backup(session: Session, now: datetime) -> Iterator[Alarm]:
    """Yield an alarm if the last backup is old, or the first account if there is no backup at all."""
    last = heartbeats.last_backup_at(session)
    since = last or session.scalar(select(func.min(User.created_at)))
    if since is not None and now - since > OLD:
        yield Alarm(EventKind.BACKUP_OLD, f"{now:%G-%V}", {"last": last.isoformat() if last else None})


def _mail(session: Session, now: datetime) -> Iterator[Alarm]:
    if error := mailing.trouble(session):
        yield Alarm(EventKind.MAIL_FAILS, now.date().isoformat(), {"error": error})


def _full_disks(platform: Platform, now: datetime) -> Iterator[Alarm]:
    """Yield the disks of this machine that are nearly full."""
    host = gethostname()
    for place, (free, total) in disks(platform).items():
        if free < FULL * total:
            details = {"host": host, "place": place, "free": free, "total": total}
            yield Alarm(EventKind.STORAGE_LOW, f"{host}/{place}/{now.date()}", details)
