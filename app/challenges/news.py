"""News of challenges: announcements that organisers write, and those by which changes of a phase announce themselves.

Published answers to questions (`answers.py`) stand beside them, on the page and in feeds.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, Unpack

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, func, select, true
from sqlalchemy.orm import Session

from app.challenges import answers, challenges
from app.challenges.answers import AnswerView
from app.challenges.challenges import PhaseView
from app.challenges.phase_rules import (
    PhaseRules,
    RuleChange,
    quotas_in_words,
    rule_changes,
    store,
)
from app.challenges.texts import Lines
from app.core import audit
from app.core.access import Actor, require_challenge, visible_to
from app.core.audit import RecordFields
from app.core.errors import ConflictError, NotFoundError
from app.core.names import Visible
from app.core.paging import RowPage, page_of
from app.jobs import events, queue
from app.models import Announcement, Challenge, EventKind, Phase, Result
from app.platform import Platform
from app.web.formats import duration
from app.web.markdown import LONGEST
from app.web.zones import date_in_words

PAGE: Final = 20  # announcements
AnswersBefore = Annotated[
    int | None,
    Query(ge=1, le=2**63 - 1, description="`next_answers` of the previous page: only published answers"),
]


@dataclass(frozen=True, slots=True)
class AnnouncementView:
    """An announcement. text: Markdown; is_automatic: a change of a phase announced itself."""

    id: int
    public_id: uuid.UUID  # its name in feeds, which never changes
    challenge: str
    challenge_title: str
    version: int
    title: str
    text: str
    created_at: datetime
    edited_at: datetime | None
    is_automatic: bool

    @property
    def updated_at(self) -> datetime:
        """When it was last changed."""
        return self.edited_at or self.created_at


@dataclass(frozen=True, slots=True)
class ReceivedView:
    """An announcement as a team reads it. received: its number in the lists of teams."""

    id: int
    received: int
    title: str
    text: str
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewsView:
    """A page of a challenge's news, newest first; `next` is the `before` of the following page.

    answers: questions that were published with their answers, on the first page and on pages of their own; `next_answers` is
    the `answers_before` of the following one. received: what the organisers announced to the reader's team and not to everybody,
    likewise.
    """

    challenge: str
    title: str
    announcements: tuple[AnnouncementView, ...]
    next: int | None
    phases: tuple[PhaseView, ...] = ()
    answers: tuple[AnswerView, ...] = ()
    next_answers: int | None = None
    received: tuple[ReceivedView, ...] = ()
    next_received: int | None = None


class NewAnnouncement(BaseModel):
    """The form of an announcement."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    title: Annotated[str, Field(min_length=3, max_length=120), Visible]
    text: Annotated[Lines, Field(min_length=1, max_length=LONGEST, description="Markdown")]
    version: Annotated[
        int, Field(ge=0, le=2**31 - 1, description="the version that was edited; 0 for a new announcement")
    ] = 0


def date_changes(image_set: str, before: PhaseRules, after: PhaseRules) -> Iterator[str]:
    """Yield a sentence for each date of a phase that has changed."""
    if before.opens_at != after.opens_at:
        yield f"`{image_set}` opens on {date_in_words(after.opens_at)} instead of {date_in_words(before.opens_at)}."
    if before.closes_at != after.closes_at:
        old = date_in_words(before.closes_at) if before.closes_at else "never"
        new = f"closes on {date_in_words(after.closes_at)}" if after.closes_at else "has no closing date"
        yield f"`{image_set}` {new}; before, it was {old}."
    grace, new_grace = before.grace_in_force, after.grace_in_force
    if grace and not new_grace and after.closes_at is not None:
        yield f"An upload to `{image_set}` has to be submitted before the close; there is no grace period any more."
    elif grace != new_grace and after.closes_at is not None:
        yield (
            f"An upload to `{image_set}` that was started before the close may be submitted up to"
            f" {duration(new_grace)} later{f' instead of {duration(grace)}' if grace else ''}."
        )


def freeze_changes(image_set: str, before: PhaseRules, after: PhaseRules) -> Iterator[str]:
    """Yield a sentence if the time has changed from which the rows of others are frozen."""
    if before.frozen_from != after.frozen_from:
        yield (
            f"Others see results that are submitted to `{image_set}` from {date_in_words(after.frozen_from)} on only once it is over."
            if after.frozen_from
            else f"The leaderboards of `{image_set}` are not frozen before it closes."
        )


def quota_changes(image_set: str, before: PhaseRules, after: PhaseRules) -> Iterator[str]:
    """Yield a sentence if the quotas of a phase have changed."""
    if before.quotas != after.quotas:
        yield (
            f"The quota of `{image_set}` is {quotas_in_words(after.quotas) or 'unlimited'}; it was {quotas_in_words(before.quotas) or 'unlimited'}."
        )


def change_rules(session: Session, row: Phase, after: PhaseRules, why: str = "") -> tuple[RuleChange, ...]:
    """Store the rules of a locked phase, announce its dates and quotas if they change, and have its figures drawn again.

    why: a sentence for everybody to read, if there is one. Returns what has changed.
    """
    before = PhaseRules.of(row)
    store(after, row)
    announce_schedule(session, row.challenge_id, row.image_set, before, after, why)
    queue.add_boards(session, Result.phase_id == row.id)
    return rule_changes(before, after)


def announce_schedule(
    session: Session, challenge_id: int, image_set: str, before: PhaseRules, after: PhaseRules, why: str = ""
) -> None:
    """Announce what has changed of a phase's dates and quotas, if anything, in the transaction of the change.

    why: a sentence for everybody to read, if there is one.
    """
    if not challenges.is_announced(session, challenge_id):
        return
    dates, quotas = (
        [*date_changes(image_set, before, after), *freeze_changes(image_set, before, after)],
        [*quota_changes(image_set, before, after)],
    )
    subjects = [name for name, found in (("dates", dates), ("quota", quotas)) if found]
    if subjects:
        title = f"{image_set}: new {' and '.join(subjects)}"
        session.add(
            Announcement(
                challenge_id=challenge_id,
                title=title,
                text="\n\n".join([*dates, *quotas, *([why] if why else [])]),
                version=1,
            )
        )
    if before.closes_at != after.closes_at:
        phase = select(Phase.id).where(Phase.challenge_id == challenge_id, Phase.image_set == image_set)
        events.record(
            session,
            EventKind.EXTENDED,
            challenge_id=challenge_id,
            phase_id=session.scalar(phase),
            before=before.closes_at and before.closes_at.isoformat(),
            after=after.closes_at and after.closes_at.isoformat(),
        )


def announce(session: Session, challenge_id: int, title: str, text: str) -> None:
    """Announce a change of a challenge to everybody whom announcements reach, in the transaction of the change."""
    row = Announcement(challenge_id=challenge_id, title=title, text=text, version=1)
    session.add(row)
    session.flush()
    events.record(
        session, EventKind.ANNOUNCEMENT, challenge_id=challenge_id, announcement=row.id, title=title
    )


def announce_ground_truth(session: Session, challenge_id: int, image_set: str, version: int) -> None:
    """Announce that the boards of a phase use a new version of the ground truth, in the transaction that switches them."""
    if not challenges.is_announced(session, challenge_id):
        return
    text = (
        f"The leaderboards of `{image_set}` now use version {version} of the ground truth. The results on them were scored"
        " again; the page of a submission lists its earlier scores."
    )
    session.add(
        Announcement(
            challenge_id=challenge_id, title=f"{image_set}: ground truth corrected", text=text, version=1
        )
    )


def newest(
    session: Session, code: str | None, limit: int, before: int | None = None
) -> RowPage[AnnouncementView]:
    """Return announcements, newest first. code: of one challenge, None for all listed ones; before: older than this one."""
    statement = (
        select(Announcement, Challenge.code, Challenge.title)
        .join(Challenge)
        .where(
            _of_challenge(code),
            Announcement.id < before if before else true(),
        )
        .order_by(Announcement.id.desc())
        .limit(limit + 1)
    )
    found = [_view(*row) for row in session.execute(statement)]
    return page_of(found, limit, number=lambda row: row.id)


def _of_challenge(code: str | None) -> ColumnElement[bool]:
    return Challenge.code == code if code is not None else visible_to(Actor(), Challenge.id, in_lists=True)


def _view(row: Announcement, code: str, title: str) -> AnnouncementView:
    return AnnouncementView(
        row.id, row.public_id, code, title, row.version, row.title, row.text, row.created_at, row.edited_at,
        is_automatic=row.created_by is None,
    )  # fmt: skip


def news_page(
    platform: Platform, code: str, before: int | None = None, answers_before: int | None = None
) -> NewsView:
    """Load a page of a challenge's news: the first has both kinds, the following ones have one. Raises NotFoundError."""
    with platform.snapshot() as session:
        challenge = challenges.find_challenge(session, code)
        # not `RowPage[AnswerView]()`, which Python 3.11 cannot do with a frozen class that has slots
        rows: RowPage[AnnouncementView] = RowPage()
        answered: RowPage[AnswerView] = RowPage()
        if answers_before is None:
            rows = newest(session, code, PAGE, before)
        if before is None:
            answered = answers.newest(session, _of_challenge(code), PAGE, answers_before)
        phases = tuple(challenges.phases_of(session, code))
    return NewsView(
        challenge.code, challenge.title, rows.rows, rows.next, phases, answered.rows, answered.next
    )


def editable_announcement(
    platform: Platform, actor: Actor, code: str, announcement_id: int
) -> AnnouncementView:
    """Return an announcement of a challenge that this person organises. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code)
        return _view(_stored(session, challenge, announcement_id), challenge.code, challenge.title)


def _stored(session: Session, challenge: Challenge, announcement_id: int) -> Announcement:
    """Return an announcement, locked until the end of the transaction. Raises NotFoundError."""
    row = session.get(Announcement, announcement_id, with_for_update=True)
    if row is None or row.challenge_id != challenge.id:
        raise NotFoundError(f"there is no announcement {announcement_id} in {challenge.code}")
    return row


def publish(platform: Platform, actor: Actor, code: str, new: NewAnnouncement) -> int:
    """Publish an announcement and return its id. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        row = Announcement(
            challenge_id=challenge.id, title=new.title, text=new.text, created_by=actor.user_id, version=1
        )
        session.add(row)
        session.flush()
        _record(session, actor, "news.publish", row, after={"title": row.title})
        events.record(
            session, EventKind.ANNOUNCEMENT, challenge_id=challenge.id, announcement=row.id, title=row.title
        )
        number = row.id
    platform.cache.expire_versions()
    return number


def edit(platform: Platform, actor: Actor, code: str, announcement_id: int, new: NewAnnouncement) -> None:
    """Change an announcement; the same text changes nothing.

    Raises NotFoundError, ForbiddenError, ConflictError if somebody has changed it since the version that was edited.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        row = _stored(session, challenge, announcement_id)
        if (row.title, row.text) == (new.title, new.text):
            return
        if new.version != row.version:
            message = "Another organiser has changed this announcement after you had opened it. Nothing of yours was saved"
            raise ConflictError(message)
        before = {"title": row.title, "version": row.version}
        row.title, row.text, row.version = new.title, new.text, row.version + 1
        row.edited_at = challenges.now(session)
        _record(
            session,
            actor,
            "news.edit",
            row,
            before=before,
            after={"title": row.title, "version": row.version},
        )
    platform.cache.expire_versions()


def delete(platform: Platform, actor: Actor, code: str, announcement_id: int) -> None:
    """Delete an announcement. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        row = _stored(session, challenge, announcement_id)
        _record(session, actor, "news.delete", row, before={"title": row.title, "text": row.text})
        session.delete(row)
    platform.cache.expire_versions()


def _record(
    session: Session, actor: Actor, action: str, row: Announcement, **values: Unpack[RecordFields]
) -> None:
    values["challenge_id"] = row.challenge_id
    audit.record(session, actor.user_id, action, f"announcement {row.id}", **values)


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FEED: Final = 50  # entries of a feed


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An announcement or a published answer in a feed. anchor: on the page of news; texts: Markdown, one after the other."""

    public_id: uuid.UUID
    challenge: str
    challenge_title: str
    anchor: str
    title: str
    texts: tuple[str, ...]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Feed:
    """The news of a challenge, or of all, newest first. updated_at: when the newest change was made."""

    title: str
    path: str  # of the page that it is the feed of
    entries: tuple[FeedEntry, ...]
    updated_at: datetime


def feed(platform: Platform, code: str | None) -> Feed:
    """Load the feed of a challenge, or of all. Raises NotFoundError."""
    with platform.snapshot() as session:
        challenge = challenges.find_challenge(session, code) if code is not None else None
        announced = [_entry(row, f"news-{row.id}", row.text) for row in newest(session, code, FEED).rows]
        answered = [
            _entry(row, f"answer-{row.id}", row.question, row.answer)
            for row in answers.newest(session, _of_challenge(code), FEED).rows
        ]
        started = session.scalar(select(func.max(Challenge.created_at)).where(_of_challenge(code)))
    entries = sorted((*announced, *answered), key=lambda entry: entry.created_at, reverse=True)[:FEED]
    updated = max((entry.updated_at for entry in entries), default=started or EPOCH)
    title = challenge.title if challenge else ""
    return Feed(title, f"/challenges/{code}/news" if challenge else "/", tuple(entries), updated)


def _entry(row: AnnouncementView | AnswerView, anchor: str, *texts: str) -> FeedEntry:
    return FeedEntry(
        row.public_id,
        row.challenge,
        row.challenge_title,
        anchor,
        row.title,
        texts,
        row.created_at,
        row.updated_at,
    )
