"""A data set that a killed worker was applying is applied once, by the next worker, with all that it says."""

from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

import heldout_scoring
from app.jobs import attempts
from app.models import (
    Challenge,
    ChallengeVisibility,
    Event,
    GroundTruth,
    Intake,
    Job,
    JobKind,
    NextPictureBatch,
    Phase,
    Picture,
    PictureBatch,
    PictureSource,
    Queue,
    Trial,
)
from app.platform import Platform
from tests.kills import COMMIT, MOST, assert_all_or_nothing, killed_at, work_again
from tests.pages.test_intake_reading import ORGANISE
from tests.pages.test_version_pictures import OTHERS, pictures
from tests.pages.test_versions import IMAGES, Scene, coco, kit_state, new_scene, people
from worker.handlers import HANDLERS

__all__ = ["people"]


def applying(platform: Platform, people: tuple[TestClient, TestClient]) -> Scene:
    """A phase with pictures, and annotation and pictures that a worker was asked to replace its own by."""
    work_again(platform)  # what earlier kills have left
    with (
        platform.transaction() as session
    ):  # their challenges have the same annotation, of which organisers would be warned
        session.execute(update(Challenge).values(visibility=ChallengeVisibility.DRAFT))
    scene = new_scene(platform, people, pictures(IMAGES, shade=10))
    intake = scene.send(
        scene.code, pictures(OTHERS, shade=20), ("hidden", "test.json", coco(OTHERS, shift=1.0))
    )
    read = scene.read(intake)
    assert read["state"] == "read", read
    application = {"set": "hidden-0", "phase": "test", "accept_changes": True}
    asked = scene.organiser.post(f"{ORGANISE}/data-sets/{intake}/apply", json=application)
    assert asked.status_code == 202, asked.text
    return scene


def state(scene: Scene) -> dict[str, Any]:
    """Everything that applying a data set changes."""
    with scene.platform.transaction() as session:
        phase = session.scalars(select(Phase).where(Phase.id == scene.phase.id)).one()
        intakes = session.scalars(
            select(Intake).where(Intake.challenge_id == phase.challenge_id).order_by(Intake.created_at)
        ).all()
        truths = select(GroundTruth).where(GroundTruth.phase_id == phase.id).order_by(GroundTruth.version)
        events = select(Event.kind, Event.details).where(Event.challenge_id == phase.challenge_id)
        told = [(kind.value, details.get("version")) for kind, details in session.execute(events)]
        shown = select(Picture.name, Picture.file, Picture.problem).where(Picture.phase_id == phase.id)
        waiting = (
            select(
                GroundTruth.version,
                NextPictureBatch.number,
                func.jsonb_array_length(NextPictureBatch.pictures),
            )
            .join(GroundTruth, GroundTruth.id == NextPictureBatch.ground_truth_id)
            .where(GroundTruth.phase_id == phase.id)
        )
        trials = select(func.count()).select_from(Trial).join(GroundTruth)
        return {
            "versions": kit_state(scene.platform, scene.code),
            "objects": [truth.statistics for truth in session.scalars(truths)],
            "data sets": [(each.state.value, each.version, each.message) for each in intakes],
            "events": sorted(told, key=str),
            "pictures": [tuple(row) for row in session.execute(shown.order_by(Picture.position))],
            "batches": session.scalar(
                select(func.count()).select_from(PictureBatch).where(PictureBatch.phase_id == phase.id)
            ),
            "waiting": [tuple(row) for row in session.execute(waiting.order_by(NextPictureBatch.number))],
            "trials": session.scalar(trials.where(GroundTruth.phase_id == phase.id)),
        }


def apply(platform: Platform) -> None:
    """Apply the data set as the next worker does, if need be after another that was killed."""
    with platform.transaction() as session:
        session.execute(update(Job).values(lease_until=None, not_before=None))
    attempts.do_next(platform, Queue.ORGANISING, HANDLERS)


def work_again_and_look(scene: Scene) -> None:
    """Let other workers do what is left: no job stays, annotation can be read, and pictures wait for the boards."""
    platform = scene.platform
    work_again(platform)

    phase = scene.phase
    with platform.transaction() as session:
        key = session.scalars(
            select(GroundTruth.key).where(GroundTruth.phase_id == phase.id, GroundTruth.version == 2)
        ).one()
        source = session.get_one(PictureSource, phase.id)
        waiting = session.scalars(select(Job.kind).where(Job.kind != JobKind.NOTIFY)).all()  # of mail
    assert (source.problem, waiting) == (None, [])
    with platform.truths.materialise(key) as path:
        assert heldout_scoring.GroundTruth.open(path).lists.images == tuple(map(str, OTHERS))
    with platform.transaction() as session:
        copies = session.scalars(
            select(NextPictureBatch.copy_key)
            .join(GroundTruth, GroundTruth.id == NextPictureBatch.ground_truth_id)
            .where(GroundTruth.phase_id == phase.id)
        ).all()
    assert [platform.truths.exists(key) for key in copies if key] == [True]
    listed = scene.organiser.get(f"/api/v1/challenges/{scene.code}/test/images").json()
    assert [(each["name"], each["problem"]) for each in listed["images"]] == [(str(n), None) for n in IMAGES]
    assert listed["made"] == len(IMAGES)


@pytest.mark.slow  # a child process reads the data set at each of dozens of moments
def test_a_version_its_pictures_and_what_its_data_set_says_are_written_at_once(
    platform: Platform, people: tuple[TestClient, TestClient]
) -> None:
    """Each kill follows the ones before on the same data set, as long as nothing of it was applied."""
    moments = assert_all_or_nothing(
        platform, lambda: applying(platform, people), lambda _: apply(platform), state
    )

    assert moments > 50


@pytest.mark.slow  # as above
def test_the_next_worker_applies_a_data_set_once_whenever_the_one_before_was_killed(
    platform: Platform, people: tuple[TestClient, TestClient]
) -> None:
    scene = applying(platform, people)
    with killed_at(platform, MOST) as whole:
        apply(platform)
    work_again_and_look(scene)
    after = state(scene)
    commits = [moment for moment, each in enumerate(whole.sent, 1) if each == COMMIT]
    around = {moment + distance for moment in commits[-3:] for distance in (-1, 0, 1)}

    for moment in sorted({1, *around}):
        scene = applying(platform, people)
        with killed_at(platform, moment) as kill:
            apply(platform)
        work_again_and_look(scene)
        assert state(scene) == after, f"killed at moment {moment}: {kill.about[:300]}"
