"""Reports of labels: what people say is wrong with the annotation of an image, and what its organisers answer.

Only images whose annotation is drawn for everybody take reports. Of any other, also of one that does not exist, the same is
said: there is no such image. Who reports is logged in, so that what they wrote can be answered, limited and erased.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import ColumnElement, Select, func, select, true
from sqlalchemy.orm import Session, joinedload

from app.challenges import challenges, versions
from app.challenges.challenges import PhaseView, find_phase
from app.challenges.texts import Lines
from app.core import audit
from app.core.access import Actor, require_active, require_challenge
from app.core.errors import (
    ConflictError,
    FieldsError,
    NotFoundError,
    Refusal,
    ReportLimit,
    raise_if_refused,
)
from app.core.paging import RowPage, page_of
from app.images.pictures import can_see_truth, no_image, picture_of, source_of
from app.jobs import events
from app.models import EventKind, GroundTruth, LabelProblem, LabelReport, Phase, Picture, User
from app.people.locking import lock_person
from app.platform import Platform
from app.web import tables
from app.web.forms import OrBlank
from app.web.zones import date_in_words

PAGE: Final = 50  # rows of a list
MOST_OF_PERSON: Final = 10  # reports within WINDOW
WINDOW: Final = timedelta(days=1)
MOST_OF_IMAGE: Final = 50  # open reports
MOST_CLOSED: Final = 200  # at once
LONGEST: Final = 1000
BATCH: Final = 500  # rows of each statement of an export

ReportId = Annotated[int, Field(ge=1, le=2**63 - 1)]


class NewReport(BaseModel):
    """A report of a label."""

    model_config = ConfigDict(
        extra="forbid",
        str_strip_whitespace=True,
        frozen=True,
        json_schema_extra={
            "examples": [{"kind": "wrong class", "text": "The bird on the left is a heron, not a stork."}]
        },
    )

    kind: LabelProblem
    text: Annotated[
        Lines, Field(min_length=3, max_length=LONGEST, description="what is wrong, as plain text")
    ]


class Closing(BaseModel):
    """How reports of a challenge are closed: with an answer, with the version that is corrected, or with both."""

    model_config = ConfigDict(
        extra="forbid",
        str_strip_whitespace=True,
        frozen=True,
        json_schema_extra={"examples": [{"reports": [7], "corrected_in": 3}]},
    )

    reports: Annotated[tuple[ReportId, ...], Field(min_length=1, max_length=MOST_CLOSED)]
    answer: Annotated[Lines, Field(max_length=LONGEST, description="whoever reported it reads this")] = ""
    corrected_in: Annotated[
        OrBlank[Annotated[int, Field(ge=1, le=2**31 - 1)]],
        Field(description="the version of the annotation without the problem"),
    ] = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.answer and self.corrected_in is None:
            raise ValueError("write an answer, or say in which version the label is corrected")
        return self


class ReportQuery(BaseModel):
    """Which reports of a challenge are listed."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    state: Annotated[
        OrBlank[Literal["open", "closed"]], Field(description="only reports in this state; all by default")
    ] = None
    image_set: Annotated[OrBlank[Annotated[str, Field(max_length=100)]], Field()] = None
    image: Annotated[OrBlank[Annotated[str, Field(max_length=1000)]], Field(description="its name")] = None
    before: Annotated[
        OrBlank[ReportId], Field(description="the number of the last report of the page before")
    ] = None


@dataclass(frozen=True, slots=True)
class LabelReportView:
    """A report. version: of the annotation that was shown; closed_at: None while it is open."""

    id: int
    image_set: str
    image: str
    kind: LabelProblem
    text: str
    by: str
    version: int | None
    created_at: datetime
    closed_at: datetime | None
    answer: str
    corrected_in: int | None


@dataclass(frozen=True, slots=True)
class Reporting:
    """What a reader can do about the labels of an image. own: their reports of it, newest first."""

    is_possible: bool = False  # the image takes reports
    own: tuple[LabelReportView, ...] = ()
    refusals: tuple[str, ...] = ()  # why this reader cannot report now


@dataclass(frozen=True, slots=True)
class ReportedImage:
    """An image with reports. newest: the number of the newest report, by which a list is sorted."""

    image_set: str
    image: str
    open: int
    closed: int
    newest: int
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class ReportedImages:
    """A page of the reported images of a challenge, the one with the newest report first; open, closed: all its reports."""

    challenge: str
    title: str
    open: int
    closed: int
    images: tuple[ReportedImage, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class ImageReports:
    """The reports of an image for organisers. newest_version: of the annotation of its phase."""

    challenge: str
    title: str
    phase_id: int
    image_set: str
    image: str
    newest_version: int | None
    reports: tuple[LabelReportView, ...]
    next: int | None


# reporting


def reporting(platform: Platform, actor: Actor, challenge: str, image_set: str, name: str) -> Reporting:
    """Return what a reader can do about the labels of an image; nothing if it takes no reports, whatever the reason."""
    with platform.snapshot() as session:
        try:
            phase = _reportable(session, actor, challenge, image_set, name)
        except NotFoundError:
            return Reporting()
        if not actor.is_logged_in:
            return Reporting(is_possible=phase.archived_at is None)
        own = _of_image(phase, name, LabelReport.user_id == actor.user_id)
        refusals = (each.message for each in _refusals(session, actor.user_id, phase, name))
        return Reporting(phase.archived_at is None, tuple(map(_view, session.scalars(own))), tuple(refusals))


def own_reports(
    platform: Platform, actor: Actor, challenge: str, image_set: str, name: str
) -> tuple[LabelReportView, ...]:
    """Return the reader's reports of an image, newest first. Raises NotFoundError."""
    with platform.snapshot() as session:
        phase = _reportable(session, actor, challenge, image_set, name)
        return tuple(
            map(_view, session.scalars(_of_image(phase, name, LabelReport.user_id == actor.user_id)))
        )


def report(
    platform: Platform, actor: Actor, challenge: str, image_set: str, name: str, new: NewReport
) -> LabelReportView:
    """Report a label, which its organisers are told of once a day; the same report again is the same one while it is open.

    Raises NotFoundError, RefusedError beyond the limits, ConflictError if the challenge is archived.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        phase = _reportable(session, actor, challenge, image_set, name)
        challenges.keep_dates(session, phase.id)
        require_active(session, phase.challenge_id)
        lock_person(session, actor.user_id)
        _lock_image(session, phase, name)
        same = (
            LabelReport.user_id == actor.user_id,
            LabelReport.kind == new.kind,
            LabelReport.text == new.text,
            LabelReport.closed_at.is_(None),
        )
        if (earlier := session.scalar(_of_image(phase, name, *same))) is not None:
            return _view(earlier)
        raise_if_refused(_refusals(session, actor.user_id, phase, name))
        truth = versions.shown_truth(session, phase.id)
        row = LabelReport(
            phase_id=phase.id,
            image=name,
            user_id=actor.user_id,
            version=truth.version if truth else None,
            **new.model_dump(),
        )
        session.add(row)
        session.flush()
        audit.record(
            session, actor.user_id, "label-report.add", f"phase {phase.id}",
            challenge_id=phase.challenge_id, details={"report": row.id, "kind": new.kind.value},
        )  # fmt: skip
        today = challenges.now(session).date().isoformat()
        events.record_once(
            session, f"labels of challenge {phase.challenge_id} reported on {today}", EventKind.LABELS_REPORTED,
            challenge_id=phase.challenge_id,
        )  # fmt: skip
        return _view(session.scalars(_reports(LabelReport.id == row.id)).one())


def _reportable(session: Session, actor: Actor, challenge: str, image_set: str, name: str) -> PhaseView:
    """Return the phase of an image whose labels can be reported. Raises NotFoundError.

    The annotation of its phase is public, and drawn over it for this actor.
    """
    phase = find_phase(session, challenge, image_set)
    source = source_of(session, phase.id)
    is_public = not phase.is_held_out and source is not None and can_see_truth(actor, phase, source)
    if not is_public or picture_of(session, phase.id, name) is None:
        raise no_image(phase, name)
    return phase


def _lock_image(session: Session, phase: PhaseView, name: str) -> None:
    """Have reports of an image decided one after the other."""
    image = select(Picture.position).where(Picture.phase_id == phase.id, Picture.name == name)
    session.execute(image.with_for_update(key_share=True))


def _refusals(session: Session, user_id: int | None, phase: PhaseView, name: str) -> Iterator[Refusal]:
    """Yield every reason why a person may not report a label of an image now."""
    now = challenges.now(session)
    recent = select(LabelReport.created_at).where(
        LabelReport.user_id == user_id, LabelReport.created_at > now - WINDOW
    )
    times = session.scalars(recent.order_by(LabelReport.created_at.desc()).limit(MOST_OF_PERSON)).all()
    if len(times) == MOST_OF_PERSON:
        at = times[-1] + WINDOW
        message = f"you have reported {MOST_OF_PERSON} labels within a day; the next is possible on {date_in_words(at)}"
        yield ReportLimit(message, retry_at=at)
    of_image = select(func.count()).where(
        LabelReport.phase_id == phase.id, LabelReport.image == name, LabelReport.closed_at.is_(None)
    )
    if (session.scalar(of_image) or 0) >= MOST_OF_IMAGE:
        yield ReportLimit(
            f"this image has {MOST_OF_IMAGE} open reports already; the organisers have to look at them first"
        )


def _reports(*which: ColumnElement[bool]) -> Select[LabelReport]:
    """Select reports with their phase and who wrote them, newest first."""
    return (
        select(LabelReport)
        .options(joinedload(LabelReport.phase), joinedload(LabelReport.reporter).load_only(User.name))
        .where(*which)
        .order_by(LabelReport.id.desc())
    )


def _of_image(phase: PhaseView, name: str, *which: ColumnElement[bool]) -> Select[LabelReport]:
    here = LabelReport.phase_id == phase.id, LabelReport.image == name
    return _reports(*here, *which).limit(PAGE)


def _view(row: LabelReport) -> LabelReportView:
    return LabelReportView(
        id=row.id,
        image_set=row.phase.image_set,
        image=row.image,
        kind=row.kind,
        text=row.text,
        by=row.reporter.name,
        version=row.version,
        created_at=row.created_at,
        closed_at=row.closed_at,
        answer=row.answer,
        corrected_in=row.corrected_in,
    )


# for organisers


def images(platform: Platform, actor: Actor, code: str, query: ReportQuery) -> ReportedImages:
    """Return the reported images of a challenge, the one with the newest report first. Raises NotFoundError, ForbiddenError."""
    is_open = LabelReport.closed_at.is_(None)
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        here = Phase.challenge_id == challenge.id
        counts = select(func.count().filter(is_open), func.count().filter(~is_open))
        total = session.execute(counts.select_from(LabelReport).join(LabelReport.phase).where(here)).one()
        open_, newest = func.count().filter(is_open), func.max(LabelReport.id)
        by_image = (
            select(
                Phase.image_set, LabelReport.image, open_, func.count().filter(~is_open), newest,
                func.max(LabelReport.created_at),
            )
            .join(LabelReport.phase)
            .where(here, *_which(query))
            .group_by(Phase.id, LabelReport.image)
            .having(newest < query.before if query.before else true())
            .order_by(newest.desc())
            .limit(PAGE + 1)
        )  # fmt: skip
        found = [ReportedImage(*row) for row in session.execute(by_image)]
        page = page_of(found, PAGE, number=lambda row: row.newest)
        return ReportedImages(challenge.code, challenge.title, total[0], total[1], page.rows, page.next)


def count_open(session: Session, challenge_ids: Collection[int]) -> dict[int, int]:
    """Count the open reports by challenge."""
    statement = select(Phase.challenge_id, func.count()).join(LabelReport, LabelReport.phase_id == Phase.id)
    waiting = Phase.challenge_id.in_(challenge_ids), LabelReport.closed_at.is_(None)
    return dict(session.execute(statement.where(*waiting).group_by(Phase.challenge_id)).all())


def _which(query: ReportQuery) -> Iterator[ColumnElement[bool]]:
    """The conditions of reports that a query asks for."""
    if query.state is not None:
        is_open = LabelReport.closed_at.is_(None)
        yield is_open if query.state == "open" else ~is_open
    if query.image_set is not None:
        yield Phase.image_set == query.image_set
    if query.image is not None:
        yield LabelReport.image == query.image


def list_reports(
    platform: Platform, actor: Actor, code: str, query: ReportQuery, most: int = PAGE
) -> RowPage[LabelReportView]:
    """Return reports of a challenge, newest first. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        return _list(session, query, Phase.challenge_id == challenge.id, most)


def _list(
    session: Session, query: ReportQuery, where: ColumnElement[bool], most: int = PAGE
) -> RowPage[LabelReportView]:
    chosen = _reports(where, *_which(query), LabelReport.id < query.before if query.before else true())
    rows = session.scalars(chosen.join(LabelReport.phase).limit(most + 1))
    return page_of(list(map(_view, rows)), most, number=lambda row: row.id)


def of_image(
    platform: Platform, actor: Actor, code: str, image_set: str, name: str, before: int | None = None
) -> ImageReports:
    """Return the reports of an image, newest first. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        phase = find_phase(session, code, image_set)
        query = ReportQuery(image_set=image_set, image=name, before=before)
        page = _list(session, query, LabelReport.phase_id == phase.id)
        if not page.rows and before is None:
            raise NotFoundError(f"nobody has reported a label of {name!r} in {code} {image_set}")
        newest = _newest_version(session, phase.id)
        return ImageReports(
            challenge.code, challenge.title, phase.id, image_set, name, newest, page.rows, page.next
        )


def _newest_version(session: Session, phase_id: int) -> int | None:
    return session.scalar(select(func.max(GroundTruth.version)).where(GroundTruth.phase_id == phase_id))


def close(platform: Platform, actor: Actor, code: str, closing: Closing) -> None:
    """Close open reports of a challenge, and tell whoever wrote them.

    Raises NotFoundError, ForbiddenError, ConflictError if somebody has closed one meanwhile, and FieldsError for a version that
    does not exist, or that one of them is about.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        rows = _locked(session, challenge.id, closing.reports)
        if done := [row.id for row in rows if row.closed_at is not None]:
            raise ConflictError(
                f"Somebody has closed {', '.join(map(str, done))} meanwhile; nothing was changed"
            )
        _check_version(session, rows, closing.corrected_in)
        for row in rows:
            row.closed_at, row.closed_by = func.clock_timestamp(), actor.user_id
            row.answer, row.corrected_in = closing.answer, closing.corrected_in
        by_phase = {row.phase_id: [each.id for each in rows if each.phase_id == row.phase_id] for row in rows}
        for phase_id, numbers in by_phase.items():
            audit.record(
                session, actor.user_id, "label-report.close", f"phase {phase_id}",
                challenge_id=challenge.id,
                details={"count": len(numbers), "reports": numbers, "corrected_in": closing.corrected_in},
            )  # fmt: skip
        for (phase_id, user_id, image), report_id in {
            (row.phase_id, row.user_id, row.image): row.id for row in rows
        }.items():
            events.record(
                session, EventKind.LABEL_ANSWER,
                challenge_id=challenge.id, phase_id=phase_id, user_id=user_id, by=actor.user_id,
                report=report_id, image=image,
            )  # fmt: skip


def _locked(session: Session, challenge_id: int, numbers: Sequence[int]) -> list[LabelReport]:
    """Lock reports of a challenge. Raises NotFoundError."""
    here = select(Phase.id).where(Phase.challenge_id == challenge_id)
    statement = select(LabelReport).where(LabelReport.id.in_(numbers), LabelReport.phase_id.in_(here))
    found = session.scalars(statement.order_by(LabelReport.id).with_for_update()).all()
    if missing := set(numbers) - {row.id for row in found}:
        raise NotFoundError(f"there is no report {min(missing)} in this challenge")
    return list(found)


def _check_version(session: Session, rows: Sequence[LabelReport], version: int | None) -> None:
    """Raise FieldsError unless a version exists and is newer than those that were reported."""
    if version is None:
        return
    newest = min(_newest_version(session, phase_id) or 0 for phase_id in {row.phase_id for row in rows})
    reported = max((row.version or 0 for row in rows), default=0)
    if version > newest:
        raise FieldsError({"corrected_in": f"there is no version {version} yet; the newest is {newest}"})
    if version <= reported:
        raise FieldsError(
            {"corrected_in": f"version {reported} was reported; the corrected one comes after it"}
        )


HEADER: Final = (
    "number", "image set", "image", "problem", "text", "by", "version", "reported at", "closed at", "answer", "corrected in",
)  # fmt: skip


def csv_lines(platform: Platform, actor: Actor, code: str, query: ReportQuery) -> Iterator[str]:
    """Return reports of a challenge as CSV, newest first, some at a time. Raises NotFoundError, ForbiddenError at once."""
    first = list_reports(platform, actor, code, query, BATCH)

    def lines() -> Iterator[str]:
        page = first
        yield tables.csv_of(HEADER, map(_cells, page.rows))
        while page.next is not None:
            later = query.model_copy(update={"before": page.next})
            page = list_reports(platform, actor, code, later, BATCH)
            yield tables.csv_of(HEADER, map(_cells, page.rows)).partition("\r\n")[2]

    return lines()


def _cells(row: LabelReportView) -> tuple[tables.Cell, ...]:
    closed = row.closed_at.isoformat() if row.closed_at else None
    return (
        row.id, row.image_set, row.image, row.kind.value, row.text, row.by, row.version, row.created_at.isoformat(), closed,
        row.answer, row.corrected_in,
    )  # fmt: skip
