"""What organisers do with the files of a data set: add, replace, change and delete them; their bytes arrive here."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import ColumnElement, ScalarSelect, delete, func, select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from app.challenges import challenges, files, pictures_from
from app.challenges.files import DownloadLog, FileView, downloads_of, find_file, load_files
from app.challenges.pictures_from import UNSAID, ParticipantsPictures
from app.core import audit, database
from app.core.access import Action, Actor, require_challenge, rows_for
from app.core.errors import (
    ChecksumError,
    ConflictError,
    DataQuotaError,
    FieldsError,
    FileDeletedError,
    MalformedError,
    NotFoundError,
    TooLargeError,
)
from app.core.names import shown_name
from app.core.units import MiB
from app.models import (
    Audience,
    Challenge,
    DataFile,
    DataUpload,
    FileKind,
    Phase,
    PhaseMoment,
    PictureSource,
)
from app.platform import Platform
from app.storage import digest_of
from app.web.forms import OrBlank
from app.web.transfers import append_to
from app.web.zones import MINUTE, Moment

MOST_FILES: Final = 500  # of one challenge
EVENT: Final = "^(?:|(?:opening|closing) of [^\0]{1,100})$"


def _whole_name(name: str) -> str:
    if name and shown_name(name) != name:
        raise ValueError("must be the name of a file, without folders and invisible characters")
    return name


Name = Annotated[
    str,
    Field(max_length=120, description="under which it is saved; in a form, the name of the file if empty"),
    AfterValidator(_whole_name),
]
Licence = Annotated[
    str, Field(max_length=1000, pattern="^[^\0]*$", description="an SPDX identifier, or text")
]
Event = Annotated[
    str, Field(pattern=EVENT, description="such as `closing of val`, in place of a date; empty for none")
]


class FileFacts(BaseModel):
    """What organisers say about a file."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: Name = ""
    title: Annotated[str, Field(min_length=1, max_length=200, pattern="^[^\0]*$", description="what it is")]
    kind: FileKind
    image_set: Annotated[
        OrBlank[str],
        Field(
            description="the phase whose images or annotation it has; its gallery opens no earlier than its images"
        ),
    ] = None
    image_licence: Licence = ""
    annotation_licence: Licence = ""
    available_from: Annotated[
        OrBlank[Annotated[Moment, Field(examples=["2027-01-01T00:00:00Z"])]],
        Field(description="null: at once"),
    ] = None
    from_event: Event = ""
    available_until: Annotated[
        OrBlank[Annotated[Moment, Field(examples=["2027-06-01T00:00:00Z"])]],
        Field(description="null: forever"),
    ] = None
    until_event: Event = ""
    audience: Audience = Audience.EVERYBODY

    @model_validator(mode="after")
    def _has_one_date(self) -> Self:
        for end, date, event in (
            ("from", self.available_from, self.from_event),
            ("until", self.available_until, self.until_event),
        ):
            if date is not None and event:
                raise ValueError(f"available {end}: expected a date or an event of a phase, not both")
        dates = self.available_from, self.available_until
        if dates[0] is not None and dates[1] is not None and dates[0] >= dates[1]:
            raise ValueError("available until: must be after the date from which it is available")
        return self


@dataclass(frozen=True, slots=True)
class DataUploadView:
    """The bytes of a new version while they arrive; received: how many have."""

    id: uuid.UUID
    file_id: int
    challenge: str
    size: int
    received: int
    sha256: str | None  # expected
    started_at: datetime


@dataclass(frozen=True, slots=True)
class OrganisedFiles:
    """The files of a challenge for its organisers, with what they take of the space."""

    challenge: str
    title: str
    files: tuple[FileView, ...]
    events: tuple[str, ...]  # that dates can follow
    image_sets: tuple[str, ...]
    used: int  # bytes
    in_archives: int  # of these, in archives of images that the server has made
    most: int
    pictures: ParticipantsPictures = UNSAID


@dataclass(frozen=True, slots=True)
class OrganisedFile:
    """A file for its organisers, and who has downloaded it. uploads: of new versions, while they arrive; the newest first."""

    challenge: str
    title: str
    file: FileView
    is_deleted: bool
    events: tuple[str, ...]
    image_sets: tuple[str, ...]
    log: DownloadLog
    uploads: tuple[DataUploadView, ...] = ()


def organised_files(platform: Platform, actor: Actor, code: str) -> OrganisedFiles:
    """Return the files of a challenge for its organisers. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        reader = files.reader_of(session, actor, challenge)
        found = load_files(session, DataFile.challenge_id == challenge.id, DataFile.deleted_at.is_(None))
        image_sets = _image_sets(session, challenge.id)
        return OrganisedFiles(
            challenge=challenge.code,
            title=challenge.title,
            files=tuple(files.view_of(reader, each) for each in found),
            events=_events(image_sets),
            image_sets=image_sets,
            used=bytes_used(session, challenge.id),
            in_archives=int(session.execute(select(_in_archives(challenge.id))).scalar_one()),
            most=platform.settings.max_data,
            pictures=pictures_from.answer_of(challenge),
        )


def organised_file(
    platform: Platform, actor: Actor, code: str, file_id: int, before: int | None = None
) -> OrganisedFile:
    """Return a file for its organisers, with a page of its downloads. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        file = find_file(session, code, file_id)
        image_sets = _image_sets(session, challenge.id)
        return OrganisedFile(
            challenge=challenge.code,
            title=challenge.title,
            file=files.view_of(files.reader_of(session, actor, challenge), file),
            is_deleted=file.row.deleted_at is not None,
            events=_events(image_sets),
            image_sets=image_sets,
            log=downloads_of(session, challenge.id, file_id, before),
            uploads=_uploads(platform, session, DataUpload.file_id == file_id),
        )


def download_log(platform: Platform, actor: Actor, code: str, before: int | None = None) -> DownloadLog:
    """Return a page of the downloads of all files of a challenge. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        return downloads_of(session, require_challenge(session, actor, code).id, None, before)


def _image_sets(session: Session, challenge_id: int) -> tuple[str, ...]:
    statement = (
        select(Phase.image_set).where(Phase.challenge_id == challenge_id).order_by(*challenges.PHASE_ORDER)
    )
    return tuple(session.scalars(statement))


def _events(image_sets: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{moment} of {each}" for each in image_sets for moment in PhaseMoment)


def bytes_used(session: Session, challenge_id: int, but: int | None = None) -> int:
    """Return the bytes that a challenge's files use, with archives of its images; uploads count with their declared size.

    but: a file that is replaced.
    """
    stored = select(func.coalesce(func.sum(DataFile.size), 0)).where(
        DataFile.challenge_id == challenge_id, DataFile.key.is_not(None), DataFile.id.is_distinct_from(but)
    )
    arriving = (
        select(func.coalesce(func.sum(DataUpload.size), 0))
        .join(DataFile, DataUpload.file_id == DataFile.id)
        .where(DataFile.challenge_id == challenge_id)
    )
    used = session.execute(
        select(stored.scalar_subquery() + arriving.scalar_subquery() + _in_archives(challenge_id))
    )
    return int(used.scalar_one())


def _in_archives(challenge_id: int) -> ScalarSelect[int]:
    """Select the bytes of the archives of images that the server has made for a challenge."""
    return (
        select(func.coalesce(func.sum(PictureSource.archive_size), 0))
        .join(Phase, PictureSource.phase_id == Phase.id)
        .where(Phase.challenge_id == challenge_id)
        .scalar_subquery()
    )


def add_file(platform: Platform, actor: Actor, code: str, facts: FileFacts) -> int:
    """Add a file without its bytes, and return its id; participants see it once they have arrived.

    Raises NotFoundError, ForbiddenError, ConflictError for a name that is used, MalformedError.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        if not facts.name:
            raise FieldsError({"name": "is missing"})
        _require_free_name(session, challenge.id, facts.name, None)
        known = select(func.count()).where(
            DataFile.challenge_id == challenge.id, DataFile.deleted_at.is_(None)
        )
        if (session.scalar(known) or 0) >= MOST_FILES:
            raise ConflictError(f"a challenge may have at most {MOST_FILES} files; delete some")
        file = DataFile(challenge_id=challenge.id, **_columns(session, challenge.id, facts))
        session.add(file)
        session.flush()
    platform.cache.expire_versions()
    return file.id


def change_file(platform: Platform, actor: Actor, code: str, file_id: int, facts: FileFacts) -> None:
    """Change what is said about a file, its dates and who may download it.

    Raises NotFoundError, ForbiddenError, FileDeletedError, ConflictError for a name that is used, MalformedError.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        file = _present_file(session, code, file_id)
        before = facts_of(files.view_of(files.Reader(actor), find_file(session, code, file_id)))
        name = facts.name or file.name
        _require_free_name(session, challenge.id, name, file_id)
        for column, value in _columns(session, challenge.id, facts).items():
            setattr(file, column, value)
        file.name = name
        old, new = _as_text(before), _as_text(facts.model_copy(update={"name": name}))
        changed = {key for key in new if new[key] != old[key]}
        if changed:
            _audit(
                session, actor, file, "file.change",
                before={key: old[key] for key in sorted(changed)}, after={key: new[key] for key in sorted(changed)},
            )  # fmt: skip
    platform.cache.expire_versions()


def delete_file(platform: Platform, actor: Actor, code: str, file_id: int, reason: str) -> None:
    """Delete a file and its bytes; its old addresses say that it was deleted.

    Raises NotFoundError, ForbiddenError, FileDeletedError, and MalformedError without a reason.
    """
    if not reason.strip():
        raise FieldsError({"reason": "is missing"})
    with platform.transaction() as session:
        require_challenge(session, actor, code, lock=True)
        file = _present_file(session, code, file_id)
        uploads = list(session.scalars(select(DataUpload.id).where(DataUpload.file_id == file_id)))
        session.execute(delete(DataUpload).where(DataUpload.file_id == file_id))
        old, file.key, file.deleted_at = file.key, None, func.clock_timestamp()
        before = {"name": file.name, "sha256": file.sha256, "size": file.size, "version": file.version}
        _audit(session, actor, file, "file.delete", reason=reason.strip(), before=before)
        unused = _removable(session, old)
    platform.cache.expire_versions()
    _remove(platform, unused)
    for each in uploads:
        platform.files.discard(each)


def facts_of(view: FileView) -> FileFacts:
    """Return what organisers said about a file."""
    return FileFacts(
        name=view.name,
        title=view.title,
        kind=view.kind,
        image_set=view.image_set,
        image_licence=view.image_licence,
        annotation_licence=view.annotation_licence,
        available_from=None if view.from_event else view.available_from,
        from_event=view.from_event,
        available_until=None if view.until_event else view.available_until,
        until_event=view.until_event,
        audience=view.audience,
    )


def _present_file(session: Session, code: str, file_id: int) -> DataFile:
    """Return a file that was not deleted. Raises NotFoundError, FileDeletedError."""
    file = find_file(session, code, file_id).row
    if file.deleted_at is not None:
        raise FileDeletedError(f"{file.name!r} was deleted {file.deleted_at:{MINUTE}}")
    return file


def _require_free_name(session: Session, challenge_id: int, name: str, but: int | None) -> None:
    same = DataFile.challenge_id == challenge_id, DataFile.name == name, DataFile.deleted_at.is_(None)
    if session.scalar(select(DataFile.id).where(*same, DataFile.id.is_distinct_from(but))) is not None:
        raise ConflictError(f"this challenge has a file {name!r}; replace it, or choose another name")


def _columns(session: Session, challenge_id: int, facts: FileFacts) -> dict[str, Any]:
    """Return the columns for what organisers say. Raises MalformedError for a phase that the challenge does not have."""
    known = dict(
        session.execute(select(Phase.image_set, Phase.id).where(Phase.challenge_id == challenge_id)).all()
    )

    def phase_of(field: str, image_set: str | None) -> int | None:
        if image_set and image_set not in known:
            raise FieldsError({field: f"this challenge has no phase {image_set!r}"})
        return known[image_set] if image_set else None

    columns: dict[str, Any] = {
        "phase_id": phase_of("image_set", facts.image_set),
        **facts.model_dump(
            include={"name", "title", "kind", "image_licence", "annotation_licence", "audience"}
        ),
    }
    for end, at, event in (
        ("from", facts.available_from, facts.from_event),
        ("until", facts.available_until, facts.until_event),
    ):
        moment, _, image_set = event.partition(" of ")
        columns |= {
            f"{end}_at": at,
            f"{end}_phase_id": phase_of(f"{end}_event", image_set),
            f"{end}_moment": PhaseMoment(moment) if moment else None,
        }
    return columns


def _as_text(facts: FileFacts) -> dict[str, Any]:
    return facts.model_dump(mode="json")


def _audit(session: Session, actor: Actor, file: DataFile, action: str, **facts: Any) -> None:
    subject = f"data file {file.id}"
    audit.record(session, actor.user_id, action, subject, challenge_id=file.challenge_id, **facts)


def _removable(session: Session, key: str | None) -> str | None:
    """Return content to remove after this transaction; None during a backup, after which a sweep removes it."""
    return key if key and database.removals_allowed(session) else None


def _remove(platform: Platform, key: str | None) -> None:
    if key:
        platform.files.delete(key)


def start_upload(
    platform: Platform, actor: Actor, code: str, file_id: int, size: int, sha256: str | None = None
) -> DataUploadView:
    """Start to receive the bytes of a new version. They replace those of the version before once they are complete.

    Raises NotFoundError, ForbiddenError, FileDeletedError, MalformedError, TooLargeError, DataQuotaError.
    """
    assert actor.user_id is not None
    if size == 0:
        raise MalformedError("The file is empty")
    largest = platform.files.largest_content
    if largest is not None and size > largest:
        raise TooLargeError(f"a file may have at most {largest} bytes in this storage; this one has {size}")
    upload_id = uuid.uuid4()
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        _present_file(session, code, file_id)
        used, most = bytes_used(session, challenge.id, but=file_id), platform.settings.max_data
        if used + size > most:
            raise DataQuotaError(
                f"the files of {code} use {used // MiB} of {most // MiB} MiB, and this one has {-(-size // MiB)} MiB; "
                "delete some files first, or ask an admin for more space"
            )
        row = DataUpload(
            id=upload_id, file_id=file_id, user_id=actor.user_id, size=size, expected_sha256=sha256
        )
        session.add(row)
        session.flush()
        return DataUploadView(upload_id, file_id, code, size, 0, sha256, row.started_at)


def get_upload(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> DataUploadView:
    """Return an upload of a challenge that the actor organises. Raises NotFoundError."""
    with platform.transaction() as session:
        found = _uploads(platform, session, DataUpload.id == upload_id, _organised_rows(actor))
    if not found:
        raise NotFoundError(f"there is no upload {upload_id} of a data file, or it is complete")
    return found[0]


def _uploads(platform: Platform, session: Session, *which: ColumnElement[bool]) -> tuple[DataUploadView, ...]:
    """Return uploads that are arriving, the newest first."""
    statement = (
        select(DataUpload, Challenge.code)
        .join(DataFile, DataUpload.file_id == DataFile.id)
        .join(Challenge, DataFile.challenge_id == Challenge.id)
        .where(*which)
        .order_by(DataUpload.started_at.desc())
    )
    return tuple(
        DataUploadView(
            row.id,
            row.file_id,
            code,
            row.size,
            platform.files.length(row.id),
            row.expected_sha256,
            row.started_at,
        )
        for row, code in session.execute(statement)
    )


def _organised_rows(actor: Actor) -> ColumnElement[bool]:
    return rows_for(actor, Action.ORGANISE, challenge=DataFile.challenge_id)


async def receive(
    platform: Platform, actor: Actor, upload: DataUploadView, offset: int, chunks: AsyncIterator[bytes]
) -> int:
    """Append bytes to an upload, and return how many have arrived; a complete upload becomes the new version of its file.

    Raises ChecksumError, and what `append_to` raises.
    """
    end = await append_to(platform.files, upload.id, offset, upload.size, chunks)
    if end == upload.size:
        await run_in_threadpool(_finish, platform, actor, upload)
    return end


def _finish(platform: Platform, actor: Actor, upload: DataUploadView) -> None:
    """Store the bytes, then record them; each step may be repeated after a crash."""
    try:
        key = platform.files.commit(upload.id, upload.size, upload.sha256)
    except ChecksumError:
        cancel_upload(platform, actor, upload.id)
        raise
    with platform.transaction() as session:
        require_challenge(session, actor, upload.challenge, lock=True)
        file = _present_file(session, upload.challenge, upload.file_id)
        deleted = delete(DataUpload).where(DataUpload.id == upload.id).returning(DataUpload.id)
        if session.scalar(deleted) is None:
            raise ConflictError("another request has completed or removed this upload")
        old = file.key
        _replace(session, file, key, upload.size)
        _audit(
            session, actor, file, "file.replace" if old else "file.add",
            after={"name": file.name, "version": file.version, "sha256": file.sha256, "size": file.size},
        )  # fmt: skip
        unused = _removable(session, old)
    platform.cache.expire_versions()
    _remove(platform, unused)
    platform.files.discard(upload.id)


def _replace(session: Session, file: DataFile, key: str, size: int) -> None:
    """Make this content the newest version; the one before joins the list of earlier ones."""
    now = session.scalar(select(func.clock_timestamp()))
    assert now is not None
    if file.key is not None:
        before = {"version": file.version, "sha256": file.sha256, "size": file.size}
        file.earlier = [*file.earlier, {**before, "replaced_at": now.isoformat()}]
    file.key, file.sha256, file.size = key, digest_of(key), size
    file.version, file.stored_at = file.version + 1, now


def cancel_upload(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> None:
    """Remove an upload and its bytes. Raises NotFoundError."""
    get_upload(platform, actor, upload_id)
    with platform.transaction() as session:
        session.execute(delete(DataUpload).where(DataUpload.id == upload_id))
    platform.files.discard(upload_id)


async def send(
    platform: Platform,
    actor: Actor,
    code: str,
    file_id: int,
    size: int,
    chunks: AsyncIterator[bytes],
) -> FileView:
    """Receive a whole file as a new version. If the stream breaks off, nothing of it is kept.

    Raises what `start_upload` and `receive` raise.
    """
    upload = await run_in_threadpool(start_upload, platform, actor, code, file_id, size)
    try:
        end = await receive(platform, actor, upload, 0, chunks)
    except BaseException:
        await run_in_threadpool(_forget, platform, upload.id)
        raise
    if end < size:
        await run_in_threadpool(_forget, platform, upload.id)
        raise MalformedError(f"{size} bytes were declared, but {end} arrived")
    return (await run_in_threadpool(organised_file, platform, actor, code, file_id)).file


def _forget(platform: Platform, upload_id: uuid.UUID) -> None:
    with platform.transaction() as session:
        session.execute(delete(DataUpload).where(DataUpload.id == upload_id))
    platform.files.discard(upload_id)


async def add_with_content(
    platform: Platform, actor: Actor, code: str, facts: FileFacts, size: int, chunks: AsyncIterator[bytes]
) -> FileView:
    """Add a file together with its bytes; if they cannot be stored, nothing is added.

    Raises what `add_file` and `send` raise.
    """
    file_id = await run_in_threadpool(add_file, platform, actor, code, facts)
    try:
        return await send(platform, actor, code, file_id, size, chunks)
    except BaseException:
        await run_in_threadpool(_withdraw, platform, file_id)
        raise


def _withdraw(platform: Platform, file_id: int) -> None:
    """Remove a file that never had any bytes."""
    with platform.transaction() as session:
        session.execute(delete(DataFile).where(DataFile.id == file_id, DataFile.version == 0))
