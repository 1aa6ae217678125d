"""Uploads in the database."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, and_, cast, func, select, text, true, tuple_, update
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session, aliased

from app.access import Action, Actor
from app.models import Edition, Entry, EntryState, Phase, Submission, Upload, UploadState
from app.retention.uploads import Retention, expires_at
from app.storage import digest_of
from app.uploads.schemas import Cursor, SameResult, StoredContent, UploadRow, UploadView, results_of
from app.visibility import rows_for


@dataclass(frozen=True, slots=True)
class Declared:
    """What an upload will be: its size, what its hash should be, and where its files belong."""

    size: int
    sha256: str | None
    filename: str
    dataset: str
    image_set: str


_NUMBERS: Final = select(
    func.coalesce(func.array_agg(aggregate_order_by(Submission.id, Submission.id)), text("'{}'::bigint[]"))
)


# the submissions that an upload was confirmed as
_SUBMISSIONS: Final = _NUMBERS.where(Submission.upload_id == Upload.id).correlate(Upload).scalar_subquery()

_OTHER: Final = aliased(Upload)
# its team's submissions in its phase that have the same bytes, from another upload
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


def _problems() -> ColumnElement[Any]:
    """How many problems a report speaks of, also those that it only counts; null without a report."""
    listed = Upload.report["problems"]
    counted = func.jsonb_each_text(Upload.report["unlisted"]).table_valued("key", "value")
    code = func.jsonb_build_array(func.jsonb_build_object("code", counted.c.key))
    more = select(func.coalesce(func.sum(cast(counted.c.value, BigInteger)), 0)).where(listed.contains(code))
    return cast(func.jsonb_array_length(listed) + more.correlate(Upload).scalar_subquery(), BigInteger)


def visible_uploads(actor: Actor, action: Action = Action.READ_UPLOAD) -> ColumnElement[bool]:
    """The uploads that somebody may read or change; for statements that join Phase."""
    return rows_for(actor, action, team=Upload.team_id, edition=Phase.edition_id)


def upload_of(
    session: Session, actor: Actor, action: Action, upload_id: uuid.UUID, retention: Retention
) -> UploadView | None:
    """An upload, if `actor` may do `action` to it."""
    columns = (
        Upload.id, Edition.code, Phase.image_set, Upload.filename, Upload.size, Upload.received, Upload.sha256,
        Upload.state, Upload.valid, Upload.report, Upload.started_at, Upload.checked_at,
        expires_at(retention), Upload.expected_sha256, Upload.competitions, _SUBMISSIONS, _SAME_CONTENT,
        visible_uploads(actor, Action.CHANGE_UPLOAD),
    )  # fmt: skip
    statement = (
        select(*columns)
        .join(Phase, Upload.phase_id == Phase.id)
        .join(Edition)
        .where(Upload.id == upload_id, visible_uploads(actor, action))
    )
    row = session.execute(statement).one_or_none()
    return UploadView(*row) if row else None


def same_predictions(session: Session, upload: UploadView) -> tuple[SameResult, ...]:
    """The results of its team in its phase that say the same as an upload, and are in another archive."""
    own = aliased(Upload)
    numbers: dict[str, list[int]] = {}
    for number, found in results_of(upload.report).items():
        numbers.setdefault(found.fingerprint, []).append(number)
    statement = (
        select(Entry.fingerprint, Entry.submission_id, Entry.competition)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(own, and_(own.team_id == Upload.team_id, own.phase_id == Upload.phase_id))
        .where(
            own.id == upload.id,
            Upload.sha256 != own.sha256,
            Entry.fingerprint.in_(numbers.keys() - {""}),
            Entry.state.not_in((EntryState.FAILED, EntryState.REFUSED)),
        )
        .order_by(Entry.submission_id, Entry.competition)
    )
    return tuple(
        SameResult(competition if competition in numbers[mark] else numbers[mark][0], submission, competition)
        for mark, submission, competition in session.execute(statement)
    )


def uploads_of_teams(
    session: Session, teams: Collection[int], retention: Retention, *, before: Cursor | None, limit: int
) -> list[UploadRow]:
    """The uploads of these teams, newest first; `before` is the last one of the page before."""
    columns = (
        Upload.id, Edition.code, Phase.image_set, Upload.filename, Upload.size, Upload.received, Upload.state,
        Upload.valid, _problems(), Upload.started_at,
        expires_at(retention), _SUBMISSIONS,
    )  # fmt: skip
    earlier = tuple_(Upload.started_at, Upload.id) < (before.started_at, before.id) if before else true()
    statement = (
        select(*columns)
        .join(Phase, Upload.phase_id == Phase.id)
        .join(Edition)
        .where(Upload.team_id.in_(teams), earlier)
        .order_by(Upload.started_at.desc(), Upload.id.desc())
        .limit(limit)
    )
    return [UploadRow(*row) for row in session.execute(statement)]


def locked_upload(session: Session, actor: Actor, upload_id: uuid.UUID) -> Upload | None:
    """An upload that somebody may change, locked."""
    theirs = visible_uploads(actor, Action.CHANGE_UPLOAD)
    statement = select(Upload).join(Phase, Upload.phase_id == Phase.id).where(Upload.id == upload_id, theirs)
    return session.scalar(statement.with_for_update(of=Upload))


def submissions_of(session: Session, upload_id: uuid.UUID) -> list[int]:
    """The submissions that an upload was confirmed as."""
    return list(session.scalars(select(Submission.id).where(Submission.upload_id == upload_id)))


def note_received(session: Session, upload_id: uuid.UUID, received: int) -> bool:
    """Note that `received` bytes have arrived; whether the upload still takes bytes."""
    statement = (
        update(Upload)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVING)
        .values(received=func.greatest(Upload.received, received))
        .returning(Upload.id)
    )
    return session.scalar(statement) is not None


def declared(session: Session, upload_id: uuid.UUID) -> Declared | None:
    """What is to arrive for an upload that still takes bytes."""
    statement = (
        select(Upload.size, Upload.expected_sha256, Upload.filename, Edition.dataset, Phase.image_set)
        .join(Phase, Upload.phase_id == Phase.id)
        .join(Edition)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVING)
    )
    row = session.execute(statement).one_or_none()
    return Declared(*row) if row else None


def record_content(session: Session, upload_id: uuid.UUID, content: StoredContent) -> None:
    """Note the content of an upload, unless another request has done so or the upload has ended."""
    session.execute(
        update(Upload)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVING)
        .values(
            sha256=digest_of(content.key),
            filename=content.filename,
            state=UploadState.RECEIVED,
            received=Upload.size,
            received_at=func.clock_timestamp(),
        )
    )


def reject(session: Session, upload_id: uuid.UUID) -> None:
    """Note that the bytes of an upload do not have the declared checksum."""
    session.execute(
        update(Upload)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVING)
        .values(state=UploadState.REJECTED, received=0, removed_at=func.clock_timestamp())
    )
