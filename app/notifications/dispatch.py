"""Telling people of events: each event becomes a notification of everybody whom it concerns."""

from collections.abc import Mapping
from typing import Any, Final, assert_never

from sqlalchemy import Select, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.models import ChallengeOrganiser, Event, Member, Notification, Queue, Role, User
from app.notifications import webhook_deliveries
from app.notifications.kinds import KINDS, Recipients
from app.platform import Platform

BATCH: Final = 500  # events in a transaction


def dispatch(platform: Platform, _payload: Mapping[str, Any]) -> None:
    """Notify everybody of all events that wait; an event that another process has locked is left to it."""
    while True:
        with platform.transaction() as session:
            waiting = select(Event).where(Event.dispatched_at.is_(None)).order_by(Event.id).limit(BATCH)
            events = session.scalars(waiting.with_for_update(skip_locked=True)).all()
            for event in events:
                _notify(session, event)
                webhook_deliveries.plan(session, event)
                event.dispatched_at = func.clock_timestamp()
        platform.notifier.wake_workers(Queue.FOLLOW_UPS)  # for webhooks
        if len(events) < BATCH:
            return


def _notify(session: Session, event: Event) -> None:
    people = select(literal(event.id), User.id).where(
        User.id.in_(_recipients(event)), User.deleted_at.is_(None)
    )
    statement = insert(Notification).from_select(["event_id", "user_id"], people)
    session.execute(statement.on_conflict_do_nothing())


def _recipients(event: Event) -> Select[int]:
    """The ids of the people whom an event concerns."""
    if event.user_id is not None:
        return select(User.id).where(User.id == event.user_id)
    match KINDS[event.kind].recipients:
        case Recipients.TEAM:
            return select(Member.user_id).where(Member.team_id == event.team_id)
        case Recipients.TEAMS:
            return select(Member.user_id).where(Member.challenge_id == event.challenge_id)
        case Recipients.ORGANISERS:
            return select(ChallengeOrganiser.user_id).where(
                ChallengeOrganiser.challenge_id == event.challenge_id
            )
        case Recipients.ADMINS:
            return select(User.id).where(User.role == Role.ADMIN)
        case other:
            assert_never(other)
