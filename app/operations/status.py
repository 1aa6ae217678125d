"""The public state of the service: what each web process saw when it last looked, so that pages wait for nothing.

A process looks every few seconds, each part with a time limit. While the database is away, pages show the last known numbers
and say how old they are.
"""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from typing import Final

import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.site import ServiceLine
from app.jobs import heartbeats, outages
from app.jobs.places import expected_wait, soon, typical_run_seconds
from app.jobs.queue import is_held, is_waiting
from app.models import Job, Outage, Queue, Run, RunState, ServicePart, User
from app.operations import health, notices
from app.operations.notices import NoticeView
from app.platform import Platform
from app.web.formats import plural

log = structlog.get_logger()

EVERY: Final = 5.0  # seconds between two looks
STALE: Final = 20.0  # seconds after which a request looks itself
MOST_WAITING: Final = 10_000  # runs that are counted
HISTORY: Final = timedelta(days=30)  # of outages
LISTED: Final = 20  # outages
MOST_OUTAGES: Final = 2000  # that are read for the days


@dataclass(frozen=True, slots=True)
class OutageView:
    """A time in which a part of the service was not available."""

    part: ServicePart
    started_at: datetime
    ended_at: datetime

    @property
    def minutes(self) -> int:
        """How long it took, rounded up."""
        return math.ceil((self.ended_at - self.started_at) / timedelta(minutes=1))


@dataclass(frozen=True, slots=True)
class DayView:
    """A day in UTC, and for how many minutes of it parts were not available. is_known: whether the server existed."""

    day: date
    uploads: int
    scoring: int
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the database said when it was asked last. last_scored_at: to the minute."""

    read_at: datetime
    workers: int  # that are alive
    waiting: int  # submissions, and results that are scored again
    wait_minutes: int | None  # until a new submission is scored; None if that is not known
    last_scored_at: datetime | None
    notices: tuple[NoticeView, ...]
    outages: tuple[OutageView, ...]  # the latest first
    senders: int = 1  # that are alive
    days: tuple[DayView, ...] = ()  # the last of `HISTORY`, today included

    @property
    def soon(self) -> str:
        """When a new submission is scored, in words; empty if that is not known."""
        return soon(60 * self.wait_minutes) if self.wait_minutes else ""


@dataclass(frozen=True, slots=True)
class PartStatus:
    """Whether a part of the service works; problem: why not; since: when it was last seen to work, to the minute."""

    works: bool
    problem: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the service. numbers: None if the database never answered; they are older while it is away."""

    checked_at: datetime
    uploads: PartStatus
    scoring: PartStatus
    numbers: Numbers | None

    @property
    def is_known(self) -> bool:
        """Whether anything is known but that the database does not answer."""
        return self.numbers is not None

    @property
    def notice(self) -> NoticeView | None:
        """The notice that is shown on every page: the latest that is in force."""
        found = self.numbers.notices if self.numbers else ()
        return next((each for each in reversed(found) if each.state(self.checked_at) == "shown"), None)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a process saw. problems: by what is missing, such as "database"."""

    at: datetime
    problems: dict[str, str]
    broker: bool
    numbers: Numbers | None


def line_of(status: Status) -> ServiceLine:
    """Return what every page says of the state of the service, or the notice that is in force."""
    line = state_of(status)
    if line.look == "done" and status.notice:
        return ServiceLine("attention", status.notice.title, line.details)
    return line


def state_of(status: Status) -> ServiceLine:
    """Return the state of the service in a few words."""
    details = _details(status.numbers)
    if not status.uploads.works:
        return ServiceLine("fault", "Uploads are unavailable", status.uploads.problem)
    if not status.scoring.works:
        return ServiceLine("attention", "Uploads are accepted, scoring waits", status.scoring.problem)
    return ServiceLine("done", "Uploads and scoring work", details)


def _details(numbers: Numbers | None) -> str:
    """Return the queue in words.

    >>> at = datetime(2027, 1, 1, tzinfo=UTC)
    >>> _details(Numbers(at, 2, 3, 4, None, (), ()))
    '2 workers, 3 submissions waiting; a new one is scored in about 4 minutes'
    """
    if numbers is None:
        return ""
    waiting = plural(numbers.waiting, "submission") if numbers.waiting else "nothing"
    scored = (
        f"; a new {'one' if numbers.waiting else 'submission'} is scored {numbers.soon}"
        if numbers.soon
        else ""
    )
    return f"{plural(numbers.workers, 'worker')}, {waiting} waiting{scored}"


def status_of(looked: Looked, before: Status | None) -> Status:
    """Return the state of the service from what was seen now and the state before."""
    numbers = looked.numbers or (before.numbers if before else None)
    missing = "; ".join(WORDS.get(name, message) for name, message in looked.problems.items() if message)
    uploads = _part(missing, before.uploads if before else None, before)
    workers = looked.numbers.workers if looked.numbers else 0
    reasons = {
        missing: bool(missing),
        "no worker is alive": not missing and not workers,
        "the queue that wakes workers does not answer": not missing and not looked.broker,
    }
    problem = next((reason for reason, holds in reasons.items() if holds), "")
    return Status(looked.at, uploads, _part(problem, before.scoring if before else None, before), numbers)


WORDS: Final = {
    "database": "the database does not answer",
    "storage": "the storage cannot be written",
}


def _part(problem: str, before: PartStatus | None, last: Status | None) -> PartStatus:
    if not problem:
        return PartStatus(works=True)
    known = last.checked_at.replace(second=0, microsecond=0) if last else None
    since = before.since if before and not before.works else known
    return PartStatus(works=False, problem=problem, since=since)


@dataclass(slots=True)
class ServiceWatch:
    """Looks at the service every few seconds, and keeps what it saw. Use it in one event loop."""

    platform: Platform
    status: Status | None = None
    looked_at: float = -STALE  # as time.monotonic()
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> None:
        """Look for ever."""
        while True:
            try:
                await self.look()
            except Exception:
                log.exception("look at the service failed")
            await asyncio.sleep(EVERY)

    async def look(self) -> Status:
        """Look now; note that uploads work if they do."""
        async with self.lock:
            looked = await _look(self.platform)
            status = self.status = status_of(looked, self.status)
            self.looked_at = time.monotonic()
        if status.uploads.works:
            await health.with_timeout(_note_uploads, self.platform)
        return status

    async def current(self) -> Status:
        """Return the state as seen last, or look if that was too long ago."""
        if self.status is None or time.monotonic() - self.looked_at > STALE:
            return await self.look()
        return self.status

    def line(self) -> ServiceLine | None:
        """Return what pages say, without waiting; None if this process has not looked yet."""
        return line_of(self.status) if self.status else None


async def _look(platform: Platform) -> Looked:
    """Look at every part. If the database does not answer, it is asked only once, for each question holds a thread."""
    numbers = await health.with_timeout(_numbers, platform)
    names = [name for name in health.CHECKS if numbers or name != "database"]
    problems = await health.checks(platform, names)
    if numbers is None:
        problems["database"] = WORDS["database"]
    broker = bool(await health.with_timeout(outages.broker_answers, platform))
    return Looked(datetime.now(UTC), problems, broker, numbers)


def _note_uploads(platform: Platform) -> None:
    """Record that uploads work, and an outage that this ends."""
    with platform.transaction() as session:
        outages.note_available(session, ServicePart.UPLOADS)


def _numbers(platform: Platform) -> Numbers:
    """Read the numbers, and the settings of the site, which the status page shows without waiting."""
    platform.site()
    with platform.transaction() as session:
        slots = sum(heartbeats.slots_by_scorer(session).values())
        waiting = _count_waiting(session)
        seconds = typical_run_seconds(session)
        wait = expected_wait(waiting + 1, slots, seconds) // 60 if slots and seconds is not None else None
        found = _recent_outages(session)
        return Numbers(
            read_at=datetime.now(UTC),
            workers=heartbeats.alive_workers(session),
            waiting=waiting,
            wait_minutes=wait,
            last_scored_at=_last_scored(session),
            notices=notices.current(session),
            outages=found[:LISTED],
            senders=heartbeats.alive_senders(session),
            days=days_of(found, today=datetime.now(UTC).date(), since=_since(session)),
        )


def _count_waiting(session: Session) -> int:
    """Count the runs that wait for a worker, over all challenges; those that are held wait for something else."""
    waiting = select(Job.id).where(Job.queue == Queue.RUNS, is_waiting(), ~is_held()).limit(MOST_WAITING)
    return session.scalar(select(func.count()).select_from(waiting.subquery())) or 0


def _last_scored(session: Session) -> datetime | None:
    newest = select(Run.finished_at).where(Run.state == RunState.SCORED, Run.finished_at.is_not(None))
    moment = session.scalar(newest.order_by(Run.finished_at.desc()).limit(1))
    return moment and moment.replace(second=0, microsecond=0)


def _recent_outages(session: Session) -> tuple[OutageView, ...]:
    recent = select(Outage).where(Outage.ended_at > func.clock_timestamp() - HISTORY)
    found: Sequence[Outage] = session.scalars(
        recent.order_by(Outage.ended_at.desc()).limit(MOST_OUTAGES)
    ).all()
    return tuple(OutageView(row.part, row.started_at, row.ended_at) for row in found)


def _since(session: Session) -> date | None:
    """The day from which on outages are known: that of the first account."""
    first = session.scalar(select(User.created_at).order_by(User.id).limit(1))
    return first and first.astimezone(UTC).date()


def days_of(outages: Sequence[OutageView], today: date, since: date | None) -> tuple[DayView, ...]:
    """Return for each of the last days how many minutes of it were outages, rounded up. since: the first day that is known."""
    days = [today - timedelta(days=age) for age in range(HISTORY.days - 1, -1, -1)]
    return tuple(
        DayView(
            day,
            uploads=_minutes_of(day, [each for each in outages if each.part is ServicePart.UPLOADS]),
            scoring=_minutes_of(day, [each for each in outages if each.part is ServicePart.SCORING]),
            is_known=since is not None and day >= since,
        )
        for day in days
    )


def _minutes_of(day: date, outages: Sequence[OutageView]) -> int:
    start = datetime.combine(day, time_of_day(), UTC)
    end = start + timedelta(days=1)
    spans = (min(each.ended_at, end) - max(each.started_at, start) for each in outages)
    total = sum((span for span in spans if span > timedelta(0)), timedelta(0))
    return math.ceil(total / timedelta(minutes=1))
