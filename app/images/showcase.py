"""What the page of a method shows first: its ranks, and curves and images of one result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from sqlalchemy import select
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.challenges.disclosure import Visibility, visibility_for
from app.core.access import Actor
from app.core.errors import DomainError
from app.images import lists, overlays
from app.images.drawing import Box, ExampleView
from app.images.pictures import PictureView, pictures_of
from app.images.viewer import Mark
from app.models import Exhibit, Result
from app.platform import Platform
from app.results import details, scored_runs
from app.results.details import Rank
from app.results.exhibits import CURVES, CurveView, RocView
from app.results.methods import MethodPage
from app.results.scores import load_scores
from app.results.standings import ResultView

PREFERRED: Final = ("detection", "segmentation")  # the tasks whose images say most
MOST_CURVES: Final = 12
MOST_IMAGES: Final = 9
SHAPE: Final = (4, 3)  # of sample images: width and height
Place = tuple[str, int]  # image set and competition


@dataclass(frozen=True, slots=True)
class Window:
    """A part of an image, in its pixels."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Sample:
    """An image with what a method found or missed in it. window: the part that is shown; labels: the URL of its label image."""

    picture: PictureView
    class_name: str
    example: ExampleView
    mark: Mark | None
    labels: str | None
    window: Window


@dataclass(frozen=True, slots=True)
class ShownCurve:
    """A curve of a class with its score."""

    points: CurveView | RocView
    value: float | None


@dataclass(frozen=True, slots=True)
class Showcase:
    """One result of a method whose details the reader may see. has_images: the page of its images can be opened."""

    result: ResultView
    run_id: int
    curves: tuple[ShownCurve, ...]
    images: tuple[Sample, ...]
    has_images: bool


def ranks(platform: Platform, actor: Actor, page: MethodPage) -> Mapping[Place, Rank]:
    """Return the ranks of a method's results, of those that the reader may know."""
    found: dict[Place, Rank] = {}
    with platform.snapshot() as session:
        for phase in challenges.phases_of(session, page.challenge):
            results = _results(session, page, phase)
            known = details.ranks(session, actor, phase, visibility_for(actor, phase), list(results.values()))
            found |= {
                (phase.image_set, competition): known[result.id]
                for competition, result in results.items()
                if result.id in known
            }
    return found


def _results(session: Session, page: MethodPage, phase: PhaseView) -> dict[int, Result]:
    """Return the results that the page lists of a phase, by competition."""
    listed = {
        (each.competition, each.submission)
        for each in page.results
        if each.phase.image_set == phase.image_set
    }
    statement = select(Result).where(Result.method_id == page.method.id, Result.phase_id == phase.id)
    return {
        result.competition: result
        for result in session.scalars(statement)
        if (result.competition, result.submission_id) in listed
    }


def showcase(platform: Platform, actor: Actor, page: MethodPage) -> Showcase | None:
    """Return a result with details that the reader may see, preferably of a task with boxes or labels and of an open phase."""
    with platform.snapshot() as session:
        shown = _shown(session, actor, page)
        if shown is None:
            return None
        result, run_id, phase = shown
        curves = _curves(session, run_id, visibility_for(actor, phase))
    try:
        has_images = lists.examples_of_run(platform, actor, run_id, None).lists is not None
    except DomainError:  # there are no images, or the reader may not see them
        has_images = False
    return Showcase(
        result,
        run_id,
        curves,
        _images(platform, phase, run_id) if has_images else (),
        has_images,
    )


def _shown(session: Session, actor: Actor, page: MethodPage) -> tuple[ResultView, int, PhaseView] | None:
    phases = {phase.image_set: phase for phase in challenges.phases_of(session, page.challenge)}
    open_to_reader = [
        each for each in page.results if visibility_for(actor, phases[each.phase.image_set]).details
    ]

    def order(each: ResultView) -> tuple[int, bool, float]:
        return _preference(each, phases), phases[each.phase.image_set].is_held_out, -each.date.timestamp()

    for result in sorted(open_to_reader, key=order):
        phase = phases[result.phase.image_set]
        run_id = session.scalar(
            select(Result.published_run_id).where(
                Result.submission_id == result.submission,
                Result.phase_id == phase.id,
                Result.competition == result.competition,
            )
        )
        if run_id is not None and scored_runs.visible_run(session, actor, run_id):
            return result, run_id, phase
    return None


def _preference(result: ResultView, phases: Mapping[str, PhaseView]) -> int:
    dataset = phases[result.phase.image_set].dataset
    task = heldout_scoring.competition_of(dataset, result.competition).task
    return PREFERRED.index(task) if task in PREFERRED else len(PREFERRED)


def _curves(session: Session, run_id: int, visibility: Visibility) -> tuple[ShownCurve, ...]:
    statement = (
        select(Exhibit.content)
        .where(Exhibit.run_id == run_id, Exhibit.kind.in_(CURVES))
        .order_by(Exhibit.position)
        .limit(MOST_CURVES)
    )
    scores = load_scores(session, [run_id]).get(run_id, {})
    views = [details.view_of(content) for content in session.scalars(statement)]
    return tuple(
        ShownCurve(view, visibility.value(scores[view.name]) if view.name in scores else None)
        for view in views
    )


def _images(platform: Platform, phase: PhaseView, run_id: int) -> tuple[Sample, ...]:
    """Return some examples of different images: what each class found first, then what it missed."""
    found = overlays.examples(platform, run_id) or ()
    candidates = [
        (each.class_name, each.lists[kind][0]) for kind in (0, -1) for each in found if each.lists[kind]
    ]
    chosen = {example.image: (name, example) for name, example in reversed(candidates)}
    names = list(dict.fromkeys(example.image for _, example in candidates))[:MOST_IMAGES]
    with platform.transaction() as session:
        pictures = pictures_of(session, phase.id, names)
    return tuple(
        _sample(platform, phase, run_id, pictures[name], *chosen[name]) for name in names if name in pictures
    )


def _sample(
    platform: Platform,
    phase: PhaseView,
    run_id: int,
    picture: PictureView,
    class_name: str,
    example: ExampleView,
) -> Sample:
    overlay = overlays.run_overlay(platform, run_id, picture.position, picture.name)
    address = f"/pictures/{quote(phase.challenge)}/{quote(phase.image_set)}/{quote(picture.name)}/labels.png"
    width, height = picture.width or SHAPE[0], picture.height or SHAPE[1]
    return Sample(
        picture,
        class_name,
        example,
        _mark(class_name, example),
        f"{address}?run={run_id}" if overlay is not None and overlay.has_labels else None,
        window_around(example.box or (0, 0, width, height), width, height),
    )


def _mark(class_name: str, example: ExampleView) -> Mark | None:
    if example.box is None:
        return None
    left, top, right, bottom = example.box
    kind = "truth" if example.rank is None else "false" if example.kind else "hit"
    return Mark(kind, left, top, right - left, bottom - top, class_name)


def window_around(box: Box, width: float, height: float) -> Window:
    """Return the largest part of an image that is 4 wide and 3 high, with the box as near to its middle as the image allows.

    >>> window_around((10, 300, 30, 320), 300, 400), window_around((0, 0, 800, 300), 800, 300)
    (Window(x=0, y=175.0, width=300, height=225.0), Window(x=200.0, y=0.0, width=400.0, height=300.0))
    """
    wide = min(width, height * SHAPE[0] / SHAPE[1])
    high = wide * SHAPE[1] / SHAPE[0]
    x, y = (box[0] + box[2] - wide) / 2, (box[1] + box[3] - high) / 2
    return Window(min(max(x, 0), width - wide), min(max(y, 0), height - high), wide, high)


def by_task(results: Sequence[ResultView]) -> dict[tuple[str, bool], list[ResultView]]:
    """Group results by their task and the data that methods may be trained on."""
    groups: dict[tuple[str, bool], list[ResultView]] = {}
    for each in results:
        groups.setdefault((each.title, each.own_data), []).append(each)
    return groups
