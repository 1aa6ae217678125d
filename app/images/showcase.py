"""What the page of a method shows first: its ranks, and curves and images of one result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.challenges.disclosure import visibility_for
from app.core.access import Actor
from app.core.errors import DomainError
from app.images import lists, overlays
from app.images.lists import ShownExample
from app.images.pictures import pictures_of
from app.models import Exhibit, Result
from app.platform import Platform
from app.results import details, scored_runs
from app.results.details import Rank
from app.results.exhibits import CURVES, CurveView, RocView
from app.results.methods import MethodPage
from app.results.standings import ResultView

PREFERRED: Final = ("detection", "segmentation")  # the tasks whose images say most
MOST_CURVES: Final = 12
MOST_IMAGES: Final = 8
Place = tuple[str, int]  # image set and competition


@dataclass(frozen=True, slots=True)
class Showcase:
    """One result of a method whose details the reader may see. has_images: the page of its images can be opened."""

    result: ResultView
    run_id: int
    curves: tuple[CurveView | RocView, ...]
    images: tuple[ShownExample, ...]
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
        curves = _curves(session, run_id)
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


def _curves(session: Session, run_id: int) -> tuple[CurveView | RocView, ...]:
    statement = (
        select(Exhibit.content)
        .where(Exhibit.run_id == run_id, Exhibit.kind.in_(CURVES))
        .order_by(Exhibit.position)
        .limit(MOST_CURVES)
    )
    return tuple(details.view_of(content) for content in session.scalars(statement))


def _images(platform: Platform, phase: PhaseView, run_id: int) -> tuple[ShownExample, ...]:
    """Return some examples of different images: what each class found first, then what it missed."""
    found = overlays.examples(platform, run_id) or ()
    candidates = [each.lists[kind][0] for kind in (0, -1) for each in found if each.lists[kind]]
    chosen = {each.image: each for each in reversed(candidates)}
    names = list(dict.fromkeys(each.image for each in candidates))[:MOST_IMAGES]
    with platform.transaction() as session:
        pictures = pictures_of(session, phase.id, names)
    return tuple(ShownExample(chosen[name], pictures.get(name)) for name in names if name in pictures)


def by_task(results: Sequence[ResultView]) -> dict[tuple[str, bool], list[ResultView]]:
    """Group results by their task and the data that methods may be trained on."""
    groups: dict[tuple[str, bool], list[ResultView]] = {}
    for each in results:
        groups.setdefault((each.title, each.own_data), []).append(each)
    return groups
