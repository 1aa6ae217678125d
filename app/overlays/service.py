"""Drawing annotation and predictions of the phases whose pictures are shown, and reading what was drawn."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from io import BytesIO
from typing import Any, Final

import structlog
from sqlalchemy.orm import Session

from app import overlay_work
from app.artefacts import queries as artefacts
from app.artefacts import service as artefact_service
from app.editions import queries as editions
from app.editions.schemas import PhaseView
from app.jobs import queue
from app.leaderboards.rules import Audience
from app.models import JobKind
from app.overlays import queries
from app.overlays.rules import entry_of, examples_of, hard_images_of, predictions_of, truth_of, version_of
from app.overlays.schemas import ClassExamples, ClassHardImages, DrawnRun, Predictions, Truth
from app.packs import pack, parts_of, read_part
from app.pictures import queries as pictures
from app.pictures.rules import truth_is_drawn
from app.platform import Platform
from app.sandbox import ChildError, ChildFileError, ChildLimits, run_in_subprocess
from app.storage import content_key

log = structlog.get_logger()

TRUTH, TRUTH_LABELS = "truth entries", "truth labels"  # kinds of artefacts, of a ground truth
RUN, RUN_LABELS, EXAMPLES = "run entries", "run labels", "run examples"  # of a run
HARD = "hard images"  # of a board
HARD_RECIPE: Final = "2"  # grows with every change of how they are found
OF_TRUTHS: Final = (TRUTH, TRUTH_LABELS)
OF_RUNS: Final = (RUN, RUN_LABELS, EXAMPLES)
MOST_RUNS: Final = 50  # of a board, the best: chosen from on a page, and compared for hard images
BYTES: Final = "application/octet-stream"
JSON: Final = "application/json"


def request(session: Session, phase_id: int) -> None:
    """Have drawn what is not drawn yet of a phase with pictures, and removed what stands on no board any more."""
    if pictures.source_of(session, phase_id) is None:
        return
    queue.add(session, JobKind.OVERLAYS, key=f"phase {phase_id}", payload={"phase_id": phase_id})


def draw_next(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Draw the next thing of a phase that is not drawn yet: its annotation, one run, the hard images of a board.

    What follows is another message behind all that wait, so that nothing waits for all of a phase. Nothing is drawn where
    nobody may see it, or where there are no pictures.
    """
    phase_id = int(payload["phase_id"])
    with platform.transaction() as session:
        phase, source = editions.phase_of_id(session, phase_id), pictures.source_of(session, phase_id)
        if phase is None or source is None or not truth_is_drawn(phase, source):
            queries.remove_drawn(session, phase_id, of_truths=OF_TRUTHS, of_runs=OF_RUNS, of_boards=HARD)
            return
        queries.remove_fallen(session, phase_id, OF_RUNS)
        names = queries.names_of(session, phase_id)
    if _draw_truth(platform, phase_id, names) or _draw_run(platform, phase_id, names):
        with platform.transaction() as session:
            request(session, phase_id)
        return
    _compare(platform, phase, names)


def _draw_truth(platform: Platform, phase_id: int, names: Sequence[str]) -> bool:
    """Draw a ground truth that is not drawn yet; whether there was one."""
    version = version_of(names)
    with platform.transaction() as session:
        shown = queries.truths_shown(session, phase_id)
        drawn = queries.versions(session, TRUTH, [str(each) for each in shown])
    for truth_id, key in shown.items():
        if drawn.get(str(truth_id)) != version:
            with platform.truths.materialise(key) as truth:
                made = run_in_subprocess(_limits(platform), overlay_work.truth_entries, truth, names)
            entries, labels = parts_of(BytesIO(made))
            artefact_service.store(platform, TRUTH_LABELS, str(truth_id), version, BYTES, labels)
            artefact_service.store(platform, TRUTH, str(truth_id), version, BYTES, entries)
            return True
    return False


def _draw_run(platform: Platform, phase_id: int, names: Sequence[str]) -> bool:
    """Draw a run that is not drawn yet; whether there was one. One that cannot be drawn counts as drawn, with nothing in it."""
    version = version_of(names)
    with platform.transaction() as session:
        run_id = queries.next_run(session, phase_id, RUN, version)
        sources = queries.run_sources(session, run_id) if run_id else None
    if run_id is None or sources is None:
        return False
    try:
        made = _run_drawn(platform, sources, names)
    except ChildFileError:
        raise
    except ChildError as error:
        log.warning("predictions could not be drawn", run=run_id, error=str(error))
        made = pack([pack([]), pack([]), b"[]"])
    entries, labels, examples = parts_of(BytesIO(made))
    for kind, media_type, content in (
        (EXAMPLES, JSON, examples),
        (RUN_LABELS, BYTES, labels),
        (RUN, BYTES, entries),
    ):
        artefact_service.store(platform, kind, str(run_id), version, media_type, content)
    return True


def _run_drawn(platform: Platform, sources: queries.RunSources, names: Sequence[str]) -> bytes:
    archive_key = content_key(sources.sha256, sources.upload_id)
    with (
        platform.archives.materialise(archive_key) as archive,
        platform.truths.materialise(sources.truth) as truth,
        platform.truths.materialise(sources.statistics) as statistics,
    ):
        return run_in_subprocess(
            _limits(platform), overlay_work.run_entries, archive, truth, statistics, sources.competition,
            sources.protocol, names,
        )  # fmt: skip


def _compare(platform: Platform, phase: PhaseView, names: Sequence[str]) -> None:
    """Find the hard images of each board whose runs have changed, over the runs that everybody sees."""
    with platform.transaction() as session:
        runs = queries.standing_runs(session, phase.id, Audience.PUBLIC, MOST_RUNS)
        truths = queries.truths_shown(session, phase.id)
        known = queries.versions(session, HARD, [f"{phase.id}/{run.competition}" for run in runs])
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
        artefact_service.store(platform, HARD, subject, version, JSON, content)


def _hard_images(platform: Platform, truth_key: str, run_ids: list[int]) -> bytes:
    with platform.transaction() as session:
        keys = queries.statistics_of(session, run_ids)
    with ExitStack() as files:
        truth = files.enter_context(platform.truths.materialise(truth_key))
        statistics = [files.enter_context(platform.truths.materialise(key)) for key in keys]
        return run_in_subprocess(_limits(platform), overlay_work.hard_images, truth, statistics)


def _limits(platform: Platform) -> ChildLimits:
    settings = platform.settings
    return ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=10)


def drawn_runs(session: Session, phase_id: int, *, everything: bool) -> list[DrawnRun]:
    """The runs on the boards of a phase, of each board the best; everything: those that are not public, too."""
    audience = Audience.ORGANISERS if everything else Audience.PUBLIC
    return queries.standing_runs(session, phase_id, audience, MOST_RUNS)


def is_awaited(session: Session, phase_id: int, competition: int | None) -> bool:
    """Whether something of a phase is still to be drawn, or a board of it has changed."""
    return queries.is_awaited(session, phase_id, competition)


def is_drawn_of(session: Session, run_id: int) -> bool:
    """Whether a run stands on a board and has what drawing needs."""
    return queries.is_drawn_of(session, run_id)


def run_of(session: Session, run_id: int) -> DrawnRun:
    """A run that is there, as a page names it."""
    return queries.run_of(session, run_id)


def truth_in(platform: Platform, truth_id: int, position: int, name: str) -> Truth | None:
    """The annotation of an image, for who may see it; none before it is drawn."""
    part = _part(platform, TRUTH, str(truth_id), position)
    entry = entry_of(part, name) if part is not None else None
    return truth_of(entry) if entry else None


def predictions_in(
    platform: Platform, run_id: int, position: int, name: str, truth: Truth | None
) -> Predictions | None:
    """The predictions of a run in an image, for who may see them; none before they are drawn."""
    part = _part(platform, RUN, str(run_id), position)
    entry = entry_of(part, name) if part is not None else None
    return predictions_of(entry, truth) if entry else None


def label_image(platform: Platform, *, truth_id: int | None, run_id: int | None, position: int) -> bytes:
    """The label image of the annotation or of a run, PNG, for who may see it; empty where there is none."""
    kind, subject = (RUN_LABELS, str(run_id)) if run_id is not None else (TRUTH_LABELS, str(truth_id))
    return _part(platform, kind, subject, position) or b""


def _part(platform: Platform, kind: str, subject: str, position: int) -> bytes | None:
    with platform.transaction() as session:
        found = artefacts.find(session, kind, subject)
    return read_part(platform.artefacts, found.key, position) if found else None


def examples(platform: Platform, run_id: int) -> tuple[ClassExamples, ...] | None:
    """The examples of each class of a run, for who may see them; none before they are found."""
    found = artefact_service.read(platform, EXAMPLES, str(run_id))
    return examples_of(found.content) if found else None


def hard_images(platform: Platform, phase_id: int, competition: int) -> tuple[ClassHardImages, ...] | None:
    """The hard images of each class of a board, for who may see them; none before they are found."""
    found = artefact_service.read(platform, HARD, f"{phase_id}/{competition}")
    return hard_images_of(found.content) if found else None
