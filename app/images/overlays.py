"""Draw annotation and predictions for phases with images, and read them for pages."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from typing import Any, Final

import structlog
from sqlalchemy import Select, Text, and_, cast, delete, or_, select
from sqlalchemy.orm import Session, contains_eager

from app.boards.boards import BoardReaders, is_shown_to
from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.images import drawing
from app.images.drawing import ClassImages, Overlay, read_class_images, read_overlay
from app.images.packs import PACK, pack, parts_of, read_part
from app.images.pictures import draws_annotation, queue_job, source_of
from app.jobs import queue
from app.jobs.sandbox import ChildError, ChildFileError, ChildLimits, run_in_subprocess
from app.models import (
    Artefact,
    Board,
    ClassScore,
    GroundTruth,
    JobKind,
    Method,
    Picture,
    Result,
    Run,
)
from app.platform import Platform
from app.results import artefacts
from app.results.recording import is_on_board
from app.results.scored_runs import WITH_SOURCES
from app.storage import content_key

log = structlog.get_logger()

# Artefact kinds. The overlays of a ground truth or a run are packs with two parts for each image: its outlines and its label
# image. The notable images of a run or a board are JSON.
TRUTH, RUN, EXAMPLES, HARD = "truth overlays", "run overlays", "run examples", "hard images"
OUTLINES, LABELS = 0, 1
RECIPE: Final = "3"  # increment to draw all overlays again
HARD_RECIPE: Final = "3"  # increment to find all hard images again
OF_RUNS: Final = (RUN, EXAMPLES)
MOST_RUNS: Final = 50  # the best of a board: offered on pages, and compared to find hard images
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """A run whose predictions can be drawn. mean: its headline in [0, 1]."""

    run_id: int
    competition: int
    method: str
    submission_id: int
    ground_truth_id: int
    mean: float | None


def version_of(names: Sequence[str]) -> str:
    """Return the version of the overlays of these images in this order.

    >>> version_of(["a", "b"]) == version_of(["b", "a"])
    False
    """
    return sha256("\n".join([RECIPE, *names]).encode()).hexdigest()[:24]


def request(session: Session, phase_id: int) -> None:
    """Queue the drawing of missing overlays and the removal of outdated ones, if the phase has images."""
    if source_of(session, phase_id) is not None:
        queue_job(session, JobKind.OVERLAYS, phase_id)


def draw_next(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Draw what a phase still lacks: first its annotation, then a run, finally the hard images of its boards.

    Each job draws one ground truth or one run and then queues another job at the end of the queue, so that no other work waits
    for a whole phase. Nothing is drawn if no one may see it or the phase has no images.
    """
    phase_id = int(payload["phase_id"])
    with platform.transaction() as session:
        phase, source = challenges.phase_of_id(session, phase_id), source_of(session, phase_id)
        if phase is None or source is None or not draws_annotation(phase, source):
            _remove_drawn(session, phase_id)
            return
        _remove_outdated(session, phase_id)
        images = select(Picture.name).where(Picture.phase_id == phase_id).order_by(Picture.position)
        names = tuple(session.scalars(images))
    if _draw_truth(platform, phase_id, names) or _draw_run(platform, phase_id, names):
        with platform.transaction() as session:
            request(session, phase_id)
        return
    _update_hard_images(platform, phase, names)


def _draw_truth(platform: Platform, phase_id: int, names: Sequence[str]) -> bool:
    """Draw a ground truth that is not drawn yet. False if there is none."""
    version = version_of(names)
    with platform.transaction() as session:
        shown = _truths_shown(session, phase_id)
        drawn = artefacts.versions(session, TRUTH, [str(each) for each in shown])
    for truth_id, key in shown.items():
        if drawn.get(str(truth_id)) != version:
            with platform.truths.materialise(key) as truth:
                made = run_in_subprocess(_limits(platform), drawing.draw_truth, truth, names)
            artefacts.store(platform, TRUTH, str(truth_id), version, PACK, made)
            return True
    return False


def _truths_shown(session: Session, phase_id: int) -> dict[int, str]:
    """Return the ground truths of the boards of a phase: private storage keys by id."""
    statement = (
        select(GroundTruth.id, GroundTruth.key)
        .join(Board, Board.ground_truth_id == GroundTruth.id)
        .where(Board.phase_id == phase_id)
        .distinct()
    )
    return dict(session.execute(statement).all())


def _draw_run(platform: Platform, phase_id: int, names: Sequence[str]) -> bool:
    """Draw a run that is not drawn yet. False if there is none. A run that cannot be drawn gets empty overlays."""
    version = version_of(names)
    with platform.transaction() as session:
        run = _next_run(session, phase_id, version)
    if run is None:
        return False
    try:
        made = _drawn_by_child(platform, run, names)
    except ChildFileError:
        raise
    except ChildError as error:
        log.warning("predictions could not be drawn", run=run.id, error=str(error))
        made = pack([pack([]), b"[]"])
    overlays, examples = parts_of(BytesIO(made))
    artefacts.store(platform, EXAMPLES, str(run.id), version, JSON, examples)
    artefacts.store(platform, RUN, str(run.id), version, PACK, overlays)
    return True


def _next_run(session: Session, phase_id: int, version: str) -> Run | None:
    """Find the latest run on a board of a phase that is not drawn in this version."""
    made = (
        select(Artefact.id)
        .where(Artefact.kind == RUN, Artefact.subject == cast(Run.id, Text), Artefact.version == version)
        .correlate(Run)
        .exists()
    )
    statement = (
        select(Run)
        .options(*WITH_SOURCES)
        .join(Result, Result.published_run_id == Run.id)
        .join(Board, is_on_board())
        .where(Result.phase_id == phase_id, Run.statistics_key.is_not(None), ~made)
        .order_by(Run.id.desc())
        .limit(1)
    )
    return session.scalar(statement)


def _drawn_by_child(platform: Platform, run: Run, names: Sequence[str]) -> bytes:
    upload = run.result.submission.upload
    archive_key = content_key(upload.sha256 or "", upload.id)
    with (
        platform.archives.materialise(archive_key) as archive,
        platform.truths.materialise(run.ground_truth.key) as truth,
        platform.truths.materialise(run.statistics_key or "") as statistics,
    ):
        return run_in_subprocess(
            _limits(platform), drawing.draw_run, archive, truth, statistics, run.result.competition,
            run.protocol, names,
        )  # fmt: skip


def _update_hard_images(platform: Platform, phase: PhaseView, names: Sequence[str]) -> None:
    """Find the hard images of each board whose runs have changed, over its public runs."""
    with platform.transaction() as session:
        runs = runs_on_boards(session, phase.id, BoardReaders.PUBLIC)
        truths = _truths_shown(session, phase.id)
        known = artefacts.versions(session, HARD, [f"{phase.id}/{run.competition}" for run in runs])
    for competition in dict.fromkeys(run.competition for run in runs):
        compared = [run for run in runs if run.competition == competition]
        run_ids = sorted(run.run_id for run in compared)
        version = sha256(f"{HARD_RECIPE} {version_of(names)} {run_ids}".encode()).hexdigest()[:24]
        subject = f"{phase.id}/{competition}"
        truth = truths.get(compared[0].ground_truth_id)
        if truth is None or known.get(subject) == version:
            continue
        try:
            content = _hard_images(platform, truth, run_ids)
        except ChildFileError:
            raise
        except ChildError as error:
            log.warning("hard images could not be found", board=subject, error=str(error))
            content = b"[]"
        artefacts.store(platform, HARD, subject, version, JSON, content)


def _hard_images(platform: Platform, truth_key: str, run_ids: list[int]) -> bytes:
    with platform.transaction() as session:
        statement = select(Run.statistics_key).where(Run.id.in_(run_ids)).order_by(Run.id)
        keys = [key for key in session.scalars(statement) if key]
    with ExitStack() as files:
        truth = files.enter_context(platform.truths.materialise(truth_key))
        statistics = [files.enter_context(platform.truths.materialise(key)) for key in keys]
        return run_in_subprocess(_limits(platform), drawing.hard_images, truth, statistics)


def _limits(platform: Platform) -> ChildLimits:
    settings = platform.settings
    return ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=10)


def _remove_outdated(session: Session, phase_id: int) -> None:
    """Remove the overlays of runs that are no longer on a board."""
    on_boards = (
        select(Result.published_run_id)
        .join(Board, is_on_board())
        .where(Result.phase_id == phase_id, Result.published_run_id.is_not(None))
    )
    outdated = (
        select(cast(Run.id, Text))
        .join(Run.result)
        .where(Result.phase_id == phase_id, Run.id.not_in(on_boards))
    )
    session.execute(delete(Artefact).where(Artefact.kind.in_(OF_RUNS), Artefact.subject.in_(outdated)))


def _remove_drawn(session: Session, phase_id: int) -> None:
    """Remove all overlays and hard images of a phase."""
    truths = select(cast(GroundTruth.id, Text)).where(GroundTruth.phase_id == phase_id)
    runs = select(cast(Run.id, Text)).join(Run.result).where(Result.phase_id == phase_id)
    is_drawn = or_(
        and_(Artefact.kind == TRUTH, Artefact.subject.in_(truths)),
        and_(Artefact.kind.in_(OF_RUNS), Artefact.subject.in_(runs)),
        and_(Artefact.kind == HARD, Artefact.subject.startswith(f"{phase_id}/")),
    )
    session.execute(delete(Artefact).where(is_drawn))


def is_awaited(session: Session, phase_id: int, competition: int | None) -> bool:
    """Whether drawing for a phase, or the update of one of its boards, is still queued."""
    overlays = queue.is_pending(JobKind.OVERLAYS, f"phase {phase_id}")
    board = queue.is_pending(JobKind.BOARD, f"{phase_id}/{competition}")
    return bool(session.scalar(select(or_(overlays, board))))


def can_be_drawn(session: Session, run_id: int) -> bool:
    """Whether a run is on a board and has the statistics that drawing needs."""
    statement = (
        select(Run.id)
        .join(Result, Result.published_run_id == Run.id)
        .join(Board, is_on_board())
        .where(Run.id == run_id, Run.statistics_key.is_not(None))
    )
    return session.scalar(statement) is not None


def _runs() -> Select[Run, float | None]:
    """Select runs with their results and methods, and the mean of each."""
    return (
        select(Run, ClassScore.value)
        .join(Run.result)
        .join(Result.method)
        .outerjoin(ClassScore, and_(ClassScore.run_id == Run.id, ClassScore.class_name.is_(None)))
        .options(contains_eager(Run.result).contains_eager(Result.method).load_only(Method.name))
    )


def _drawn(run: Run, mean: float | None) -> DrawnRun:
    result = run.result
    return DrawnRun(
        run_id=run.id,
        competition=result.competition,
        method=result.method.name,
        submission_id=result.submission_id,
        ground_truth_id=run.ground_truth_id,
        mean=mean,
    )


def run_of(session: Session, run_id: int) -> DrawnRun:
    """Load an existing run, whether it is on a board or not."""
    return _drawn(*session.execute(_runs().where(Run.id == run_id)).one())


def runs_on_boards(session: Session, phase_id: int, audience: BoardReaders) -> list[DrawnRun]:
    """Return the runs on the boards of a phase by competition, best first. Only the best `MOST_RUNS` of each board."""
    statement = (
        _runs()
        .join(Board, is_on_board())
        .where(
            Result.phase_id == phase_id,
            Result.published_run_id == Run.id,
            Run.statistics_key.is_not(None),
            is_shown_to(audience),
        )
        .order_by(Result.competition, ClassScore.value.desc().nulls_last(), Run.id)
    )
    runs: list[DrawnRun] = []
    counts: dict[int, int] = {}
    for row in session.execute(statement):
        run = _drawn(*row)
        counts[run.competition] = counts.get(run.competition, 0) + 1
        if counts[run.competition] <= MOST_RUNS:
            runs.append(run)
    return runs


def truth_overlay(platform: Platform, truth_id: int, position: int, name: str) -> Overlay | None:
    """Read the annotation of an image; None if not drawn yet. The caller checks that the reader may see it."""
    return read_overlay(_part(platform, TRUTH, truth_id, position, OUTLINES), name)


def run_overlay(platform: Platform, run_id: int, position: int, name: str) -> Overlay | None:
    """Read the predictions of a run in an image; None if not drawn yet. The caller checks that the reader may see them."""
    return read_overlay(_part(platform, RUN, run_id, position, OUTLINES), name)


def truth_labels(platform: Platform, truth_id: int, position: int) -> bytes:
    """Read the label image of the annotation as PNG; empty if there is none. The caller checks that the reader may see it."""
    return _part(platform, TRUTH, truth_id, position, LABELS)


def run_labels(platform: Platform, run_id: int, position: int) -> bytes:
    """Read the label image of a run as PNG; empty if there is none. The caller checks that the reader may see it."""
    return _part(platform, RUN, run_id, position, LABELS)


def _part(platform: Platform, kind: str, subject: int, position: int, part: int) -> bytes:
    with platform.transaction() as session:
        found = artefacts.find(session, kind, str(subject))
    return read_part(platform.artefacts, found.key, 2 * position + part) if found else b""


def examples(platform: Platform, run_id: int) -> tuple[ClassImages, ...] | None:
    """Read the examples of each class of a run; None if not found yet. The caller checks that the reader may see them."""
    content = artefacts.read(platform, EXAMPLES, str(run_id))
    return read_class_images(content) if content is not None else None


def hard_images(platform: Platform, phase_id: int, competition: int) -> tuple[ClassImages, ...] | None:
    """Read the hard images of each class of a board; None if not found yet. The caller checks that the reader may see them."""
    content = artefacts.read(platform, HARD, f"{phase_id}/{competition}")
    return read_class_images(content) if content is not None else None
