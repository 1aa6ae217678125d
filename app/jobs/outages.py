"""Outages: times in which uploads or scoring were not available, known from when a process last saw that they were.

The database may have been away itself, and every process with it. So nothing is written while something is missing; the
first process that sees it work again finds how long nobody has.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.jobs import heartbeats
from app.models import Heartbeat, Outage, Service, ServicePart
from app.platform import Platform

log = structlog.get_logger()

# how long nobody must have seen a part work; sweepers, who look at scoring, are sometimes busy for minutes
LEAST: Final[Mapping[ServicePart, timedelta]] = {
    ServicePart.UPLOADS: timedelta(minutes=1),
    ServicePart.SCORING: timedelta(minutes=5),
}
OFTEN_ENOUGH: Final = timedelta(seconds=4)  # when another process has seen it so recently, nothing is written


def note_available(session: Session, part: ServicePart) -> Outage | None:
    """Record that a part of the service works now; return the outage that this ends, if there was one."""
    name = f"{part} available"
    last = select(Heartbeat.seen_at, func.clock_timestamp()).where(Heartbeat.name == name)
    row = session.execute(last.with_for_update()).one_or_none()
    if row is None:
        heartbeats.write_heartbeat(session, name, Service.SWEEPER)
        return None
    seen_at, now = row
    if timedelta(0) <= now - seen_at < OFTEN_ENOUGH:
        return None
    heartbeats.write_heartbeat(session, name, Service.SWEEPER)
    if now - seen_at < LEAST[part]:
        return None
    outage = Outage(part=part, started_at=seen_at, ended_at=now)
    session.add(outage)
    session.flush()
    log.warning("outage ended", part=part.value, seconds=round((now - seen_at).total_seconds()))
    return outage


def note_scoring(platform: Platform) -> None:
    """Record that scoring works, if a worker is alive and the broker answers."""
    if not broker_answers(platform):
        return
    with platform.transaction() as session:
        if heartbeats.alive_workers(session):
            note_available(session, ServicePart.SCORING)


def broker_answers(platform: Platform) -> bool:
    """Whether the broker, whose messages wake workers, answers within a fraction of a second."""
    return platform.limiter.shared.storage.check()
