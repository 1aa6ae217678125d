"""What the first page of admins says: the health of the installation, its queue, its disks, and what its other pages have waiting."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.core.access import TRIED
from app.jobs import heartbeats, mail
from app.jobs.queue import is_held, is_waiting
from app.models import Challenge, Job, NotificationMail, Queue, Run, RunState, User
from app.notifications import mailing
from app.operations import notices
from app.operations.alarms import OLD
from app.operations.metrics import disks
from app.operations.storage import count_damaged
from app.platform import Platform

HOURS: Final = 24
MOST_COUNTED: Final = 10_000  # of what may be many


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk of this machine. places: what is on it."""

    places: tuple[str, ...]
    free: int
    total: int


@dataclass(frozen=True, slots=True)
class AdministrationIndex:
    """The state of an installation in a few numbers. scored_by_hour: runs, the hour that ended last at the end."""

    workers: int
    senders: int
    last_backup_at: datetime | None
    is_backup_old: bool
    dead_jobs: int
    waiting: int
    scored_by_hour: tuple[int, ...]
    disks: tuple[Disk, ...]
    damaged: int
    people: int
    challenges: int
    has_mail_server: bool
    mail_trouble: str | None
    undelivered: int
    notices: int  # that are shown or scheduled


def administration_index(platform: Platform) -> AdministrationIndex:
    """Read the state of the installation."""
    with platform.transaction() as session:
        now = challenges.now(session)
        backup = heartbeats.last_backup_at(session)
        return AdministrationIndex(
            workers=heartbeats.alive_workers(session),
            senders=heartbeats.alive_senders(session),
            last_backup_at=backup,
            is_backup_old=backup is not None and now - backup > OLD,
            dead_jobs=_count(session, select(Job.id).where(Job.dead_at.is_not(None))),
            waiting=_count(session, select(Job.id).where(Job.queue == Queue.RUNS, is_waiting(), ~is_held())),
            scored_by_hour=_scored_by_hour(session, now),
            disks=by_disk(disks(platform)),
            damaged=count_damaged(session),
            people=_count(session, select(User.id).where(User.deleted_at.is_(None))),
            challenges=_count(session, select(Challenge.id).where(Challenge.code != TRIED)),
            has_mail_server=mail.mail_location(platform.settings).is_sent,
            mail_trouble=mailing.trouble(session),
            undelivered=_count(
                session, select(NotificationMail.id).where(NotificationMail.failed_at.is_not(None))
            ),
            notices=len(notices.current(session)),
        )


def _count(session: Session, rows: Select[int]) -> int:
    return session.scalar(select(func.count()).select_from(rows.limit(MOST_COUNTED).subquery())) or 0


def _scored_by_hour(session: Session, now: datetime) -> tuple[int, ...]:
    ago = func.floor(func.extract("epoch", now - Run.finished_at) / 3600).label("ago")
    recent = (
        Run.state == RunState.SCORED,
        Run.finished_at > now - timedelta(hours=HOURS),
        Run.finished_at <= now,
    )
    rows = session.execute(select(ago, func.count()).where(*recent).group_by(ago))
    counts = {int(hours): count for hours, count in rows}
    return tuple(counts.get(hours, 0) for hours in reversed(range(HOURS)))


PLACES: Final = {"scratch": "temporary files"}


def by_disk(usage: Mapping[str, tuple[int, int]]) -> tuple[Disk, ...]:
    """Return each disk once, with all that is on it: places on disks of the same size to the byte are on the same one.

    >>> by_disk({"scratch": (1, 8), "database": (3, 9), "storage": (2, 9)})[1]
    Disk(places=('database', 'storage'), free=2, total=9)
    """
    on_disk: dict[int, list[str]] = {}
    for place, (_, total) in usage.items():
        on_disk.setdefault(total, []).append(place)
    return tuple(
        Disk(
            tuple(PLACES.get(place, place) for place in places),
            min(usage[place][0] for place in places),
            total,
        )
        for total, places in on_disk.items()
    )
