"""The images in which compared methods differ most, with what each of them predicted there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import heldout_scoring
from app.boards.boards import BoardReaders
from app.boards.comparisons import ComparisonView, ImageDifference
from app.challenges import challenges
from app.challenges.challenges import PhaseView, description_of, find_phase
from app.challenges.files import refusal_of_images
from app.core.access import Actor
from app.images import overlays
from app.images.overlays import DrawnRun
from app.images.pictures import PictureView, can_see_truth, pictures_of, source_of
from app.images.viewer import Label, Mark, OutcomeRow, draw_predictions, legend, marks_of_truth
from app.platform import Platform

FIRST: Final = 6  # images that are drawn; the table has more


@dataclass(frozen=True, slots=True)
class DrawnSource:
    """What the annotation or a method has in an image. labels: the URL of its label image; outcomes: instead of boxes, if there are none."""

    marks: tuple[Mark, ...] = ()
    labels: str | None = None
    outcomes: tuple[OutcomeRow, ...] | None = None


@dataclass(frozen=True, slots=True)
class DifferingImage:
    """An image in which methods differ; of_methods: in the order of the comparison, None for a method that is not drawn yet."""

    difference: ImageDifference
    picture: PictureView
    truth: DrawnSource
    of_methods: tuple[DrawnSource | None, ...]


@dataclass(frozen=True, slots=True)
class DifferingImages:
    """The first images in which methods differ. legend: the colours of the labels, if labels are what is drawn."""

    images: tuple[DifferingImage, ...] = ()
    legend: tuple[Label, ...] = ()

    @property
    def lacks_predictions(self) -> bool:
        """Whether a worker has not drawn all predictions yet."""
        return any(None in each.of_methods for each in self.images)


def images(platform: Platform, actor: Actor, view: ComparisonView) -> DifferingImages:
    """Return the first images in which the methods differ, as the reader may see them; empty where they may see none."""
    differences = view.statistics.images[:FIRST] if view.statistics else ()
    if not differences:
        return DifferingImages()
    with platform.snapshot() as session:
        phase = find_phase(session, view.challenge, view.image_set)
        source = source_of(session, phase.id)
        if source is None or not can_see_truth(actor, phase, source):
            return DifferingImages()
        if refusal_of_images(session, actor, phase):
            return DifferingImages()
        pictures = pictures_of(session, phase.id, [each.image for each in differences])
        board = challenges.board_of(session, phase.id, view.competition)
        is_organiser = actor.organises_challenge(phase.challenge_id)
        audience = BoardReaders.ORGANISERS if is_organiser else BoardReaders.PUBLIC
        drawn = {run.run_id: run for run in overlays.runs_on_boards(session, phase.id, audience)}
    truth_id = board.ground_truth_id if board else None
    runs = [drawn.get(method.run) for method in view.methods]
    found = tuple(
        DifferingImage(
            each,
            pictures[each.image],
            _of_truth(platform, phase, view.competition, truth_id, pictures[each.image]),
            _of_methods(platform, phase, runs, pictures[each.image]),
        )
        for each in differences
        if each.image in pictures
    )
    shows_labels = any(
        source and source.labels for each in found for source in (each.truth, *each.of_methods)
    )
    classes = description_of(platform.descriptions, phase.description_key).classes
    return DifferingImages(found, legend(classes) if shows_labels else ())


def _of_truth(
    platform: Platform, phase: PhaseView, competition: int, truth_id: int | None, picture: PictureView
) -> DrawnSource:
    if truth_id is None:
        return DrawnSource()
    overlay = overlays.truth_overlay(platform, truth_id, picture.position, picture.name)
    task = heldout_scoring.competition_of(phase.dataset, competition).task
    if overlay is None:
        return DrawnSource()
    if task == "segmentation":
        return DrawnSource(
            labels=f"{_labels(phase, picture)}?truth={truth_id}" if overlay.has_labels else None
        )
    return DrawnSource(marks_of_truth(overlay, task))


def _of_methods(
    platform: Platform, phase: PhaseView, runs: Sequence[DrawnRun | None], picture: PictureView
) -> tuple[DrawnSource | None, ...]:
    return tuple(_of_run(platform, phase, run, picture) if run is not None else DrawnSource() for run in runs)


def _of_run(platform: Platform, phase: PhaseView, run: DrawnRun, picture: PictureView) -> DrawnSource | None:
    overlay = overlays.run_overlay(platform, run.run_id, picture.position, picture.name)
    if overlay is None:
        return None
    if overlay.has_labels:
        return DrawnSource(labels=f"{_labels(phase, picture)}?run={run.run_id}")
    counted = [each for each in overlay.predictions if each.is_counted]
    marks, outcomes = draw_predictions(counted, len(counted))
    of_whole = any(each.box is None and each.number is None for each in overlay.predictions)
    return DrawnSource(marks, outcomes=outcomes if of_whole else None)


def _labels(phase: PhaseView, picture: PictureView) -> str:
    return f"/pictures/{quote(phase.challenge)}/{quote(phase.image_set)}/{quote(picture.name)}/labels.png"
