"""The pictures of phases in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, and_, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.jobs import queue
from app.models import ImageMode, JobKind, Picture, PictureBatch, PictureSource
from app.pictures.rules import CHAINS
from app.pictures.schemas import FilledBatch, SourceView


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch of pictures to make; files: below the folder, by position."""

    fingerprint: str
    copy_key: str | None
    mode: ImageMode
    folder: str
    files: tuple["StoredFile", ...]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A picture of a batch with its annotated size; problem: why there is nothing to show."""

    position: int
    name: str
    width: int | None
    height: int | None
    file: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a picture has come to: its size, or why there is nothing to show."""

    position: int
    width: int | None
    height: int | None
    problem: str | None


def source_of(session: Session, phase_id: int) -> PictureSource | None:
    """Where the pictures of a phase come from."""
    return session.get(PictureSource, phase_id)


def lock_source(session: Session, phase_id: int, mode: ImageMode, folder: str) -> PictureSource:
    """The source of a phase, made or changed, and locked until the end of the transaction."""
    statement = upsert(PictureSource).values(phase_id=phase_id, mode=mode, folder=folder)
    changed = {"mode": mode, "folder": folder, "problem": None}
    session.execute(statement.on_conflict_do_update(index_elements=[PictureSource.phase_id], set_=changed))
    return session.scalars(
        select(PictureSource).where(PictureSource.phase_id == phase_id).with_for_update()
    ).one()


def set_problem(session: Session, phase_id: int, problem: str | None) -> None:
    """Note why the pictures of a phase cannot be made, or that they can."""
    session.execute(update(PictureSource).where(PictureSource.phase_id == phase_id).values(problem=problem))


def set_rules(session: Session, phase_id: int, *, is_public: bool, draws_truth: bool) -> dict[str, bool]:
    """Set who sees the pictures of a phase that has some; what was set before."""
    source = session.scalars(
        select(PictureSource).where(PictureSource.phase_id == phase_id).with_for_update()
    ).one()
    before = {"is_public": source.is_public, "draws_truth": source.draws_truth}
    source.is_public, source.draws_truth = is_public, draws_truth
    return before


def remove_source(session: Session, phase_id: int) -> bool:
    """Forget the pictures of a phase; whether there were any."""
    statement = delete(PictureSource).where(PictureSource.phase_id == phase_id)
    return session.scalar(statement.returning(PictureSource.phase_id)) is not None


def fingerprints(session: Session, phase_id: int) -> dict[int, str]:
    """The fingerprint of each batch of a phase."""
    statement = select(PictureBatch.number, PictureBatch.fingerprint).where(PictureBatch.phase_id == phase_id)
    return dict(session.execute(statement).all())


def copy_keys(session: Session, phase_id: int) -> dict[int, str]:
    """The keys of the copies in private storage, by batch."""
    statement = select(PictureBatch.number, PictureBatch.copy_key).where(
        PictureBatch.phase_id == phase_id, PictureBatch.copy_key.is_not(None)
    )
    return {number: key for number, key in session.execute(statement) if key}


def replace_batches(
    session: Session, phase_id: int, batches: Sequence[FilledBatch], copies: Mapping[int, str]
) -> None:
    """Write batches with their pictures in place of those of the same numbers; copies: the key of each, by number."""
    numbers = [batch.number for batch in batches]
    session.execute(
        delete(PictureBatch).where(PictureBatch.phase_id == phase_id, PictureBatch.number.in_(numbers))
    )
    rows = [
        {
            "phase_id": phase_id,
            "number": batch.number,
            "fingerprint": batch.fingerprint,
            "copy_key": copies.get(batch.number),
        }
        for batch in batches
    ]
    pictures = [
        {
            "phase_id": phase_id,
            "position": batch.first + place,
            "batch": batch.number,
            "name": each.name,
            "width": each.width,
            "height": each.height,
            "file": each.file,
            "problem": each.problem,
        }
        for batch in batches
        for place, each in enumerate(batch.files)
    ]
    if batches:
        session.execute(insert(PictureBatch), rows)
        session.execute(insert(Picture), pictures)


def remove_batches(session: Session, phase_id: int, keep: int) -> list[int]:
    """Remove the batches of a phase from the number `keep` on; their numbers."""
    statement = delete(PictureBatch).where(PictureBatch.phase_id == phase_id, PictureBatch.number >= keep)
    return list(session.scalars(statement.returning(PictureBatch.number)))


def batch_to_make(session: Session, phase_id: int, number: int) -> StoredBatch | None:
    """A batch with its files; none if there is none."""
    statement = (
        select(PictureBatch, PictureSource.mode, PictureSource.folder)
        .join(PictureSource, PictureSource.phase_id == PictureBatch.phase_id)
        .where(PictureBatch.phase_id == phase_id, PictureBatch.number == number)
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    batch, mode, folder = row
    pictures = session.execute(
        select(Picture.position, Picture.name, Picture.width, Picture.height, Picture.file, Picture.problem)
        .where(Picture.phase_id == phase_id, Picture.batch == number)
        .order_by(Picture.position)
    )
    files = tuple(StoredFile(*each) for each in pictures)
    return StoredBatch(batch.fingerprint, batch.copy_key, mode, folder, files)


def record_made(
    session: Session, phase_id: int, number: int, fingerprint: str, outcomes: Sequence[Outcome]
) -> bool:
    """Note that a batch is made, unless its files have changed meanwhile; whether they have not."""
    statement = (
        update(PictureBatch)
        .where(
            PictureBatch.phase_id == phase_id,
            PictureBatch.number == number,
            PictureBatch.fingerprint == fingerprint,
        )
        .values(made=fingerprint)
    )
    if session.scalar(statement.returning(PictureBatch.number)) is None:
        return False
    session.execute(update(Picture), [{"phase_id": phase_id, **asdict(each)} for each in outcomes])
    return True


def next_to_make(session: Session, phase_id: int, after: int, step: int) -> int | None:
    """The next batch that is not made, of every `step`-th from `after` on."""
    statement = select(func.min(PictureBatch.number)).where(
        PictureBatch.phase_id == phase_id,
        PictureBatch.number >= after,
        (PictureBatch.number - after) % step == 0,
        PictureBatch.made.is_(None),
    )
    return session.scalar(statement)


def source_view(session: Session, phase_id: int) -> SourceView | None:
    """The pictures of a phase as its organisers see them."""
    source = source_of(session, phase_id)
    if source is None:
        return None
    total, made, refused = count(session, phase_id)
    return SourceView(
        source.mode, source.folder, source.is_public, source.draws_truth, source.problem, total, made, refused
    )


def count(session: Session, phase_id: int) -> tuple[int, int, int]:
    """How many images a phase has, how many of them can be shown, and how many never will."""
    can = and_(PictureBatch.made.is_not(None), Picture.problem.is_(None))
    statement = (
        select(func.count(), func.count().filter(can), func.count().filter(Picture.problem.is_not(None)))
        .select_from(Picture)
        .join(PictureBatch, is_its_batch())
        .where(Picture.phase_id == phase_id)
    )
    total, made, refused = session.execute(statement).one()
    return total, made, refused


def are_awaited(session: Session, phase_id: int) -> bool:
    """Whether pictures of a phase are still to be made."""
    keys = (f"phase {phase_id}, chain {chain}" for chain in range(CHAINS))
    return bool(session.scalar(select(queue.is_asked_for(JobKind.PICTURES, *keys))))


def is_awaited() -> ColumnElement[bool]:
    """Whether pictures of its phase are still to be made; for statements that have Picture."""
    keys = (func.concat("phase ", Picture.phase_id, f", chain {chain}") for chain in range(CHAINS))
    return queue.is_asked_for(JobKind.PICTURES, *keys)


def is_its_batch() -> ColumnElement[bool]:
    """Whether a picture is of a batch; for statements that join both."""
    return and_(PictureBatch.phase_id == Picture.phase_id, PictureBatch.number == Picture.batch)
