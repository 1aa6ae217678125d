"""Receiving the bytes of an archive, storing the complete archive, and starting its check."""

import tarfile
import uuid
from collections.abc import AsyncIterator, Collection

from sqlalchemy import func, select, update
from starlette.concurrency import run_in_threadpool

from app.challenges import challenges
from app.challenges.terms import refusals_of_upload
from app.core.access import Action, Actor, require_active
from app.core.errors import (
    CheckBusyError,
    ChecksumError,
    ConflictError,
    ForbiddenError,
    MalformedError,
    NotFoundError,
    TooLargeError,
    raise_if_refused,
)
from app.core.names import shown_name
from app.models import Submission, Upload, UploadState
from app.people import teams
from app.platform import Platform
from app.storage import content_key, digest_of
from app.submissions import checking, retention
from app.submissions.acceptance import ONLY_ORGANISERS
from app.submissions.retention import ARCHIVES, removable
from app.submissions.uploads import (
    UploadMetadata,
    UploadView,
    get_upload,
    load_upload,
    mismatch,
    visible_uploads,
)
from app.web.formats import size
from app.web.transfers import append_to
from heldout_scoring.competitions import PLAIN_FILES, is_single_file, result_path


async def send(
    platform: Platform,
    actor: Actor,
    phase: tuple[str, str],
    metadata: UploadMetadata,
    chunks: AsyncIterator[bytes],
) -> UploadView:
    """Receive a whole archive and check it. Raises what `create_upload`, `receive`, and `finish` raise."""
    upload = await run_in_threadpool(create_upload, platform, actor, phase, metadata)
    await receive(platform, upload, 0, chunks)
    return await finish(platform, actor, upload.id)


def create_upload(
    platform: Platform, actor: Actor, phase: tuple[str, str], metadata: UploadMetadata
) -> UploadView:
    """Create an upload in a phase, given by its challenge and image set. It does not count against quotas.

    Raises RefusedError for an unconfirmed address or a suspended team, TooLargeError, StoredBytesError, and MalformedError
    for a single file that is not a prediction file or for competitions that the phase does not have.
    """
    assert actor.user_id is not None
    found = challenges.phase_page(platform, *phase)
    what, limit = "an archive", challenges.largest_archive(found, platform.settings.max_upload)
    if metadata.filename.lower().endswith(PLAIN_FILES):
        what = "a file that is not packed"
        description = challenges.description_of(platform.descriptions, found.description_key)
        limit = min(limit, description.limits.max_file_bytes)
    if metadata.size > limit:
        raise TooLargeError(
            f"{what} may have at most {limit} bytes ({size(limit)}); this one has {metadata.size}"
        )
    if metadata.size == 0:
        raise MalformedError("The archive is empty")
    filename = shown_name(metadata.filename)
    if message := mismatch(found, filename, metadata.competitions or ()):
        raise MalformedError(message)
    upload_id = uuid.uuid4()
    if found.is_draft and not actor.organises_challenge(found.challenge_id):
        raise ForbiddenError(ONLY_ORGANISERS)
    with platform.transaction() as session:
        if found.is_draft:
            challenges.keep_dates(session, found.id)
        require_active(session, found.challenge_id)
        raise_if_refused(refusals_of_upload(session, actor, found))
        team_id = teams.own_or_new_team(session, actor.user_id, found.challenge_id)
        retention.check_storage_quota(platform, session, actor.user_id, team_id, metadata.size)
        session.add(
            Upload(
                id=upload_id,
                phase_id=found.id,
                team_id=team_id,
                user_id=actor.user_id,
                filename=filename,
                size=metadata.size,
                expected_sha256=metadata.sha256,
                competitions=sorted(metadata.competitions) if metadata.competitions else None,
            )
        )
        session.flush()
        return load_upload(platform, session, actor, upload_id)


def offset_of(platform: Platform, upload: UploadView) -> int:
    """Return how many bytes of an upload have arrived, from the store if it is still being received."""
    return platform.archives.length(upload.id) if upload.state is UploadState.RECEIVING else upload.received


async def receive(platform: Platform, upload: UploadView, offset: int, chunks: AsyncIterator[bytes]) -> None:
    """Append `chunks` to an upload at `offset`, and record the new length, even if the stream breaks off.

    Raises ConflictError if it is complete, and what `append_to` raises.
    """
    if upload.state is not UploadState.RECEIVING:
        raise ConflictError("this upload is complete")
    try:
        await append_to(platform.archives, upload.id, offset, upload.size, chunks)
    finally:
        await run_in_threadpool(_note, platform, upload.id)


def _note(platform: Platform, upload_id: uuid.UUID) -> None:
    """Record how many bytes of an upload have arrived."""
    received = platform.archives.length(upload_id)
    statement = (
        update(Upload)
        .where(Upload.id == upload_id, Upload.state == UploadState.RECEIVING)
        .values(received=func.greatest(Upload.received, received))
        .returning(Upload.id)
    )
    with platform.transaction() as session:
        if session.scalar(statement) is None:
            raise ConflictError("another request has completed this upload")


async def finish(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> UploadView:
    """Store a complete upload under its hash, check it, and record the report.

    May be repeated at any time. Does nothing to an incomplete upload, and leaves the archive unchecked if other archives of
    the same person, or many others, take long to check. Raises NotFoundError, and ChecksumError if the bytes do not match
    the declared hash.
    """
    try:
        return await check(platform, actor, upload_id)
    except CheckBusyError:
        return await run_in_threadpool(get_upload, platform, actor, upload_id)


async def check(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> UploadView:
    """Do the same as `finish`, but raise CheckBusyError if other archives keep this one from being checked."""
    await run_in_threadpool(_store, platform, actor, upload_id)
    await checking.check(platform, upload_id)
    return await run_in_threadpool(get_upload, platform, actor, upload_id)


def _store(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> None:
    """Store the bytes once they are complete, then record their key, then remove the partial upload.

    Each step may be repeated after a crash.
    """
    upload = get_upload(platform, actor, upload_id, Action.CHANGE_UPLOAD)
    if upload.state is not UploadState.RECEIVING or platform.archives.length(upload_id) < upload.size:
        return
    is_receiving = (Upload.id == upload_id, Upload.state == UploadState.RECEIVING)
    with platform.transaction() as session:
        if session.scalar(select(Upload.id).where(*is_receiving)) is None:
            return  # another request was faster
    try:
        key = platform.archives.commit(upload_id, upload.size, upload.expected_sha256)
    except ChecksumError:
        rejected = {"state": UploadState.REJECTED, "received": 0, "removed_at": func.clock_timestamp()}
        with platform.transaction() as session:
            session.execute(update(Upload).where(*is_receiving).values(rejected))
        platform.archives.discard(upload_id)
        raise
    archive, filename = key, upload.filename
    if is_single_file(filename):
        archive, filename = _packed(platform, upload, key), f"{filename}.tar"
    with platform.transaction() as session:
        session.execute(
            update(Upload)
            .where(*is_receiving)
            .values(
                sha256=digest_of(archive),
                filename=filename,
                state=UploadState.RECEIVED,
                received=Upload.size,
                received_at=func.clock_timestamp(),
            )
        )
        unused = removable(session, ARCHIVES, {key, archive})  # those that the upload does not refer to
    platform.archives.discard(upload_id)
    _delete(platform, unused)


def _delete(platform: Platform, unused: Collection[str]) -> None:
    for each in unused:
        platform.archives.delete(each)


def _packed(platform: Platform, upload: UploadView, key: str) -> str:
    """Pack a single prediction file into an archive at its path. The same file always gives the same archive."""
    dataset = challenges.phase_page(platform, upload.challenge, upload.image_set).dataset
    path = result_path(upload.filename, dataset, upload.image_set) or upload.filename
    with platform.archives.draft() as draft:
        with (
            tarfile.open(draft, "w", format=tarfile.USTAR_FORMAT) as archive,
            platform.archives.open(key) as content,
        ):
            member = tarfile.TarInfo(path)
            member.size = upload.size
            archive.addfile(member, content)
            content.read()  # to the end, which verifies it
        return platform.archives.put(draft, upload.id)


def delete_upload(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> None:
    """Delete an upload and its bytes.

    Raises NotFoundError, and ConflictError for a confirmed upload, which is kept forever.
    """
    found = (
        select(Upload)
        .join(Upload.phase)
        .where(Upload.id == upload_id, visible_uploads(actor, Action.CHANGE_UPLOAD))
        .with_for_update(of=Upload)
    )
    with platform.transaction() as session:
        upload = session.scalar(found)
        if upload is None:
            raise NotFoundError(f"your team has no upload {upload_id}")
        submission = session.scalar(select(func.min(Submission.id)).where(Submission.upload_id == upload_id))
        if submission is not None:
            raise ConflictError(f"This archive was submitted as submission {submission}; it is kept")
        session.delete(upload)
        session.flush()
        keys = [content_key(upload.sha256, upload_id)] if upload.sha256 else []
        unused = removable(session, ARCHIVES, keys)
    platform.archives.discard(upload_id)
    _delete(platform, unused)
