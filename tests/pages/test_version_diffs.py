"""What changed between two versions of annotation: counted by a worker, for the organiser who asked alone."""

import json
from typing import Any

import pytest
from sqlalchemy import func, select, update

from app.core.errors import NotFoundError
from app.intake import version_diffs
from app.models import AuditRecord, Job, JobKind, RequestedDiff
from app.organising import roles
from tests.kills import LONG_AGO, assert_all_or_nothing, work_again
from tests.pages.test_going_back import organiser_of, truths_of
from tests.pages.test_versions import Scene, coco, people, scene
from tests.working import do_all

__all__ = ["people", "scene"]


def changed_boxes() -> bytes:
    """Every box 3 pixels to the right, a cat less, and a dog that is an owl."""
    found = json.loads(coco(shift=3.0))
    del found["annotations"][0]
    found["annotations"][0]["category_id"] = 3
    return json.dumps(found).encode()


def compared(scene: Scene, after: int, before: int) -> dict[str, Any]:
    """Have versions compared; return what the API says then."""
    address = f"{truths_of(scene)}/{after}/changes/{before}"
    asked = scene.organiser.post(address)
    assert asked.status_code == 202, asked.text
    do_all(scene.platform)
    found: dict[str, Any] = scene.organiser.get(address).json()
    return found


@pytest.mark.sampled
def test_a_worker_counts_what_changed_and_by_how_much(scene: Scene) -> None:
    scene.applied(changed_boxes())

    there, back = compared(scene, 2, 1)["found"], compared(scene, 1, 2)["found"]

    counts = {
        what: there["comparison"][what] for what in ("moved", "relabelled", "added", "removed", "images_gone")
    }
    assert counts == {"moved": 16, "relabelled": 1, "added": 0, "removed": 1, "images_gone": 0}
    by_class = {
        row["name"]: (row["moved"], row["gained"], row["lost"], row["removed"]) for row in there["classes"]
    }
    assert by_class == {"cat": (5, 0, 0, 1), "dog": (5, 0, 1, 0), "owl": (6, 1, 0, 0)}
    assert there["shift"] == {
        "median": 3.0, "largest": 3.0, "median_iou": pytest.approx(70 / 130), "lowest_iou": pytest.approx(70 / 130),
    }  # fmt: skip
    assert (back["comparison"]["added"], back["comparison"]["removed"]) == (1, 0)
    page = scene.page(f"/organise/phases/{scene.phase.id}/ground-truth/2/changes/1")
    assert "objects: 16 moved, 1 changed the class, 1 removed" in page
    assert "Moved by 3.0 pixels in the median, 3.0 at most" in page
    assert "had version 2 of test compared with version 1" in scene.page(
        f"/organise/challenges/{scene.code}/audit"
    )


@pytest.mark.sampled
def test_a_version_that_was_gone_back_to_differs_in_nothing(scene: Scene) -> None:
    scene.applied(coco(shift=1.0))
    scene.applied(coco())

    found = compared(scene, 3, 1)["found"]

    assert (found["classes"], found["shift"]) == ([], None)
    page = scene.page(f"/organise/phases/{scene.phase.id}/ground-truth/3/changes/1")
    assert "Nothing that counts differs" in page


@pytest.mark.sampled
def test_nobody_but_the_organiser_who_asked_sees_what_changed(scene: Scene) -> None:
    scene.applied(changed_boxes())
    assert compared(scene, 2, 1)["found"]
    address = f"{truths_of(scene)}/2/changes/1"
    page = f"/organise/phases/{scene.phase.id}/ground-truth/2/changes/1"

    as_participant = scene.ash.get(address), scene.ash.post(address), scene.ash.get(page)
    scene.ash.post(f"/role-links/{roles.create_organiser_link(scene.platform, scene.code)}")
    as_colleague = scene.ash.get(address)

    assert [each.status_code for each in as_participant] == [403, 403, 403]
    assert as_colleague.status_code == 200
    assert (as_colleague.json()["found"], as_colleague.json()["is_waiting"]) == (None, False)
    assert "pixels in the median" not in scene.ash.get(page, headers={"Accept": "text/html"}).text
    with scene.platform.transaction() as session:
        [row] = session.scalars(
            select(RequestedDiff).where(RequestedDiff.user_id == organiser_of(scene).user_id)
        ).all()[-1:]
    stored = json.dumps(row.report)
    assert not [
        name for name in ("bbox", "1.jpg", "[8", "17.0") if name in stored
    ]  # neither places nor images


@pytest.mark.sampled
def test_versions_that_cannot_be_compared_are_refused(scene: Scene) -> None:
    same, unknown = (scene.organiser.post(f"{truths_of(scene)}/1/changes/{other}") for other in (1, 9))

    assert (same.status_code, "Choose two versions that are not the same" in same.text) == (422, True)
    assert (unknown.status_code, "there is no version 9 of this phase" in unknown.text) == (404, True)


def test_a_comparison_is_deleted_after_a_month(scene: Scene) -> None:
    scene.applied(coco(shift=1.0))
    assert compared(scene, 2, 1)["found"]
    version_diffs.delete_expired(scene.platform)
    actor = organiser_of(scene)
    assert version_diffs.view(scene.platform, actor, scene.phase.id, 1, 2).found

    with scene.platform.transaction() as session:
        session.execute(update(RequestedDiff).values(requested_at=LONG_AGO - version_diffs.KEPT))
    version_diffs.delete_expired(scene.platform)

    assert version_diffs.view(scene.platform, actor, scene.phase.id, 1, 2).found is None
    with pytest.raises(NotFoundError):
        version_diffs.view(scene.platform, actor, scene.phase.id, 1, 3)


def test_a_kill_at_any_statement_of_asking_leaves_before_or_after(scene: Scene) -> None:
    scene.applied(coco(shift=1.0))
    actor, phase_id, recorded = organiser_of(scene), scene.phase.id, [0]

    def audits() -> int:
        asked = AuditRecord.subject == f"phase {phase_id}", AuditRecord.action == "phase.compare"
        with scene.platform.transaction() as session:
            return session.scalars(select(func.count()).where(*asked)).one()

    def state(_: Scene) -> list[int | None]:
        with scene.platform.transaction() as session:
            jobs = select(func.count()).where(Job.kind == JobKind.VERSION_DIFF)
            waiting = RequestedDiff.user_id == actor.user_id, RequestedDiff.report.is_(None)
            counts = [session.scalar(each) for each in (jobs, select(func.count()).where(*waiting))]
        return [*counts, audits() - recorded[0]]

    def prepare() -> Scene:
        work_again(scene.platform)
        recorded[0] = audits()
        return scene

    def ask(_: Scene) -> None:
        version_diffs.request(scene.platform, actor, phase_id, 1, 2)

    assert assert_all_or_nothing(scene.platform, prepare, ask, state) > 5
