"""What is drawn over pictures, in the database."""

import uuid
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, Text, and_, cast, delete, or_, select
from sqlalchemy.orm import Session

from app.jobs import queue
from app.leaderboards.queries import is_shown_to
from app.leaderboards.rules import Audience
from app.models import (
    Artefact,
    Board,
    ClassScore,
    Entry,
    GroundTruth,
    JobKind,
    Method,
    Picture,
    Run,
    Submission,
    Upload,
)
from app.overlays.schemas import DrawnRun
from app.scored_runs.queries import stands_on_board


@dataclass(frozen=True, slots=True)
class RunSources:
    """What a run was scored from: the archive's checksum and upload, keys of private storage, and how."""

    sha256: str
    upload_id: uuid.UUID
    truth: str
    statistics: str
    competition: int
    protocol: str


def names_of(session: Session, phase_id: int) -> tuple[str, ...]:
    """The images of a phase with pictures, in order."""
    statement = select(Picture.name).where(Picture.phase_id == phase_id).order_by(Picture.position)
    return tuple(session.scalars(statement))


def truths_shown(session: Session, phase_id: int) -> dict[int, str]:
    """The ground truths that the boards of a phase show, by id with their keys in private storage."""
    statement = (
        select(GroundTruth.id, GroundTruth.key)
        .join(Board, Board.ground_truth_id == GroundTruth.id)
        .where(Board.phase_id == phase_id)
        .distinct()
    )
    return dict(session.execute(statement).all())


def versions(session: Session, kind: str, subjects: list[str]) -> dict[str, str]:
    """The version of each of these artefacts that is there."""
    statement = select(Artefact.subject, Artefact.version).where(
        Artefact.kind == kind, Artefact.subject.in_(subjects)
    )
    return dict(session.execute(statement).all())


def next_run(session: Session, phase_id: int, kind: str, version: str) -> int | None:
    """A run that stands on a board of a phase and of which there is no artefact of this version; the latest first."""
    made = (
        select(Artefact.id)
        .where(Artefact.kind == kind, Artefact.subject == cast(Run.id, Text), Artefact.version == version)
        .correlate(Run)
        .exists()
    )
    statement = (
        select(Run.id)
        .join(Entry, Entry.published_run_id == Run.id)
        .join(Board, stands_on_board())
        .where(Entry.phase_id == phase_id, Run.statistics_key.is_not(None), ~made)
        .order_by(Run.id.desc())
        .limit(1)
    )
    return session.scalar(statement)


def is_awaited(session: Session, phase_id: int, competition: int | None) -> bool:
    """Whether something of a phase is still to be drawn, or this board of it has changed."""
    overlays = queue.is_asked_for(JobKind.OVERLAYS, f"phase {phase_id}")
    board = queue.is_asked_for(JobKind.BOARD, f"{phase_id}/{competition}")
    return bool(session.scalar(select(or_(overlays, board))))


def is_drawn_of(session: Session, run_id: int) -> bool:
    """Whether a run stands on a board and has what drawing needs."""
    statement = (
        select(Run.id)
        .join(Entry, Entry.published_run_id == Run.id)
        .join(Board, stands_on_board())
        .where(Run.id == run_id, Run.statistics_key.is_not(None))
    )
    return session.scalar(statement) is not None


def remove_fallen(session: Session, phase_id: int, kinds: tuple[str, ...]) -> None:
    """Remove what was drawn of runs of a phase that stand on no board any more."""
    standing = (
        select(Entry.published_run_id)
        .join(Board, stands_on_board())
        .where(Entry.phase_id == phase_id, Entry.published_run_id.is_not(None))
    )
    fallen = (
        select(cast(Run.id, Text))
        .join(Entry, Run.entry_id == Entry.id)
        .where(Entry.phase_id == phase_id, Run.id.not_in(standing))
    )
    session.execute(delete(Artefact).where(Artefact.kind.in_(kinds), Artefact.subject.in_(fallen)))


def remove_drawn(
    session: Session, phase_id: int, *, of_truths: tuple[str, ...], of_runs: tuple[str, ...], of_boards: str
) -> None:
    """Remove all that was drawn of a phase."""
    truths = select(cast(GroundTruth.id, Text)).where(GroundTruth.phase_id == phase_id)
    runs = select(cast(Run.id, Text)).join(Entry, Run.entry_id == Entry.id).where(Entry.phase_id == phase_id)
    for kinds, subjects in ((of_truths, truths), (of_runs, runs)):
        session.execute(delete(Artefact).where(Artefact.kind.in_(kinds), Artefact.subject.in_(subjects)))
    session.execute(
        delete(Artefact).where(Artefact.kind == of_boards, Artefact.subject.startswith(f"{phase_id}/"))
    )


def run_sources(session: Session, run_id: int) -> RunSources:
    """What a run was scored from."""
    statement = (
        select(
            Upload.sha256, Upload.id, GroundTruth.key, Run.statistics_key, Entry.competition, Run.protocol
        )
        .select_from(Run)
        .join(Entry, Run.entry_id == Entry.id)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .where(Run.id == run_id)
    )  # fmt: skip
    sha256, upload_id, truth, statistics, competition, protocol = session.execute(statement).one()
    return RunSources(sha256 or "", upload_id, truth, statistics or "", competition, protocol)


def _runs() -> Select[*tuple[Any, ...]]:
    return (
        select(
            Run.id, Entry.competition, Method.name, Entry.submission_id, Run.ground_truth_id, ClassScore.value
        )
        .join(Entry, Run.entry_id == Entry.id)
        .join(Method, Entry.method_id == Method.id)
        .outerjoin(ClassScore, and_(ClassScore.run_id == Run.id, ClassScore.class_name.is_(None)))
    )


def run_of(session: Session, run_id: int) -> DrawnRun:
    """A run that is there, whether it stands on a board or not."""
    return DrawnRun(*session.execute(_runs().where(Run.id == run_id)).one())


def standing_runs(session: Session, phase_id: int, audience: Audience, limit: int) -> list[DrawnRun]:
    """The runs on the boards of a phase that its readers see, by competition and best first; so many of each."""
    statement = (
        _runs()
        .join(Board, stands_on_board())
        .where(
            Entry.phase_id == phase_id,
            Entry.published_run_id == Run.id,
            Run.statistics_key.is_not(None),
            is_shown_to(audience),
        )
        .order_by(Entry.competition, ClassScore.value.desc().nulls_last(), Run.id)
    )
    found: list[DrawnRun] = []
    counts: dict[int, int] = {}
    for row in session.execute(statement):
        run = DrawnRun(*row)
        counts[run.competition] = counts.get(run.competition, 0) + 1
        if counts[run.competition] <= limit:
            found.append(run)
    return found


def statistics_of(session: Session, run_ids: list[int]) -> list[str]:
    """The keys of the statistics of these runs, in private storage."""
    statement = select(Run.statistics_key).where(Run.id.in_(run_ids)).order_by(Run.id)
    return [key for key in session.scalars(statement) if key]
