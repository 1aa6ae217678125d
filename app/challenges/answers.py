"""Questions and answers that organisers publish for everybody, edited from a thread and without anything that names a team."""

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Unpack

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, func, or_, select, true
from sqlalchemy.orm import Session

from app.challenges.texts import Lines
from app.core import audit
from app.core.access import Action, Actor, rows_for
from app.core.audit import RecordFields
from app.core.errors import ConflictError, NamesAsker, NotFoundError, RefusedError
from app.core.names import Visible, folded
from app.core.paging import RowPage, page_of
from app.models import (
    Challenge,
    Member,
    Method,
    PublishedAnswer,
    Submission,
    Team,
    Thread,
    ThreadMessage,
    Upload,
    User,
)
from app.platform import Platform

LONGEST_MESSAGE: Final = 5000  # characters
OF_TEAMS: Final = re.compile(
    r"/(?:uploads|submissions|threads|teams)/[\w-]+"
)  # addresses of what belongs to a team


@dataclass(frozen=True, slots=True)
class AnswerView:
    """A published question with its answer, both Markdown."""

    id: int
    public_id: uuid.UUID  # its name in feeds, which never changes
    challenge: str
    challenge_title: str
    version: int
    title: str
    question: str
    answer: str
    created_at: datetime
    edited_at: datetime | None

    @property
    def updated_at(self) -> datetime:
        """When it was last changed."""
        return self.edited_at or self.created_at


@dataclass(frozen=True, slots=True)
class AnswerSheet:
    """What an organiser edits. published: as everybody reads it, None before; otherwise the texts come from the thread."""

    thread: int
    thread_title: str
    challenge: str
    challenge_title: str
    title: str
    question: str
    answer: str
    published: AnswerView | None


class NewAnswer(BaseModel):
    """A question and its answer, as everybody reads them."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    title: Annotated[str, Field(min_length=3, max_length=120), Visible]
    question: Annotated[Lines, Field(min_length=1, max_length=LONGEST_MESSAGE, description="Markdown")]
    answer: Annotated[Lines, Field(min_length=1, max_length=LONGEST_MESSAGE, description="Markdown")]
    version: Annotated[
        int, Field(ge=0, le=2**31 - 1, description="the version that was edited; 0 if it is not published")
    ] = 0
    names_may_stay: Annotated[
        bool, Field(description="publish it although words in it may name the team that asked")
    ] = False

    @property
    def texts(self) -> tuple[str, str, str]:
        """Everything that people read."""
        return self.title, self.question, self.answer


def mentioned(texts: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return these names, and the addresses of what belongs to teams, as far as they occur in the texts as whole words.

    >>> mentioned(["Fern asks: why was /submissions/12 refused?"], ["fern", "Fe"])
    ('fern', '/submissions/12')
    """
    text = "\n".join(texts)
    words = folded(text)
    found = (name for name in names if re.search(rf"(?<!\w){re.escape(folded(name))}(?!\w)", words))
    return tuple(dict.fromkeys((*found, *OF_TEAMS.findall(text))))


def newest(
    session: Session, which: ColumnElement[bool], limit: int, before: int | None = None
) -> RowPage[AnswerView]:
    """Return the published answers of these challenges, newest first. before: those that are older than this one."""
    statement = (
        select(PublishedAnswer, Challenge)
        .join(Challenge)
        .where(which, PublishedAnswer.id < before if before else true())
        .order_by(PublishedAnswer.id.desc())
        .limit(limit + 1)
    )
    found = [_view(*row) for row in session.execute(statement)]
    return page_of(found, limit, number=lambda row: row.id)


def _view(row: PublishedAnswer, challenge: Challenge) -> AnswerView:
    return AnswerView(
        row.id, row.public_id, challenge.code, challenge.title, row.version, row.title, row.question, row.answer,
        row.created_at, row.edited_at,
    )  # fmt: skip


def answer_sheet(platform: Platform, actor: Actor, thread_id: int) -> AnswerSheet:
    """Return what is published of a thread or, before that, a proposal: its first message and its last answer. Raises NotFoundError."""
    with platform.snapshot() as session:
        thread, challenge = _organised(session, actor, thread_id)
        stored = _stored(session, thread_id)
        if stored is not None:
            texts = (stored.title, stored.question, stored.answer)
        else:
            texts = (thread.title, *_asked_and_answered(session, thread_id))
        published = _view(stored, challenge) if stored else None
        return AnswerSheet(thread.id, thread.title, challenge.code, challenge.title, *texts, published)


def _organised(
    session: Session, actor: Actor, thread_id: int, *, lock: bool = False
) -> tuple[Thread, Challenge]:
    theirs = rows_for(actor, Action.ORGANISE, challenge=Thread.challenge_id)
    statement = select(Thread, Challenge).join(Challenge).where(Thread.id == thread_id, theirs)
    row = session.execute(
        statement.with_for_update(of=Thread, key_share=True) if lock else statement
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no question {thread_id}")
    return row[0], row[1]


def _stored(session: Session, thread_id: int) -> PublishedAnswer | None:
    return session.scalar(select(PublishedAnswer).where(PublishedAnswer.thread_id == thread_id))


def _asked_and_answered(session: Session, thread_id: int) -> tuple[str, str]:
    messages = select(ThreadMessage.text).where(ThreadMessage.thread_id == thread_id).limit(1)
    asked = session.scalar(messages.order_by(ThreadMessage.id))
    answered = session.scalar(messages.where(ThreadMessage.is_answer).order_by(ThreadMessage.id.desc()))
    return asked or "", answered or ""


def publish(platform: Platform, actor: Actor, thread_id: int, new: NewAnswer) -> None:
    """Publish a question and its answer, or change what is published; the same texts change nothing.

    Raises NotFoundError, ConflictError if somebody has changed it since the version that was edited, RefusedError if the
    texts may name the team.
    """
    with platform.transaction() as session:
        thread, challenge = _organised(session, actor, thread_id, lock=True)
        row = _stored(session, thread_id)
        if row is not None and (row.title, row.question, row.answer) == new.texts:
            return
        if new.version != (row.version if row else 0):
            message = "Another organiser has changed this answer after you had opened it. Nothing of yours was saved"
            raise ConflictError(message)
        names = mentioned(new.texts, _names(session, thread))
        if names and not new.names_may_stay:
            raise RefusedError(
                [NamesAsker(f"the texts contain {', '.join(names)}; remove this, or say that it may stay")]
            )
        if row is None:
            row = PublishedAnswer(
                challenge_id=challenge.id, thread_id=thread.id, created_by=actor.user_id, version=0
            )
            session.add(row)
            action = "answer.publish"
        else:
            action = "answer.edit"
            row.edited_at = func.clock_timestamp()
        row.title, row.question, row.answer = new.texts
        row.version += 1
        _record(session, actor, action, row, after={"title": row.title, "version": row.version})
    platform.cache.expire_versions()


def _names(session: Session, thread: Thread) -> list[str]:
    """Return what would tell readers who asked, or about what."""
    written = select(ThreadMessage.author_id).where(
        ThreadMessage.thread_id == thread.id, ThreadMessage.is_answer.is_(False)
    )
    members = select(Member.user_id).where(Member.team_id == thread.team_id)
    people = select(User.name).where(
        or_(User.id.in_(written), User.id.in_(members)), User.deleted_at.is_(None)
    )
    team = select(Team.name).where(Team.id == thread.team_id)
    upload = select(Upload.filename).where(Upload.id == thread.upload_id)
    method = (
        select(Method.name)
        .join(Submission, Submission.method_id == Method.id)
        .where(Submission.id == thread.submission_id)
    )
    return list(session.scalars(team.union(people, upload, method)))


def unpublish(platform: Platform, actor: Actor, thread_id: int) -> None:
    """Delete what is published of a thread; the audit log keeps it. Raises NotFoundError."""
    with platform.transaction() as session:
        _organised(session, actor, thread_id, lock=True)
        row = _stored(session, thread_id)
        if row is None:
            raise NotFoundError(f"nothing is published of question {thread_id}")
        before = {"title": row.title, "question": row.question, "answer": row.answer}
        _record(session, actor, "answer.unpublish", row, before=before)
        session.delete(row)
    platform.cache.expire_versions()


def _record(
    session: Session, actor: Actor, action: str, row: PublishedAnswer, **values: Unpack[RecordFields]
) -> None:
    values["challenge_id"] = row.challenge_id
    audit.record(session, actor.user_id, action, f"thread {row.thread_id}", **values)
