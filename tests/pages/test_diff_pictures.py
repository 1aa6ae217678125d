"""Images that differ between two versions, drawn by a worker for the organiser who asked, for ten minutes."""

import io
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.intake import diff_pictures, for_one
from app.models import Artefact, AuditRecord, Job, JobKind, Queue
from app.organising import roles
from app.platform import Platform
from tests.kills import assert_all_or_nothing, work_again
from tests.pages.test_going_back import organiser_of, truths_of
from tests.pages.test_version_diffs import changed_boxes
from tests.pages.test_version_pictures import pictures
from tests.pages.test_versions import IMAGES, Scene, coco, new_scene, people
from tests.working import do_all

__all__ = ["people"]


@pytest.fixture(scope="module")
def scene(platform: Platform, people: tuple[TestClient, TestClient]) -> Scene:
    """A phase with pictures and two versions."""
    found = new_scene(platform, people, pictures(IMAGES, shade=10))
    found.applied(changed_boxes())
    return found


def api(scene: Scene) -> str:
    return f"{truths_of(scene)}/2/changes/1/drawn"


def picture_of(scene: Scene, number: int) -> str:
    return f"{api(scene)}/{number}".removeprefix("/api/v1")


def drawn(scene: Scene) -> dict[str, Any]:
    asked = scene.organiser.post(api(scene))
    assert asked.status_code == 202, asked.text
    do_all(scene.platform)
    found: dict[str, Any] = scene.organiser.get(api(scene)).json()
    return found


def test_each_picture_has_what_was_removed_added_and_moved(scene: Scene) -> None:
    found = drawn(scene)
    page = scene.page(f"/organise/phases/{scene.phase.id}/ground-truth/2/changes/1")

    shown = found["drawn"]["pictures"]
    assert (found["drawn"]["changed"], found["is_waiting"]) == (6, False)
    assert [(each["image"], each["removed"], each["moved"], each["relabelled"]) for each in shown] == [
        ("1", 1, 1, 1), *((str(image), 0, 3, 0) for image in IMAGES[1:]),
    ]  # fmt: skip
    content = scene.organiser.get(picture_of(scene, 1))
    assert content.headers["cache-control"] == "no-store"
    with Image.open(io.BytesIO(content.content)) as picture:
        assert (picture.format, picture.size) == ("JPEG", (60, 40))
        assert len(picture.convert("RGB").getcolors(4000) or ()) > 20  # what was sent has one colour
    assert "1: 1 removed, 1 moved, 1 in another class" in page
    assert "6 of 6 images that differ, drawn for you alone" in page
    assert "had drawn what changed in version 2 of test since version 1" in scene.page(
        f"/organise/challenges/{scene.code}/audit"
    )


def test_nobody_else_sees_them_and_they_are_deleted_after_ten_minutes(scene: Scene) -> None:
    drawn(scene)
    page = picture_of(scene, 1)
    as_participant = {scene.ash.get(path).status_code for path in (api(scene), page)}
    scene.ash.post(f"/role-links/{roles.create_organiser_link(scene.platform, scene.code)}")

    as_colleague = scene.ash.get(page)

    assert as_participant == {403}
    assert as_colleague.status_code == 404
    assert scene.ash.get(api(scene)).json()["drawn"] is None
    assert scene.organiser.get(page).status_code == 200
    with scene.platform.transaction() as session:
        made = session.scalars(select(Artefact).where(Artefact.kind == for_one.CHANGED_PICTURES)).all()
        for each in made:
            each.created_at -= for_one.KEPT
        keys = [each.key for each in made]
    assert scene.organiser.get(page).status_code == 404
    for_one.delete_expired(scene.platform)
    assert keys
    assert not any(scene.platform.artefacts.exists(key) for key in keys)


@pytest.mark.sampled
def test_without_pictures_boxes_are_drawn_on_an_empty_one_and_nothing_is_said_to_be_nothing(
    platform: Platform, people: tuple[TestClient, TestClient]
) -> None:
    bare = new_scene(platform, people)
    bare.applied(coco(shift=1.0))
    bare.applied(coco())

    differs = drawn(bare)["drawn"]["pictures"]
    bare.organiser.post(f"{truths_of(bare)}/3/changes/1/drawn")
    do_all(platform)
    same = bare.organiser.get(f"{truths_of(bare)}/3/changes/1/drawn").json()["drawn"]

    assert [(each["width"], each["height"]) for each in differs] == [(960, 640)] * 6
    assert (same["pictures"], same["message"]) == (
        [], "No image that both versions have differs in boxes or classes.",
    )  # fmt: skip
    assert bare.organiser.post(f"{truths_of(bare)}/2/changes/2/drawn").status_code in (400, 422)


@pytest.mark.sampled
def test_a_kill_at_any_statement_leaves_before_or_after_and_another_worker_draws_all_the_same(
    scene: Scene,
) -> None:
    actor, phase_id = organiser_of(scene), scene.phase.id
    recorded = [0]

    def audits() -> int:
        own = select(func.count()).where(AuditRecord.subject == f"phase {phase_id}")
        with scene.platform.transaction() as session:
            return session.scalar(own) or 0

    def prepare() -> Scene:
        work_again(scene.platform)
        for_one.remove(scene.platform, Artefact.kind == for_one.CHANGED_PICTURES)
        recorded[0] = audits()
        return scene

    def prepare_asked() -> Scene:
        prepare()
        ask(scene)
        return scene

    def ask(_: Scene) -> None:
        diff_pictures.request(scene.platform, actor, phase_id, 1, 2)

    def work(_: Scene) -> None:
        with scene.platform.transaction() as session:
            session.execute(update(Job).values(lease_until=None, not_before=None))
        do_all(scene.platform, Queue.ORGANISING)

    def asked(_: Scene) -> list[Any]:
        jobs = select(func.count()).where(Job.kind == JobKind.DRAWN_DIFF)
        with scene.platform.transaction() as session:
            return [session.scalar(jobs), audits() - recorded[0]]

    def made(_: Scene) -> bool:
        return diff_pictures.shown(scene.platform, actor, phase_id, 1, 2).drawn is not None

    assert assert_all_or_nothing(scene.platform, prepare, ask, asked) > 3
    assert (
        assert_all_or_nothing(scene.platform, prepare_asked, work, made, lambda _: work_again(scene.platform))
        > 5
    )
