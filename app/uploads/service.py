"""Taking bytes in, and checking them once they are complete."""

import tarfile
import uuid
from collections.abc import AsyncIterator, Collection
from contextlib import aclosing, suppress
from dataclasses import replace

from starlette.concurrency import run_in_threadpool

from app import checks
from app.access import Action, Actor
from app.editions.schemas import PhaseView
from app.errors import (
    BadRequestError,
    CheckBusyError,
    ChecksumError,
    ConflictError,
    MalformedError,
    NotFoundError,
    OffsetError,
    TooLargeError,
    refuse,
)
from app.memberships import service as memberships
from app.models import Upload, UploadState
from app.participation.service import against_upload
from app.platform import Platform
from app.retention import uploads as retention
from app.retention.contents import ARCHIVES, removable
from app.storage import content_key
from app.storage.streams import pieces_of
from app.uploads import queries
from app.uploads.queries import Declared
from app.uploads.rules import is_single_file, mismatch, result_path, shown_name
from app.uploads.schemas import Cursor, StoredContent, UploadMetadata, UploadPage, UploadView

MiB = 1 << 20
PAGE = 50  # uploads


def create_upload(platform: Platform, actor: Actor, phase: PhaseView, metadata: UploadMetadata) -> uuid.UUID:
    """Make room for an archive; nothing is counted yet.

    Raises RefusedError before the address is confirmed and for a suspended team, TooLargeError, StoredBytesError, and
    MalformedError for a single file that is not one of a result and for competitions that the phase does not have.
    """
    assert actor.user_id is not None
    refuse_larger(platform, metadata.size)
    if metadata.size == 0:
        raise MalformedError("The archive is empty")
    filename = shown_name(metadata.filename)
    if message := mismatch(phase, filename, metadata.competitions or ()):
        raise MalformedError(message)
    upload_id = uuid.uuid4()
    with platform.transaction() as session:
        refuse(against_upload(session, actor, phase))
        team_id = memberships.own_team(session, actor.user_id, phase.edition_id)
        retention.refuse_beyond_share(platform, session, actor.user_id, team_id, metadata.size)
        session.add(
            Upload(
                id=upload_id,
                phase_id=phase.id,
                team_id=team_id,
                user_id=actor.user_id,
                filename=filename,
                size=metadata.size,
                expected_sha256=metadata.sha256,
                competitions=sorted(metadata.competitions) if metadata.competitions else None,
            )
        )
    return upload_id


def refuse_larger(platform: Platform, size: int) -> None:
    """Raise TooLargeError, stating the limit, for an archive of `size` bytes that is too large."""
    limit = platform.settings.max_upload
    if size > limit:
        raise TooLargeError(
            f"an archive may have at most {limit} bytes ({limit // MiB} MiB), this one has {size}"
        )


def get_upload(
    platform: Platform, actor: Actor, upload_id: uuid.UUID, action: Action = Action.READ_UPLOAD
) -> UploadView:
    """An upload that somebody may read, or may do something else to.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        found = queries.upload_of(session, actor, action, upload_id, retention.retention_of(platform))
        same = queries.same_predictions(session, found) if found and found.valid else ()
    if found is None:
        raise NotFoundError(f"your team has no upload {upload_id}")
    return replace(found, same_predictions=same)


def upload_offset(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> int:
    """How many bytes of an upload have arrived, which the store knows best.

    Raises NotFoundError.
    """
    upload = get_upload(platform, actor, upload_id)
    if upload.state is not UploadState.RECEIVING:
        return upload.received
    return platform.archives.length(upload_id)


async def receive(platform: Platform, upload: UploadView, offset: int, chunks: AsyncIterator[bytes]) -> None:
    """Append `chunks` to an upload at `offset`, and note how far it has come, also when the stream breaks off.

    Bytes are stored piece by piece: no lock is held, and no connection or thread taken, while a client is slow.
    Raises OffsetError when the upload is elsewhere, ConflictError when it is complete or somebody else is writing to it,
    TooLargeError beyond the declared size.
    """
    if upload.state is not UploadState.RECEIVING:
        raise ConflictError("this upload is complete")
    store = platform.archives
    end = await run_in_threadpool(store.length, upload.id)
    if offset != end:
        raise OffsetError(end)
    async with aclosing(pieces_of(_within_size(upload, offset, chunks), store.piece_size)) as pieces:
        try:
            async for piece in pieces:
                end = await run_in_threadpool(store.append, upload.id, end, piece)
        finally:
            await run_in_threadpool(_note, platform, upload.id)


async def _within_size(upload: UploadView, offset: int, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        offset += len(chunk)
        if offset > upload.size:
            raise TooLargeError(f"{upload.size} bytes were declared, and more came")
        yield chunk


def _note(platform: Platform, upload_id: uuid.UUID) -> None:
    """Write down how far an upload has come."""
    received = platform.archives.length(upload_id)
    with platform.transaction() as session:
        if not queries.note_received(session, upload_id, received):
            raise ConflictError("another request has completed this upload")


async def finish(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> UploadView:
    """Once all bytes are there: store them under their hash, check them, and write the report down.

    Safe to call again at any time; what is not complete yet stays as it is, and while another archive of the same person, or
    many of others, are checked for long, this one stays unchecked. Raises NotFoundError, and ChecksumError when the bytes do not have the
    declared hash.
    """
    await _store(platform, actor, upload_id)
    with suppress(CheckBusyError):
        await checks.check(platform, upload_id)
    return await run_in_threadpool(get_upload, platform, actor, upload_id)


async def check(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> UploadView:
    """Check an upload whose check was interrupted; does nothing otherwise.

    Raises NotFoundError, and CheckBusyError while another archive of the same person or many of others are being checked.
    """
    await _store(platform, actor, upload_id)
    await checks.check(platform, upload_id)
    return await run_in_threadpool(get_upload, platform, actor, upload_id)


async def _store(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> None:
    upload = await run_in_threadpool(get_upload, platform, actor, upload_id, Action.CHANGE_UPLOAD)
    if upload.state is UploadState.RECEIVING and await run_in_threadpool(_is_whole, platform, upload):
        await run_in_threadpool(_commit, platform, upload_id)


def _is_whole(platform: Platform, upload: UploadView) -> bool:
    return platform.archives.length(upload.id) >= upload.size


def _commit(platform: Platform, upload_id: uuid.UUID) -> None:
    """Store the bytes, then record their key, then remove the partial upload; each step may be repeated after a crash."""
    with platform.transaction() as session:
        declared = queries.declared(session, upload_id)
    if declared is None:
        return  # another request was faster
    try:
        key = platform.archives.commit(upload_id, declared.size, declared.sha256)
    except ChecksumError:
        with platform.transaction() as session:
            queries.reject(session, upload_id)
        platform.archives.discard(upload_id)
        raise
    content = StoredContent(key, declared.filename)
    if is_single_file(declared.filename):
        content = _packed(platform, upload_id, key, declared)
    with platform.transaction() as session:
        queries.record_content(session, upload_id, content)
        unused = removable(session, ARCHIVES, {key, content.key})  # what is not the upload's now
    platform.archives.discard(upload_id)
    _delete(platform, unused)


def _delete(platform: Platform, unused: Collection[str]) -> None:
    for key in unused:
        platform.archives.delete(key)


def _packed(platform: Platform, upload_id: uuid.UUID, key: str, declared: Declared) -> StoredContent:
    """A single result file in an archive, at its path; the same file gives the same archive."""
    path = result_path(declared.filename, declared.dataset, declared.image_set) or declared.filename
    with platform.archives.draft() as draft:
        with (
            tarfile.open(draft, "w", format=tarfile.USTAR_FORMAT) as archive,
            platform.archives.open(key) as content,
        ):
            member = tarfile.TarInfo(path)
            member.size = declared.size
            archive.addfile(member, content)
            content.read()  # to the end, which verifies it
        return StoredContent(platform.archives.put(draft, upload_id), f"{declared.filename}.tar")


def delete_upload(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> None:
    """Delete an upload with its bytes.

    Raises NotFoundError, and ConflictError for a confirmed one, which is kept for ever.
    """
    with platform.transaction() as session:
        upload = queries.locked_upload(session, actor, upload_id)
        if upload is None:
            raise NotFoundError(f"your team has no upload {upload_id}")
        submissions = queries.submissions_of(session, upload_id)
        if submissions:
            raise ConflictError(f"This archive was confirmed as submission {submissions[0]}; it is kept")
        session.delete(upload)
        session.flush()
        keys = [content_key(upload.sha256, upload_id)] if upload.sha256 else []
        unused = removable(session, ARCHIVES, keys)
    platform.archives.discard(upload_id)
    _delete(platform, unused)


def my_uploads(platform: Platform, actor: Actor, after: str | None = None) -> UploadPage:
    """A page of the team's uploads, newest first; `after` is the `next` of the page before.

    Raises BadRequestError for another `after`.
    """
    try:
        before = Cursor.parse(after) if after else None
    except ValueError as error:
        raise BadRequestError(f"after: {after!r} is no page of uploads") from error
    with platform.snapshot() as session:
        rows = queries.uploads_of_teams(
            session, actor.teams, retention.retention_of(platform), before=before, limit=PAGE + 1
        )
        used = retention.unconfirmed(session, Upload.user_id == actor.user_id, platform.settings.max_upload)
    more = Cursor(rows[PAGE - 1].started_at, rows[PAGE - 1].id) if len(rows) > PAGE else None
    return UploadPage(
        tuple(rows[:PAGE]), str(more) if more else None, used.bytes, platform.settings.max_stored
    )
