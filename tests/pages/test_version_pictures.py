"""Pictures belong to a version of the annotation: they change when the boards show it, not when it is applied."""

from pathlib import Path

import pytest
from sqlalchemy import Select, func, join, select
from starlette.testclient import TestClient

import heldout_scoring
from app.challenges import challenges, versions
from app.evaluation import rescoring
from app.images import making
from app.models import GroundTruth, ImageMode, NextPictureBatch, PictureBatch
from app.platform import Platform
from app.submissions import retention
from tests.pages.data_sets import jpeg, zipped
from tests.pages.test_intake_reading import ORGANISE
from tests.pages.test_versions import IMAGES, Scene, coco, detections, new_scene, people

__all__ = ["people"]
OTHERS = (*IMAGES[1:], 7)  # one image is gone, and one is new


def pictures(images: tuple[int, ...], *, shade: int) -> tuple[str, str, bytes]:
    files = {f"{image}.jpg": jpeg(60, 40, shade=shade + image) for image in images}
    return "images", "images.zip", zipped(files)


@pytest.fixture
def scene(platform: Platform, people: tuple[TestClient, TestClient]) -> Scene:
    """A phase whose boards show a version with pictures."""
    found = new_scene(platform, people, pictures(IMAGES, shade=10))
    found.work()
    return found


def listed(scene: Scene) -> list[str]:
    """The names of the images of test."""
    found = scene.organiser.get(f"/api/v1/challenges/{scene.code}/test/images").json()
    assert found["made"] == len(found["images"]), found
    return [each["name"] for each in found["images"]]


def view(scene: Scene, image: int) -> bytes:
    """The picture of an image as organisers see it."""
    found = scene.organiser.get(f"/api/v1/challenges/{scene.code}/test/images").json()
    address = next(each["thumbnail"] for each in found["images"] if each["name"] == str(image))
    return scene.organiser.get(address).content


def copies(scene: Scene) -> set[str]:
    """The copies of the phase's images that are stored: of those it has, and of those that wait."""
    now = select(PictureBatch.copy_key).where(PictureBatch.phase_id == scene.phase.id)
    waiting = (
        select(NextPictureBatch.copy_key)
        .join(GroundTruth, GroundTruth.id == NextPictureBatch.ground_truth_id)
        .where(GroundTruth.phase_id == scene.phase.id)
    )
    with scene.platform.transaction() as session:
        return {key for key in session.scalars(now.union(waiting)) if key}


def names(images: tuple[int, ...]) -> list[str]:
    return [str(image) for image in images]


@pytest.mark.sampled
def test_pictures_of_a_version_are_shown_with_the_switch_of_the_boards(scene: Scene) -> None:
    before, old = view(scene, 2), copies(scene)

    scene.applied(coco(OTHERS), pictures(OTHERS, shade=90), accept_changes=True)
    scene.work()

    assert listed(scene) == names(IMAGES)
    assert view(scene, 2) == before
    assert scene.rescore().status_code == 202
    assert listed(scene) == names(OTHERS)
    assert view(scene, 2) != before
    assert not copies(scene) & old
    assert not any(scene.platform.truths.exists(key) for key in old)
    assert all(scene.platform.truths.exists(key) for key in copies(scene))


@pytest.mark.sampled
def test_pictures_wait_on_if_scoring_again_is_abandoned(scene: Scene) -> None:
    assert scene.confirm(scene.upload(detections())).status_code == 201
    scene.work()
    before = copies(scene)
    scene.applied(coco(OTHERS), pictures(OTHERS, shade=90), accept_changes=True)
    assert scene.organiser.post(f"{ORGANISE}/{scene.code}/test/rescore").status_code == 202
    with scene.platform.transaction() as session:
        [rescore] = rescoring.open_rescores(session, [scene.phase.id]).values()

    ended = scene.organiser.post(f"{ORGANISE}/rescores/{rescore.id}/abandon")
    assert ended.status_code == 204, ended.text
    scene.work()
    making.show_due(scene.platform)

    assert listed(scene) == names(IMAGES)
    assert copies(scene) > before
    assert all(scene.platform.truths.exists(key) for key in copies(scene))


@pytest.mark.sampled
def test_pictures_sent_again_replace_those_that_wait(scene: Scene) -> None:
    now = copies(scene)
    scene.applied(coco(OTHERS), pictures(OTHERS, shade=90), accept_changes=True)
    first = copies(scene) - now

    again = scene.applied(coco(OTHERS), pictures(OTHERS, shade=150), accept_changes=True)

    assert again["message"] == (
        "This annotation equals version 2, the newest of test; only its images were taken."
    )
    assert not any(scene.platform.truths.exists(key) for key in first)
    assert (listed(scene), now < copies(scene)) == (names(IMAGES), True)
    scene.rescore()
    assert listed(scene) == names(OTHERS)


@pytest.mark.sampled
def test_pictures_of_the_version_on_the_boards_change_at_once(scene: Scene) -> None:
    before = view(scene, 2)

    scene.applied(coco(), pictures(IMAGES, shade=90))
    scene.work()

    assert listed(scene) == names(IMAGES)
    assert view(scene, 2) != before


@pytest.mark.sampled
def test_a_version_without_pictures_keeps_the_newest_before_it(scene: Scene) -> None:
    scene.applied(coco(shift=1.0), pictures(IMAGES, shade=90))
    before = view(scene, 2)
    scene.applied(coco(shift=2.0))

    assert scene.rescore().status_code == 202

    assert scene.shown() == ({3}, 3, 6)
    assert view(scene, 2) != before
    with scene.platform.transaction() as session:
        assert session.scalar(waiting_of(scene)) == 0


@pytest.mark.sampled
def test_pictures_that_stay_the_same_are_stored_and_made_once(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "JPEGImages"
    folder.mkdir()
    for image in IMAGES:
        (folder / f"{image}.jpg").write_bytes(jpeg(60, 40, shade=image))
    import_images(scene, tmp_path)
    scene.work()
    before = copies(scene)
    scene.applied(coco(shift=1.0))

    import_images(scene, tmp_path)

    assert copies(scene) == before
    assert scene.rescore().status_code == 202
    assert copies(scene) == before
    assert all(scene.platform.truths.exists(key) for key in before)
    assert listed(scene) == names(IMAGES)


@pytest.mark.sampled
def test_the_next_sweep_shows_pictures_of_a_version_that_an_older_process_switched_to(scene: Scene) -> None:
    scene.applied(coco(OTHERS), pictures(OTHERS, shade=90), accept_changes=True)
    old = copies_now(scene)
    with scene.platform.transaction() as session:
        phase = challenges.lock_phase(session, scene.phase.id)
        newest = challenges.newest_truth(session, phase.id)
        assert newest is not None
        versions.show(session, phase, newest, heldout_scoring.SCORER)
    assert listed(scene) == names(IMAGES)

    making.show_due(scene.platform)
    scene.work()

    assert listed(scene) == names(OTHERS)
    assert not any(scene.platform.truths.exists(key) for key in old)


@pytest.mark.sampled
def test_linked_images_change_with_the_boards(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "JPEGImages"
    folder.mkdir()
    for image in OTHERS:
        (folder / f"{image}.jpg").write_bytes(jpeg(60, 40, shade=image))
    scene.applied(coco(OTHERS), accept_changes=True)
    before = view(scene, 2)

    import_images(scene, tmp_path, ImageMode.LINK)
    scene.work()

    assert (listed(scene), view(scene, 2)) == (names(IMAGES), before)
    scene.rescore()
    assert listed(scene) == names(OTHERS)
    assert view(scene, 2) != before


@pytest.mark.sampled
def test_removing_the_images_of_a_phase_removes_those_that_wait(scene: Scene) -> None:
    scene.applied(coco(OTHERS), pictures(OTHERS, shade=90), accept_changes=True)
    stored = copies(scene)

    assert making.remove(scene.platform, scene.phase.id)

    assert not copies(scene)
    assert not any(scene.platform.truths.exists(key) for key in stored)


@pytest.mark.sampled
def test_copies_that_wait_are_named_for_the_sweep_of_contents(scene: Scene) -> None:
    scene.applied(coco(OTHERS), pictures(OTHERS, shade=90), accept_changes=True)

    with scene.platform.transaction() as session:
        assert retention.removable(session, "truth", copies(scene)) == set()


def import_images(scene: Scene, tree: Path, mode: ImageMode = ImageMode.COPY) -> None:
    """Import the images of a folder as the command line does, for the newest version."""
    assert making.import_images(scene.platform, scene.phase.id, tree, mode) is not None


def copies_now(scene: Scene) -> set[str]:
    """The copies of the images that the phase has now."""
    with scene.platform.transaction() as session:
        found = session.scalars(select(PictureBatch.copy_key).where(PictureBatch.phase_id == scene.phase.id))
        return {key for key in found if key}


def waiting_of(scene: Scene) -> Select[int]:
    """How many batches of images of the phase wait."""
    of_phase = GroundTruth.phase_id == scene.phase.id
    joined = join(NextPictureBatch, GroundTruth, GroundTruth.id == NextPictureBatch.ground_truth_id)
    return select(func.count()).select_from(joined).where(of_phase)
