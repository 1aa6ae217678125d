"""Taking bytes in, and checking them once they are complete."""

import fcntl
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, BinaryIO

import anyio.to_thread
import structlog
from sqlalchemy import func
from starlette.concurrency import run_in_threadpool

import scoring
from app import children
from app.access import Actor
from app.editions.schemas import PhaseView
from app.errors import ConflictError, MalformedError, NotFoundError, OffsetError, TooLargeError
from app.models import Upload, UploadState
from app.platform import Platform
from app.sandbox import ChildError, ChildLimits, TooMuchError, run_apart
from app.uploads import queries
from app.uploads.queries import ToCheck
from app.uploads.rules import shown_name
from app.uploads.schemas import Announced, UploadView

log = structlog.get_logger()

MiB = 1 << 20
STALE = timedelta(days=2)  # uploads that were never completed are forgotten after that


def begin(platform: Platform, actor: Actor, phase: PhaseView, told: Announced) -> uuid.UUID:
    """Make room for an archive; nothing is counted yet.

    Raises TooLargeError.
    """
    assert actor.team_id is not None
    assert actor.user_id is not None
    refuse_larger(platform, told.size or 0)
    number = uuid.uuid4()
    with platform.transaction() as session:
        session.add(
            Upload(
                id=number,
                phase_id=phase.id,
                team_id=actor.team_id,
                user_id=actor.user_id,
                filename=shown_name(told.filename),
                size=told.size,
                announced_sha256=told.sha256,
                competitions=sorted(told.competitions) if told.competitions else None,
            )
        )
    return number


def refuse_larger(platform: Platform, size: int) -> None:
    """Raise TooLargeError, stating the limit, for an archive of `size` bytes that is too large."""
    limit = platform.settings.max_upload
    if size > limit:
        raise TooLargeError(
            f"an archive may have at most {limit} bytes ({limit // MiB} MiB), this one has {size} or more"
        )


def find(platform: Platform, actor: Actor, number: uuid.UUID) -> UploadView:
    """An upload of the reader's team.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        found = queries.upload_of(session, actor, number)
    if found is None:
        raise NotFoundError(f"your team has no upload {number}")
    return found


async def receive(
    platform: Platform, upload: UploadView, offset: int, chunks: AsyncIterator[bytes], *, last: bool = False
) -> int:
    """Write `chunks` at `offset`, and note how far the upload has come, also when the stream breaks off.

    `last`: the end of the stream is the end of the archive. Returns the number of bytes that have arrived.
    Raises OffsetError when the upload stands elsewhere, ConflictError when somebody else is writing to it,
    TooLargeError beyond the announced size or the limit.
    """
    if upload.state is not UploadState.RECEIVING:
        raise ConflictError("this upload is complete")
    received, ended = offset, False
    with _part(platform, upload, offset) as file:
        try:
            async for chunk in chunks:
                _refuse_beyond(platform, upload, received + len(chunk))
                file.write(chunk)
                received += len(chunk)
            ended = True
        finally:
            file.flush()
            await run_in_threadpool(_note, platform, upload.id, offset, received, final=last and ended)
    return received


def _refuse_beyond(platform: Platform, upload: UploadView, received: int) -> None:
    if upload.size is not None and received > upload.size:
        raise TooLargeError(f"{upload.size} bytes were announced, and more came")
    refuse_larger(platform, received)


@contextmanager
def _part(platform: Platform, upload: UploadView, offset: int) -> Iterator[BinaryIO]:
    """The file that gathers the bytes, locked against a second writer and cut off at `offset`."""
    path = platform.archives.incoming(upload.id)
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConflictError("another request is writing to this upload") from error
        there = min(path.stat().st_size, upload.received)
        if there < upload.received:  # the machine lost what it had not yet written to the disk
            _note(platform, upload.id, upload.received, there)
        if offset != there:
            raise OffsetError(there)
        file.truncate(offset)
        yield file


def _note(platform: Platform, number: uuid.UUID, offset: int, received: int, *, final: bool = False) -> None:
    with platform.transaction() as session:
        if not queries.advance(session, number, offset, received, final=final):
            raise ConflictError("another request has written to this upload")


async def finish(platform: Platform, actor: Actor, number: uuid.UUID) -> UploadView:
    """Once all bytes are there: keep them under their hash, check them, and write the report down.

    Safe to call again at any time; what is not complete yet stays as it is.
    Raises NotFoundError, and MalformedError when the bytes do not have the announced hash.
    """
    upload = await run_in_threadpool(find, platform, actor, number)
    if upload.state is UploadState.RECEIVING and upload.received == upload.size:
        await run_in_threadpool(_keep, platform, upload)
    if upload.state is UploadState.CHECKED or upload.received != upload.size:
        return upload
    await anyio.to_thread.run_sync(_check, platform, number, limiter=platform.checks)
    return await run_in_threadpool(find, platform, actor, number)


def _keep(platform: Platform, upload: UploadView) -> None:
    path = platform.archives.incoming(upload.id)
    with platform.transaction() as session:
        row = queries.locked(session, upload.id)
        if row is None or row.state is not UploadState.RECEIVING:
            return  # another request was faster
        if not path.exists():
            row.received = 0
            return
        key = platform.archives.adopt(path)
        if row.announced_sha256 not in (None, key):
            wrong = row.announced_sha256
            session.delete(row)
        else:
            row.sha256, row.state, row.received_at = key, UploadState.RECEIVED, func.now()
            return
    raise MalformedError(
        f"the bytes that arrived have sha256 {key}, announced was {wrong}; send the archive again"
    )


def _check(platform: Platform, number: uuid.UUID) -> None:
    """Run the validator in a child and keep its report; its answer does not depend on who runs it, or how often."""
    with platform.transaction() as session:
        found = queries.to_check(session, number)
    if found is None:
        return
    report = _report(platform, found)
    with platform.transaction() as session:
        row = queries.locked(session, number)
        if row is not None:
            row.state, row.report, row.checked_at = UploadState.CHECKED, report, func.now()
            row.valid = bool(report["valid"])
    log.info("upload checked", upload=str(number), valid=report["valid"], problems=len(report["problems"]))


def _report(platform: Platform, found: ToCheck) -> dict[str, Any]:
    settings = platform.settings
    archive, description = (platform.archives.path(key) for key in (found.sha256, found.description_key))
    limits = ChildLimits(seconds=settings.check_seconds, memory=settings.child_memory, nice=5)
    try:
        report: dict[str, Any] = json.loads(
            run_apart(limits, children.check, archive, found.filename, description, found.competitions)
        )
    except TooMuchError as error:
        return _hopeless("too-expensive", f"the check of this archive was stopped: {error}")
    except ChildError:
        log.exception("check died", archive=archive.name)
        return _hopeless(
            "check-ended", "the check of this archive ended in the middle; the organisers can see why"
        )
    return report


def _hopeless(code: str, sentence: str) -> dict[str, Any]:
    problem = scoring.Problem(code=code, message=sentence)
    nothing = scoring.Validation(
        competitions=(), problems=(problem,), notes=(), unlisted={}, members=0, unpacked=0
    )
    told: dict[str, Any] = nothing.as_json()
    return told


def sweep(platform: Platform) -> int:
    """Forget uploads that were never completed, with their bytes; how many."""
    with platform.transaction() as session:
        stale = queries.forget_stale_uploads(session, STALE)
    for number in stale:
        platform.archives.incoming(number).unlink(missing_ok=True)
    return len(stale)
