"""Versions of annotation as organisers and participants meet them: applied, compared, shown by the boards, and gone back to."""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

import heldout_scoring
from app.challenges import challenges, versions
from app.challenges.challenges import description_of
from app.evaluation import rescoring
from app.intake import importing, keys
from app.intake.importing import TreeImport, import_tree
from app.models import (
    AuditRecord,
    Board,
    Challenge,
    GroundTruth,
    ImageMode,
    NextPictureBatch,
    NextPictures,
    Phase,
    Picture,
    Queue,
    Rescore,
    Run,
    RunState,
)
from app.platform import Platform
from tests.confirming import confirm_rescores
from tests.kills import assert_all_or_nothing
from tests.pages.test_accounts import registered
from tests.pages.test_intake_reading import ORGANISE, Place
from tests.system.installations import STATEMENT
from tests.system.kits import small_kit
from tests.system.rows import Rows, made
from tests.working import do_all

NAMES = count(1)
CLASSES = ("cat", "dog", "owl")
IMAGES = tuple(range(1, 7))
HTML = {"Accept": "text/html"}


def coco(
    images: tuple[int, ...] = IMAGES,
    classes: tuple[str, ...] = CLASSES,
    *,
    shift: float = 0.0,
    first_id: int = 1,
    **more: Any,
) -> bytes:
    """COCO's JSON: an object of each class in each image; shift: of every box to the right."""
    numbers = {name: first_id + place for place, name in enumerate(classes)}
    entries = [
        {
            "id": 10 * image + number, "image_id": image, "category_id": number, "iscrowd": 0, "area": 100,
            "bbox": [5 + 12 * (number - first_id) + shift, 5, 10, 10],
        }
        for image in images
        for number in numbers.values()
    ]  # fmt: skip
    found = {
        "images": [{"id": image, "file_name": f"{image}.jpg", "width": 60, "height": 40} for image in images],
        "categories": [{"id": number, "name": name} for name, number in numbers.items()],
        "annotations": entries,
    }
    return json.dumps(found | more).encode()


def detections(images: tuple[int, ...] = IMAGES) -> bytes:
    """Results that find every object of these images."""
    found = json.loads(coco(images))["annotations"]
    names = ("image_id", "category_id", "bbox")
    return json.dumps([{name: each[name] for name in names} | {"score": 0.9} for each in found]).encode()


@dataclass
class Scene(Place):
    """A held-out challenge whose phase test was made of a data set, its organiser and a participant."""

    ash: TestClient
    code: str = ""

    def applied(self, content: bytes, *files: tuple[str, str, bytes], **more: Any) -> dict[str, Any]:
        """Send annotation with other files, have it read, and apply it to test."""
        intake = self.send(self.code, *files, ("hidden", "test.json", content))
        read = self.read(intake)
        assert read["state"] == "read", read
        return self.apply(intake, set="hidden-0", phase="test", **more)

    @property
    def phase(self) -> Phase:
        with self.platform.transaction() as session:
            of_code = select(Phase).join(Challenge).where(Challenge.code == self.code)
            return session.scalars(of_code).one()

    def rescore(self) -> Any:
        """Score everything again, as if the new scores were published; return the response."""
        asked = self.organiser.post(f"{ORGANISE}/{self.code}/test/rescore")
        confirm_rescores(self.platform)
        self.work()
        return asked

    def work(self) -> None:
        """Do what workers do until nothing is left."""
        do_all(self.platform, Queue.RUNS, Queue.ORGANISING, Queue.FOLLOW_UPS)
        rescoring.activate_complete(self.platform)
        do_all(self.platform, Queue.RUNS, Queue.ORGANISING, Queue.FOLLOW_UPS)

    def shown(self) -> tuple[set[int], int, int]:
        """The versions that the boards show, the newest version, and how many images are listed for the public."""
        phase_id = self.phase.id
        of_boards = select(GroundTruth.version).join(Board).where(Board.phase_id == phase_id)
        newest = select(func.max(GroundTruth.version)).where(GroundTruth.phase_id == phase_id)
        with self.platform.transaction() as session:
            found = set(session.scalars(of_boards)), session.scalars(newest).one()
        listed = self.ash.get(f"/challenges/{self.code}/test/images.txt")
        return *found, len(listed.text.split())

    def upload(self, content: bytes, name: str = "results.json") -> dict[str, Any]:
        address = f"/api/v1/challenges/{self.code}/test/uploads?filename={name}"
        sent = self.ash.put(address, content=content)
        assert sent.status_code == 201, sent.text
        found: dict[str, Any] = self.ash.get(f"/api/v1/uploads/{sent.json()['id']}").json()
        return found

    def confirm(self, upload: dict[str, Any]) -> Any:
        body = {
            "upload": upload["id"], "method": {"name": f"Method {next(NAMES)}"}, "training": STATEMENT,
        }  # fmt: skip
        return self.ash.post("/api/v1/submissions", json=body)

    def page(self, part: str) -> str:
        return " ".join(self.organiser.get(part, headers=HTML).text.split())


@pytest.fixture(scope="module")
def people(app: FastAPI, platform: Platform) -> Iterator[tuple[TestClient, TestClient]]:
    with (
        TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False) as organiser,
        TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False) as ash,
    ):
        keys.check(platform)
        yield registered(organiser, "olga@versions.example"), registered(ash, "ash@versions.example")


def new_scene(
    platform: Platform, people: tuple[TestClient, TestClient], *files: tuple[str, str, bytes]
) -> Scene:
    scene = Scene(platform, people[0], people[1])
    scene.code = scene.challenge()
    assert scene.applied(coco(), *files, quotas="9/7")["version"] == 1
    return scene


@pytest.fixture
def scene(platform: Platform, people: tuple[TestClient, TestClient]) -> Scene:
    return new_scene(platform, people)


@pytest.mark.sampled
def test_annotation_of_an_earlier_version_becomes_the_next_and_the_boards_show_it(scene: Scene) -> None:
    first = scene.confirm(scene.upload(detections()))
    assert first.status_code == 201, first.text
    scene.work()
    for shift in (1.0, 2.0):
        scene.applied(coco(shift=shift))
    assert scene.rescore().status_code == 202
    assert scene.shown() == ({3}, 3, 6)

    back = scene.applied(coco(shift=1.0))

    assert (back["version"], "nothing was changed" in back["message"]) == (4, False)
    assert scene.shown() == ({3}, 4, 6)
    assert scene.rescore().status_code == 202
    assert scene.shown() == ({4}, 4, 6)
    with scene.platform.transaction() as session:
        keys_of = session.scalars(
            select(GroundTruth.fingerprint)
            .where(GroundTruth.phase_id == scene.phase.id)
            .order_by(GroundTruth.version)
        ).all()
    assert keys_of[1] == keys_of[3] != keys_of[2]


@pytest.mark.sampled
def test_only_what_equals_the_newest_version_changes_nothing_and_says_so(scene: Scene) -> None:
    reformatted = json.dumps(json.loads(coco()), indent=1).encode()

    same = scene.applied(reformatted)

    assert (same["version"], same["message"]) == (
        1,
        "This annotation equals version 1, the newest of test; nothing was changed.",
    )
    assert scene.shown() == ({1}, 1, 6)


@pytest.mark.sampled
def test_uploads_are_listed_checked_and_scored_by_the_version_of_the_boards(scene: Scene) -> None:
    whole, fewer = IMAGES, IMAGES[:-1]
    first = scene.confirm(scene.upload(detections(whole)))
    assert first.status_code == 201, first.text
    scene.work()
    scene.applied(coco(fewer), accept_changes=True)

    assert scene.shown() == ({1}, 2, 6)
    before = scene.upload(detections(whole), "before.json")
    assert before["valid"]

    assert scene.rescore().status_code == 202  # the result with the image that is gone awaits a decision
    assert scene.shown() == ({1}, 2, 6)
    with scene.platform.transaction() as session:
        [rescore] = rescoring.open_rescores(session, [scene.phase.id]).values()
    [undecided] = rescore.undecided
    assert "version 2 of the annotation of test has replaced the one before" in str(undecided.failure_message)
    kept = scene.organiser.post(f"{ORGANISE}/runs/{undecided.run}/decision", json={"choice": "keep"})
    assert kept.status_code < 300, kept.text
    scene.work()

    assert scene.shown() == ({2}, 2, 5)
    told = " ".join(scene.ash.get(f"/uploads/{before['id']}", headers=HTML).text.split())
    assert (
        "The annotation of test was replaced after this check. It will be checked again when you submit it, at no cost."
        in told
    )
    sentence = (
        "this archive was valid until the annotation of test was replaced, with other images or classes; fix the problems in its report"
        " and upload it again. The checks were free"
    )
    sent = {"method": "Formnet", "competition": "3"}
    by_form = scene.ash.post(f"/uploads/{before['id']}", data=sent, headers=HTML)
    assert (by_form.status_code, sentence in " ".join(by_form.text.split())) == (409, True)
    refused = scene.confirm(before)
    assert refused.status_code == 422, refused.text
    assert sentence in refused.text
    checked = scene.ash.get(f"/api/v1/uploads/{before['id']}").json()
    assert not checked["valid"]
    assert checked["report"]["warnings"][0]["message"] == sentence
    assert sentence in scene.ash.get(f"/uploads/{before['id']}", headers=HTML).text
    assert 'id="outdated"' not in scene.ash.get(f"/uploads/{before['id']}", headers=HTML).text
    assert "none of the 5 images" in json.dumps(checked["report"])
    after = scene.confirm(scene.upload(detections(fewer), "after.json"))
    assert after.status_code == 201, after.text


@pytest.mark.sampled
def test_a_submission_that_waits_for_a_switch_is_refused_with_a_sentence_and_costs_nothing(
    scene: Scene,
) -> None:
    waiting = scene.confirm(scene.upload(detections()))
    assert waiting.status_code == 201, waiting.text
    scene.applied(coco(IMAGES[:-1]), accept_changes=True)

    assert scene.organiser.post(f"{ORGANISE}/{scene.code}/test/rescore").status_code == 202
    rescoring.activate_complete(scene.platform)
    assert scene.shown() == ({2}, 2, 5)
    scene.work()

    [result] = scene.ash.get(f"/api/v1/submissions/{waiting.json()['id']}").json()["results"]
    assert result["state"] == "refused"
    sentence = json.dumps(result)
    assert "version 2 of the annotation of test has replaced the one before" in sentence
    assert "this does not count" in sentence
    again = scene.confirm(scene.upload(detections(IMAGES[:-1]), "again.json"))
    assert again.status_code == 201, again.text


@pytest.mark.sampled
def test_boxes_that_move_do_not_have_uploads_checked_again(scene: Scene) -> None:
    upload = scene.upload(detections())
    scene.applied(coco(shift=1.0))
    assert scene.rescore().status_code == 202

    confirmed = scene.confirm(upload)

    assert confirmed.status_code == 201, confirmed.text
    again = scene.ash.get(f"/api/v1/uploads/{upload['id']}").json()
    assert again["checked_at"] == upload["checked_at"]


@pytest.mark.sampled
def test_a_phase_without_results_switches_by_scoring_again_and_its_pages_say_so(scene: Scene) -> None:
    truths = f"/organise/challenges/{scene.code}/ground-truth"
    applied = scene.applied(coco(shift=1.0))
    address = f"/organise/data-sets/{applied['id']}"

    assert "The boards of test show version 1, and this one once you" in scene.page(address)
    listed = scene.page(truths)
    assert (
        "The boards show version 1; the newest is version 2, which they show once everything is scored again."
        in listed
    )
    assert f"Score {scene.code} test again" in listed
    assert scene.rescore().status_code == 202
    assert scene.shown() == ({2}, 2, 6)
    assert "The boards of test show this version." in scene.page(address)
    listed = scene.page(truths)
    assert listed.count("on the boards</span>") == 1
    assert "on the boards once" not in listed
    assert listed.count("Ash Grove") >= 2  # who applied each of them
    found = scene.organiser.get(f"/api/v1/organise/phases/{scene.phase.id}/ground-truth").json()
    assert [(each["version"], each["applied_by"], each["is_shown"], each["is_newest"]) for each in found] == [
        (2, "Ash Grove", True, True), (1, "Ash Grove", False, False),
    ]  # fmt: skip
    assert found[0]["shown_from"] > found[0]["applied_at"] > found[1]["shown_from"]
    scene.applied(coco(shift=2.0))
    scene.rescore()
    assert "Version 3 was applied after it, and the boards of test show version 3." in scene.page(address)


@pytest.mark.sampled
def test_the_audit_names_the_version_that_was_applied_and_each_switch_of_boards(scene: Scene) -> None:
    scene.applied(coco(shift=1.0))
    scene.rescore()

    told = scene.page(f"/organise/challenges/{scene.code}/audit")

    assert "applied version 2 to test" in told
    assert "had the boards of test switched to version 2" in told


@pytest.mark.sampled
def test_a_competition_that_a_version_adds_gets_its_board_with_the_switch(scene: Scene) -> None:
    def boards() -> dict[int, int]:
        statement = (
            select(Board.competition, GroundTruth.version)
            .join(GroundTruth, Board.ground_truth_id == GroundTruth.id)
            .where(Board.phase_id == scene.phase.id)
        )
        with scene.platform.transaction() as session:
            return dict(session.execute(statement).all())

    before = boards()
    masks = json.loads(coco())
    for each in masks["annotations"]:
        left, top, width, height = each["bbox"]
        each["segmentation"] = [[left, top, left + width, top, left + width, top + height]]
    scene.applied(json.dumps(masks).encode())

    assert boards() == before
    scene.rescore()
    after = boards()
    assert before.keys() < after.keys()
    assert set(after.values()) == {2}
    assert not after.keys() & {int(number) for number in scene.phase.not_offered}


@pytest.mark.sampled
def test_scoring_again_waits_for_annotation_that_is_being_applied(scene: Scene) -> None:
    intake = scene.send(scene.code, ("hidden", "test.json", coco(shift=1.0)))
    scene.read(intake)
    asked = scene.organiser.post(
        f"{ORGANISE}/data-sets/{intake}/apply", json={"set": "hidden-0", "phase": "test"}
    )
    assert asked.status_code == 202

    refused = scene.organiser.post(f"{ORGANISE}/{scene.code}/test/rescore")

    assert refused.status_code == 409
    assert "a worker is applying a data set to this phase" in refused.text
    do_all(scene.platform)
    assert scene.rescore().status_code == 202
    assert scene.shown() == ({2}, 2, 6)


# comparing


@pytest.mark.sampled
def test_what_changes_is_shown_before_it_is_applied_and_takes_a_tick(scene: Scene) -> None:
    changed = json.loads(coco(IMAGES[:-1], ("cat", "dog", "grey owl"), shift=1.0))
    intake = scene.send(scene.code, ("hidden", "test.json", json.dumps(changed).encode()))
    [found] = scene.read(intake)["report"]["comparisons"]
    address = f"/organise/data-sets/{intake}"
    form = {
        "set": "hidden-0",
        "phase": "test",
        "disclosure": "",
        "quotas": "",
        "opens_at": "",
        "closes_at": "",
        "protocol": "",
    }

    assert {name: found[name] for name in ("phase", "version", "images_gone", "moved", "added", "removed")} == {
        "phase": "test", "version": 1, "images_gone": 1, "moved": 15, "added": 0, "removed": 0,
    }  # fmt: skip
    page = scene.page(address)
    for line in (
        "1 image is gone: results that have it will be refused",
        "classes renamed, which results name by category id: owl (now grey owl)",
        "objects: 15 moved",
    ):
        assert line in page
    refused = scene.organiser.post(f"{address}/apply", data=form, headers=HTML)
    assert refused.status_code == 422
    assert "tick this to apply it all the same" in refused.text
    by_api = scene.organiser.post(
        f"{ORGANISE}/data-sets/{intake}/apply", json={"set": "hidden-0", "phase": "test"}
    )
    assert (by_api.status_code, "accept_changes" in by_api.text) == (422, True)
    assert scene.shown() == ({1}, 1, 6)
    accepted = scene.organiser.post(f"{address}/apply", data=form | {"accept_changes": "true"})
    assert accepted.status_code == 303, accepted.text
    do_all(scene.platform)
    assert scene.view(intake)["version"] == 2


@pytest.mark.sampled
def test_moved_boxes_alone_take_no_tick(scene: Scene) -> None:
    assert scene.applied(coco(shift=1.0))["version"] == 2


@pytest.mark.sampled
def test_annotation_is_compared_again_when_it_is_applied(scene: Scene) -> None:
    intake = scene.send(scene.code, ("hidden", "test.json", coco()))
    scene.read(intake)  # it equals what the boards show
    scene.applied(coco((*IMAGES, 7)))
    scene.rescore()
    assert scene.shown() == ({2}, 2, 7)

    refused = scene.apply(intake, set="hidden-0", phase="test")

    assert (refused["state"], refused["version"]) == ("read", None)
    assert "look at what changes" in refused["message"]
    [found] = refused["report"]["comparisons"]
    assert (found["version"], found["images_gone"]) == (2, 1)
    assert scene.shown() == ({2}, 2, 7)
    assert scene.apply(intake, set="hidden-0", phase="test", accept_changes=True)["version"] == 3


@pytest.mark.sampled
def test_other_category_ids_of_the_same_classes_are_warned_of(scene: Scene) -> None:
    both = scene.send(
        scene.code, ("public", "val.json", coco(first_id=2)), ("hidden", "final.json", coco(first_id=3))
    )
    warnings = [each["message"] for each in scene.read(both)["report"]["warnings"]]

    told = [each for each in warnings if "another category id" in each]
    assert [each.split(" have ")[0] for each in told] == ["3 of 3 classes of val"] + [
        "3 of 3 classes of test"
    ] * 2
    assert "in the phase test of this challenge: cat (2 and 1), dog (3 and 2), owl (4 and 3)" in told[0]


# limits, earlier releases, kills, people at once


@pytest.mark.sampled
def test_limits_that_are_raised_hold_in_versions_to_come(scene: Scene) -> None:
    scene.applied(coco(shift=1.0))
    opens = f"{scene.phase.opens_at:%Y-%m-%dT%H:%M}"
    form = {
        "opens_at": opens,
        "grace_minutes": "60",
        "quotas": "9/7",
        "reason": "larger",
        "max_files": "30001",
    }

    def limit() -> int:
        return description_of(scene.platform.descriptions, scene.phase.description_key).limits.max_lines

    before = limit()
    form |= {"max_lines": str(before + 1)}
    changed = scene.organiser.post(f"/organise/phases/{scene.phase.id}/rules", data=form)
    assert changed.status_code == 303, changed.text

    assert limit() == before + 1
    scene.rescore()
    assert (scene.shown(), limit()) == (({2}, 2, 6), before + 1)
    scene.applied(coco(shift=2.0))
    scene.rescore()
    assert (scene.shown(), limit()) == (({3}, 3, 6), before + 1)


@pytest.mark.sampled
def test_a_worker_describes_versions_of_earlier_releases_and_their_phases_by_what_boards_show(
    scene: Scene,
) -> None:
    scene.applied(coco(IMAGES[:-1]), accept_changes=True)
    own = GroundTruth.phase_id == scene.phase.id
    with scene.platform.transaction() as session:
        described = session.scalars(
            select(GroundTruth.description_key).where(own).order_by(GroundTruth.version)
        ).all()
        # earlier releases knew no names of files
        descriptions = [description_of(scene.platform.descriptions, key) for key in described if key]
        earlier = [
            versions.store_description(scene.platform, each.with_files({}), ()) for each in descriptions
        ]
        session.execute(update(GroundTruth).where(own).values(description_key=None, not_offered=None))
        session.execute(update(Phase).where(Phase.id == scene.phase.id).values(description_key=earlier[1]))
    assert scene.shown() == ({1}, 2, 5)  # as an earlier release left it

    for _ in range(2):
        versions.complete(scene.platform)

    assert scene.shown() == ({1}, 2, 6)
    with scene.platform.transaction() as session:
        again = session.scalars(
            select(GroundTruth.description_key).where(own).order_by(GroundTruth.version)
        ).all()
    assert [key and key[:64] for key in again] == [key[:64] for key in earlier]
    assert scene.phase.description_key == again[0]


@pytest.mark.sampled
def test_a_switch_waits_for_the_description_of_its_version(scene: Scene) -> None:
    scene.applied(coco(IMAGES[:-1]), accept_changes=True)
    own = GroundTruth.phase_id == scene.phase.id
    with scene.platform.transaction() as session:
        session.execute(update(GroundTruth).where(own).values(description_key=None, not_offered=None))

    assert scene.rescore().status_code == 202

    assert scene.shown() == ({2}, 2, 5)


def kit_phase(platform: Platform, folder: Path) -> str:
    """A phase of a kit; return the code of its challenge."""
    code = f"kit{next(NAMES)}"
    import_tree(platform, TreeImport(small_kit(folder / code), code, "test"))
    return code


@pytest.mark.sampled
def test_an_import_warns_of_what_results_suffer_from_and_of_odd_annotation(
    platform: Platform, tmp_path: Path
) -> None:
    code = kit_phase(platform, tmp_path)
    tree = small_kit(tmp_path / "fewer")
    for listed in (tree / "ImageSets/Main").iterdir():
        listed.write_text(
            "".join(line for line in listed.read_text().splitlines(keepends=True) if "000010" not in line)
        )
    file = tree / "Annotations/000001.xml"
    file.write_text(file.read_text().replace("</name>", "</name><difficult>2</difficult>", 1))

    imported = import_tree(platform, TreeImport(tree, code, "test"))
    again = import_tree(platform, TreeImport(tree, code, "test"))

    # other tests of this file have phases with the same kit
    odd, gone = (
        each for each in imported.warnings if not re.search("the same annotation in|95 % interval", each)
    )
    assert file.name in odd
    assert "difficult" in odd
    assert gone == "1 image is gone: results that have it will be refused"
    assert (imported.is_new, imported.shown) == (True, 1)
    assert (again.is_new, again.warnings) == (False, imported.warnings)  # the boards still show version 1


def kit_state(platform: Platform, code: str) -> list[Any]:
    """The versions of a phase and what decides by them, without ids and times."""
    with platform.transaction() as session:
        phase = session.scalars(select(Phase).join(Challenge).where(Challenge.code == code)).one()
        truths = session.scalars(
            select(GroundTruth).where(GroundTruth.phase_id == phase.id).order_by(GroundTruth.version)
        ).all()
        shown = versions.shown_truth(session, phase.id)
        audited = session.scalar(select(func.count()).where(AuditRecord.subject == f"phase {phase.id}"))
        return [
            [(each.version, each.description_key and each.description_key[:64]) for each in truths],
            shown and shown.version,
            phase.description_key[:64],
            phase.not_offered,
            audited,
        ]


@pytest.mark.sampled
def test_a_kill_at_any_statement_of_applying_leaves_before_or_after(
    platform: Platform, tmp_path: Path
) -> None:
    truth = heldout_scoring.read_tree(small_kit(tmp_path / "fewer", without=1), "test")

    assert_all_or_nothing(
        platform,
        lambda: kit_phase(platform, tmp_path),
        lambda code: importing.import_truth(platform, TreeImport(tmp_path, code, "test"), truth),
        lambda code: kit_state(platform, code),
    )


@pytest.mark.sampled
def test_a_kill_at_any_statement_of_a_switch_leaves_before_or_after(platform: Platform) -> None:
    def prepare() -> Rows:
        rows = made(platform)
        with platform.transaction() as session:
            other = update(GroundTruth).where(GroundTruth.id == rows.truths[1])
            session.execute(other.values(description_key="another", not_offered={"1": "no ground truth"}))
        for mean in (0.5, 0.6):
            rows.result(mean=mean)
        rescoring.rescore_phase(platform, None, rows.phase_id)
        with platform.transaction() as session:
            runs = rescoring_runs(session, rows.phase_id)
            newest = challenges.newest_truth(session, rows.phase_id)
            assert newest is not None
            session.add(NextPictures(ground_truth_id=newest.id, mode=ImageMode.LINK, folder="/"))
            session.flush()
            picture = {"position": 0, "name": "000001", "file": "000001.jpg"}
            session.add(
                NextPictureBatch(
                    ground_truth_id=newest.id, number=0, fingerprint="of one", pictures=[picture]
                )
            )
        for run in runs:
            rows.end(run, RunState.SCORED, 0.7)
        confirm_rescores(platform)
        return rows

    def state(rows: Rows) -> list[Any]:
        with platform.transaction() as session:
            phase = session.get_one(Phase, rows.phase_id)
            boards = session.execute(
                select(Board.competition, Board.ground_truth_id, Board.generation)
                .where(Board.phase_id == rows.phase_id)
                .order_by(Board.competition)
            ).all()
            places = [(number, rows.truths.index(truth), generation) for number, truth, generation in boards]
            audited = session.scalar(
                select(func.count()).where(AuditRecord.subject == f"phase {rows.phase_id}")
            )
            is_done = session.scalars(
                select(Rescore.activated_at.is_not(None)).where(Rescore.phase_id == rows.phase_id)
            ).one()
            shown = session.scalars(select(Picture.name).where(Picture.phase_id == rows.phase_id)).all()
            waiting = session.scalar(
                select(func.count()).where(NextPictures.ground_truth_id.in_(rows.truths))
            )
        return [phase.description_key, phase.not_offered, places, audited, is_done, shown, waiting]

    assert_all_or_nothing(platform, prepare, lambda _: rescoring.activate_complete(platform), state)


def rescoring_runs(session: Session, phase_id: int) -> list[int]:
    """The runs of a phase's re-scoring."""
    statement = select(Run.id).join(Rescore, Run.rescore_id == Rescore.id).where(Rescore.phase_id == phase_id)
    return list(session.scalars(statement))


@pytest.mark.parametrize("same", [True, False], ids=["same", "different"])
def test_two_organisers_who_apply_at_once_make_one_version_after_the_other(
    platform: Platform, tmp_path: Path, *, same: bool
) -> None:
    code = kit_phase(platform, tmp_path)
    one, other = (
        heldout_scoring.read_tree(small_kit(tmp_path / name, without=1), "test") for name in ("one", "other")
    )
    truths = [one, one if same else other]
    threads = [
        threading.Thread(
            target=importing.import_truth, args=(platform, TreeImport(tmp_path, code, "test"), each)
        )
        for each in truths
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    listed, shown, *_ = kit_state(platform, code)
    assert [version for version, _ in listed] == ([1, 2] if same else [1, 2, 3])
    assert shown == 1
