"""The notifications of a person: a page of them, what they say now, which are read; and their end after some months."""

import re
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, TypeVarTuple

import structlog
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    SQLColumnExpression,
    Uuid,
    and_,
    case,
    cast,
    delete,
    func,
    select,
    true,
    update,
)
from sqlalchemy.orm import Session, joinedload

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.challenges.disclosure import StoredScore, public_visibility
from app.core.access import Actor
from app.core.paging import page_of
from app.jobs import heartbeats
from app.models import (
    Announcement,
    Base,
    Event,
    EventKey,
    EventKind,
    Method,
    Notification,
    NotificationMail,
    Result,
    ResultState,
    Run,
    RunState,
    Team,
    TeamMessage,
    ThreadMessage,
    Upload,
    User,
)
from app.notifications.kinds import (
    GONE,
    ChallengeFacts,
    Facts,
    Line,
    NewsFacts,
    PhaseFacts,
    ResultFacts,
    Scope,
    TeamFacts,
    is_shown,
    line_of,
)
from app.people import sessions
from app.platform import Platform
from app.results.scores import load_headlines
from heldout_scoring.competitions import name_of

log = structlog.get_logger()

PAGE: Final = 50  # notifications
OF_SUBMISSIONS: Final = frozenset({EventKind.SCORED, EventKind.REFUSED, EventKind.FAILED, EventKind.WAITS})
OF_SCORING: Final = OF_SUBMISSIONS | {EventKind.RESCORED, EventKind.RUNS_FAILED}


@dataclass(frozen=True, slots=True)
class NotificationView:
    """A notification. at: of a scoring to the minute, because durations can reveal something of hidden scores."""

    id: int
    kind: EventKind
    at: datetime
    is_read: bool
    sentence: str
    path: str | None  # of the page that it is about; None if that is gone
    challenge: str | None

    @property
    def day(self) -> date:
        """The day of it, in UTC."""
        return self.at.astimezone(UTC).date()


@dataclass(frozen=True, slots=True)
class NotificationPage:
    """A page of a person's notifications, newest first; `next` is the `before` of the following page."""

    notifications: tuple[NotificationView, ...]
    next: int | None
    unread: int  # of all, at most 100


@dataclass(frozen=True, slots=True)
class NotificationGroup:
    """Notifications about the same submission, upload, question or data set. earlier: the others, newest first."""

    newest: NotificationView
    earlier: tuple[NotificationView, ...]

    @property
    def unread(self) -> tuple[int, ...]:
        """The ids of those that are not read."""
        return tuple(each.id for each in (self.newest, *self.earlier) if not each.is_read)


OF_ONE_THING: Final = re.compile(r"/(submissions|uploads|threads|organise/data-sets)/[^/?#]+")


def grouped(notifications: Iterable[NotificationView]) -> tuple[NotificationGroup, ...]:
    """Group notifications that lead to the page of one thing, in the order of the newest of each group."""
    by_thing: dict[str | int, list[NotificationView]] = {}
    for each in notifications:
        thing = OF_ONE_THING.match(each.path or "")
        by_thing.setdefault(thing[0] if thing else each.id, []).append(each)
    return tuple(NotificationGroup(newest, tuple(earlier)) for newest, *earlier in by_thing.values())


@dataclass(frozen=True, slots=True)
class Told:
    """A notification with what it says now."""

    id: int
    scope: Scope
    at: datetime
    is_read: bool
    challenge: str | None
    line: Line

    @property
    def view(self) -> NotificationView:
        """Return it as its reader sees it."""
        is_of_scoring = self.scope.kind in OF_SCORING
        at = self.at.replace(second=0, microsecond=0) if is_of_scoring else self.at
        return NotificationView(
            self.id, self.scope.kind, at, self.is_read, self.line.sentence, self.line.path, self.challenge
        )


def notifications(
    platform: Platform, actor: Actor, *, only_unread: bool = False, before: int | None = None
) -> NotificationPage:
    """Return a page of the reader's notifications. before: the last one of the previous page."""
    assert actor.user_id is not None
    wanted = (
        Notification.read_at.is_(None) if only_unread else true(),
        Notification.id < before if before else true(),
    )
    with platform.snapshot() as session:
        unread = session.scalar(select(sessions.unread()).select_from(User).where(User.id == actor.user_id))
        page = page_of(
            told(session, actor, Notification.user_id == actor.user_id, *wanted, limit=PAGE + 1),
            PAGE,
            number=lambda row: row.id,
        )
    return NotificationPage(tuple(row.view for row in page.rows), page.next, unread or 0)


def told(session: Session, actor: Actor, *which: ColumnElement[bool], limit: int) -> list[Told]:
    """Return notifications of a person, newest first, with what they say now."""
    statement = select(*_EVENT, Notification).select_from(Notification)
    newest = _with_subjects(statement.join(Event, Event.id == Notification.event_id)).where(*which)
    rows = [_Row(*row) for row in session.execute(newest.order_by(Notification.id.desc()).limit(limit))]
    seen = [row for row in rows if is_shown(actor, row.scope)]
    outcomes = _outcomes(session, [row.event for row in seen])
    lines = {row.event.id: line_of(_facts(row, outcomes)) for row in seen}
    return [
        Told(
            row.notification.id, row.scope, row.event.at, row.notification.read_at is not None,
            row.event.challenge.code if row.event.challenge else None, lines.get(row.event.id, GONE),
        )
        for row in rows
        if row.notification is not None
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Row:
    """An event with what it refers to."""

    event: Event
    person: str | None
    news: Announcement | None
    method: str | None
    upload: uuid.UUID | None
    message: str | None
    notification: Notification | None = None

    @property
    def scope(self) -> Scope:
        """Return what the event is about."""
        return Scope(self.event.kind, self.event.challenge_id, self.event.team_id, self.event.user_id)


_Columns = TypeVarTuple("_Columns")

_EVENT: Final = (
    Event, User.name, Announcement, Method.name, Upload.id, func.coalesce(ThreadMessage.text, TeamMessage.text),
)  # fmt: skip


def _with_subjects(statement: Select[*_Columns]) -> Select[*_Columns]:
    """Join what events refer to, the columns of `_EVENT`: every table by its primary key."""
    return (
        statement.options(joinedload(Event.challenge), joinedload(Event.phase), joinedload(Event.team))
        .outerjoin(User, User.id == _detail("by", BigInteger(), EventKind.INVITATION))
        .outerjoin(Announcement, Announcement.id == _detail("announcement", BigInteger(), EventKind.ANNOUNCEMENT))
        .outerjoin(Method, Method.id == _detail("method", BigInteger(), EventKind.PUBLISHED, EventKind.DECISION, EventKind.QUOTA))
        .outerjoin(Upload, Upload.id == _detail("upload", Uuid(), EventKind.INVALID))
        .outerjoin(ThreadMessage, ThreadMessage.id == _detail("message", BigInteger(), EventKind.QUESTION, EventKind.ANSWER))
        .outerjoin(TeamMessage, TeamMessage.id == _detail("message", BigInteger(), EventKind.MESSAGE))
    )  # fmt: skip


def facts_of_event(session: Session, event_id: int) -> Facts:
    """Return what is known now of an event, for those whom it concerns."""
    statement = select(*_EVENT).select_from(Event).where(Event.id == event_id)
    row = _Row(*session.execute(_with_subjects(statement)).one())
    return _facts(row, _outcomes(session, [row.event]))


def _detail(name: str, kind_of_column: Any, *kinds: EventKind) -> ColumnElement[Any]:
    """A detail of events of these kinds; null for others, which may mean something else by its name."""
    return case((Event.kind.in_(kinds), cast(Event.details[name].astext, kind_of_column)))


@dataclass(frozen=True, slots=True)
class _Outcome:
    method: str
    results: tuple[ResultFacts, ...]


def _outcomes(session: Session, events: Collection[Event]) -> dict[int, _Outcome]:
    """Return by event the method of its submission, and of each result what the run says that the event is about.

    A mean is that of the run, also after a re-scoring, as participants may see it now. Without such a run, which events of
    earlier releases lack, there is none; of a result that was withdrawn since, nothing but that.
    """
    of_submissions = [event for event in events if event.kind in OF_SUBMISSIONS]
    if not of_submissions:
        return {}
    told = {run for event in of_submissions for run in event.details.get("runs", ())}
    statement = (
        select(
            Result.submission_id, Result.id, Method.name, Result.phase_id, Result.competition, Result.state, Run.id, Run.state,
            Run.ladder_run_id,
        )
        .join(Result.method)
        .outerjoin(Run, and_(Run.result_id == Result.id, Run.id.in_(told)))
        .where(Result.submission_id.in_({event.details["submission"] for event in of_submissions}))
        .order_by(Result.submission_id, Result.competition)
    )  # fmt: skip
    rows = [_ResultRow(*row) for row in session.execute(statement)]
    means = load_headlines(session, (run for row in rows for run in (row.run_id, row.ladder_run_id)))
    phases = challenges.phases_with(session, {row.phase_id for row in rows})
    by_submission: defaultdict[int, dict[int, list[_ResultRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_submission[row.submission_id][row.result_id].append(row)
    found: dict[int, _Outcome] = {}
    for event in of_submissions:
        runs = set(event.details.get("runs", ()))
        for several in by_submission[event.details["submission"]].values():
            row = next((each for each in several if each.run_id in runs), replace(several[0], run_id=None))
            facts = _result_facts(row, phases[row.phase_id], means)
            before = found.get(event.id, _Outcome(row.method, ()))
            found[event.id] = replace(before, results=(*before.results, facts))
    return found


@dataclass(frozen=True, slots=True)
class _ResultRow:
    """A result with a run of it that an event is about, if there is one."""

    submission_id: int
    result_id: int
    method: str
    phase_id: int
    competition: int
    state: ResultState
    run_id: int | None
    run_state: RunState | None
    ladder_run_id: int | None


def _result_facts(row: _ResultRow, phase: PhaseView, means: Mapping[int, StoredScore]) -> ResultFacts:
    title, state, mean = name_of(phase.dataset, row.competition), row.state, None
    if state is not ResultState.WITHDRAWN and row.run_id is not None and row.run_state is not None:
        state = ResultState(row.run_state.value)
        mean = public_visibility(phase).mean(means.get(row.run_id), means.get(row.ladder_run_id or 0))
    return ResultFacts(row.competition, title, state, mean)


def _facts(row: _Row, outcomes: dict[int, _Outcome]) -> Facts:
    event, outcome = row.event, outcomes.get(row.event.id)
    challenge, phase, team = event.challenge, event.phase, event.team
    return Facts(
        kind=event.kind,
        details=event.details,
        challenge=ChallengeFacts(challenge.code, challenge.title) if challenge else None,
        phase=PhaseFacts(phase.image_set, phase.opens_at, phase.closes_at) if phase else None,
        team=_team(team) if team else None,
        person=row.person or "",
        news=NewsFacts(row.news.title, row.news.text) if row.news else None,
        method=outcome.method if outcome else row.method or "",
        has_upload=row.upload is not None,
        message=row.message,
        results=outcome.results if outcome else (),
    )


def _team(team: Team) -> TeamFacts:
    return TeamFacts(
        id=team.id,
        name=team.name,
        approval=team.approval,
        approval_reason=team.approval_reason,
        is_suspended=team.suspended_at is not None,
        suspension_reason=team.suspension_reason,
    )


def mark_read(platform: Platform, actor: Actor, *notification_ids: int) -> None:
    """Mark notifications as read that are the reader's."""
    _mark(platform, actor, Notification.id.in_(notification_ids))


def mark_all_read(platform: Platform, actor: Actor, until: int | None = None) -> None:
    """Mark all notifications as read, or only those up to this one: what came later was not on the page."""
    _mark(platform, actor, Notification.id <= until if until is not None else true())


def _mark(platform: Platform, actor: Actor, which: ColumnElement[bool]) -> None:
    theirs = (Notification.user_id == actor.user_id, Notification.read_at.is_(None))
    statement = update(Notification).where(*theirs, which).values(read_at=func.clock_timestamp())
    with platform.transaction() as session:
        session.execute(statement, execution_options={"synchronize_session": False})


KEEP_READ: Final = timedelta(days=90)
KEEP_EVENTS: Final = timedelta(days=180)
BATCH: Final = 5000  # rows in a transaction


def delete_old(platform: Platform) -> None:
    """Delete, once a day, notifications read and mails sent three months ago, and events of half a year ago with all that tells of them."""
    with platform.transaction() as session:
        if not heartbeats.start_if_due(session, "old notifications", timedelta(days=1)):
            return
    old: tuple[tuple[type[Base], SQLColumnExpression[Any], ColumnElement[bool]], ...] = (
        (Notification, Notification.id, _is_old(Notification.created_at, KEEP_READ) & Notification.read_at.is_not(None)),
        (NotificationMail, NotificationMail.id, _is_old(NotificationMail.created_at, KEEP_READ)),
        (Event, Event.id, _is_old(Event.at, KEEP_EVENTS)),
        (EventKey, EventKey.name, _is_old(EventKey.at, KEEP_EVENTS)),
    )  # fmt: skip
    for table, key, condition in old:
        while _delete_some(platform, table, key, condition) == BATCH:
            pass


def _is_old(moment: SQLColumnExpression[datetime], age: timedelta) -> ColumnElement[bool]:
    return moment < func.now() - age


def _delete_some(
    platform: Platform, table: type[Base], key: SQLColumnExpression[Any], condition: ColumnElement[bool]
) -> int:
    some = select(key).where(condition).order_by(key).limit(BATCH)
    with platform.transaction() as session:
        return len(session.execute(delete(table).where(key.in_(some)).returning(key)).all())
