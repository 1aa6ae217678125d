"""Import the images of a data set tree, and make the thumbnails and larger images that pages show."""

import json
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import structlog
from sqlalchemy import BigInteger, column, delete, func, insert, literal, select, true, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges, versions
from app.challenges.challenges import description_of
from app.images import archives
from app.images.decoding import RECIPE, MadeImages, PictureError, check_beginning, make_all, read_file
from app.images.matching import FOLDERS, match_in_folders, size_problem
from app.images.packs import PACK, pack, parts_of, write_pack
from app.images.pictures import BATCH, PICTURES, queue_job, source_of
from app.jobs.sandbox import ChildError, ChildFileError, ChildLimits, run_in_subprocess
from app.models import (
    GroundTruth,
    ImageMode,
    JobKind,
    NextPictureBatch,
    NextPictures,
    Picture,
    PictureBatch,
    PictureSource,
)
from app.platform import Platform
from app.results import artefacts
from app.submissions.retention import removable

log = structlog.get_logger()

SHOWN_PROBLEMS: Final = 5
BATCH_SECONDS: Final = 60
IMAGE_SECONDS: Final = 2  # per image, if a batch was stopped and its images are made one by one
MEMORY: Final = 2 << 30  # bytes per child process, even if scoring may use more


@dataclass(frozen=True, slots=True)
class PictureFile:
    """An image of a phase and the file that shows it.

    width, height: in pixels according to the annotation, None if unknown; file: path below the folder, None if there is none;
    size: in bytes; changed: modification time in nanoseconds; problem: why the file cannot be shown; called: what people know it by,
    where that is another name.
    """

    name: str
    width: int | None
    height: int | None
    file: str | None = None
    size: int = 0
    changed: int = 0
    problem: str | None = None
    called: str = ""

    @property
    def facts(self) -> list[Any]:
        """What decides whether it is processed again."""
        *others, called = asdict(self).values()
        return [*others, called] if called else others


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """Images that are made together. fingerprint: of the files and of how they are processed."""

    number: int
    files: tuple[PictureFile, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ImportedImages:
    """The result of importing the images of a tree. problems: a message for each of the first few files that cannot be shown."""

    mode: ImageMode
    folder: Path
    images: int
    files: int
    changed: int  # images that are made again
    problems: tuple[str, ...]
    more_problems: int


def import_images(
    platform: Platform,
    phase_id: int,
    tree: Path,
    mode: ImageMode,
    folder: Path | None = None,
    names: Mapping[str, str] = MappingProxyType({}),
) -> ImportedImages | None:
    """Link or copy the images of a phase, and queue the work of making thumbnails. Returns None if there are no images.

    folder: where the images are, by default the tree's own folders; names: what annotation calls their files, by image. Only the first bytes of each file are checked here. A repeated
    import processes only what has changed. Raises NotFoundError for an unknown phase.
    """
    root = (folder or tree).absolute()
    with platform.transaction() as session:
        phase = challenges.find_phase_of_id(session, phase_id)
        newest = challenges.newest_truth(session, phase_id)
        key = (newest and newest.description_key) or phase.description_key
        known = known_batches(session, phase_id)
    ready = prepare(platform, description_of(platform.descriptions, key), known, root, mode, names)
    if ready is None:
        return None
    with platform.transaction() as session:
        unused = ready.write(session, phase_id)
    if unused is None:  # others changed them meanwhile
        return import_images(platform, phase_id, tree, mode, folder, names)
    unused.remove(platform)
    return ready.imported


def known_batches(session: Session, phase_id: int) -> dict[int, str]:
    """Return the fingerprints of the batches that a phase has, by number."""
    return {each.number: each.fingerprint for each in _batches(session, phase_id)}


def prepare(
    platform: Platform,
    description: heldout_scoring.Description,
    known: Mapping[int, str],
    root: Path,
    mode: ImageMode,
    names: Mapping[str, str] = MappingProxyType({}),
) -> "ReadyImages | None":
    """Copy the images of a folder to the private store if they are to be copied. Returns None if there are no images.

    known: the batches that the phase has; names: as in `import_images`.
    """
    files = tuple(_files(root, description, names))
    if not any(each.file for each in files):
        return None
    batches = list(filled_batches(files, mode, RECIPE))
    changed = [batch for batch in batches if known.get(batch.number) != batch.fingerprint]
    copies = {batch.number: _copy(platform, root, batch) for batch in changed if mode is ImageMode.COPY}
    unchanged = frozenset(batch.number for batch in batches) - {batch.number for batch in changed}
    return ReadyImages(mode, root, files, tuple(batches), copies, unchanged)


@dataclass(frozen=True, slots=True)
class UnusedContents:
    """Stored copies and archives of images that nothing refers to any more."""

    copies: frozenset[str]
    archives: set[str]

    def remove(self, platform: Platform) -> None:
        """Remove them from the stores, after the transaction that no longer refers to them."""
        for key in self.copies if platform.private else ():  # otherwise workers sweep them
            platform.truths.delete(key)
        archives.remove(platform, self.archives)


@dataclass(frozen=True, slots=True)
class ReadyImages:
    """Images whose copies are stored, and whose rows are not written yet. copies: storage keys by batch."""

    mode: ImageMode
    root: Path
    files: tuple[PictureFile, ...]
    batches: tuple[PlannedBatch, ...]
    copies: Mapping[int, str]
    unchanged: frozenset[int]  # numbers of batches

    def write(self, session: Session, phase_id: int) -> UnusedContents | None:
        """Write the rows for the newest version of the annotation; returns None if the phase got other images meanwhile.

        They are the images of the phase at once if its boards show that version, and otherwise with the switch of the boards.
        """
        challenges.lock_phase(session, phase_id)
        now = {each.number: each for each in _batches(session, phase_id)}
        if not self.unchanged <= now.keys() or any(
            now[each.number].fingerprint != each.fingerprint
            for each in self.batches
            if each.number in self.unchanged
        ):
            return None
        newest = challenges.newest_truth(session, phase_id)
        assert newest is not None
        before = _drop_next(session, [newest.id])  # sent for the same version before
        session.add(NextPictures(ground_truth_id=newest.id, mode=self.mode, folder=str(self.root)))
        session.flush()
        kept = {number: now[number].copy_key for number in self.unchanged}
        _insert_next(session, newest.id, self.batches, {**kept, **self.copies})
        return show_next(session, phase_id, before)

    @property
    def imported(self) -> ImportedImages:
        """What is told of them."""
        problems = [f"{each.file or each.name}: {each.problem}" for each in self.files if each.problem]
        return ImportedImages(
            self.mode,
            self.root,
            len(self.files),
            sum(each.problem is None for each in self.files),
            sum(len(each.files) for each in self.batches if each.number not in self.unchanged),
            tuple(problems[:SHOWN_PROBLEMS]),
            max(0, len(problems) - SHOWN_PROBLEMS),
        )


def show_next(session: Session, phase_id: int, unused: Collection[str] = ()) -> UnusedContents:
    """Give a locked phase the images that came with the version that its boards show, unless it has them.

    A version without images keeps those of the one before. Batches that stay the same keep what was made of them; the others are
    queued. unused: keys of further copies that are needed no longer.
    """
    shown = versions.shown_truth(session, phase_id)
    statement = (
        select(NextPictures)
        .join(GroundTruth, GroundTruth.id == NextPictures.ground_truth_id)
        .where(GroundTruth.phase_id == phase_id, GroundTruth.version <= shown.version if shown else true())
        .order_by(GroundTruth.version.desc())
    )
    due = session.scalars(statement).all()
    if not due:
        return UnusedContents(frozenset(removable(session, "truth", unused)), set())
    _lock_source(session, phase_id, due[0].mode, due[0].folder)
    batch = NextPictureBatch.number, NextPictureBatch.fingerprint
    of_next = NextPictureBatch.ground_truth_id == due[0].ground_truth_id
    wanted = dict(session.execute(select(*batch).where(of_next)).all())
    removed = [each for each in _batches(session, phase_id) if wanted.get(each.number) != each.fingerprint]
    _remove_batches(session, phase_id, removed)
    added = wanted.keys() - known_batches(session, phase_id).keys()
    _take_next(session, phase_id, due[0].ground_truth_id, added)
    dropped = _drop_next(session, [each.ground_truth_id for each in due])
    outdated = archives.forget(session, phase_id) if added or removed else set()
    queue_job(session, JobKind.PICTURES, phase_id)
    queue_job(session, JobKind.OVERLAYS, phase_id)
    return UnusedContents(
        frozenset(removable(session, "truth", {*unused, *_copies(removed), *dropped})), outdated
    )


def forget_next(session: Session, phase_id: int, version: int) -> UnusedContents:
    """Forget the images that came with versions after this one, and that a locked phase does not show yet."""
    later = select(GroundTruth.id).where(GroundTruth.phase_id == phase_id, GroundTruth.version > version)
    dropped = _drop_next(session, session.scalars(later).all())
    return UnusedContents(frozenset(removable(session, "truth", dropped)), set())


def show_due(platform: Platform) -> None:
    """Show the images of versions that boards show since a process of the release before switched them."""
    with platform.transaction() as session:
        waiting = select(GroundTruth.phase_id).join(
            NextPictures, NextPictures.ground_truth_id == GroundTruth.id
        )
        phases = session.scalars(waiting.distinct()).all()
    for phase_id in phases:
        with platform.transaction() as session:
            challenges.lock_phase(session, phase_id)
            unused = show_next(session, phase_id)
        unused.remove(platform)


def mode_of(platform: Platform, phase_id: int) -> ImageMode | None:
    """Return whether the images of a phase are linked or copied, or None if it has none."""
    with platform.transaction() as session:
        source = source_of(session, phase_id)
        return source.mode if source else None


def remove(platform: Platform, phase_id: int) -> bool:
    """Remove the images of a phase and everything made from them. Returns whether there were any."""
    with platform.transaction() as session:
        challenges.lock_phase(session, phase_id)
        batches = _batches(session, phase_id)
        of_phase = select(GroundTruth.id).where(GroundTruth.phase_id == phase_id)
        dropped = _drop_next(session, session.scalars(of_phase).all())
        _remove_batches(session, phase_id, batches)
        outdated = archives.forget(session, phase_id)
        statement = delete(PictureSource).where(PictureSource.phase_id == phase_id)
        found = session.scalar(statement.returning(PictureSource.phase_id)) is not None
        unused = removable(session, "truth", {*_copies(batches), *dropped})
    for key in unused:
        platform.truths.delete(key)
    archives.remove(platform, outdated)
    return found


def _batches(session: Session, phase_id: int) -> Sequence[PictureBatch]:
    return session.scalars(select(PictureBatch).where(PictureBatch.phase_id == phase_id)).all()


def _copies(batches: Iterable[PictureBatch]) -> list[str]:
    return [each.copy_key for each in batches if each.copy_key]


def _remove_batches(session: Session, phase_id: int, batches: Sequence[PictureBatch]) -> None:
    """Remove batches and the images made from them."""
    for each in batches:
        artefacts.remove(session, PICTURES, f"{phase_id}/{each.number}")
    numbers = [each.number for each in batches]
    session.execute(
        delete(PictureBatch).where(PictureBatch.phase_id == phase_id, PictureBatch.number.in_(numbers))
    )


def _lock_source(session: Session, phase_id: int, mode: ImageMode, folder: str) -> None:
    """Store the image source of a phase and lock it until the end of the transaction."""
    changed = {"mode": mode, "folder": folder, "problem": None}
    statement = upsert(PictureSource).values(phase_id=phase_id, **changed)
    session.execute(statement.on_conflict_do_update(index_elements=[PictureSource.phase_id], set_=changed))


def _insert_next(
    session: Session, truth_id: int, batches: Iterable[PlannedBatch], copies: Mapping[int, str | None]
) -> None:
    """Insert the batches that came with a version. copies: the storage key of each batch by number."""
    rows = [
        {
            "ground_truth_id": truth_id,
            "number": batch.number,
            "fingerprint": batch.fingerprint,
            "copy_key": copies.get(batch.number),
            "pictures": [
                {
                    "position": batch.number * BATCH + place,
                    "name": each.name,
                    "width": each.width,
                    "height": each.height,
                    "file": each.file,
                    "problem": each.problem,
                }
                for place, each in enumerate(batch.files)
            ],
        }
        for batch in batches
    ]
    session.execute(insert(NextPictureBatch), rows)


def _take_next(session: Session, phase_id: int, truth_id: int, numbers: Collection[int]) -> None:
    """Copy batches that came with a version, with their images, to those that a phase has."""
    phase, next_ = literal(phase_id, BigInteger), NextPictureBatch
    taken = next_.ground_truth_id == truth_id, next_.number.in_(numbers)
    batches = select(phase, next_.number, next_.fingerprint, next_.copy_key).where(*taken)
    names = ["phase_id", "number", "fingerprint", "copy_key"]
    session.execute(insert(PictureBatch).from_select(names, batches))
    table = Picture.__table__.columns
    fields = [table[name] for name in ("position", "name", "width", "height", "file", "problem")]
    listed = func.jsonb_to_recordset(next_.pictures).table_valued(
        *(column(each.name, each.type) for each in fields)
    )
    each = listed.render_derived(with_types=True)
    pictures = select(phase, next_.number, *each.c).join(each, true()).where(*taken)
    names = ["phase_id", "batch", *(each.name for each in fields)]
    session.execute(insert(Picture).from_select(names, pictures))


def _drop_next(session: Session, truth_ids: Collection[int]) -> list[str]:
    """Delete the images that came with these versions and return the keys of their copies."""
    of_versions = NextPictureBatch.ground_truth_id.in_(truth_ids), NextPictureBatch.copy_key.is_not(None)
    keys = session.scalars(select(NextPictureBatch.copy_key).where(*of_versions)).all()
    session.execute(delete(NextPictures).where(NextPictures.ground_truth_id.in_(truth_ids)))
    return [key for key in keys if key]


def _files(
    root: Path, description: heldout_scoring.Description, names: Mapping[str, str]
) -> list[PictureFile]:
    images = (*description.images, *description.further)
    numbered = bool(description.class_numbers) and not names
    found = match_in_folders(
        {image.id: names.get(image.id, image.id) for image in images},
        [(name, _listing(root / name)) for name in FOLDERS],
        numbered=numbered,
    )
    doubtful = {image: f"two files fit: {one} and {other}" for image, (one, other) in found.two_files.items()}
    for file, some in found.two_images.items():
        doubtful |= dict.fromkeys(some, f"{file} fits two images: {' and '.join(some)}")
    return [_picture_file(root, image, found.of.get(image.id), doubtful.get(image.id)) for image in images]


def _listing(folder: Path) -> Sequence[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _picture_file(
    root: Path, image: heldout_scoring.Image, file: str | None, doubt: str | None
) -> PictureFile:
    width, height = (image.width, image.height) if image.has_size else (None, None)
    listed = PictureFile(image.id, width, height, file, called=image.file)
    if file is None:
        return replace(listed, problem=doubt or "there is no such file")
    try:
        found = (root / file).stat()
        check_beginning(read_file(root / file, 16))
    except PictureError as error:
        return replace(listed, problem=str(error))
    except OSError as error:
        return replace(listed, problem=f"the file cannot be read: {error.strerror}")
    return replace(listed, size=found.st_size, changed=found.st_mtime_ns)


def filled_batches(files: Sequence[PictureFile], mode: ImageMode, recipe: str) -> Iterator[PlannedBatch]:
    """Split images into batches, each with a fingerprint that changes with its files and with the recipe."""
    for number, first in enumerate(range(0, len(files), BATCH)):
        some = tuple(files[first : first + BATCH])
        facts = [recipe, mode.value, *(each.facts for each in some)]
        yield PlannedBatch(number, some, sha256(json.dumps(facts).encode()).hexdigest())


def _copy(platform: Platform, root: Path, batch: PlannedBatch) -> str:
    """Copy the files of a batch to the private store as one pack. Returns its key."""
    with platform.truths.draft() as draft:
        with draft.open("wb") as stream:
            write_pack(stream, len(batch.files), (_content(root, each) for each in batch.files))
        return platform.truths.put(
            draft, uuid.uuid4()
        )  # a unique key, so that this copy can be removed alone


def _content(root: Path, each: PictureFile) -> bytes:
    if each.file is None or each.problem:
        return b""
    try:
        return read_file(root / each.file)
    except PictureError:  # the file has just disappeared; the worker will report an empty file
        return b""


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch to make, with its images by position."""

    row: PictureBatch
    source: PictureSource
    pictures: Sequence[Picture]


def make_next(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Make the next batch of images of a phase, or after the last one the archive of their files.

    Finished batches are kept, so an interruption loses little.

    The batch after it is another job at the end of the queue, so that no score waits for all images of a phase. If the files are
    unreachable, this is recorded for organisers, who can import again or retry.
    """
    phase_id = int(payload["phase_id"])
    with platform.transaction() as session:
        batch = _next_batch(session, phase_id)
    if batch is None:
        archives.make(platform, phase_id)
        return
    if problem := _unreachable(platform, batch):
        with platform.transaction() as session:
            session.execute(
                update(PictureSource).where(PictureSource.phase_id == phase_id).values(problem=problem)
            )
        return
    made = [_checked(file, each) for file, each in zip(batch.pictures, _make(platform, batch), strict=True)]
    content = pack(part for each in made for part in (each.thumbnail, each.view))
    subject = f"{phase_id}/{batch.row.number}"
    artefacts.store(platform, PICTURES, subject, batch.row.fingerprint, PACK, content)
    with platform.transaction() as session:
        _record_made(session, batch, made)
        queue_job(session, JobKind.PICTURES, phase_id)


def _next_batch(session: Session, phase_id: int) -> _Batch | None:
    is_next = PictureBatch.phase_id == phase_id, PictureBatch.made.is_(None)
    row = session.scalar(select(PictureBatch).where(*is_next).order_by(PictureBatch.number).limit(1))
    if row is None:
        return None
    in_batch = Picture.phase_id == phase_id, Picture.batch == row.number
    pictures = session.scalars(select(Picture).where(*in_batch).order_by(Picture.position)).all()
    return _Batch(row, session.get_one(PictureSource, phase_id), pictures)


def _unreachable(platform: Platform, batch: _Batch) -> str | None:
    if batch.row.copy_key is not None:
        exists = platform.truths.exists(batch.row.copy_key)
        return None if exists else "The copies of the images are no longer in the private store"
    folder = Path(batch.source.folder)
    files = [each.file for each in batch.pictures if each.file and each.problem is None]
    if not folder.is_dir():
        return f"The folder {folder} does not exist, or this worker has no access to it"
    if files and not any((folder / each).exists() for each in files):
        return f"The folder {folder} no longer contains the images"
    return None


def _make(platform: Platform, batch: _Batch) -> list[MadeImages]:
    names = tuple(None if each.problem else each.file for each in batch.pictures)
    if batch.row.copy_key is None:
        return _make_all(Path(batch.source.folder), names, in_pack=False)
    with platform.truths.materialise(batch.row.copy_key) as copies:
        return _make_all(copies, names, in_pack=True)


def _make_all(source: Path, names: tuple[str | None, ...], *, in_pack: bool) -> list[MadeImages]:
    """Make all files in one child process or, if that is stopped, one by one."""
    try:
        return _run(BATCH_SECONDS, source, names, in_pack=in_pack)
    except ChildFileError:
        raise
    except ChildError:
        log.warning("a batch of images was stopped; its images are made one by one")
    return [_make_one(source, names, place, in_pack=in_pack) for place in range(len(names))]


def _make_one(source: Path, names: Sequence[str | None], place: int, *, in_pack: bool) -> MadeImages:
    alone = tuple(name if each == place else None for each, name in enumerate(names))
    try:
        return _run(IMAGE_SECONDS, source, alone, in_pack=in_pack)[place]
    except ChildFileError:
        raise
    except ChildError as error:
        return MadeImages(problem=f"decoding was stopped: {error}")


def _run(seconds: int, source: Path, names: tuple[str | None, ...], *, in_pack: bool) -> list[MadeImages]:
    limits = ChildLimits(seconds=seconds, memory=MEMORY, nice=10)
    facts, *parts = parts_of(BytesIO(run_in_subprocess(limits, make_all, source, names, in_pack)))
    return [
        MadeImages(thumbnail, view, *fact)
        for thumbnail, view, fact in zip(parts[::2], parts[1::2], json.loads(facts), strict=True)
    ]


def _checked(file: Picture, made: MadeImages) -> MadeImages:
    """Drop the images made from a file if it has a problem."""
    problem = (
        file.problem or made.problem or size_problem((file.width, file.height), (made.width, made.height))
    )
    return MadeImages(width=made.width, height=made.height, problem=problem) if problem else made


def _record_made(session: Session, batch: _Batch, made: Sequence[MadeImages]) -> None:
    """Record that a batch is made, unless its files have changed meanwhile."""
    row = batch.row
    is_same = (
        PictureBatch.phase_id == row.phase_id,
        PictureBatch.number == row.number,
        PictureBatch.fingerprint == row.fingerprint,
    )
    statement = update(PictureBatch).where(*is_same).values(made=row.fingerprint)
    if session.scalar(statement.returning(PictureBatch.number)) is None:
        return
    outcomes = [
        {
            "phase_id": row.phase_id,
            "position": file.position,
            "width": file.width or each.width or None,
            "height": file.height or each.height or None,
            "problem": each.problem,
        }
        for file, each in zip(batch.pictures, made, strict=True)
    ]
    session.execute(update(Picture), outcomes)
