"""Receiving the bytes of a data set: encrypted segment by segment as they arrive, and never stored in clear."""

import uuid
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from app.core.access import Actor
from app.core.errors import ConflictError, MalformedError, NotFoundError, OffsetError
from app.intake import intakes, keys
from app.intake.intakes import IntakeFileView
from app.intake.segments import SEGMENT, Place, pieces_in_memory, seal
from app.models import Intake, IntakeFile, IntakeRole, IntakeSegment, IntakeState
from app.platform import Platform
from app.web.transfers import append_pieces, within_size

SPARE: Final = 10_000  # segments that a file may have more than needed, because of broken connections


async def receive(platform: Platform, file: IntakeFileView, offset: int, chunks: AsyncIterator[bytes]) -> int:
    """Append bytes to a file at `offset`, and return its new end; what arrived before an error is stored.

    The newest request is the one that writes: one that resumes an upload takes over from a request that still hangs.
    Raises OffsetError, ConflictError, NotFoundError, TooLargeError, NoWorkerError, StorageFullError.
    """
    writer = await run_in_threadpool(_take_over, platform, file, offset)
    pieces = pieces_in_memory(within_size(chunks, offset, file.size))
    return await append_pieces(pieces, offset, partial(_store, platform, file, writer))


def _take_over(platform: Platform, file: IntakeFileView, offset: int) -> uuid.UUID:
    """Become the only writer of a file that ends at `offset`."""
    writer = uuid.uuid4()
    with platform.transaction() as session:
        row = _receiving(session, file)
        if row.received != offset:
            raise OffsetError(row.received)
        row.writer = writer
    return writer


def _receiving(session: Session, file: IntakeFileView) -> IntakeFile:
    """Lock a file that may receive bytes, and its data set before it."""
    state = session.scalar(select(Intake.state).where(Intake.id == file.intake_id).with_for_update())
    row = session.scalar(select(IntakeFile).where(IntakeFile.id == file.id).with_for_update())
    if row is None:
        raise NotFoundError(f"there is no file {file.id} of a data set")
    if state is not IntakeState.RECEIVING or row.path is not None:
        raise ConflictError("this data set receives nothing at the moment; add a file to change it")
    return row


def _store(
    platform: Platform, file: IntakeFileView, writer: uuid.UUID, offset: int, content: bytearray
) -> int:
    """Encrypt and store a segment, then list it; an object that is not listed is removed by a sweep."""
    with platform.transaction() as session:
        key = keys.newest(session)
        session.expunge(key)
    end = offset + len(content)
    place = Place(file.intake_id, file.id, offset, is_last=end == file.size, role=file.role.value)
    name = platform.intake.put(seal(content, place, key.public_key), file.id)
    with platform.transaction() as session:
        row = _receiving(session, file)
        if row.writer != writer:
            raise ConflictError("another request has continued this upload")
        if row.received != offset:
            raise OffsetError(row.received)
        _require_few(session, file)
        session.add(
            IntakeSegment(file_id=file.id, offset=offset, length=len(content), key=name, key_id=key.id)
        )
        row.received = end
        session.execute(
            update(Intake).where(Intake.id == file.intake_id).values(changed_at=func.clock_timestamp())
        )
    return end


def _require_few(session: Session, file: IntakeFileView) -> None:
    """Refuse an upload that consists of tiny pieces."""
    count = session.scalar(select(func.count()).where(IntakeSegment.file_id == file.id)) or 0
    if count > file.size // SEGMENT + SPARE:
        raise ConflictError("this file was sent in too many small pieces; remove it, and send it again")


async def send(
    platform: Platform,
    actor: Actor,
    intake_id: uuid.UUID,
    new: tuple[IntakeRole, str, int],
    chunks: AsyncIterator[bytes],
) -> IntakeFileView:
    """Receive a whole file, given by its role, name and size, as the body of one request.

    If the stream breaks off, the upload can be resumed by tus. Raises what `add_file` and `receive` raise.
    """
    file = await run_in_threadpool(intakes.add_file, platform, actor, intake_id, *new)
    end = await receive(platform, file, 0, chunks)
    if end < file.size:
        raise MalformedError(f"{file.size} bytes were declared, but {end} arrived")
    return await run_in_threadpool(intakes.get_file, platform, actor, file.id)
