"""The image viewer: annotation and predictions drawn over an image, as the reader may see them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from sqlalchemy import select
from sqlalchemy.orm import Session

import heldout_scoring
from app.boards.boards import BoardReaders
from app.challenges import challenges, versions
from app.challenges.challenges import PhaseView, description_of, find_phase
from app.core.access import Actor
from app.core.errors import NotFoundError
from app.images import overlays
from app.images.drawing import Box, DrawnObject, DrawnPrediction, Overlay
from app.images.overlays import DrawnRun
from app.images.pictures import (
    PictureView,
    StoredPicture,
    can_see_truth,
    no_image,
    picture_of,
    visible_source,
    with_file,
    withheld,
)
from app.models import Picture, PictureSource
from app.platform import Platform
from heldout_scoring.data.label_maps import label_colours

SHOWN: Final = 10  # predictions of a method that are shown without a threshold
MOST_METHODS: Final = 5
PREFERRED: Final = ("detection", "segmentation")  # the task that is shown first

BEING_DRAWN: Final = "Being drawn. Reload this page in a moment."
NOT_DRAWN: Final = "This could not be drawn."
KINDS: Final = {1: "hit", 0: "false", -1: "other", None: "other"}
OUTCOMES: Final = {1: "true positive", 0: "false positive", -1: "ignored", None: ""}


@dataclass(frozen=True, slots=True)
class Mark:
    """A box drawn over an image: corner and sides in pixels, and its style.

    label: its class or part; confidence: what stands behind it; score: hidden if the threshold is higher.
    """

    kind: str
    x: float
    y: float
    width: float
    height: float
    label: str
    score: float | None = None
    is_shown: bool = True
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """A line of the table beside an image, for a box or for the whole image."""

    name: str
    score: float | None
    outcome: str
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class Label:
    """A class and its colour in label images."""

    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Panel:
    """An image with the overlay of one source. labels: the URL of a label image; note: why something is missing."""

    title: str
    submission_id: int | None
    marks: tuple[Mark, ...]
    lines: tuple[OutcomeRow, ...]
    labels: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class OfferedRun:
    """A run that can be drawn over images, and whether it is."""

    run: DrawnRun
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class OfferedCompetition:
    """A competition whose predictions can be drawn, and whether they are."""

    number: int
    title: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ViewerPage:
    """An image with its overlays.

    before, after: the previous and next image in the order of the image sets; withheld: why nothing is drawn; threshold: the
    lowest confidence shown, None to show the ten most confident predictions of each method; lowest, highest: the range of
    confidences on the page.
    """

    phase: PhaseView
    picture: PictureView
    before: str | None
    after: str | None
    withheld: str | None
    competitions: tuple[OfferedCompetition, ...]
    runs: tuple[OfferedRun, ...]
    panels: tuple[Panel, ...]
    legend: tuple[Label, ...]
    threshold: float | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class ViewerChoice:
    """What to draw over an image, from the query string."""

    competition: int | None = None
    runs: tuple[int, ...] = ()
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class _Scene:
    """An image that the reader may see, its neighbours, and the runs that the reader may see drawn over it."""

    phase: PhaseView
    source: PictureSource
    picture: PictureView
    runs: tuple[DrawnRun, ...]
    before: str | None
    after: str | None

    @property
    def address(self) -> str:
        """The URL of the image's page."""
        phase = self.phase
        return f"/pictures/{quote(phase.challenge)}/{quote(phase.image_set)}/{quote(self.picture.name)}"


def viewer(
    platform: Platform, actor: Actor, challenge: str, image_set: str, name: str, choice: ViewerChoice
) -> ViewerPage:
    """Load an image with the overlays that the reader may see. Raises NotFoundError."""
    with platform.snapshot() as session:
        scene = _scene(session, actor, challenge, image_set, name)
        phase, picture = scene.phase, scene.picture
        tasks = {each.number: each.task for each in heldout_scoring.competitions(phase.dataset)}
        offered = list(dict.fromkeys((run.competition, tasks[run.competition]) for run in scene.runs))
        competition = chosen_competition(choice.competition, offered)
        board = challenges.board_of(session, phase.id, competition) if competition else None
        truth_id = board.ground_truth_id if board else _any_truth(session, phase.id)
        missing = BEING_DRAWN if overlays.is_awaited(session, phase.id, competition) else NOT_DRAWN
    runs = tuple(run for run in scene.runs if run.competition == competition)
    chosen = chosen_runs(choice.runs, runs)
    panels: list[Panel] = []
    scores: list[float] = []
    is_open = can_see_truth(actor, phase, scene.source)
    if is_open:
        truth = overlays.truth_overlay(platform, truth_id, picture.position, name) if truth_id else None
        task = tasks.get(competition or 0, "detection")
        labels = f"{scene.address}/labels.png"
        panels.append(_truth_panel(truth, task, f"{labels}?truth={truth_id}", missing))
        for run in chosen:
            overlay = overlays.run_overlay(platform, run.run_id, picture.position, name)
            panels.append(_run_panel(run, overlay, f"{labels}?run={run.run_id}", missing, choice.threshold))
            scores += [each.confidence for each in overlay.predictions] if overlay else []
    description = description_of(platform.descriptions, phase.description_key)
    return ViewerPage(
        phase=phase,
        picture=with_file(picture, description),
        before=scene.before,
        after=scene.after,
        withheld=None if is_open else withheld(phase),
        competitions=tuple(
            OfferedCompetition(
                number, heldout_scoring.competition_of(phase.dataset, number).title, number == competition
            )
            for number, _ in offered
        ),
        runs=tuple(OfferedRun(run, run in chosen) for run in runs),
        panels=tuple(panels),
        legend=legend(description.classes) if any(panel.labels for panel in panels) else (),
        threshold=choice.threshold,
        lowest=min(scores, default=None),
        highest=max(scores, default=None),
    )


def _scene(session: Session, actor: Actor, challenge: str, image_set: str, name: str) -> _Scene:
    """Load an image, its neighbours, and the runs that the reader may see drawn over it."""
    phase = find_phase(session, challenge, image_set)
    source = visible_source(session, actor, phase)
    picture = picture_of(session, phase.id, name)
    if picture is None:
        raise no_image(phase, name)
    runs: list[DrawnRun] = []
    if can_see_truth(actor, phase, source):
        audience = (
            BoardReaders.ORGANISERS if actor.organises_challenge(phase.challenge_id) else BoardReaders.PUBLIC
        )
        runs = overlays.runs_on_boards(session, phase.id, audience)
    before, after = picture.position - 1, picture.position + 1
    neighbours = select(Picture.position, Picture.name).where(
        Picture.phase_id == phase.id, Picture.position.in_((before, after))
    )
    names = dict(session.execute(neighbours).all())
    return _Scene(phase, source, picture, tuple(runs), names.get(before), names.get(after))


def _any_truth(session: Session, phase_id: int) -> int | None:
    truth = versions.shown_truth(session, phase_id)
    return truth.id if truth else None


def chosen_competition(asked: int | None, offered: Sequence[tuple[int, str]]) -> int | None:
    """Choose the competition to show: the requested one if it has runs, otherwise one of a preferred task, or the first.

    offered: number and task of each competition that has runs.

    >>> chosen_competition(None, [(1, "classification"), (3, "detection")]), chosen_competition(1, [(1, "classification")])
    (3, 1)
    """
    numbers = [number for number, _ in offered]
    if asked in numbers:
        return asked
    preferred = [number for task in PREFERRED for number, other in offered if other == task]
    return next(iter((*preferred, *numbers)), None)


def chosen_runs(asked: Sequence[int], offered: Sequence[DrawnRun]) -> tuple[DrawnRun, ...]:
    """Choose the runs to show: up to `MOST_METHODS` of those requested, otherwise the best."""
    chosen = [run for run in offered if run.run_id in asked]
    return tuple(chosen[:MOST_METHODS] or offered[:1])


def _truth_panel(truth: Overlay | None, task: str, labels: str, missing: str) -> Panel:
    if truth is None:
        return Panel("Ground truth", None, (), (), None, missing)
    if task == "segmentation":
        note = None if truth.has_labels else "This image is not in the Segmentation set."
        return Panel("Ground truth", None, (), (), labels if truth.has_labels else None, note)
    return Panel("Ground truth", None, marks_of_truth(truth, task), lines_of_truth(truth, task), None, None)


def marks_of_truth(truth: Overlay, task: str) -> tuple[Mark, ...]:
    """Return the annotated boxes with what matters for the task."""
    marks = [
        _mark("truth hard" if each.is_difficult else "truth", each.box, _title(each, task))
        for each in truth.objects
    ]
    if task == "layout":
        marks += [_mark("truth part", part.box, part.kind) for each in truth.objects for part in each.parts]
    return tuple(marks)


def _title(each: DrawnObject, task: str) -> str:
    return ", ".join(each.actions) or each.name if task == "action" else each.name


def lines_of_truth(truth: Overlay, task: str) -> tuple[OutcomeRow, ...]:
    """Return a table line for each annotated object."""
    return tuple(OutcomeRow(_title(each, task), None, _remark(each, task)) for each in truth.objects)


def _remark(each: DrawnObject, task: str) -> str:
    remarks = ["difficult"] if each.is_difficult else []
    if task == "layout" and each.parts:
        remarks.append(", ".join(part.kind for part in each.parts))
    return "; ".join(remarks)


def _run_panel(
    run: DrawnRun, overlay: Overlay | None, labels: str, missing: str, threshold: float | None
) -> Panel:
    if overlay is None:
        return Panel(run.method, run.submission_id, (), (), None, missing)
    if overlay.has_labels:
        return Panel(run.method, run.submission_id, (), (), labels, None)
    marks, lines = draw_predictions(overlay.predictions, shown(overlay.predictions, threshold))
    note = None if overlay.predictions else "No prediction in this image."
    return Panel(run.method, run.submission_id, marks, lines, None, note)


def shown(predictions: Sequence[DrawnPrediction], threshold: float | None) -> int:
    """Count the predictions at or above the threshold; without a threshold, ten are shown.

    >>> both = [DrawnPrediction("cat", 0.9, None, 1), DrawnPrediction("dog", 0.2, None, 0)]
    >>> shown(both, 0.5), shown(both, None)
    (1, 10)
    """
    return SHOWN if threshold is None else sum(each.confidence >= threshold for each in predictions)


def draw_predictions(
    predictions: Sequence[DrawnPrediction], shown: int
) -> tuple[tuple[Mark, ...], tuple[OutcomeRow, ...]]:
    """Return the boxes and table lines of predictions, best first. Only the first `shown` are visible at first."""
    marks: list[Mark] = []
    lines: list[OutcomeRow] = []
    for place, each in enumerate(predictions):
        is_shown, kind = place < shown, KINDS[each.outcome]
        marks.extend(
            _mark(f"{kind} part", part.box, part.kind, each.confidence, is_shown=is_shown)
            for part in each.parts
        )
        if each.box is not None and each.number is None:
            mark = _mark(kind, each.box, each.name, each.confidence, is_shown=is_shown)
            marks.append(replace(mark, confidence=each.confidence))
        lines.append(OutcomeRow(_name(each), each.confidence, OUTCOMES[each.outcome], is_shown))
    return (*marks, *_best_of_persons(predictions)), tuple(lines)


def _name(each: DrawnPrediction) -> str:
    return each.name if each.number is None else f"{each.name}, object {each.number}"


def _best_of_persons(predictions: Iterable[DrawnPrediction]) -> list[Mark]:
    """Return a box for each person, with the most confident action or the confidence of the layout."""
    best: dict[int, DrawnPrediction] = {}
    for each in predictions:
        if each.number is not None and each.box is not None:
            best.setdefault(each.number, each)
    return [
        replace(_mark("other", each.box, each.name), confidence=each.confidence)
        for each in best.values()
        if each.box
    ]


def legend(names: Sequence[str]) -> tuple[Label, ...]:
    """Return the colours of label images in the development kits. names: the classes from label 1.

    >>> legend(["aeroplane"])[0]
    Label(name='aeroplane', colour='#800000')
    """
    colours = label_colours(len(names) + 1)
    return tuple(
        Label(name, f"#{colours[3 * place : 3 * place + 3].hex()}") for place, name in enumerate(names, 1)
    )


def _mark(kind: str, box: Box, label: str, score: float | None = None, *, is_shown: bool = True) -> Mark:
    left, top, right, bottom = box
    width, height = max(right - left, 0.5), max(bottom - top, 0.5)
    return Mark(kind, left, top, round(width, 1), round(height, 1), label, score, is_shown)


def label_image(
    platform: Platform,
    actor: Actor,
    challenge: str,
    image_set: str,
    name: str,
    *,
    run_id: int | None,
    truth_id: int | None,
) -> StoredPicture:
    """Load the label image of the annotation or of a run as PNG. Raises NotFoundError if the reader may see none."""
    with platform.snapshot() as session:
        scene = _scene(session, actor, challenge, image_set, name)
        boards = challenges.boards_of(session, [scene.phase.id])
    content, position = b"", scene.picture.position
    if can_see_truth(actor, scene.phase, scene.source):
        if run_id is not None and run_id in {run.run_id for run in scene.runs}:
            content = overlays.run_labels(platform, run_id, position)
        elif run_id is None and truth_id in {board.ground_truth_id for board in boards}:
            content = overlays.truth_labels(platform, truth_id, position)
    if not content:
        raise NotFoundError(f"there is no label image of {name!r} to show in {challenge} {image_set}")
    return StoredPicture(content, "", scene.phase.shows_images and scene.phase.draws_images)
