"""Sketches and pairs of alike results in the database."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from app.access import Actor
from app.editions.queries import organised_by
from app.models import (
    AlikePair,
    Disclosure,
    Edition,
    Entry,
    EntryState,
    Method,
    Phase,
    Sketch,
    Submission,
    Team,
    Upload,
    User,
)
from app.similarity.schemas import Pair, Side, Subject
from app.storage import content_key
from scoring.analysis.near_duplicates import Likeness


def _subjects() -> Select[*tuple[Any, ...]]:
    """Scored entries where the annotation is held out; where it is open, alike results cost nobody anything."""
    statement: Select[*tuple[Any, ...]] = (
        select(
            Entry.id, Entry.phase_id, Entry.competition, Edition.dataset, Entry.method_id, Entry.fingerprint,
            Upload.sha256, Upload.id, Phase.description_key,
        )
        .select_from(Entry)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .join(Edition, Phase.edition_id == Edition.id)
        .where(Entry.state == EntryState.SCORED, Phase.disclosure != Disclosure.FULL)
    )  # fmt: skip
    return statement


def _subject(row: Sequence[Any]) -> Subject:
    entry, phase, competition, dataset, method, fingerprint, sha256, upload, description = row
    archive = content_key(sha256 or "", upload)
    return Subject(entry, phase, competition, dataset, method, fingerprint, archive, description)


def subject(session: Session, entry_id: int) -> Subject | None:
    """A scored entry of a held-out phase; none for any other."""
    row = session.execute(_subjects().where(Entry.id == entry_id)).one_or_none()
    return _subject(row) if row else None


def others(session: Session, subject: Subject, limit: int) -> list[tuple[Subject, bytes]]:
    """The newest other methods' entries on the board of one, with their sketches."""
    statement = (
        _subjects()
        .add_columns(Sketch.content)
        .join(Sketch, Sketch.entry_id == Entry.id)
        .where(
            Sketch.phase_id == subject.phase_id,
            Sketch.competition == subject.competition,
            Entry.method_id != subject.method_id,
        )
        .order_by(Sketch.entry_id.desc())
        .limit(limit)
    )
    return [(_subject(row), content) for *row, content in session.execute(statement)]


def sketch_of(session: Session, entry_id: int) -> bytes | None:
    """The sketch of an entry."""
    return session.scalar(select(Sketch.content).where(Sketch.entry_id == entry_id))


def store_sketch(session: Session, subject: Subject, content: bytes) -> None:
    """Keep a sketch; a second one of the same entry is dropped."""
    values = {"entry_id": subject.entry_id, "phase_id": subject.phase_id, "competition": subject.competition}
    session.execute(insert(Sketch).values(**values, content=content).on_conflict_do_nothing())


def has_pair(session: Session, entry_id: int, other_id: int) -> bool:
    """Whether two entries were found to be alike."""
    older, newer = sorted((entry_id, other_id))
    statement = select(AlikePair.id).where(AlikePair.entry_id == newer, AlikePair.other_id == older)
    return session.scalar(statement) is not None


def store_pair(
    session: Session, one: Subject, other: Subject, likeness: Likeness, *, same_predictions: bool
) -> None:
    """Keep a pair; one that is there stays as it is, dismissed or not."""
    older, newer = sorted((one.entry_id, other.entry_id))
    statement = insert(AlikePair).values(
        phase_id=one.phase_id,
        entry_id=newer,
        other_id=older,
        same_predictions=same_predictions,
        rank_correlation=likeness.rank_correlation,
        common_boxes=likeness.common_boxes,
        common_pixels=likeness.common_pixels,
    )
    session.execute(statement.on_conflict_do_nothing())


def _stands(entry: type[Entry]) -> ColumnElement[bool]:
    return entry.state == EntryState.SCORED


# made once: an alias costs more than the rest of a statement
SIDES: Final = tuple((aliased(Entry), aliased(Submission), aliased(Method), aliased(Team)) for _ in range(2))
ONE, OTHER = (entry for entry, *_ in SIDES)
OPEN_PAIRS: Final = (
    select(AlikePair.phase_id, func.count())
    .join(ONE, ONE.id == AlikePair.entry_id)
    .join(OTHER, OTHER.id == AlikePair.other_id)
    .where(AlikePair.dismissed_at.is_(None), _stands(ONE), _stands(OTHER))
    .group_by(AlikePair.phase_id)
)


def pairs(session: Session, phase_id: int, before: int | None, limit: int, *, dismissed: bool) -> list[Pair]:
    """The pairs of a phase whose results stand, the newest first, by id below `before`."""
    statement: Select[*tuple[Any, ...]] = select(AlikePair, User.name).outerjoin(
        User, AlikePair.dismissed_by == User.id
    )
    for (entry, submission, method, team), number in zip(
        SIDES, (AlikePair.entry_id, AlikePair.other_id), strict=True
    ):
        statement = (
            statement.add_columns(
                entry.id, submission.id, method.name, team.id, team.name, submission.created_at,
                *((entry.competition,) if number is AlikePair.other_id else ()),
            )
            .join(entry, entry.id == number)
            .join(submission, entry.submission_id == submission.id)
            .join(method, entry.method_id == method.id)
            .join(team, method.team_id == team.id)
            .where(_stands(entry))
        )  # fmt: skip
    is_dismissed = AlikePair.dismissed_at.is_not(None)
    found = [AlikePair.phase_id == phase_id, is_dismissed if dismissed else ~is_dismissed]
    if before is not None:
        found.append(AlikePair.id < before)
    rows = session.execute(statement.where(*found).order_by(AlikePair.id.desc()).limit(limit))
    return [_pair(*row) for row in rows]


def _pair(pair: AlikePair, dismissed_by: str | None, *sides: Any) -> Pair:
    return Pair(
        id=pair.id,
        competition=sides[-1],
        newer=Side(*sides[:6]),
        older=Side(*sides[6:12]),
        same_predictions=pair.same_predictions,
        rank_correlation=pair.rank_correlation,
        common_boxes=pair.common_boxes,
        common_pixels=pair.common_pixels,
        found_at=pair.found_at,
        dismissed_at=pair.dismissed_at,
        dismissed_by=dismissed_by,
        dismiss_reason=pair.dismiss_reason,
    )


def count_open(session: Session) -> dict[int, int]:
    """By phase, the pairs that nobody has dismissed and whose results stand."""
    return dict(session.execute(OPEN_PAIRS).all())


def organised_pair(session: Session, actor: Actor, pair_id: int) -> tuple[AlikePair, int] | None:
    """A pair of a phase that somebody organises, locked, with the id of its edition."""
    statement = (
        select(AlikePair, Phase.edition_id)
        .join(Phase, AlikePair.phase_id == Phase.id)
        .where(AlikePair.id == pair_id, organised_by(actor))
    )
    row = session.execute(statement.with_for_update(of=AlikePair)).one_or_none()
    return (row[0], row[1]) if row else None


def forget_ended(session: Session) -> None:
    """Delete the sketches and pairs of results that were withdrawn."""
    ended = select(Entry.id).where(Entry.state == EntryState.WITHDRAWN)
    session.execute(delete(Sketch).where(Sketch.entry_id.in_(ended)))
    is_ended = or_(AlikePair.entry_id.in_(ended), AlikePair.other_id.in_(ended))
    session.execute(delete(AlikePair).where(and_(is_ended)))
