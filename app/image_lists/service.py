"""Lists of images as a reader may see them."""

from collections.abc import Iterable, Sequence

from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.editions import queries as editions
from app.editions.schemas import PhaseView
from app.errors import NotFoundError, WithheldError
from app.exhibits import queries as exhibits
from app.gallery import queries
from app.image_lists.rules import KINDS, hard_lists_of, lists_of, missing_of_board, missing_of_run
from app.image_lists.schemas import ExampleList, ExamplesPage, ShownExample
from app.overlays import service as overlays
from app.overlays.schemas import ClassExamples, ClassHardImages, ExampleView
from app.pictures import queries as pictures
from app.pictures.rules import sees_pictures, sees_truth, withheld
from app.platform import Platform


def examples_of_run(platform: Platform, actor: Actor, run_id: int, class_name: str | None) -> ExamplesPage:
    """The images to look at first of a run, of one class.

    Raises NotFoundError for a run that the reader may not see, and WithheldError where the annotation is held out.
    """
    with platform.snapshot() as session:
        visible = exhibits.visible_run(session, actor, run_id)
        phase = editions.phase_of_id(session, visible[1].id) if visible else None
        if phase is None:
            raise NotFoundError(f"there is no run {run_id}, or it is not public")
        _require_truth(session, actor, phase)
        run = overlays.run_of(session, run_id)
        is_awaited = overlays.is_awaited(session, phase.id, run.competition)
        missing = missing_of_run(stands=overlays.is_drawn_of(session, run_id), is_awaited=is_awaited)
    found = overlays.examples(platform, run_id)
    classes = tuple(each.class_name for each in found or ())
    name = class_name if class_name in classes else next(iter(classes), None)
    one = next((each for each in found or () if each.class_name == name), None)
    return ExamplesPage(
        phase=phase,
        title=f"Images of {run.method}",
        run_id=run_id,
        method=run.method,
        submission_id=run.submission_id,
        competition=run.competition,
        competition_title=scoring.competition_of(phase.dataset, run.competition).title,
        classes=classes,
        class_name=name,
        lists=None if found is None else _with_pictures(platform, phase, _lists(one, phase, run.competition)),
        missing=missing if found is None else None,
    )


def hard_images(
    platform: Platform, actor: Actor, edition: str, image_set: str, competition: int, class_name: str | None
) -> ExamplesPage:
    """The easiest, hardest and most confusing images of a class, over the public methods of a board.

    Raises NotFoundError, and WithheldError where the annotation is held out.
    """
    with platform.snapshot() as session:
        phase = visible_phase(session, actor, edition, image_set)
        if editions.board_of(session, phase.id, competition) is None:
            raise NotFoundError(f"{edition} {image_set} has no competition {competition}")
        runs = overlays.drawn_runs(session, phase.id, everything=False)
        has_results = any(run.competition == competition for run in runs)
        is_awaited = overlays.is_awaited(session, phase.id, competition)
    found = overlays.hard_images(platform, phase.id, competition)
    classes = tuple(each.class_name for each in found or ())
    name = class_name if class_name in classes else next(iter(classes), None)
    one = next((each for each in found or () if each.class_name == name), None)
    info = scoring.competition_of(phase.dataset, competition)
    missing = missing_of_board(info.task, has_results=has_results, is_awaited=is_awaited)
    return ExamplesPage(
        phase=phase,
        title=f"Easy and hard images: {info.title}",
        run_id=None,
        method=None,
        submission_id=None,
        competition=competition,
        competition_title=info.title,
        classes=classes,
        class_name=name,
        lists=_with_pictures(platform, phase, _hard_lists(one, info.task)) if found else None,
        missing=None if found else missing,
    )


def visible_phase(session: Session, actor: Actor, edition: str, image_set: str) -> PhaseView:
    """A phase of which the reader sees annotation over pictures. Raises NotFoundError and WithheldError."""
    phase = editions.phase_of(session, edition, image_set)
    if phase is None:
        raise NotFoundError(f"there is no phase {image_set!r} in an edition {edition!r}")
    _require_truth(session, actor, phase)
    return phase


def _require_truth(session: Session, actor: Actor, phase: PhaseView) -> None:
    source = pictures.source_of(session, phase.id)
    if source is None:
        raise NotFoundError(f"{phase.edition} {phase.image_set} has no pictures")
    if not (sees_pictures(actor, phase, source) and sees_truth(actor, phase, source)):
        raise WithheldError(withheld(phase))


def _lists(found: ClassExamples | None, phase: PhaseView, competition: int) -> list[ExampleList]:
    task = scoring.competition_of(phase.dataset, competition).task
    return [
        ExampleList(title, meaning, tuple(ShownExample(each, None) for each in listed))
        for title, meaning, listed in (lists_of(found, task) if found else ())
    ]


def _hard_lists(found: ClassHardImages | None, task: str) -> list[ExampleList]:
    return [
        ExampleList(
            title,
            meaning,
            tuple(
                ShownExample(ExampleView(each.image, None, each.value, None, None, KINDS[each.kind]), None)
                for each in listed
            ),
        )
        for title, meaning, listed in (hard_lists_of(found, task) if found else ())
    ]


def _with_pictures(
    platform: Platform, phase: PhaseView, lists: Sequence[ExampleList]
) -> tuple[ExampleList, ...]:
    names = {each.example.image for one in lists for each in one.examples}
    with platform.transaction() as session:
        found = queries.pictures_of(session, phase.id, names)

    def with_pictures(examples: Iterable[ShownExample]) -> tuple[ShownExample, ...]:
        return tuple(ShownExample(each.example, found.get(each.example.image)) for each in examples)

    return tuple(ExampleList(one.title, one.meaning, with_pictures(one.examples)) for one in lists)
