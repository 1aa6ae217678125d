"""Lists of notable images of a run or a board, as the reader may see them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy.orm import Session

import heldout_scoring
from app.boards.boards import BoardReaders
from app.challenges import challenges
from app.challenges.challenges import PhaseView, find_phase
from app.challenges.files import refusal_of_images
from app.core.access import Actor
from app.core.errors import NotFoundError, WithheldError
from app.images import overlays
from app.images.drawing import ClassImages, ExampleView
from app.images.pictures import PictureView, can_see_truth, pictures_of, source_of, withheld
from app.platform import Platform
from app.results import scored_runs

Meanings = tuple[
    tuple[str, str], ...
]  # title and meaning of each list; the meaning is empty if a task has no such list

OF_RUN: Final[dict[str, Meanings]] = {
    "detection": (
        ("True positives", "The most confident detections that match an object."),
        ("Near misses", "The most confident detections that overlap an object of the class, but not enough."),
        ("Other false positives", "Duplicates, other classes and background; the most confident first."),
        ("Missed objects", "Objects that no detection matches; the largest first."),
    ),
    "segmentation": (
        ("Best segmented", "Images with the class; the largest IoU first."),
        ("Near misses", ""),
        ("False positives", "Images without the class; the largest share of pixels labelled as it first."),
        ("Worst segmented", "Images with the class; the smallest IoU first."),
    ),
    "": (
        ("True positives", "The most confident correct predictions."),
        ("Near misses", ""),
        ("False positives", "The most confident wrong predictions."),
        ("Missed", "The positives with the lowest ranks."),
    ),
}
OF_BOARD: Final[dict[str, Meanings]] = {
    "segmentation": (
        ("Easiest images", "Images with the class; the largest median IoU over methods first."),
        ("Hardest images", "Images with the class; the smallest median IoU first."),
        (
            "Most confusing images",
            "Images without the class; the largest median share of pixels labelled as it first.",
        ),
    ),
    "": (
        ("Easiest images", "Images with the class; the best median rank over methods first."),
        ("Hardest images", "Images with the class; the worst median rank first."),
        ("Most confusing images", "Images without the class that methods rank highest."),
    ),
}

AWAITED: Final = "The lists of images are being computed. Reload this page in a moment."
NOT_COMPUTED: Final = "The lists of images could not be computed. Ask the organisers to try again."
NOT_ON_BOARD: Final = "Images are listed only for results on a board, and this result is not on one."
NO_RESULTS: Final = "There are no public results on this board yet."
NOT_COMPARED: Final = frozenset({"layout"})  # tasks that have no measure of how hard an image is
NOT_HARD: Final = (
    "Person layout has no lists of easy and hard images: a layout is right or wrong as a whole. "
    "The page of each result leads to its own true and false positives."
)


@dataclass(frozen=True, slots=True)
class ShownExample:
    """An example with its image, None if there is no image."""

    example: ExampleView
    picture: PictureView | None


@dataclass(frozen=True, slots=True)
class ExampleList:
    """A list of examples of the same kind."""

    title: str
    meaning: str
    examples: tuple[ShownExample, ...]


@dataclass(frozen=True, slots=True)
class ExamplesPage:
    """The notable images of a class, for a run or a board. lists: None if there are none; missing: why there are none."""

    phase: PhaseView
    title: str
    run_id: int | None
    method: str | None
    submission_id: int | None
    competition: int
    classes: tuple[str, ...]
    class_name: str | None
    lists: tuple[ExampleList, ...] | None
    competition_title: str
    missing: str | None = None


def examples_of_run(platform: Platform, actor: Actor, run_id: int, class_name: str | None) -> ExamplesPage:
    """Return the notable images of a run, for one class.

    Raises NotFoundError if the reader may not see the run, WithheldError if the annotation is held out.
    """
    with platform.snapshot() as session:
        visible = scored_runs.visible_run(session, actor, run_id)
        phase = challenges.phase_of_id(session, visible[1].id) if visible else None
        if phase is None:
            raise NotFoundError(f"there is no run {run_id}, or it is not public")
        _require_truth(session, actor, phase)
        run = overlays.run_of(session, run_id)
        missing = AWAITED if overlays.is_awaited(session, phase.id, run.competition) else NOT_COMPUTED
        if not overlays.can_be_drawn(session, run_id):
            missing = NOT_ON_BOARD
    info = heldout_scoring.competition_of(phase.dataset, run.competition)
    found = overlays.examples(platform, run_id)
    chosen = _chosen(found or (), class_name)
    return ExamplesPage(
        phase=phase,
        title=f"Images of {run.method}",
        run_id=run_id,
        method=run.method,
        submission_id=run.submission_id,
        competition=run.competition,
        competition_title=info.title,
        classes=tuple(each.class_name for each in found or ()),
        class_name=chosen.class_name if chosen else None,
        lists=None if found is None else _with_pictures(platform, phase, chosen, OF_RUN, info.task),
        missing=missing if found is None else None,
    )


def hard_images(
    platform: Platform, actor: Actor, challenge: str, image_set: str, competition: int, class_name: str | None
) -> ExamplesPage:
    """Return the easiest, hardest and most confusing images of a class, over the public methods of a board.

    Raises NotFoundError, and WithheldError if the annotation is held out.
    """
    with platform.snapshot() as session:
        phase = find_phase(session, challenge, image_set)
        _require_truth(session, actor, phase)
        if challenges.board_of(session, phase.id, competition) is None:
            raise NotFoundError(f"there is no competition {competition} in {challenge} {image_set}")
        info = heldout_scoring.competition_of(phase.dataset, competition)
        missing = AWAITED if overlays.is_awaited(session, phase.id, competition) else NOT_COMPUTED
        if info.task in NOT_COMPARED:
            missing = NOT_HARD
        elif not any(
            run.competition == competition
            for run in overlays.runs_on_boards(session, phase.id, BoardReaders.PUBLIC)
        ):
            missing = NO_RESULTS
    found = overlays.hard_images(platform, phase.id, competition)
    chosen = _chosen(found or (), class_name)
    return ExamplesPage(
        phase=phase,
        title=f"Easy and hard images: {info.title}",
        run_id=None,
        method=None,
        submission_id=None,
        competition=competition,
        competition_title=info.title,
        classes=tuple(each.class_name for each in found or ()),
        class_name=chosen.class_name if chosen else None,
        lists=_with_pictures(platform, phase, chosen, OF_BOARD, info.task) if found else None,
        missing=None if found else missing,
    )


def _require_truth(session: Session, actor: Actor, phase: PhaseView) -> None:
    """Raise what `refusal_of_images` returns, and WithheldError if the reader may not see annotation on the images."""
    source = source_of(session, phase.id)
    if source is None:
        raise NotFoundError(f"there are no images of {phase.challenge} {phase.image_set}")
    if not can_see_truth(actor, phase, source):
        raise WithheldError(withheld(phase))
    if refused := refusal_of_images(session, actor, phase):
        raise refused


def _chosen(classes: Sequence[ClassImages], class_name: str | None) -> ClassImages | None:
    """Return the requested class, or the first if there is no such class."""
    return next((each for each in classes if each.class_name == class_name), next(iter(classes), None))


def lists_of(
    chosen: ClassImages, meanings: Mapping[str, Meanings], task: str
) -> Iterator[tuple[str, str, tuple[ExampleView, ...]]]:
    """Yield title, meaning and examples of each list that the task has."""
    for (title, meaning), examples in zip(meanings.get(task, meanings[""]), chosen.lists, strict=True):
        if meaning:
            yield title, meaning, examples


def _with_pictures(
    platform: Platform,
    phase: PhaseView,
    chosen: ClassImages | None,
    meanings: Mapping[str, Meanings],
    task: str,
) -> tuple[ExampleList, ...]:
    if chosen is None:
        return ()
    names = {each.image for examples in chosen.lists for each in examples}
    with platform.transaction() as session:
        pictures = pictures_of(session, phase.id, names)
    return tuple(
        ExampleList(title, meaning, tuple(ShownExample(each, pictures.get(each.image)) for each in examples))
        for title, meaning, examples in lists_of(chosen, meanings, task)
    )
