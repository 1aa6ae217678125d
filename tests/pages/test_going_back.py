"""Earlier versions of annotation that organisers go back to, and what they say of each version."""

import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update
from starlette.testclient import TestClient

import heldout_scoring
from app.challenges import challenges
from app.core.access import Actor
from app.core.errors import ConflictError, ForbiddenError
from app.intake import going_back, importing
from app.intake.going_back import GoingBack
from app.intake.importing import TreeImport
from app.jobs import attempts
from app.models import (
    AuditRecord,
    Challenge,
    ChallengeOrganiser,
    ChallengeRole,
    ChallengeVisibility,
    Disclosure,
    Event,
    EventKind,
    GroundTruth,
    ImageMode,
    Intake,
    Job,
    JobKind,
    NextPictures,
    Phase,
    PictureSource,
    Queue,
    Run,
    Trial,
    TruthCopy,
    User,
)
from app.platform import Platform
from tests.confirming import confirm_rescores
from tests.kills import assert_all_or_nothing
from tests.pages.test_version_pictures import pictures
from tests.pages.test_versions import IMAGES, Scene, coco, detections, kit_phase, new_scene, people, scene
from tests.system.kits import small_kit
from tests.working import do_all
from worker.handlers import HANDLERS

__all__ = ["people", "scene"]

HTML = {"Accept": "text/html"}


def truths_of(scene: Scene) -> str:
    return f"/api/v1/organise/phases/{scene.phase.id}/ground-truth"


def use(scene: Scene, version: int, newest: int, note: str = "") -> Any:
    """Ask to go back to a version."""
    return scene.organiser.post(
        f"{truths_of(scene)}/{version}/use", json={"newest": newest, "note": note}, headers={}
    )


def listed(scene: Scene) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scene.organiser.get(truths_of(scene)).json()
    return found


def organiser_of(scene: Scene) -> Actor:
    """Who applied its first version, as an organiser without more rights."""
    with scene.platform.transaction() as session:
        found = select(Intake.user_id, Intake.challenge_id).where(Intake.phase_id == scene.phase.id)
        user_id, challenge_id = session.execute(found.limit(1)).one()
    return Actor(user_id=user_id, organises=frozenset({challenge_id}))


def organising(user_id: int, challenge_id: int) -> ChallengeOrganiser:
    return ChallengeOrganiser(challenge_id=challenge_id, user_id=user_id, role=ChallengeRole.ORGANISER)


@pytest.mark.sampled
def test_an_earlier_version_becomes_the_next_under_a_content_of_its_own(scene: Scene) -> None:
    first = scene.confirm(scene.upload(detections()))
    assert first.status_code == 201, first.text
    scene.work()
    scene.applied(coco((*IMAGES, 7), shift=1.0), note="Boxes of the second pass ")
    scene.rescore()
    assert scene.shown() == ({2}, 2, 7)

    asked = use(scene, 1, newest=2, note="The second pass was worse")
    waiting = scene.organiser.get(f"{truths_of(scene)}/1").json()["copy"]
    refused = scene.organiser.post(f"/api/v1/organise/{scene.code}/test/rescore")
    do_all(scene.platform)

    assert asked.status_code == 202, asked.text
    assert (waiting["version"], waiting["asked_by"], waiting["message"]) == (1, "Ash Grove", "")
    assert (refused.status_code, "a worker goes back to version 1" in refused.text) == (409, True)
    assert scene.shown() == ({2}, 3, 7)
    assert [(each["version"], each["copied_from"], each["note"], each["images"]) for each in listed(scene)] == [
        (3, 1, "The second pass was worse", 6), (2, None, "Boxes of the second pass", 7), (1, None, "", 6),
    ]  # fmt: skip
    with scene.platform.transaction() as session:
        rows = select(GroundTruth).where(GroundTruth.phase_id == scene.phase.id).order_by(GroundTruth.version)
        one, _, three = session.scalars(rows)
        tried = session.get(Trial, three.id)
        assert session.get(TruthCopy, scene.phase.id) is None
    assert (one.fingerprint, one.labels, one.statistics) == (
        three.fingerprint,
        three.labels,
        three.statistics,
    )
    assert one.key != three.key
    assert one.image_labels_key != three.image_labels_key
    assert tried is not None
    assert scene.platform.truths.exists(three.key)
    assert scene.rescore().status_code == 202
    assert scene.shown() == ({3}, 3, 6)
    with scene.platform.transaction() as session:
        receipt = session.scalars(select(Run.receipt).where(Run.ground_truth_id == three.id)).one()
    assert scene.ash.get(f"/api/v1/receipts/{receipt}").json()["ground_truth"] == 3


@pytest.mark.sampled
def test_organisers_are_told_and_the_audit_says_who_went_back(scene: Scene) -> None:
    scene.applied(coco(shift=1.0))
    use(scene, 1, newest=2)
    do_all(scene.platform)

    with scene.platform.transaction() as session:
        told = session.scalars(
            select(Event.details).where(Event.phase_id == scene.phase.id, Event.kind == EventKind.TRUTH_READY)
        ).all()
    audit = scene.page(f"/organise/challenges/{scene.code}/audit")
    assert {"version": 3, "is_shown": False, "copied_from": 1} in told
    assert "asked to go back to version 1 of test" in audit
    assert "applied version 3, which is version 1 again, to test" in audit


@pytest.mark.sampled
def test_what_cannot_be_gone_back_to_is_refused_with_a_sentence_and_changes_nothing(scene: Scene) -> None:
    for shift in (1.0, 0.0):
        scene.applied(coco(shift=shift))

    same, newest, outdated, unknown = (
        use(scene, version, newest) for version, newest in ((1, 3), (3, 3), (2, 2), (9, 3))
    )

    assert (same.status_code, newest.status_code, outdated.status_code) == (409, 409, 409)
    assert "version 1 has the same annotation as version 3, the newest, so nothing would change" in same.text
    assert "version 3 is the newest already, so nothing would change" in newest.text
    assert "version 3 was applied meanwhile, so 2 is not the newest any more" in outdated.text
    assert (unknown.status_code, "there is no version 9 of this phase" in unknown.text) == (404, True)
    assert scene.rescore().status_code == 202  # nothing is under way


@pytest.mark.sampled
def test_nobody_goes_back_while_everything_is_scored_again(scene: Scene) -> None:
    assert scene.confirm(scene.upload(detections())).status_code == 201
    scene.work()
    scene.applied(coco(shift=1.0))
    assert scene.organiser.post(f"/api/v1/organise/{scene.code}/test/rescore").status_code == 202

    refused = use(scene, 1, newest=2)

    assert (refused.status_code, "this phase is being scored again" in refused.text) == (409, True)
    confirm_rescores(scene.platform)
    scene.work()
    assert use(scene, 1, newest=2).status_code == 202


@pytest.mark.sampled
def test_of_two_organisers_at_once_one_wins_and_the_other_is_told(scene: Scene) -> None:
    for shift in (1.0, 2.0):
        scene.applied(coco(shift=shift))
    actor, outcomes = organiser_of(scene), list[str]()

    def ask(version: int) -> None:
        try:
            going_back.request(scene.platform, actor, scene.phase.id, version, GoingBack(newest=3))
        except ConflictError as error:
            outcomes.append(str(error))
        else:
            outcomes.append("")

    threads = [threading.Thread(target=ask, args=(version,)) for version in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    do_all(scene.platform)

    won, told = sorted(outcomes)
    assert (won, "a worker is going back to version" in told) == ("", True)
    assert [each["version"] for each in listed(scene)] == [4, 3, 2, 1]
    assert "version 4 was applied meanwhile" in use(scene, 2, newest=3).text


@pytest.mark.sampled
def test_who_went_back_reads_that_a_data_set_was_faster(scene: Scene) -> None:
    intake = scene.send(scene.code, ("hidden", "test.json", coco(shift=2.0)))
    scene.read(intake)
    scene.applied(coco(shift=1.0))
    assert use(scene, 1, newest=2).status_code == 202
    with scene.platform.transaction() as session:
        session.execute(
            update(TruthCopy).where(TruthCopy.phase_id == scene.phase.id).values(newest=1)
        )  # as if version 2 had been applied after it

    do_all(scene.platform)

    page = scene.page(f"/organise/challenges/{scene.code}/ground-truth")
    assert "Ash Grove asked to go back to version 1" in page
    assert "Version 2 was applied meanwhile, so 1 is not the newest any more; look at it first." in page
    assert [each["version"] for each in listed(scene)] == [2, 1]
    assert use(scene, 1, newest=2).status_code == 202
    do_all(scene.platform)
    assert "asked to go back" not in scene.page(f"/organise/challenges/{scene.code}/ground-truth")


def test_a_worker_does_not_go_back_in_a_challenge_that_was_archived_meanwhile(scene: Scene) -> None:
    scene.applied(coco(shift=1.0))
    assert use(scene, 1, 2).status_code == 202
    with scene.platform.transaction() as session:
        values = {"archived_at": func.now()}
        session.execute(update(Challenge).where(Challenge.code == scene.code).values(values))

    do_all(scene.platform)

    with scene.platform.transaction() as session:
        [row] = session.scalars(select(TruthCopy).where(TruthCopy.phase_id == scene.phase.id))
        assert "This challenge is archived" in row.message
        newest = select(func.max(GroundTruth.version)).where(GroundTruth.phase_id == scene.phase.id)
        assert session.scalar(newest) == 2


@pytest.mark.sampled
def test_pictures_that_wait_with_later_versions_are_not_shown_with_an_earlier_one(
    platform: Platform, people: tuple[TestClient, TestClient]
) -> None:
    scene = new_scene(platform, people, pictures(IMAGES, shade=10))
    scene.applied(coco(shift=1.0), pictures(IMAGES, shade=20))
    of_phase = select(func.count()).select_from(NextPictures).join(GroundTruth)
    use(scene, 1, newest=2)
    do_all(platform)

    with platform.transaction() as session:
        waiting = session.scalar(of_phase.where(GroundTruth.phase_id == scene.phase.id))
        assert session.get(PictureSource, scene.phase.id) is not None
    assert waiting == 0
    scene.rescore()
    assert scene.shown() == ({3}, 3, 6)


@pytest.mark.sampled
def test_only_owners_go_back_where_annotation_is_public_and_nobody_publishes_what_others_hide(
    platform: Platform, people: tuple[TestClient, TestClient]
) -> None:
    other, scene = (
        new_scene(platform, people) for _ in range(2)
    )  # what was public first is hidden by nobody
    scene.applied(coco(shift=1.25))
    public = update(Phase).where(Phase.id == scene.phase.id).values(disclosure=Disclosure.FULL)
    with platform.transaction() as session:
        session.execute(public)

    with pytest.raises(ForbiddenError, match="Only owners of the challenge publish annotation"):
        going_back.request(platform, organiser_of(scene), scene.phase.id, 1, GoingBack(newest=2))
    assert use(scene, 1, newest=2).status_code == 202
    do_all(platform)
    page = scene.page(f"/organise/challenges/{scene.code}/ground-truth")
    assert "keeps the same annotation hidden, so only an admin may publish it" in page
    assert other.code not in page
    with platform.transaction() as session:
        others = update(Challenge).where(Challenge.code != scene.code)
        session.execute(others.values(visibility=ChallengeVisibility.DRAFT))
    assert use(scene, 1, newest=2).status_code == 202
    do_all(platform)
    assert [each["copied_from"] for each in listed(scene)] == [1, None, None]


def test_organisers_say_of_each_version_what_is_new(scene: Scene) -> None:
    here = f"/organise/phases/{scene.phase.id}/ground-truth/1"

    by_form = scene.organiser.post(f"{here}/note", data={"note": " First <pass> "}, headers=HTML)
    too_long = scene.organiser.post(f"{here}/note", data={"note": "x" * 301}, headers=HTML)
    by_api = scene.organiser.get(f"/api/v1{here}").json()

    assert (by_form.status_code, too_long.status_code) == (303, 422)
    assert "must have at most 300 characters" in too_long.text
    assert (by_api["version"]["note"], len(by_api["classes"])) == ("First <pass>", 3)
    page = scene.page(here)
    assert "6 images, 18 objects, 3 classes" in page
    assert "Use this one" not in page  # it is the newest
    assert "First &lt;pass&gt;" in scene.page(f"/organise/challenges/{scene.code}/ground-truth")
    assert "changed the note on version 1 of test" in scene.page(f"/organise/challenges/{scene.code}/audit")
    scene.organiser.put(f"/api/v1{here}/note", json={"note": ""})
    assert listed(scene)[0]["note"] == ""


@pytest.mark.sampled
def test_the_form_goes_back_and_leads_to_the_list_or_says_why_not(scene: Scene) -> None:
    scene.applied(coco(shift=1.0))
    here = f"/organise/phases/{scene.phase.id}/ground-truth/1"
    assert "Go back to version 1" in scene.page(here)

    done = scene.organiser.post(f"{here}/use", data={"newest": "2", "copy-note": "Better"}, headers=HTML)
    again = scene.organiser.post(f"{here}/use", data={"newest": "2", "copy-note": "Better"}, headers=HTML)

    assert done.headers["location"] == f"/organise/phases/{scene.phase.id}/ground-truth"
    assert again.status_code == 409
    assert "is going back to version 1 already, which Ash Grove asked for" in again.text
    do_all(scene.platform)
    assert listed(scene)[0]["note"] == "Better"


@pytest.mark.sampled
def test_a_kill_at_any_statement_of_going_back_leaves_before_or_after(
    platform: Platform, people: tuple[TestClient, TestClient], tmp_path: Path
) -> None:
    with platform.transaction() as session:
        user_id = session.scalars(select(User.id).order_by(User.id).limit(1)).one()
    fewer = heldout_scoring.read_tree(small_kit(tmp_path / "fewer", without=1), "test")

    def prepare() -> int:
        with platform.transaction() as session:
            session.execute(delete(Job))
        code = kit_phase(platform, tmp_path)
        importing.import_truth(platform, TreeImport(tmp_path, code, "test"), fewer)
        with platform.transaction() as session:
            phase = session.scalars(select(Phase).join(Challenge).where(Challenge.code == code)).one()
            newest = challenges.newest_truth(session, phase.id)
            assert newest is not None
            session.add(NextPictures(ground_truth_id=newest.id, mode=ImageMode.LINK, folder="/"))
            session.add(organising(user_id, phase.challenge_id))
        actor = Actor(user_id=user_id, organises=frozenset({phase.challenge_id}))
        going_back.request(platform, actor, phase.id, 1, GoingBack(newest=2, note="Better"))
        return phase.id

    def state(phase_id: int) -> list[Any]:
        with platform.transaction() as session:
            of_phase = GroundTruth.phase_id == phase_id
            copied = select(GroundTruth.version, GroundTruth.copied_from, GroundTruth.note).where(of_phase)
            counts = [
                select(func.count()).select_from(NextPictures).join(GroundTruth).where(of_phase),
                select(func.count()).select_from(Trial).join(GroundTruth).where(of_phase),
                select(func.count()).select_from(Event).where(Event.phase_id == phase_id),
                select(func.count()).where(AuditRecord.subject == f"phase {phase_id}"),
                select(func.count()).where(Job.kind == JobKind.TRIALS),
                select(func.count()).where(TruthCopy.phase_id == phase_id),
            ]
            versions = [tuple(row) for row in session.execute(copied.order_by(GroundTruth.version))]
            return [versions, *(session.scalar(each) for each in counts)]

    def go_back(_: int) -> None:
        with platform.transaction() as session:
            session.execute(update(Job).values(lease_until=None, not_before=None))
        attempts.do_next(platform, Queue.ORGANISING, HANDLERS)

    assert assert_all_or_nothing(platform, prepare, go_back, state, every=2) > 20


def test_a_page_lists_the_newest_versions_and_puts_the_others_away(scene: Scene) -> None:
    phase = scene.phase.id
    with scene.platform.transaction() as session:
        [first] = session.scalars(select(GroundTruth).where(GroundTruth.phase_id == phase))
        same = {
            "phase_id": phase, "statistics": first.statistics, "description_key": first.description_key,
            "not_offered": first.not_offered,
        }  # fmt: skip
        session.add_all(GroundTruth(version=each, fingerprint=f"{each}", **same) for each in range(2, 26))

    listed = scene.page(f"/organise/challenges/{scene.code}/ground-truth")
    version = scene.page(f"/organise/phases/{phase}/ground-truth/25")

    newest, _, earlier = listed.partition("<summary>15 earlier versions</summary>")
    assert newest.count(f'<a class="name" href="/organise/phases/{phase}/ground-truth/') == 10
    assert 'ground-truth/15"' in earlier
    assert "<summary>14 earlier versions to compare with</summary>" in version
    for each in range(1, 25):
        assert f'href="/organise/phases/{phase}/ground-truth/{each}"' in listed
        assert f'href="/organise/phases/{phase}/ground-truth/25/changes/{each}"' in version
