"""Questions of teams to the organisers of a challenge, and the organisers' answers: threads.

A thread belongs to the team that its author was in, whose members read and continue it as long as they are members; that of
somebody without a team belongs to this person alone.
"""

import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.config import JsonDict
from sqlalchemy import ColumnElement, Select, and_, func, or_, select, true
from sqlalchemy.orm import Session, joinedload

from app.challenges import asking, challenges
from app.challenges.answers import LONGEST_MESSAGE
from app.challenges.asking import Asking
from app.challenges.texts import Lines
from app.core import audit
from app.core.access import Action, Actor, require_challenge, rows_for, visible_to
from app.core.errors import (
    AskingOff,
    ConflictError,
    MessageLimit,
    NotFoundError,
    Refusal,
    TeamSuspended,
    raise_if_refused,
)
from app.core.names import Visible
from app.core.paging import RowPage, page_of
from app.jobs import events
from app.models import (
    AskingPlace,
    Challenge,
    EventKind,
    Method,
    Phase,
    PublishedAnswer,
    Submission,
    Team,
    Thread,
    ThreadMessage,
    ThreadState,
    Upload,
    User,
)
from app.people import teams
from app.people.locking import lock_person
from app.platform import Platform
from app.web.formats import duration, plural
from app.web.forms import OrBlank
from app.web.zones import date_in_words

PAGE: Final = 50  # threads of a list
MESSAGES: Final = 20  # of a page of a thread
MOST_COUNTED: Final = 1000  # open threads of a challenge
DOUBLE_CLICK: Final = timedelta(minutes=10)  # in which the same question again is the same question
LARGEST_ID: Final = 2**63 - 1
EXAMPLE: Final[JsonDict] = {
    "title": "Why was my archive refused?",
    "text": "It says **expected 6 fields**.",
    "upload": "00000000-0000-4000-8000-000000000000",
}


@dataclass(frozen=True, slots=True)
class Limit:
    """How many messages to organisers a person, and a team, may send in a sliding window."""

    messages: int
    window: timedelta


LIMITS: Final = (Limit(10, timedelta(hours=1)), Limit(30, timedelta(days=1)))


class About(BaseModel):
    """What a question is about: an upload or a submission of the team, an image set, or the challenge."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    upload: Annotated[OrBlank[uuid.UUID], Field(description="an upload of the team")] = None
    submission: Annotated[
        OrBlank[Annotated[int, Field(ge=1, le=LARGEST_ID)]],
        Field(description="a submission of the team"),
    ] = None
    image_set: Annotated[
        OrBlank[Annotated[str, Field(max_length=100)]],
        Field(description="of a phase of the challenge"),
    ] = None

    @field_validator("submission", "image_set")
    @classmethod
    def _one_object(cls, value: object, info: ValidationInfo) -> object:
        if value is not None and any(info.data.get(name) is not None for name in ("upload", "submission")):
            raise ValueError(
                "a question can be about an upload or a submission; ask separately about the other"
            )
        return value


class NewThread(About):
    """A new question."""

    model_config = ConfigDict(
        extra="forbid", str_strip_whitespace=True, frozen=True, json_schema_extra={"examples": [EXAMPLE]}
    )

    title: Annotated[
        str, Field(min_length=3, max_length=120, description="the question in a few words"), Visible
    ]
    text: Annotated[Lines, Field(min_length=1, max_length=LONGEST_MESSAGE, description="Markdown")]

    @property
    def about(self) -> About:
        """What it is about."""
        return About(upload=self.upload, submission=self.submission, image_set=self.image_set)


class NewMessage(BaseModel):
    """A message in a thread."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    text: Annotated[Lines, Field(min_length=1, max_length=LONGEST_MESSAGE, description="Markdown")]
    seen: Annotated[
        OrBlank[Annotated[int, Field(ge=0, le=LARGEST_ID)]],
        Field(description="`last_message` of the thread as it was read: it is refused if another came since"),
    ] = None


@dataclass(frozen=True, slots=True)
class ThreadObject:
    """What a thread is about: an upload, a submission, or a phase as a whole."""

    image_set: str
    upload: uuid.UUID | None = None
    filename: str = ""
    submission: int | None = None
    method: str = ""


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """A thread in a list. team: None if it belongs to the person who asked."""

    id: int
    challenge: str
    challenge_title: str
    title: str
    state: ThreadState
    team_id: int | None
    team: str | None
    asked_by: str
    about: ThreadObject | None
    created_at: datetime
    last_message: int
    last_at: datetime  # when the last message was written
    is_published: bool  # the organisers publish an answer that was edited from it


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message of a thread. is_answer: written by an organiser."""

    id: int
    author: str
    is_answer: bool
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A thread with its newest messages, oldest first. earlier: the `before` of the page of earlier ones."""

    thread: ThreadRow
    messages: tuple[MessageView, ...]
    earlier: int | None
    is_ours: bool  # the reader may continue it as its team
    is_organised: bool  # the reader organises its challenge


@dataclass(frozen=True, slots=True)
class AskPage:
    """What somebody should know before asking. before: the team's threads about the same object, newest first."""

    challenge: str
    title: str
    asking: Asking
    team: str | None
    about: ThreadObject | None
    before: tuple[ThreadRow, ...]
    refusals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrganisedThreads:
    """A page of the threads of a challenge for its organisers; open: how many wait for an answer, at most MOST_COUNTED."""

    challenge: str
    title: str
    asking: Asking
    open: int
    threads: tuple[ThreadRow, ...]
    next: int | None


def next_possible(times: Sequence[datetime], now: datetime) -> tuple[Limit, datetime] | None:
    """Return the limit that is reached and when the next message is possible; None if it is possible now.

    times: of the newest messages, newest first.
    """
    ends = [
        (limit, times[limit.messages - 1] + limit.window) for limit in LIMITS if len(times) >= limit.messages
    ]
    reached = [end for end in ends if end[1] > now]
    return max(reached, key=lambda end: end[1], default=None)


def visible_threads(actor: Actor, action: Action) -> ColumnElement[bool]:
    """The condition for threads on which an actor may do this: those of their teams now, and their own without a team."""
    own = and_(
        Thread.team_id.is_(None),
        Thread.asked_by == actor.user_id,
        visible_to(actor, Thread.challenge_id),
    )
    return or_(rows_for(actor, action, team=Thread.team_id, challenge=Thread.challenge_id), own)


def _rows() -> Select[Thread, datetime, bool]:
    """Threads with what they are about, when their last message was written, and whether an answer is published."""
    published = select(PublishedAnswer.id).where(PublishedAnswer.thread_id == Thread.id).exists()
    return (
        select(Thread, ThreadMessage.created_at, published)
        .join(ThreadMessage, ThreadMessage.id == Thread.last_message_id)
        .options(
            joinedload(Thread.challenge),
            joinedload(Thread.team),
            joinedload(Thread.asker),
            joinedload(Thread.phase),
            joinedload(Thread.upload).load_only(Upload.filename),
            joinedload(Thread.submission)
            .load_only(Submission.method_id)
            .joinedload(Submission.method)
            .load_only(Method.name),
        )
    )


def _row(thread: Thread, last_at: datetime, is_published: bool) -> ThreadRow:  # noqa: FBT001 - of a statement
    return ThreadRow(
        id=thread.id,
        challenge=thread.challenge.code,
        challenge_title=thread.challenge.title,
        title=thread.title,
        state=thread.state,
        team_id=thread.team_id,
        team=thread.team.name if thread.team else None,
        asked_by=thread.asker.name,
        about=ThreadObject(
            image_set=thread.phase.image_set,
            upload=thread.upload_id,
            filename=thread.upload.filename if thread.upload else "",
            submission=thread.submission_id,
            method=thread.submission.method.name if thread.submission else "",
        )
        if thread.phase
        else None,
        created_at=thread.created_at,
        last_message=thread.last_message_id,
        last_at=last_at,
        is_published=is_published,
    )


def _page(session: Session, before: int | None, *which: ColumnElement[bool]) -> RowPage[ThreadRow]:
    """Return threads, the one with the newest message first."""
    statement = _rows().where(*which, Thread.last_message_id < before if before else true())
    statement = statement.order_by(Thread.last_message_id.desc()).limit(PAGE + 1)
    found = [_row(*row) for row in session.execute(statement)]
    return page_of(found, PAGE, number=lambda row: row.last_message)


def own_threads(platform: Platform, actor: Actor, before: int | None = None) -> RowPage[ThreadRow]:
    """Return the threads of the reader's teams and their own, the one with the newest message first."""
    with platform.reading() as session:
        return _page(session, before, visible_threads(actor, Action.REPLY))


def thread_page(platform: Platform, actor: Actor, thread_id: int, before: int | None = None) -> ThreadView:
    """Return a thread with a page of its messages, by default the newest. Raises NotFoundError."""
    with platform.snapshot() as session:
        return _thread(session, actor, thread_id, before)


def _thread(session: Session, actor: Actor, thread_id: int, before: int | None = None) -> ThreadView:
    is_ours = visible_threads(actor, Action.REPLY)
    statement = _rows().add_columns(is_ours).where(
        Thread.id == thread_id, visible_threads(actor, Action.READ_THREAD)
    )  # fmt: skip
    messages = (
        select(
            ThreadMessage.id, User.name, ThreadMessage.is_answer, ThreadMessage.text, ThreadMessage.created_at
        )
        .join(User, User.id == ThreadMessage.author_id)
        .where(ThreadMessage.thread_id == thread_id, ThreadMessage.id < before if before else true())
        .order_by(ThreadMessage.id.desc())
        .limit(MESSAGES + 1)
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        raise _not_found(thread_id)
    found = [MessageView(*each) for each in session.execute(messages)]
    page = page_of(found, MESSAGES, number=lambda message: message.id)
    return ThreadView(
        _row(*row[:3]), page.rows[::-1], page.next, row[3], actor.organises_challenge(row[0].challenge_id)
    )


def _not_found(thread_id: int) -> NotFoundError:
    return NotFoundError(f"there is no question {thread_id}")


def ask_page(platform: Platform, actor: Actor, code: str, about: About) -> AskPage:
    """Return what somebody should know before asking. Raises NotFoundError."""
    assert actor.user_id is not None
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code, Action.ASK)
        team_id = teams.team_in(session, actor.user_id, challenge.id)
        place = asking.asking_of(session, challenge.id)
        columns, shown = _object(session, challenge, team_id, about)
        which = [getattr(Thread, name) == value for name, value in columns.items() if value is not None]
        same = [Thread.challenge_id == challenge.id, visible_threads(actor, Action.REPLY), *which]
        return AskPage(
            challenge.code,
            challenge.title,
            place,
            session.scalar(select(Team.name).where(Team.id == team_id)),
            shown,
            _page(session, None, *same).rows[:10] if which else (),
            tuple(each.message for each in _refusals(session, actor.user_id, team_id, is_new=True)),
        )


def _object(
    session: Session, challenge: Challenge, team_id: int | None, about: About
) -> tuple[dict[str, Any], ThreadObject | None]:
    """Return the columns of a thread that name its object, and the object as it is shown.

    Raises NotFoundError if there is no such object, or it belongs to another challenge or team.
    """
    columns: dict[str, Any] = {"phase_id": None, "upload_id": about.upload, "submission_id": about.submission}
    phases = select(Phase.id, Phase.image_set).where(Phase.challenge_id == challenge.id)
    if about.upload is not None:
        found = phases.add_columns(Upload.filename).join(Upload, Upload.phase_id == Phase.id)
        found = found.where(Upload.id == about.upload, Upload.team_id == team_id)
        missing = f"your team has no upload {about.upload} in {challenge.code}"
    elif about.submission is not None:
        found = phases.add_columns(Method.name).join(Submission, Submission.phase_id == Phase.id).join(Method)
        found = found.where(Submission.id == about.submission, Method.team_id == team_id)
        missing = f"your team has no submission {about.submission} in {challenge.code}"
    elif about.image_set is not None:
        found = phases.add_columns(Phase.image_set).where(Phase.image_set == about.image_set)
        missing = f"there is no phase {about.image_set!r} in {challenge.code}"
    else:
        return columns, None
    row = session.execute(found).one_or_none()
    if row is None:
        raise NotFoundError(missing)
    phase_id, image_set, name = row
    filename = name if about.upload is not None else ""
    method = name if about.submission is not None else ""
    return columns | {"phase_id": phase_id}, ThreadObject(
        image_set, about.upload, filename, about.submission, method
    )


def _refusals(session: Session, user_id: int, team_id: int | None, *, is_new: bool) -> Iterator[Refusal]:
    """Yield every reason why this person may not send a message now; is_new: one that begins a thread."""
    if is_new and team_id is not None:
        yield from _refusals_while_suspended(session, team_id)
    yield from _limit_refusals(session, ThreadMessage.author_id == user_id, "you have")
    if team_id is not None:
        yield from _limit_refusals(session, ThreadMessage.team_id == team_id, "your team has")


def _refusals_while_suspended(session: Session, team_id: int) -> Iterator[Refusal]:
    status = teams.team_status(session, team_id)
    if status is None or not status.is_suspended:
        return
    not_closed = select(Thread.title).where(Thread.team_id == team_id, Thread.state != ThreadState.CLOSED)
    title = session.scalar(not_closed.order_by(Thread.last_message_id).limit(1))
    if title is not None:
        yield TeamSuspended(
            f"the team {status.name} is suspended, so it can ask one question at a time; continue “{title}” until an organiser"
            " closes it"
        )


def _limit_refusals(session: Session, whose: ColumnElement[bool], who: str) -> Iterator[Refusal]:
    newest = (
        select(ThreadMessage.created_at)
        .where(whose, ThreadMessage.is_answer.is_(False))
        .order_by(ThreadMessage.created_at.desc())
        .limit(max(limit.messages for limit in LIMITS))
    )
    times = session.scalars(newest).all()
    reached = next_possible(times, challenges.now(session)) if times else None
    if reached is not None:
        limit, at = reached
        sent = f"{who} sent {plural(limit.messages, 'message')} to organisers within {duration(limit.window)}"
        yield MessageLimit(f"{sent}; the next is possible on {date_in_words(at)}", retry_at=at)


def _asking_refusals(place: Asking) -> Iterator[Refusal]:
    if place.place is AskingPlace.FORUM:
        yield AskingOff(f"the organisers answer questions in their forum, {place.forum}")
    if place.place is AskingPlace.NOWHERE:
        yield AskingOff("the organisers take no questions here")


def ask(platform: Platform, actor: Actor, code: str, new: NewThread) -> ThreadView:
    """Ask the organisers of a challenge and return the thread; the same question again at once is the same thread.

    Raises NotFoundError, RefusedError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, Action.ASK)
        lock_person(session, actor.user_id)
        team_id = teams.team_in(session, actor.user_id, challenge.id)
        if team_id is not None:
            teams.lock_team(session, team_id)
        columns, _ = _object(session, challenge, team_id, new.about)
        facts = {"challenge_id": challenge.id, "team_id": team_id, "title": new.title, **columns}
        asked = _asked_just_now(session, actor.user_id, new.text, facts)
        if asked is not None:
            return _thread(session, actor, asked)
        raise_if_refused(
            (
                *_asking_refusals(asking.asking_of(session, challenge.id)),
                *_refusals(session, actor.user_id, team_id, is_new=True),
            )
        )
        thread = Thread(asked_by=actor.user_id, **facts)
        session.add(thread)
        session.flush()
        _add_message(session, thread, actor.user_id, new.text, is_answer=False)
        return _thread(session, actor, thread.id)


def _asked_just_now(session: Session, user_id: int, text: str, facts: dict[str, Any]) -> int | None:
    """Return a thread of this person with the same first message, if nothing has followed it."""
    same = [getattr(Thread, name) == value for name, value in facts.items()]  # None becomes IS NULL
    statement = (
        select(Thread.id)
        .join(ThreadMessage, ThreadMessage.id == Thread.last_message_id)
        .where(
            *same,
            Thread.asked_by == user_id,
            ThreadMessage.author_id == user_id,
            ThreadMessage.text == text,
            ThreadMessage.created_at > func.clock_timestamp() - DOUBLE_CLICK,
        )
    )
    return session.scalar(statement.limit(1))


def _add_message(session: Session, thread: Thread, author_id: int, text: str, *, is_answer: bool) -> None:
    """Add a message, and tell the other side."""
    message = ThreadMessage(
        thread_id=thread.id,
        author_id=author_id,
        team_id=None if is_answer else thread.team_id,
        is_answer=is_answer,
        text=text,
    )
    session.add(message)
    session.flush()
    thread.last_message_id = message.id
    thread.state = ThreadState.ANSWERED if is_answer else ThreadState.OPEN
    events.record(
        session,
        EventKind.ANSWER if is_answer else EventKind.QUESTION,
        challenge_id=thread.challenge_id,
        phase_id=thread.phase_id,
        team_id=thread.team_id,
        user_id=thread.asked_by if is_answer and thread.team_id is None else None,
        by=author_id,
        thread=thread.id,
        message=message.id,
        title=thread.title,
        path=f"/threads/{thread.id}#last",
    )


def reply(platform: Platform, actor: Actor, thread_id: int, new: NewMessage) -> None:
    """Continue a thread as its team, which opens it again; the same text again changes nothing.

    Raises NotFoundError, RefusedError, ConflictError if it is closed or another message has come since `new.seen`.
    """
    _write(platform, actor, thread_id, new, is_answer=False)


def answer(platform: Platform, actor: Actor, thread_id: int, new: NewMessage) -> None:
    """Answer a thread as an organiser; the same text again changes nothing.

    Raises NotFoundError, ConflictError if it is closed or another message has come since `new.seen`.
    """
    _write(platform, actor, thread_id, new, is_answer=True)


def _write(platform: Platform, actor: Actor, thread_id: int, new: NewMessage, *, is_answer: bool) -> None:
    assert actor.user_id is not None
    with platform.transaction() as session:
        if not is_answer:
            lock_person(session, actor.user_id)
        thread = _locked(session, actor, thread_id, Action.ORGANISE if is_answer else Action.REPLY)
        last = session.get_one(ThreadMessage, thread.last_message_id)
        if (last.author_id, last.is_answer, last.text) == (actor.user_id, is_answer, new.text):
            return
        if thread.state is ThreadState.CLOSED:
            raise ConflictError("An organiser has closed this question, so it takes no more messages")
        _raise_if_unseen(thread, new.seen)
        if not is_answer:
            if thread.team_id is not None:
                teams.lock_team(session, thread.team_id)
            raise_if_refused(_refusals(session, actor.user_id, thread.team_id, is_new=False))
        _add_message(session, thread, actor.user_id, new.text, is_answer=is_answer)


def _locked(session: Session, actor: Actor, thread_id: int, action: Action) -> Thread:
    """Return a thread, locked until the end of the transaction. Raises NotFoundError."""
    theirs = (
        rows_for(actor, action, challenge=Thread.challenge_id)
        if action is Action.ORGANISE
        else visible_threads(actor, action)
    )
    statement = select(Thread).where(Thread.id == thread_id, theirs)
    thread = session.scalar(statement.with_for_update(key_share=True))
    if thread is None:
        raise _not_found(thread_id)
    return thread


def _raise_if_unseen(thread: Thread, seen: int | None) -> None:
    if seen is not None and seen != thread.last_message_id:
        raise ConflictError(
            "Somebody has written since you opened this page. Nothing of yours was sent or changed"
        )


def close(platform: Platform, actor: Actor, thread_id: int, seen: int | None = None) -> None:
    """Close a thread, which then takes no more messages; a closed one stays closed.

    Raises NotFoundError, ConflictError if another message has come since `seen`.
    """
    with platform.transaction() as session:
        thread = _locked(session, actor, thread_id, Action.ORGANISE)
        if thread.state is not ThreadState.CLOSED:
            _raise_if_unseen(thread, seen)
            _set_state(session, actor, thread, ThreadState.CLOSED, "thread.close")


def reopen(platform: Platform, actor: Actor, thread_id: int) -> None:
    """Open a closed thread again, as answered if its last message is an answer. Raises NotFoundError."""
    with platform.transaction() as session:
        thread = _locked(session, actor, thread_id, Action.ORGANISE)
        if thread.state is ThreadState.CLOSED:
            is_answered = session.get_one(ThreadMessage, thread.last_message_id).is_answer
            state = ThreadState.ANSWERED if is_answered else ThreadState.OPEN
            _set_state(session, actor, thread, state, "thread.reopen")


def _set_state(session: Session, actor: Actor, thread: Thread, state: ThreadState, action: str) -> None:
    before, thread.state = thread.state, state
    audit.record(
        session,
        actor.user_id,
        action,
        f"thread {thread.id}",
        challenge_id=thread.challenge_id,
        before={"state": before},
        after={"state": state},
    )


def organised_threads(
    platform: Platform, actor: Actor, code: str, state: ThreadState | None, before: int | None = None
) -> OrganisedThreads:
    """Return the threads of a challenge, the one with the newest message first. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        which = [Thread.challenge_id == challenge.id, *([Thread.state == state] if state else [])]
        page = _page(session, before, *which)
        return OrganisedThreads(
            challenge.code,
            challenge.title,
            asking.asking_of(session, challenge.id),
            count_open(session, [challenge.id]).get(challenge.id, 0),
            page.rows,
            page.next,
        )


def count_open(session: Session, challenge_ids: Collection[int]) -> dict[int, int]:
    """Count, by challenge, the threads that wait for an answer, at most MOST_COUNTED of each."""
    waiting = select(Thread.id).where(Thread.challenge_id == Challenge.id, Thread.state == ThreadState.OPEN)
    counted = waiting.correlate(Challenge).limit(MOST_COUNTED).lateral()
    statement = select(Challenge.id, func.count()).join(counted, true()).group_by(Challenge.id)
    return dict(session.execute(statement.where(Challenge.id.in_(challenge_ids))).all())
