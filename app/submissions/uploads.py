"""Uploads as shown to their team, on pages and in the API."""

import re
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Self

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    and_,
    case,
    cast,
    func,
    null,
    or_,
    select,
    text,
    true,
    tuple_,
    type_coerce,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session, aliased, contains_eager, defer, joinedload

import heldout_scoring
from app.challenges.challenges import PhaseView, offered_competitions
from app.core.access import Action, Actor, rows_for
from app.core.errors import BadRequestError, NotFoundError
from app.models import Method, Phase, Result, ResultState, Submission, Upload, UploadState
from app.models.table import enum_type
from app.platform import Platform
from app.storage import DIGEST
from app.submissions import retention
from app.submissions.retention import Retention, expires_at
from app.web.tus import parse_metadata, parse_sha256, parse_size
from heldout_scoring.competitions import is_single_file, result_path, unknown_file


@dataclass(frozen=True, slots=True)
class UploadMetadata:
    """What is known about an archive before it arrives."""

    filename: str
    size: int
    sha256: str | None = None
    competitions: Sequence[int] | None = None  # the only ones it is meant for

    @classmethod
    def of_headers(cls, length: str | None, metadata: str) -> Self:
        """Parse the tus headers of a new upload.

        Raises BadRequestError.
        """
        values = parse_metadata(metadata)
        return cls(
            filename=values.get("filename") or values.get("name") or "",
            size=parse_size(length or "", "Upload-Length"),
            sha256=parse_sha256(values.get("sha256", "")),
            competitions=parse_competitions(values.get("competitions", "")),
        )


def mismatch(phase: PhaseView, filename: str, numbers: Iterable[int]) -> str | None:
    """Return why a file of this name, or for these competitions, cannot belong to a phase; None if it may."""
    known = [each.number for each in offered_competitions(phase)]
    unknown = sorted(set(numbers).difference(known))
    if unknown:
        expected = ", ".join(map(str, known))
        return f"there is no competition {unknown[0]} in {phase.challenge} {phase.image_set}; expected some of {expected}"
    if is_single_file(filename) and result_path(filename, phase.dataset, phase.image_set) is None:
        return unknown_file(filename, phase.dataset, phase.image_set)
    return None


def parse_competitions(text: str) -> tuple[int, ...] | None:
    """Parse competition numbers separated by commas; None for an empty text.

    Raises BadRequestError.

    >>> parse_competitions("3, 4"), parse_competitions("")
    ((3, 4), None)
    """
    if not text:
        return None
    if not re.fullmatch(r"\s*\d{1,2}\s*(,\s*\d{1,2}\s*)*", text, re.ASCII):
        raise BadRequestError(
            f"Upload-Metadata: expected numbers of competitions such as '3,4', found {text!r}"
        )
    return tuple(sorted({int(each) for each in text.split(",")}))


PAGE = 50  # uploads


@dataclass(frozen=True, slots=True)
class SameResult:
    """A result of the team with the same predictions as an upload, in a different archive."""

    competition: int  # of the upload
    submission: int
    submitted_for: int  # the result's competition


class CheckState(StrEnum):
    """What the check of a received upload waits for."""

    RUNNING = "being checked"
    TURN = "another archive of the team is being checked"
    REQUEST = "its check was interrupted"  # and can be requested again


@dataclass(frozen=True, slots=True)
class UploadView:
    """An upload; `report` is the validation report as printed by `heldout-scoring validate`."""

    id: uuid.UUID
    challenge: str
    image_set: str
    filename: str
    size: int
    received: int
    sha256: str | None
    state: UploadState
    valid: bool | None
    report: dict[str, Any] | None
    started_at: datetime
    checked_at: datetime | None
    expires_at: datetime | None  # None if it is kept or its bytes have been removed
    expected_sha256: str | None
    only_competitions: list[int] | None  # files of others are problems
    submissions: list[int]  # confirmed from it
    same_content: list[int]  # submissions of the team in this phase with the same bytes
    is_ours: bool  # the reader is in its team and may send bytes, confirm, or delete it
    may_download: bool
    check: CheckState | None = None  # of a received upload that was not checked yet
    is_outdated: bool = (
        False  # the boards have switched since its check; it is checked again when it is confirmed
    )
    same_predictions: tuple[SameResult, ...] = ()  # in other archives of the team in this phase

    @property
    def is_being_checked(self) -> bool:
        """Whether its report is on its way."""
        return self.check is CheckState.RUNNING

    @property
    def shown_state(self) -> str:
        """The state as shown on pages."""
        return shown_state(self.state, self.valid)

    @property
    def is_removed(self) -> bool:
        """Whether its bytes have been removed."""
        return self.state in (UploadState.REJECTED, UploadState.EXPIRED)

    @property
    def is_stored(self) -> bool:
        """Whether the whole archive is stored."""
        return self.state in (UploadState.RECEIVED, UploadState.CHECKED)

    @property
    def competitions(self) -> tuple[int, ...]:
        """The competitions that the archive has files for."""
        return competitions_of(self.report)


@dataclass(frozen=True, slots=True)
class UploadRow:
    """A row of "my uploads"."""

    id: uuid.UUID
    challenge: str
    image_set: str
    filename: str
    size: int
    received: int
    state: UploadState
    valid: bool | None
    problems: int | None  # in its report, including those only counted there
    started_at: datetime
    expires_at: datetime | None
    submissions: list[int]
    methods: list[str]  # of these submissions, in their order
    check: CheckState | None = None  # of a received upload that was not checked yet

    @property
    def shown_state(self) -> str:
        """The state as shown on pages."""
        return shown_state(self.state, self.valid)


@dataclass(frozen=True, slots=True)
class UploadCursor:
    """The position where a page of uploads ended."""

    started_at: datetime
    id: uuid.UUID

    def __str__(self) -> str:
        """Format for a URL."""
        return f"{self.started_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}_{self.id}"

    @classmethod
    def parse(cls, written: str) -> Self:
        """Parse what `str` returned. Raises ValueError for anything else."""
        moment, _, upload_id = written.partition("_")
        return cls(datetime.strptime(moment, "%Y%m%dT%H%M%S.%f%z"), uuid.UUID(upload_id))


@dataclass(frozen=True, slots=True)
class UploadPage:
    """A page of a team's uploads, newest first; `next` is the cursor of the next page."""

    uploads: tuple[UploadRow, ...]
    next: str | None
    stored: int  # bytes of the reader's own unconfirmed uploads
    max_stored: int


def competitions_of(report: dict[str, Any] | None) -> tuple[int, ...]:
    """Return the competitions for which a validation report found files."""
    return tuple(sorted(found["number"] for found in (report or {}).get("competitions", ())))


@dataclass(frozen=True, slots=True)
class FoundResult:
    """What the check found about the results of a competition. Older reports contain less.

    fingerprint: equal for equal predictions; constant, partial: classes as in `heldout_scoring.FoundCompetition`.
    """

    is_complete: bool = True
    fingerprint: str = ""
    constant: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


def results_of(report: dict[str, Any] | None) -> dict[int, FoundResult]:
    """Return the results in an archive by competition, from its validation report."""
    return {
        found["number"]: FoundResult(
            found.get("is_complete", True),
            found.get("fingerprint", ""),
            tuple(found.get("constant", ())),
            tuple(found.get("partial", ())),
        )
        for found in (report or {}).get("competitions", ())
    }


REPLACED_CODE: Final = "annotation-replaced"
REPLACED: Final = (
    "this archive was valid until the annotation of {image_set} was replaced, with other images or classes; fix the problems in its report"
    " and upload it again. The checks were free"
)


def replaced_in(report: dict[str, Any] | None) -> str:
    """Return what a report says of an archive that was valid before the annotation was replaced; empty for another report."""
    warnings = (report or {}).get("warnings", ())
    return next((each["message"] for each in warnings if each["code"] == REPLACED_CODE), "")


def with_warning(report: dict[str, Any], warning: heldout_scoring.Problem) -> dict[str, Any]:
    """Return a report with one more warning, as its first."""
    found = heldout_scoring.Validation.from_json(report)
    return replace(found, warnings=(warning, *found.warnings)).as_json()


def shown_state(state: UploadState, valid: bool | None) -> str:  # noqa: FBT001 - the column
    """Return the state of an upload in words, for a checked one the outcome of its check.

    >>> shown_state(UploadState.RECEIVED, None), shown_state(UploadState.CHECKED, False)
    ('received', 'with problems')
    """
    if state is not UploadState.CHECKED:
        return state.value
    return "valid" if valid else "with problems"


_NUMBERS: Final = select(
    func.coalesce(func.array_agg(aggregate_order_by(Submission.id, Submission.id)), text("'{}'::bigint[]"))
)


# the submissions confirmed from an upload
_SUBMISSIONS: Final = _NUMBERS.where(Submission.upload_id == Upload.id).correlate(Upload).scalar_subquery()

_METHODS: Final = (
    select(
        func.coalesce(func.array_agg(aggregate_order_by(Method.name, Submission.id)), text("'{}'::varchar[]"))
    )
    .select_from(Submission)
    .join(Submission.method)
    .where(Submission.upload_id == Upload.id)
    .correlate(Upload)
    .scalar_subquery()
)

_OTHER: Final = aliased(Upload)
# the team's submissions in the phase that have the same bytes, from other uploads
_SAME_CONTENT: Final = (
    _NUMBERS.join(_OTHER, Submission.upload_id == _OTHER.id)
    .where(
        _OTHER.team_id == Upload.team_id,
        _OTHER.phase_id == Upload.phase_id,
        _OTHER.sha256 == Upload.sha256,
        _OTHER.id != Upload.id,
    )
    .correlate(Upload)
    .scalar_subquery()
)


def visible_uploads(actor: Actor, action: Action = Action.READ_UPLOAD) -> ColumnElement[bool]:
    """Whether the reader may see or change an upload, for statements that join Phase."""
    return rows_for(actor, action, team=Upload.team_id, challenge=Phase.challenge_id)


def get_upload(
    platform: Platform, actor: Actor, upload_id: uuid.UUID, action: Action = Action.READ_UPLOAD
) -> UploadView:
    """Return an upload on which the reader may do this. Raises NotFoundError."""
    with platform.transaction() as session:
        return load_upload(platform, session, actor, upload_id, action)


def load_upload(
    platform: Platform,
    session: Session,
    actor: Actor,
    upload_id: uuid.UUID,
    action: Action = Action.READ_UPLOAD,
) -> UploadView:
    """Do the same as `get_upload` in the transaction of the caller."""
    statement = (
        select(
            Upload,
            expires_at(retention.retention_of(platform)).label("expires_at"),
            _SUBMISSIONS.label("submissions"),
            _SAME_CONTENT.label("same_content"),
            visible_uploads(actor, Action.CHANGE_UPLOAD).label("is_ours"),
            visible_uploads(actor, Action.READ_ARCHIVE).label("may_download"),
            _check().label("check"),
            is_outdated().label("is_outdated"),
        )
        .join(Upload.phase)
        .options(contains_eager(Upload.phase).joinedload(Phase.challenge))
        .where(Upload.id == upload_id, visible_uploads(actor, action))
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        raise NotFoundError(f"your team has no upload {upload_id}")
    upload = row[0]
    found = UploadView(
        id=upload.id,
        challenge=upload.phase.challenge.code,
        image_set=upload.phase.image_set,
        filename=upload.filename,
        size=upload.size,
        received=upload.received,
        sha256=upload.sha256,
        state=upload.state,
        valid=upload.valid,
        report=upload.report,
        started_at=upload.started_at,
        checked_at=upload.checked_at,
        expires_at=row.expires_at,
        expected_sha256=upload.expected_sha256,
        only_competitions=upload.competitions,
        submissions=row.submissions,
        same_content=row.same_content,
        is_ours=row.is_ours,
        may_download=row.may_download,
        check=row.check,
        is_outdated=row.is_outdated,
    )
    return replace(found, same_predictions=_same_predictions(session, found)) if found.valid else found


def _same_predictions(session: Session, upload: UploadView) -> tuple[SameResult, ...]:
    """Return the team's results in the phase that equal an upload's predictions and are in another archive."""
    own = aliased(Upload)
    numbers: dict[str, list[int]] = {}
    for number, found in results_of(upload.report).items():
        numbers.setdefault(found.fingerprint, []).append(number)
    statement = (
        select(Result.fingerprint, Result.submission_id, Result.competition)
        .join(Result.submission)
        .join(Submission.upload)
        .join(own, and_(own.team_id == Upload.team_id, own.phase_id == Upload.phase_id))
        .where(
            own.id == upload.id,
            Upload.sha256 != own.sha256,
            Result.fingerprint.in_(numbers.keys() - {""}),
            Result.state.not_in((ResultState.FAILED, ResultState.REFUSED)),
            Result.cancelled_at.is_(None),
        )
        .order_by(Result.submission_id, Result.competition)
    )
    return tuple(
        SameResult(competition if competition in numbers[mark] else numbers[mark][0], submission, competition)
        for mark, submission, competition in session.execute(statement)
    )


def my_uploads(platform: Platform, actor: Actor, after: str | None = None) -> UploadPage:
    """Return a page of the team's uploads, newest first; `after` is the previous page's `next`.

    Raises BadRequestError for another `after`.
    """
    try:
        before = UploadCursor.parse(after) if after else None
    except ValueError as error:
        raise BadRequestError(f"after: {after!r} is not a page of uploads") from error
    with platform.snapshot() as session:
        rows = _uploads_of_teams(
            session, actor.teams, retention.retention_of(platform), before=before, limit=PAGE + 1
        )
        used = retention.unconfirmed(session, Upload.user_id == actor.user_id)
    more = UploadCursor(rows[PAGE - 1].started_at, rows[PAGE - 1].id) if len(rows) > PAGE else None
    return UploadPage(
        tuple(rows[:PAGE]), str(more) if more else None, used.bytes, platform.settings.max_stored
    )


def _uploads_of_teams(
    session: Session, teams: Collection[int], retention: Retention, *, before: UploadCursor | None, limit: int
) -> list[UploadRow]:
    """Return the uploads of these teams, newest first, starting after `before`."""
    earlier = tuple_(Upload.started_at, Upload.id) < (before.started_at, before.id) if before else true()
    statement = (
        select(
            Upload,
            _problems().label("problems"),
            expires_at(retention).label("expires_at"),
            _SUBMISSIONS.label("submissions"),
            _METHODS.label("methods"),
            _check().label("check"),
        )
        .options(defer(Upload.report), joinedload(Upload.phase).joinedload(Phase.challenge))
        .where(Upload.team_id.in_(teams), earlier)
        .order_by(Upload.started_at.desc(), Upload.id.desc())
        .limit(limit)
    )

    def shown(upload: Upload, row: Any) -> UploadRow:
        return UploadRow(
            id=upload.id,
            challenge=upload.phase.challenge.code,
            image_set=upload.phase.image_set,
            filename=upload.filename,
            size=upload.size,
            received=upload.received,
            state=upload.state,
            valid=upload.valid,
            problems=row.problems,
            started_at=upload.started_at,
            expires_at=row.expires_at,
            submissions=row.submissions,
            methods=row.methods,
            check=row.check,
        )

    return [shown(row[0], row) for row in session.execute(statement)]


def is_outdated() -> ColumnElement[bool]:
    """Whether the public description of its phase has changed since an upload was checked; for statements that join Phase."""
    shown = func.left(Phase.description_key, DIGEST)
    return and_(Upload.state == UploadState.CHECKED, Upload.description_digest.is_distinct_from(shown))


def _check() -> ColumnElement[Any]:
    """What the check of a received upload waits for; null for others."""
    other, now = aliased(Upload), func.clock_timestamp()
    same_owner = or_(other.user_id == Upload.user_id, other.team_id == Upload.team_id)
    is_busy = select(other.id).where(same_owner, other.check_until > now).correlate(Upload).exists()
    state: ColumnElement[Any] = case(
        (Upload.state != UploadState.RECEIVED, null()),
        (Upload.check_until > now, CheckState.RUNNING.value),
        (is_busy, CheckState.TURN.value),
        else_=CheckState.REQUEST.value,
    )
    return type_coerce(state, enum_type(CheckState, length=60))


def _problems() -> ColumnElement[Any]:
    """Count the problems in a report, including those only counted there; null without a report."""
    listed = Upload.report["problems"]
    counted = func.jsonb_each_text(Upload.report["unlisted"]).table_valued("key", "value")
    code = func.jsonb_build_array(func.jsonb_build_object("code", counted.c.key))
    more = select(func.coalesce(func.sum(cast(counted.c.value, BigInteger)), 0)).where(listed.contains(code))
    return cast(func.jsonb_array_length(listed) + more.correlate(Upload).scalar_subquery(), BigInteger)
