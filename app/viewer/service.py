"""A picture with annotation and predictions drawn over it, and images to look at first, as a reader may see them."""

from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote

from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.editions import queries as editions
from app.editions.schemas import PhaseView
from app.editions.service import description_of
from app.errors import NotFoundError
from app.gallery import queries
from app.gallery.schemas import StoredPicture
from app.gallery.service import Sources, visible_sources
from app.overlays import service as overlays
from app.overlays.rules import shown
from app.overlays.schemas import (
    DrawnRun,
    Predictions,
    Truth,
)
from app.pictures.rules import sees_truth, withheld
from app.pictures.schemas import PictureView
from app.platform import Platform
from app.viewer.rules import (
    BEING_DRAWN,
    NOT_DRAWN,
    SHOWN,
    Panel,
    chosen_competition,
    chosen_runs,
    drawn,
    legend,
    lines_of_truth,
    marks_of_truth,
)
from app.viewer.schemas import (
    Choice,
    OfferedCompetition,
    OfferedRun,
    ViewerPage,
)


@dataclass(frozen=True, slots=True)
class _Scene:
    """What a page of one picture is made from; truth_id: of the board whose predictions are drawn."""

    sources: Sources
    picture: PictureView
    runs: tuple[DrawnRun, ...]
    before: str | None
    after: str | None


def viewer(
    platform: Platform, actor: Actor, edition: str, image_set: str, name: str, choice: Choice
) -> ViewerPage:
    """A picture, and what is drawn over it where the reader may see that. Raises NotFoundError."""
    with platform.snapshot() as session:
        scene = _scene(session, actor, edition, image_set, name)
        phase = scene.sources.phase
        open_ = sees_truth(actor, phase, scene.sources)
        tasks = {each.number: each.task for each in scoring.competitions(phase.dataset)}
        offered = list(dict.fromkeys((run.competition, tasks[run.competition]) for run in scene.runs))
        competition = chosen_competition(choice.competition, offered)
        board = editions.board_of(session, phase.id, competition) if competition else None
        truth_id = board.ground_truth_id if board else _any_truth(session, phase.id)
        missing = BEING_DRAWN if overlays.is_awaited(session, phase.id, competition) else NOT_DRAWN
    runs = tuple(run for run in scene.runs if run.competition == competition)
    chosen = chosen_runs(choice.runs, runs)
    task = tasks.get(competition or 0, "detection")
    found = _Found.of(platform, scene.picture, truth_id, chosen, missing) if open_ else None
    panels = _panels(scene, found, task, choice.threshold) if found else ()
    scores = [
        each.confidence for one in (found.predictions if found else ()) if one for each in one.predictions
    ]
    description = description_of(platform.descriptions, phase.description_key)
    return ViewerPage(
        phase=phase,
        picture=scene.picture,
        before=scene.before,
        after=scene.after,
        withheld=None if open_ else withheld(phase),
        competitions=tuple(
            OfferedCompetition(number, _title(phase, number), number == competition) for number, _ in offered
        ),
        runs=tuple(OfferedRun(run, run in chosen) for run in runs),
        panels=panels,
        legend=legend(description.classes) if any(panel.labels for panel in panels) else (),
        threshold=choice.threshold,
        lowest=min(scores, default=None),
        highest=max(scores, default=None),
    )


def _scene(session: Session, actor: Actor, edition: str, image_set: str, name: str) -> _Scene:
    sources = visible_sources(session, actor, edition, image_set)
    phase = sources.phase
    picture = queries.picture_of(session, phase.id, name)
    if picture is None:
        raise NotFoundError(f"{edition} {image_set} has no image {name!r}")
    everything = actor.runs(phase.edition_id)
    runs = (
        overlays.drawn_runs(session, phase.id, everything=everything)
        if sees_truth(actor, phase, sources)
        else ()
    )
    return _Scene(sources, picture, tuple(runs), *queries.neighbours(session, phase.id, picture.position))


def _any_truth(session: Session, phase_id: int) -> int | None:
    newest = editions.newest_truth(session, phase_id)
    return newest.id if newest else None


def _title(phase: PhaseView, number: int) -> str:
    return scoring.competition_of(phase.dataset, number).title


@dataclass(frozen=True, slots=True)
class _Found:
    """What has been drawn of a picture; None for what has not been, and why."""

    truth_id: int | None
    truth: Truth | None
    runs: tuple[DrawnRun, ...]
    predictions: tuple[Predictions | None, ...]
    missing: str

    @classmethod
    def of(
        cls,
        platform: Platform,
        picture: PictureView,
        truth_id: int | None,
        runs: tuple[DrawnRun, ...],
        missing: str,
    ) -> "_Found":
        position, name = picture.position, picture.name
        truth = overlays.truth_in(platform, truth_id, position, name) if truth_id else None
        found = (overlays.predictions_in(platform, run.run_id, position, name, truth) for run in runs)
        return cls(truth_id, truth, runs, tuple(found), missing)


def _panels(scene: _Scene, found: _Found, task: str, threshold: float | None) -> tuple[Panel, ...]:
    phase = scene.sources.phase
    base = f"/pictures/{quote(phase.edition)}/{quote(phase.image_set)}/{quote(scene.picture.name)}/labels.png"
    of_runs = (
        _of_run(run, one, base, threshold) if one else _without(run, found.missing)
        for run, one in zip(found.runs, found.predictions, strict=True)
    )
    return (_of_truth(found, task, base), *of_runs)


def _of_truth(found: _Found, task: str, base: str) -> Panel:
    truth = found.truth
    if truth is None:
        return Panel("Ground truth", None, (), (), None, found.missing)
    if task == "segmentation":
        labels = f"{base}?truth={found.truth_id}" if truth.has_labels else None
        note = None if labels else "This image is not in the Segmentation set."
        return Panel("Ground truth", None, (), (), labels, note)
    return Panel("Ground truth", None, marks_of_truth(truth, task), lines_of_truth(truth, task), None, None)


def _without(run: DrawnRun, missing: str) -> Panel:
    return Panel(run.method, run.submission_id, (), (), None, missing)


def _of_run(run: DrawnRun, found: Predictions, base: str, threshold: float | None) -> Panel:
    if found.has_labels:
        return Panel(run.method, run.submission_id, (), (), f"{base}?run={run.run_id}", None)
    kept = len(shown(found.predictions, threshold, SHOWN))
    marks, lines = drawn(found.predictions, kept)
    note = None if found.predictions else "No prediction in this image."
    return Panel(run.method, run.submission_id, marks, lines, None, note)


def label_image(  # noqa: PLR0913 - where, and whose
    platform: Platform,
    actor: Actor,
    edition: str,
    image_set: str,
    name: str,
    *,
    run_id: int | None,
    truth_id: int | None,
) -> StoredPicture:
    """The label image of the annotation, or of a run, PNG. Raises NotFoundError where there is none for this reader."""
    with platform.snapshot() as session:
        scene = _scene(session, actor, edition, image_set, name)
        phase = scene.sources.phase
        known_runs = {run.run_id for run in scene.runs}
        is_its = run_id in known_runs if run_id is not None else _is_truth_of(session, phase.id, truth_id)
    content = b""
    if is_its and sees_truth(actor, phase, scene.sources):
        position = scene.picture.position
        content = overlays.label_image(platform, truth_id=truth_id, run_id=run_id, position=position)
    if not content:
        raise NotFoundError(f"{edition} {image_set} shows no label image of {name!r}")
    etag = f'"{sha256(content).hexdigest()[:24]}"'
    is_public = sees_truth(Actor(), phase, scene.sources)
    return StoredPicture(content, etag, "", is_public)


def _is_truth_of(session: Session, phase_id: int, truth_id: int | None) -> bool:
    return truth_id in {board.ground_truth_id for board in editions.boards_of(session, [phase_id])}
