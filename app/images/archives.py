"""The archive of a phase's images: their files as they were imported, in one tar in the store of files."""

import tarfile
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

import structlog
from sqlalchemy import ColumnElement, and_, func, not_, or_, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import description_of
from app.challenges.file_changes import bytes_used
from app.challenges.files import download_of, refusal_of_images
from app.challenges.phase_files import archive_name, file_after_image
from app.core import audit
from app.core.access import Actor, require_active
from app.core.errors import NotFoundError, TooLargeError
from app.core.units import MiB
from app.images.decoding import PictureError, check_beginning, read_file
from app.images.packs import parts_of
from app.images.pictures import organised_images, queue_job
from app.jobs import queue
from app.models import Challenge, JobKind, Phase, Picture, PictureBatch, PictureSource
from app.platform import Platform
from app.submissions.retention import FILES, removable
from app.web.transfers import StoredFile

log = structlog.get_logger()

PIECE: Final = 16 * MiB  # that is held in memory


_Batches = tuple[tuple[int, str, str | None], ...]  # number, fingerprint, key of the copy


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an archive is made of. description_key: of its images; batches: of these, in order; most: bytes that it may have."""

    phase_id: int
    challenge_id: int
    image_set: str
    description_key: str
    folder: str
    batches: _Batches
    most: int


def _is_wanted() -> ColumnElement[bool]:
    """Whether a phase has an archive of its images, for statements with PictureSource and Phase."""
    is_published = or_(PictureSource.is_public, ~Phase.is_held_out)
    return and_(PictureSource.offers_archive, is_published)


def forget(session: Session, phase_id: int) -> set[str]:
    """Forget the archive of a phase's images; return the content to remove from the store of files after this transaction."""
    source = session.get(PictureSource, phase_id, with_for_update=True, populate_existing=True)
    if source is None:
        return set()
    keys = {source.archive_key} if source.archive_key else set()
    source.archive_key = source.archive_size = source.archive_problem = None
    session.flush()
    return removable(session, FILES, keys)


def remove(platform: Platform, keys: set[str]) -> None:
    """Remove forgotten archives."""
    for key in keys:
        platform.files.delete(key)


def queue_missing(platform: Platform) -> None:
    """Remove archives that phases no longer have, and queue the work of making those that are missing."""
    is_made = PictureSource.archive_key.is_not(None)
    is_awaited = queue.is_pending(JobKind.PICTURES, func.concat("phase ", PictureSource.phase_id))
    of_phase = PictureBatch.phase_id == PictureSource.phase_id
    is_complete = and_(
        select(PictureBatch.number).where(of_phase).exists(),
        ~select(PictureBatch.number).where(of_phase, PictureBatch.made.is_(None)).exists(),
    )
    phases = select(PictureSource.phase_id).join(Phase, Phase.id == PictureSource.phase_id)
    missing = phases.where(
        _is_wanted(), not_(is_made), PictureSource.archive_problem.is_(None), is_complete, ~is_awaited
    )
    with platform.transaction() as session:
        unwanted = session.scalars(phases.where(is_made, not_(_is_wanted()))).all()
        unused = set[str]().union(*(forget(session, each) for each in unwanted))
        for each in session.scalars(missing).all():
            queue_job(session, JobKind.PICTURES, each)
    remove(platform, unused)


def make(platform: Platform, phase_id: int) -> None:
    """Store the archive of a phase's images unless it is not wanted or already made; if it cannot be made, record why.

    The same images give the same bytes, so that a download can be resumed although the archive was made again meanwhile.
    """
    with platform.transaction() as session:
        plan = _plan(platform, session, phase_id)
    if plan is None:
        return
    upload_id, key, problem = uuid.uuid4(), None, None
    try:
        size = _write(platform, plan, upload_id)
        key = platform.files.commit(upload_id, size)
    except PictureError as error:
        problem = str(error)
    except TooLargeError:
        problem = (
            f"the images take more than the {plan.most // MiB} MiB that are left for files of the challenge"
        )
    finally:
        platform.files.discard(upload_id)
    if key is None or not _record(platform, plan, key, size):
        log.info("archive of images not made", phase=phase_id, problem=problem)
    if problem:
        _record_problem(platform, plan, problem)


def _plan(platform: Platform, session: Session, phase_id: int) -> _Plan | None:
    """Return what to make an archive of; None if the phase has none, or has it already."""
    statement = (
        select(PictureSource, Phase)
        .join(Phase, Phase.id == PictureSource.phase_id)
        .where(PictureSource.phase_id == phase_id, PictureSource.archive_key.is_(None), _is_wanted())
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    source, phase = row
    most = platform.settings.max_data - bytes_used(session, phase.challenge_id)
    return _Plan(
        phase_id,
        phase.challenge_id,
        phase.image_set,
        phase.description_key,
        source.folder,
        _batches(session, phase_id),
        min(most, platform.files.largest_content or most),
    )


def contents_of(platform: Platform, phase_id: int) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a phase's images as they were imported, in their order. Raises PictureError if one cannot be read."""
    with platform.transaction() as session:
        source = session.get(PictureSource, phase_id)
        batches = _batches(session, phase_id)
        key = session.get_one(Phase, phase_id).description_key
    if source is not None:
        yield from _contents(platform, phase_id, source.folder, batches, key)


def _batches(session: Session, phase_id: int) -> _Batches:
    statement = (
        select(PictureBatch.number, PictureBatch.fingerprint, PictureBatch.copy_key)
        .where(PictureBatch.phase_id == phase_id)
        .order_by(PictureBatch.number)
    )
    return tuple((number, fingerprint, key) for number, fingerprint, key in session.execute(statement))


def _write(platform: Platform, plan: _Plan, upload_id: uuid.UUID) -> int:
    """Write an archive to a partial upload, and return its size. Raises PictureError and TooLargeError."""
    waiting, end = bytearray(), 0
    contents = _contents(platform, plan.phase_id, plan.folder, plan.batches, plan.description_key)
    for block in tar_of(plan.image_set, contents):
        waiting += block
        if end + len(waiting) > plan.most:
            raise TooLargeError(f"more than {plan.most} bytes")
        if len(waiting) >= PIECE:
            end = platform.files.append(upload_id, end, BytesIO(waiting))
            waiting.clear()
    return platform.files.append(upload_id, end, BytesIO(waiting))


def tar_of(folder: str, files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Yield the parts of an uncompressed tar with these files, by path and content, in one folder, without owners and times."""
    for path, content in files:
        entry = tarfile.TarInfo(f"{folder}/{path}")
        entry.size = len(content)
        yield entry.tobuf()
        yield content
        yield bytes(-len(content) % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _contents(
    platform: Platform, phase_id: int, folder: str, batches: _Batches, description_key: str
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the images that can be shown, in their order, by the names that people know them by.

    Raises PictureError if one cannot be read.
    """
    called = description_of(platform.descriptions, description_key).files
    for number, _, copy_key in batches:
        with platform.transaction() as session:
            in_batch = Picture.phase_id == phase_id, Picture.batch == number
            statement = select(Picture.name, Picture.file, Picture.problem)
            rows = session.execute(statement.where(*in_batch).order_by(Picture.position)).all()
        files = [None if problem else file for _, file, problem in rows]
        names = [called.get(name) or file_after_image(name, file or "") for name, file, _ in rows]
        if copy_key is None:
            listed = zip(names, files, strict=True)
            yield from ((name, _read(Path(folder), file)) for name, file in listed if file)
        else:
            with platform.truths.materialise(copy_key) as copies, copies.open("rb") as stream:
                found = zip(names, files, parts_of(stream), strict=True)
                yield from ((name, content) for name, file, content in found if file)


def _read(folder: Path, name: str) -> bytes:
    try:
        content = read_file(folder / name)
        check_beginning(content[:16])  # the folder is not ours, and the file may be another one since
    except PictureError as error:
        raise PictureError(f"{name}: {error}") from None
    return content


def _record(platform: Platform, plan: _Plan, key: str, size: int) -> bool:
    """Record an archive, unless its images have changed or the space is used meanwhile; return whether it was."""
    with platform.transaction() as session:
        session.get(Challenge, plan.challenge_id, with_for_update={"key_share": True})
        source = _lock_unchanged(session, plan)
        has_space = bytes_used(session, plan.challenge_id) + size <= platform.settings.max_data
        is_recorded = source is not None and source.archive_key is None and has_space
        if source is not None and is_recorded:
            source.archive_key, source.archive_size = key, size
    if not is_recorded:
        platform.files.delete(key)
    return is_recorded


def _record_problem(platform: Platform, plan: _Plan, problem: str) -> None:
    with platform.transaction() as session:
        if source := _lock_unchanged(session, plan):
            source.archive_problem = problem


def _lock_unchanged(session: Session, plan: _Plan) -> PictureSource | None:
    """Return the locked source of a plan's images; None if they have changed."""
    source = session.get(PictureSource, plan.phase_id, with_for_update=True)
    return source if _batches(session, plan.phase_id) == plan.batches else None


def start_download(platform: Platform, actor: Actor, challenge: str, image_set: str) -> StoredFile:
    """Return the archive of a phase's images. Raises NotFoundError, and what `refusal_of_images` returns."""
    with platform.transaction() as session:
        phase = challenges.find_phase(session, challenge, image_set)
        if refused := refusal_of_images(session, actor, phase):
            raise refused
        source = session.get_one(PictureSource, phase.id)
    if not source.offers_archive or source.archive_key is None or source.archive_size is None:
        raise NotFoundError(f"there is no archive of the images of {challenge} {image_set}, or not yet")
    return download_of(platform, source.archive_key, archive_name(phase), source.archive_size)


def offer(platform: Platform, actor: Actor, phase_id: int, *, is_offered: bool) -> None:
    """Set whether everybody who sees the images of a phase can download them as one archive.

    Raises NotFoundError if the phase has no images or the actor does not organise it.
    """
    unused: set[str] = set()
    with platform.transaction() as session:
        challenge_id = organised_images(session, actor, phase_id).challenge_id
        require_active(session, challenge_id)
        source = session.get_one(PictureSource, phase_id, with_for_update=True, populate_existing=True)
        before, source.offers_archive = source.offers_archive, is_offered
        if before != is_offered:
            unused = forget(session, phase_id)
            queue_job(session, JobKind.PICTURES, phase_id)
            audit.record(
                session, actor.user_id, "pictures.archive", f"phase {phase_id}", challenge_id=challenge_id,
                before={"offers_archive": before}, after={"offers_archive": is_offered},
            )  # fmt: skip
    remove(platform, unused)
