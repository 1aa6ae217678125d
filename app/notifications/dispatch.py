"""Telling people of events: each event becomes a notification of everybody whom it concerns, and joins their next mail."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    case,
    cast,
    exists,
    func,
    select,
    text,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from app.models import (
    ChallengeOrganiser,
    ChallengeRole,
    Event,
    MailChoice,
    MailedNotification,
    Member,
    Notification,
    NotificationMail,
    Role,
    User,
)
from app.notifications import webhook_deliveries
from app.notifications.kinds import BY_MAIL, KINDS, MAILED_AS, Recipients
from app.people.sessions import is_person
from app.platform import Platform

BATCH: Final = 500  # events in a transaction
COLLECTING: Final = timedelta(minutes=1)  # what else happens in this time is in the same mail

Pairs = Select[int, int]  # of an event and a person


def dispatch(platform: Platform, _payload: Mapping[str, Any]) -> None:
    """Notify everybody of all events that wait; an event that another process has locked is left to it."""
    while True:
        with platform.transaction() as session:
            waiting = select(Event).where(Event.dispatched_at.is_(None)).order_by(Event.id).limit(BATCH)
            events = session.scalars(waiting.with_for_update(skip_locked=True)).all()
            _notify(session, [event.id for event in events])
            webhook_deliveries.plan(session, events)
        if len(events) < BATCH:
            return


def _notify(session: Session, events: Sequence[int]) -> None:
    """Add the notifications of locked events and put them into mails, in a few statements however many these are."""
    told = _told(events)
    session.execute(insert(Notification).from_select(["event_id", "user_id"], told).on_conflict_do_nothing())
    _add_to_mails(session, events)
    done = update(Event).where(Event.id.in_(events)).values(dispatched_at=func.clock_timestamp())
    session.execute(done, execution_options={"synchronize_session": False})


def _told(events: Sequence[int] | Select[int]) -> Pairs:
    """Select who is told of these events, in their order."""
    people = union_all(*_concerned()).subquery()
    event_id, user_id = people.c
    return (
        select(event_id, User.id)
        .join(Event, Event.id == event_id)
        .join(User, User.id == user_id)
        .where(event_id.in_(events), User.deleted_at.is_(None), _did_not_do_it())
        .distinct()
        .order_by(event_id, User.id)
    )


def tell_as_read(session: Session, user_id: int, about: ColumnElement[bool]) -> None:
    """Notify a person at once of events that still wait, as of something they have read already; so it is not mailed."""
    waiting = select(Event.id).where(Event.dispatched_at.is_(None), about)
    told = _told(waiting).add_columns(func.now()).where(User.id == user_id)
    row = insert(Notification).from_select(["event_id", "user_id", "read_at"], told)
    session.execute(
        row.on_conflict_do_update(index_elements=["event_id", "user_id"], set_={"read_at": func.now()})
    )


def _concerned() -> tuple[Pairs, ...]:
    """Select whom events concern: one person alone, or a group of people; if a challenge has no organisers, the admins."""
    admins = select(Event.id, User.id).join(User, User.role == Role.ADMIN)
    decides = ChallengeOrganiser.role != ChallengeRole.VIEWER
    organisers = exists().where(ChallengeOrganiser.challenge_id == Event.challenge_id, decides)
    return (
        select(Event.id, User.id).join(User, User.id == Event.user_id),
        select(Event.id, Member.user_id)
        .join(Member, Member.team_id == Event.team_id)
        .where(*_is_for(Recipients.TEAM)),
        select(Event.id, Member.user_id)
        .join(Member, Member.challenge_id == Event.challenge_id)
        .where(*_is_for(Recipients.TEAMS)),
        select(Event.id, ChallengeOrganiser.user_id)
        .join(ChallengeOrganiser, ChallengeOrganiser.challenge_id == Event.challenge_id)
        .where(*_is_for(Recipients.ORGANISERS), decides),
        admins.where(*_is_for(Recipients.ORGANISERS), ~organisers),
        admins.where(*_is_for(Recipients.ADMINS)),
    )


def _is_for(recipients: Recipients) -> tuple[ColumnElement[bool], ...]:
    kinds = [kind for kind, row in KINDS.items() if row.recipients is recipients]
    return Event.user_id.is_(None), Event.kind.in_(kinds)


def _did_not_do_it() -> ColumnElement[bool]:
    return User.id.is_distinct_from(cast(Event.details["by"].astext, BigInteger))


def _was_refused() -> tuple[ColumnElement[bool], ...]:
    """The condition that a person chose no mail of a kind while it had a choice of its own, in the release before."""
    chosen = aliased(MailChoice)
    return chosen.user_id == User.id, chosen.kind == Event.kind, ~chosen.by_mail


def _add_to_mails(session: Session, events: Sequence[int]) -> None:
    """Add the notifications of events to the next mail of their kind to each person who wants it and has a confirmed address.

    Programs, whose accounts nobody logs in to, get none.
    """
    kind = case(MAILED_AS, value=Event.kind, else_=Event.kind).label("kind")
    wanted = (
        select(Notification.id, Notification.user_id, kind)
        .join(Event, Notification.event_id == Event.id)
        .join(User, Notification.user_id == User.id)
        .outerjoin(MailChoice, (MailChoice.user_id == User.id) & (MailChoice.kind == kind))
        .where(
            Event.id.in_(events),
            Notification.read_at.is_(None),
            User.verified_at.is_not(None),
            User.suspended_at.is_(None),
            is_person(),
            func.coalesce(MailChoice.by_mail, kind.in_(BY_MAIL)),
            ~exists().where(*_was_refused()),
        )
        .subquery()
    )
    opened = insert(NotificationMail).from_select(
        ["user_id", "kind", "attempts", "due_at"],
        select(wanted.c.user_id, wanted.c.kind, text("0"), func.now() + COLLECTING)
        .distinct()
        .order_by(wanted.c.user_id, wanted.c.kind),
    )
    # also locks mails that are open already, so that nobody begins to send one before its notification has joined it
    mails = (
        opened.on_conflict_do_update(
            index_elements=["user_id", "kind"],
            index_where=NotificationMail.attempts == text("0"),
            set_={"due_at": NotificationMail.due_at},
        )
        .returning(NotificationMail.id, NotificationMail.user_id, NotificationMail.kind)
        .cte("mails")
    )
    joined = select(mails.c.id, wanted.c.id.label("notification_id")).join(
        wanted, (wanted.c.user_id == mails.c.user_id) & (wanted.c.kind == mails.c.kind)
    )
    session.execute(insert(MailedNotification).from_select(["mail_id", "notification_id"], joined))
