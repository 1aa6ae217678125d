"""Taking the pictures of a tree along, and making what pages show of them."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import structlog
from sqlalchemy.orm import Session

import scoring
from app import children, removals
from app.artefacts import queries as artefact_queries
from app.artefacts import service as artefacts
from app.editions import queries as editions
from app.editions.service import description_of
from app.errors import NotFoundError
from app.jobs import queue
from app.models import ImageMode, JobKind
from app.packs import pack, parts_of, write_pack
from app.picture_files import RECIPE, PictureError, check_beginning, read_file
from app.pictures import queries
from app.pictures.queries import Outcome, StoredBatch, StoredFile
from app.pictures.rules import CHAINS, FOLDERS, files_by_image, filled_batches, size_problem
from app.pictures.schemas import FilledBatch, PictureFile, Taken
from app.platform import Platform
from app.sandbox import ChildError, ChildFileError, ChildLimits, run_in_subprocess
from scoring.data.description import UNKNOWN_SIDE

log = structlog.get_logger()

THUMBNAILS: Final = "thumbnails"  # kinds of artefacts
VIEWS: Final = "pictures"
SHOWN_PROBLEMS: Final = 5
BATCH_SECONDS: Final = 60
PICTURE_SECONDS: Final = 2  # where a batch was stopped and its pictures are made one by one
MEMORY: Final = 2 << 30  # of a child, also where a scoring may have more


@dataclass(frozen=True, slots=True)
class MadeFile:
    """What a child process made of a file: JPEG of both sizes and the size of the picture, or why it has not."""

    thumbnail: bytes = b""
    view: bytes = b""
    width: int = 0
    height: int = 0
    problem: str | None = None


_NOTHING: Final = MadeFile()


def take_along(
    platform: Platform, phase_id: int, tree: Path, mode: ImageMode, folder: Path | None = None
) -> Taken | None:
    """Note where the pictures of a phase lie, or copy them, and have workers make what pages show; None where there are none.

    folder: that of the files, by default those of a tree. Files are opened to look at their beginnings alone. Doing so again
    makes again what has changed. Raises NotFoundError for an unknown phase.
    """
    root = (folder or tree).absolute()
    with platform.transaction() as session:
        phase = editions.phase_of_id(session, phase_id)
        if phase is None:
            raise NotFoundError(f"there is no phase {phase_id}")
        known = queries.fingerprints(session, phase_id)
    files = _files(root, description_of(platform.descriptions, phase.description_key))
    if not any(each.file for each in files):
        return None
    batches = list(filled_batches(files, mode, RECIPE))
    changed = [batch for batch in batches if known.get(batch.number) != batch.fingerprint]
    copies = {batch.number: _copy(platform, root, batch) for batch in changed if mode is ImageMode.COPY}
    with platform.transaction() as session:
        queries.lock_source(session, phase_id, mode, str(root))
        before = queries.copy_keys(session, phase_id)
        for number in queries.remove_batches(session, phase_id, len(batches)):
            _remove_made(session, f"{phase_id}/{number}")
        queries.replace_batches(session, phase_id, changed, copies)
        draw(session, phase_id)
        unused = set(before.values()).difference(queries.copy_keys(session, phase_id).values())
        have_made(session, phase_id)
        unused = unused if removals.are_allowed(session) else set()  # listed as unused from then on
    for key in unused:
        platform.truths.delete(key)
    problems = [f"{each.file or each.name}: {each.problem}" for each in files if each.problem]
    shown, more = tuple(problems[:SHOWN_PROBLEMS]), max(0, len(problems) - SHOWN_PROBLEMS)
    found = sum(each.problem is None for each in files)
    return Taken(mode, root, len(files), found, sum(len(each.files) for each in changed), shown, more)


def mode_of(platform: Platform, phase_id: int) -> ImageMode | None:
    """Whether the pictures of a phase are linked or copied, if it has some."""
    with platform.transaction() as session:
        source = queries.source_of(session, phase_id)
        return source.mode if source else None


def remove(platform: Platform, phase_id: int) -> bool:
    """Forget the pictures of a phase and what was made of them; whether there were any."""
    with platform.transaction() as session:
        copies = queries.copy_keys(session, phase_id)
        for number in queries.fingerprints(session, phase_id):
            _remove_made(session, f"{phase_id}/{number}")
        found = queries.remove_source(session, phase_id)
        copies = copies if removals.are_allowed(session) else {}  # listed as unused from then on
    for key in copies.values():
        platform.truths.delete(key)
    return found


def _remove_made(session: Session, subject: str) -> None:
    for kind in (THUMBNAILS, VIEWS):
        artefact_queries.remove(session, kind, subject)


def _files(root: Path, description: scoring.Description) -> list[PictureFile]:
    listings = [(name, _listing(root / name)) for name in FOLDERS]
    found = files_by_image(listings, numbered=bool(description.class_numbers))
    images = (*description.images, *description.further)
    return [_picture_file(root, image, found.get(image.id)) for image in images]


def _listing(folder: Path) -> Sequence[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _picture_file(root: Path, image: scoring.Image, file: str | None) -> PictureFile:
    known = image.width != UNKNOWN_SIDE
    width, height = (image.width, image.height) if known else (None, None)
    if file is None:
        return PictureFile(image.id, width, height, problem="there is no such file")
    try:
        found = (root / file).stat()
        check_beginning(read_file(root / file, 16))
    except PictureError as error:
        return PictureFile(image.id, width, height, file, problem=str(error))
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror}"
        return PictureFile(image.id, width, height, file, problem=problem)
    return PictureFile(image.id, width, height, file, found.st_size, found.st_mtime_ns)


def _copy(platform: Platform, root: Path, batch: FilledBatch) -> str:
    """Store the files of a batch as one content of the private store; its key."""
    with platform.truths.draft() as draft:
        with draft.open("wb") as stream:
            write_pack(stream, len(batch.files), (_content(root, each) for each in batch.files))
        return platform.truths.put(draft, uuid.uuid4())  # of its own, so that it can be removed


def _content(root: Path, each: PictureFile) -> bytes:
    if each.file is None or each.problem:
        return b""
    try:
        return read_file(root / each.file)
    except PictureError:  # it was there a moment ago; a worker says so of an empty one
        return b""


def draw(session: Session, phase_id: int) -> None:
    """Have drawn what is to be drawn over the pictures, and removed what is no longer."""
    queue.add(session, JobKind.OVERLAYS, key=f"phase {phase_id}", payload={"phase_id": phase_id})


def have_made(session: Session, phase_id: int) -> None:
    """Have the pictures made that are not made yet."""
    for chain in range(CHAINS):
        _continue(session, phase_id, chain)


def _continue(session: Session, phase_id: int, chain: int) -> None:
    """Have the next batch of a chain made, after whatever else waits: one at a time, so that it delays no score."""
    payload = {"phase_id": phase_id, "chain": chain}
    queue.add(session, JobKind.PICTURES, key=f"phase {phase_id}, chain {chain}", payload=payload)


def make_next(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Make the next batch of pictures of a phase; what is made already stays, so that nothing is lost by an interruption.

    Where the pictures cannot be reached, that is noted for organisers, who import again or try again.
    """
    phase_id, chain = int(payload["phase_id"]), int(payload["chain"])
    with platform.transaction() as session:
        number = queries.next_to_make(session, phase_id, chain, CHAINS)
        batch = None if number is None else queries.batch_to_make(session, phase_id, number)
    if number is None or batch is None:
        return
    if problem := _unreachable(platform, batch):
        with platform.transaction() as session:
            queries.set_problem(session, phase_id, problem)
        return
    thumbnails, views, outcomes = _make(platform, batch)
    subject = f"{phase_id}/{number}"
    for kind, content in ((THUMBNAILS, thumbnails), (VIEWS, views)):
        artefacts.store(platform, kind, subject, batch.fingerprint, "application/octet-stream", content)
    with platform.transaction() as session:
        queries.record_made(session, phase_id, number, batch.fingerprint, outcomes)
        _continue(session, phase_id, chain)


def _unreachable(platform: Platform, batch: StoredBatch) -> str | None:
    if batch.copy_key is not None:
        there = platform.truths.exists(batch.copy_key)
        return None if there else "The copies of the pictures are no longer in the private store"
    folder = Path(batch.folder)
    files = [each.file for each in batch.files if each.file and each.problem is None]
    if not folder.is_dir():
        return f"The folder {folder} is not there, or this worker cannot reach it"
    if files and not any((folder / each).exists() for each in files):
        return f"The folder {folder} does not hold the pictures any more"
    return None


def _make(platform: Platform, batch: StoredBatch) -> tuple[bytes, bytes, list[Outcome]]:
    """The packs of thumbnails and of larger pictures, and what each picture has come to."""
    if batch.copy_key is None:
        made = _made(Path(batch.folder), batch.files, in_pack=False)
    else:
        with platform.truths.materialise(batch.copy_key) as copies:
            made = _made(copies, batch.files, in_pack=True)
    outcomes = [_outcome(file, each) for file, each in zip(batch.files, made, strict=True)]
    parts = [
        each if outcome.problem is None else _NOTHING for each, outcome in zip(made, outcomes, strict=True)
    ]
    return pack(each.thumbnail for each in parts), pack(each.view for each in parts), outcomes


def _made(source: Path, files: Sequence[StoredFile], *, in_pack: bool) -> list[MadeFile]:
    names = tuple(None if each.problem else each.file for each in files)
    limits = ChildLimits(seconds=BATCH_SECONDS, memory=MEMORY, nice=10)
    try:
        return _run(limits, source, names, in_pack=in_pack)
    except ChildFileError:
        raise
    except ChildError:
        log.warning("a batch of pictures was stopped; its pictures are made one by one")
    limits = ChildLimits(seconds=PICTURE_SECONDS, memory=MEMORY, nice=10)
    return [_made_alone(limits, source, names, place, in_pack=in_pack) for place in range(len(names))]


def _made_alone(
    limits: ChildLimits, source: Path, names: Sequence[str | None], place: int, *, in_pack: bool
) -> MadeFile:
    alone = tuple(name if each == place else None for each, name in enumerate(names))
    try:
        return _run(limits, source, alone, in_pack=in_pack)[place]
    except ChildFileError:
        raise
    except ChildError as error:
        return MadeFile(problem=f"decoding it was stopped: {error}")


def _run(
    limits: ChildLimits, source: Path, names: tuple[str | None, ...], *, in_pack: bool
) -> list[MadeFile]:
    facts, *parts = parts_of(BytesIO(run_in_subprocess(limits, children.pictures, source, names, in_pack)))
    thumbnails, views = parts[: len(names)], parts[len(names) :]
    return [
        MadeFile(thumbnail, view, *fact)
        for thumbnail, view, fact in zip(thumbnails, views, json.loads(facts), strict=True)
    ]


def _outcome(file: StoredFile, made: MadeFile) -> Outcome:
    problem = file.problem or made.problem
    if problem is None:
        problem = size_problem((file.width, file.height), (made.width, made.height))
    width, height = (file.width, file.height) if file.width else (made.width or None, made.height or None)
    return Outcome(file.position, width, height, problem)
