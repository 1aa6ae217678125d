"""The images in which compared methods differ most, with what each of them predicted there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import heldout_scoring
from app.boards.boards import BoardReaders
from app.boards.comparisons import ComparisonView, ImageDifference
from app.challenges import challenges
from app.challenges.challenges import PhaseView, find_phase
from app.challenges.files import refusal_of_images
from app.core.access import Actor
from app.images import overlays
from app.images.overlays import DrawnRun
from app.images.pictures import PictureView, can_see_truth, pictures_of, source_of
from app.images.viewer import SHOWN, Mark, draw_predictions, marks_of_truth
from app.platform import Platform

FIRST: Final = 6  # images that are drawn; the table has more


@dataclass(frozen=True, slots=True)
class DrawnSource:
    """What the annotation or a method has in an image. labels: the URL of its label image."""

    marks: tuple[Mark, ...] = ()
    labels: str | None = None


@dataclass(frozen=True, slots=True)
class DifferingImage:
    """An image in which methods differ; of_methods: in the order of the comparison."""

    difference: ImageDifference
    picture: PictureView
    truth: DrawnSource
    of_methods: tuple[DrawnSource, ...]

    @property
    def is_drawn(self) -> bool:
        """Whether any method has something to draw over the image."""
        return any(each.marks or each.labels for each in self.of_methods)


def images(platform: Platform, actor: Actor, view: ComparisonView) -> tuple[DifferingImage, ...]:
    """Return the first images in which the methods differ, as the reader may see them; empty where they may see none."""
    differences = view.statistics.images[:FIRST] if view.statistics else ()
    if not differences:
        return ()
    with platform.snapshot() as session:
        phase = find_phase(session, view.challenge, view.image_set)
        source = source_of(session, phase.id)
        if source is None or not can_see_truth(actor, phase, source):
            return ()
        if refusal_of_images(session, actor, phase):
            return ()
        pictures = pictures_of(session, phase.id, [each.image for each in differences])
        board = challenges.board_of(session, phase.id, view.competition)
        is_organiser = actor.organises_challenge(phase.challenge_id)
        audience = BoardReaders.ORGANISERS if is_organiser else BoardReaders.PUBLIC
        drawn = {run.run_id: run for run in overlays.runs_on_boards(session, phase.id, audience)}
    truth_id = board.ground_truth_id if board else None
    runs = [drawn.get(method.run) for method in view.methods]
    return tuple(
        DifferingImage(
            each,
            pictures[each.image],
            _of_truth(platform, phase, view.competition, truth_id, pictures[each.image]),
            _of_methods(platform, phase, runs, pictures[each.image]),
        )
        for each in differences
        if each.image in pictures
    )


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
) -> tuple[DrawnSource, ...]:
    return tuple(_of_run(platform, phase, run, picture) if run is not None else DrawnSource() for run in runs)


def _of_run(platform: Platform, phase: PhaseView, run: DrawnRun, picture: PictureView) -> DrawnSource:
    overlay = overlays.run_overlay(platform, run.run_id, picture.position, picture.name)
    if overlay is None:
        return DrawnSource()
    if overlay.has_labels:
        return DrawnSource(labels=f"{_labels(phase, picture)}?run={run.run_id}")
    marks, _ = draw_predictions(overlay.predictions, SHOWN)
    return DrawnSource(tuple(mark for mark in marks if mark.is_shown))


def _labels(phase: PhaseView, picture: PictureView) -> str:
    return f"/pictures/{quote(phase.challenge)}/{quote(phase.image_set)}/{quote(picture.name)}/labels.png"
