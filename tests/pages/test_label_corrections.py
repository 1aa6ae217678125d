"""Labels of single images, corrected on a page: shown to one organiser for ten minutes, sealed, counted, and applied as a version."""

import io
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import limits
import pytest
from PIL import Image
from sqlalchemy import delete, func, select, text, update
from starlette.testclient import TestClient

import heldout_scoring
from app.core.access import Actor
from app.core.errors import ForbiddenError
from app.core.rate_limits import Limited
from app.intake import changed_pictures, correcting, corrections, for_one, label_edits, label_scenes
from app.intake.corrections import ConfirmedCorrections
from app.intake.label_edits import LabelCorrection
from app.intake.reports import VersionComparison, VersionDiff
from app.jobs import attempts
from app.models import (
    Artefact,
    AuditRecord,
    Challenge,
    ChallengeOrganiser,
    ChallengeRole,
    ChallengeVisibility,
    Disclosure,
    Event,
    GroundTruth,
    Job,
    JobKind,
    LabelEdit,
    LabelPreview,
    Phase,
    Queue,
    Trial,
    TruthCopy,
    User,
)
from app.organising import roles
from app.platform import Platform
from heldout_scoring import GroundTruth as Annotation
from heldout_scoring.stored import to_plain
from tests.kills import assert_all_or_nothing, work_again
from tests.pages.test_going_back import listed, organiser_of, organising
from tests.pages.test_intake_reading import ORGANISE
from tests.pages.test_version_pictures import pictures
from tests.pages.test_versions import IMAGES, Scene, coco, kit_phase, people, scene
from tests.working import do_all
from worker.handlers import HANDLERS

__all__ = ["people", "scene"]

HTML = {"Accept": "text/html"}
CANARY = 13.0417  # a coordinate that nothing else has


def labels_of(scene: Scene, image: int | str = "") -> str:
    return f"/api/v1/organise/phases/{scene.phase.id}/labels" + (f"/{image}" if image else "")


def page_of(scene: Scene, image: int | str = "") -> str:
    return labels_of(scene, image).removeprefix("/api/v1")


def shown(scene: Scene, image: int) -> dict[str, Any]:
    """Have the labels of an image shown; return what the API says then."""
    asked = scene.organiser.post(f"{labels_of(scene, image)}/scene")
    assert asked.status_code == 202, asked.text
    do_all(scene.platform)
    found: dict[str, Any] = scene.organiser.get(labels_of(scene, image)).json()
    return found


def boxes_of(scene: Scene, image: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shown(scene, image)["scene"]["labels"]["boxes"]
    return found


def correct(scene: Scene, image: int, boxes: list[dict[str, Any]], version: int = 1) -> Any:
    return scene.organiser.put(labels_of(scene, image), json={"version": version, "boxes": boxes})


def applied(scene: Scene, note: str = "") -> Any:
    """Have what was corrected counted and applied; return the answer to the last."""
    here = labels_of(scene).replace("labels", "corrections")
    asked = scene.organiser.post(f"{here}/preview")
    assert asked.status_code == 202, asked.text
    do_all(scene.platform)
    seen = scene.organiser.get(here).json()
    assert seen["found"], seen
    answer = scene.organiser.post(f"{here}/apply", json={"preview": seen["preview"], "note": note})
    do_all(scene.platform)
    return answer


def truth_of(scene: Scene, version: int) -> Annotation:
    own = GroundTruth.phase_id == scene.phase.id, GroundTruth.version == version
    with scene.platform.transaction() as session:
        key = session.scalars(select(GroundTruth).where(*own)).one().key
    with scene.platform.truths.materialise(key) as path:
        return heldout_scoring.GroundTruth.open(path)


def actions(scene: Scene) -> list[str]:
    of_phase = select(AuditRecord.action).where(AuditRecord.subject == f"phase {scene.phase.id}")
    with scene.platform.transaction() as session:
        return list(session.scalars(of_phase.order_by(AuditRecord.id)))


def test_corrected_boxes_become_the_next_version_once_what_changes_was_confirmed(scene: Scene) -> None:
    cat, _, owl = boxes_of(scene, 2)
    assert (cat["class_name"], cat["left"], cat["right"], cat["number"]) == ("cat", 5.0, 15.0, 1)
    moved = cat | {"left": 6.5, "right": 16.5}
    added = {"class_name": "owl", "left": 40, "top": 20, "right": 60, "bottom": 40}
    saved = correct(scene, 2, [moved, owl | {"class_name": "dog", "group_of": True}, added])
    again = correct(scene, 5, boxes_of(scene, 5)[:2])

    answer = applied(scene)

    assert (saved.status_code, again.status_code, answer.status_code) == (204, 204, 202)
    assert [(each["version"], each["note"], each["copied_from"]) for each in listed(scene)] == [
        (2, "Corrected labels of 2 images", None), (1, "", None),
    ]  # fmt: skip
    before, after = truth_of(scene, 1), truth_of(scene, 2)
    objects, coco_table = after.tables.objects, after.tables.coco
    assert coco_table is not None
    own = objects.image == 1
    assert objects.boxes[own].tolist() == [
        [6.5, 5.0, 16.5, 15.0],
        [29.0, 5.0, 39.0, 15.0],
        [40.0, 20.0, 60.0, 40.0],
    ]
    names = [after.lists.classes[place] for place in objects.name[own]]
    assert (names, objects.difficult[own].tolist()) == (["cat", "dog", "owl"], [False, True, False])
    mine = coco_table.image == 1
    assert coco_table.boxes[mine].tolist()[-1] == [40.0, 20.0, 20.0, 20.0]
    assert (coco_table.area[mine].tolist(), coco_table.crowd[mine].tolist()) == (
        [100, 100, 400], [False, True, False],
    )  # fmt: skip
    assert after.tables.labels[:, 1].tolist() == [1, 0, 1]
    others = ~np_isin(before, (1, 4))
    assert before.tables.objects.boxes[others].tolist() == objects.boxes[~np_isin(after, (1, 4))].tolist()
    assert len(objects.image) == 17
    audit = scene.page(f"/organise/challenges/{scene.code}/audit")
    assert "had the labels of the image 2 of test shown" in audit
    assert "corrected labels of the image 2 of test, to be applied later" in audit
    assert "asked to apply corrected labels of 2 images to version 1 of test" in audit
    assert "applied version 2, with corrected labels of 2 images, to test" in audit
    with scene.platform.transaction() as session:
        newest = select(GroundTruth.id).where(
            GroundTruth.phase_id == scene.phase.id, GroundTruth.version == 2
        )
        assert session.get(Trial, session.scalars(newest).one()) is not None
        assert session.get(TruthCopy, scene.phase.id) is None
    assert scene.organiser.get(labels_of(scene).replace("labels", "corrections")).json()["waiting"] == []
    assert scene.rescore().status_code == 202
    assert scene.shown() == ({2}, 2, 6)


def np_isin(truth: Annotation, places: tuple[int, ...]) -> Any:
    image = truth.tables.objects.image
    return (image == places[0]) | (image == places[1])


def test_what_is_wrong_is_said_at_once_and_nothing_is_kept(scene: Scene) -> None:
    cat, dog, owl = boxes_of(scene, 1)
    wrong = [
        cat | {"right": 4, "class_name": "horse"}, dog | {"bottom": 41, "left": -1}, owl | {"number": 9},
        {"class_name": "cat", "left": 1, "top": 1, "right": 1, "bottom": 3}, dog,
    ]  # fmt: skip

    refused = correct(scene, 1, wrong)
    unknown = scene.organiser.put(labels_of(scene, 77), json={"version": 1, "boxes": []})

    assert (refused.status_code, unknown.status_code) == (422, 404)
    for sentence in (
        "box-1-class: is none of the 3 classes", "box-1-right: must be beyond the left",
        "box-2-left: begins before the image, whose first is 0",
        "box-2-bottom: reaches beyond the image, which ends at 40",
        "box-3-number: there is no such object in this version", "box-4-right: must be beyond the left",
        "box-5-number: two boxes cannot be the same object",
    ):  # fmt: skip
        assert sentence in refused.text, sentence
    assert scene.organiser.get(labels_of(scene)).json()["waiting"] == []


def test_the_form_corrects_by_numbers_alone_and_shows_what_was_typed(scene: Scene) -> None:
    here = page_of(scene, 3)
    assert scene.organiser.post(f"{here}/scene", headers=HTML).headers["location"] == here
    assert "A worker reads them" in scene.page(here)
    do_all(scene.platform)
    page = scene.page(here)
    assert 'value="17" aria-label="Left of box 2"' in page
    rows = {
        f"box-{row}-{name}": str(value)
        for row, box in enumerate(boxes_of(scene, 3), 1)
        for name, value in {**box, "class": box["class_name"]}.items()
        if value is not False
    }
    typed = {**rows, "version": "1", "box-4-class": "dog", "box-4-left": "x"}

    refused = scene.organiser.post(here, data=typed, headers=HTML)
    removed = {**rows, "version": "1", "box-1-removed": "true", "box-2-left": "18", "box-4-class": ""}
    saved = scene.organiser.post(here, data=removed, headers=HTML)

    assert refused.status_code == 422
    words = " ".join(refused.text.split())
    assert "Fix 4 problems" in words
    assert 'href="#field-box-4-left">Box 4, left</a>: must be a number' in words
    assert saved.headers["location"] == page_of(scene).replace("labels", "corrections")
    assert "1 image corrected in version 1" in scene.page(saved.headers["location"])
    edited = shown(scene, 3)["scene"]["edited"]["boxes"]
    assert [(box["number"], box["left"]) for box in edited] == [(2, 18.0), (3, 29.0)]
    assert "What you see is your correction" in scene.page(here)
    back = scene.organiser.post(f"{here}/take-back", headers=HTML)
    assert back.status_code == 303
    assert scene.organiser.delete(labels_of(scene, 3)).status_code == 404
    assert scene.organiser.get(labels_of(scene, 3)).json()["scene"] is None  # made before it was taken back


def test_images_are_found_by_name_and_stepped_through(scene: Scene) -> None:
    found = scene.organiser.get(f"{labels_of(scene)}?search=3").json()
    later = scene.organiser.get(f"{labels_of(scene)}?start=4").json()
    sheet = scene.organiser.get(labels_of(scene, 6)).json()

    assert [(each["name"], each["position"], each["width"]) for each in found["images"]] == [("3", 3, 60)]
    assert ([each["name"] for each in later["images"]], later["total"]) == (["5", "6"], 6)
    assert (sheet["position"], sheet["before"], sheet["after"], sheet["scene"]) == (6, "5", None, None)
    assert "No name of the 6 images has “bird” in it" in scene.page(f"{page_of(scene)}?search=bird")


@pytest.mark.sampled
def test_nobody_but_the_organiser_who_asked_sees_a_scene_or_what_was_corrected(
    platform: Platform, people: tuple[TestClient, TestClient]
) -> None:
    content = json.loads(coco())
    content["annotations"][0]["bbox"] = [CANARY, 5, 10, 10]
    scene = Scene(platform, *people)
    scene.code = scene.challenge()
    scene.applied(json.dumps(content).encode(), pictures(IMAGES, shade=10), quotas="9/7")
    boxes = boxes_of(scene, 1)
    drawn = scene.organiser.get(f"{page_of(scene, 1)}/picture")
    assert boxes[0]["left"] == CANARY
    with Image.open(io.BytesIO(drawn.content)) as picture:
        assert (picture.format, picture.size) == ("JPEG", (60, 40))
    assert drawn.headers["cache-control"] == "no-store"
    assert correct(scene, 1, [boxes[0] | {"top": CANARY}]).status_code == 204
    shown(scene, 1)
    paths = [labels_of(scene, 1), f"{page_of(scene, 1)}/picture", page_of(scene, 1), labels_of(scene)]
    paths += [each.replace("labels", "corrections") for each in (labels_of(scene), page_of(scene))]

    as_participant = {scene.ash.get(path).status_code for path in paths}
    scene.ash.post(f"/role-links/{roles.create_organiser_link(platform, scene.code)}")
    as_colleague = [scene.ash.get(path) for path in paths]

    assert as_participant == {403}
    assert [each.status_code for each in as_colleague] == [200, 404, 200, 200, 200, 200]
    assert not any(str(CANARY) in each.text for each in as_colleague)
    assert as_colleague[0].json()["edit"] is None
    assert not any("corrected" in each.text for each in as_colleague[3:4])
    assert str(CANARY) in scene.organiser.get(labels_of(scene, 1)).text
    with platform.transaction() as session:  # nothing in the database has it
        tables = session.scalars(
            text("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
        ).all()
        for table in tables:
            found = session.scalar(
                text(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE :canary'),
                {"canary": f"%{CANARY}%"},
            )
            assert found == 0, table
        row = session.scalars(select(LabelEdit).where(LabelEdit.phase_id == scene.phase.id)).one()
        assert str(CANARY).encode() not in row.sealed
        made = session.scalars(select(Artefact).where(Artefact.kind == for_one.SCENES)).all()
        for each in made:
            each.created_at -= for_one.KEPT
        keys = [each.key for each in made]
    assert scene.organiser.get(labels_of(scene, 1)).json()["scene"] is None
    assert scene.organiser.get(f"{page_of(scene, 1)}/picture").status_code == 404
    for_one.delete_expired(platform)
    assert keys
    assert not any(platform.artefacts.exists(key) for key in keys)


@pytest.mark.sampled
def test_corrections_of_an_earlier_version_are_refused_with_what_happened(scene: Scene) -> None:
    boxes = boxes_of(scene, 1)
    assert correct(scene, 1, boxes[:2]).status_code == 204
    scene.applied(coco(shift=1.0))
    here = labels_of(scene).replace("labels", "corrections")

    late, preview = correct(scene, 2, boxes), scene.organiser.post(f"{here}/preview")

    assert (late.status_code, preview.status_code) == (409, 409)
    assert "version 2 was applied meanwhile, so what you corrected in version 1 is not kept" in late.text
    assert "version 2 was applied after you had corrected 1; open what is marked again" in preview.text
    assert "of version 1, correct it again" in scene.page(here.removeprefix("/api/v1"))
    assert "You corrected this image before version 2 was applied" in scene.page(page_of(scene, 1))
    assert correct(scene, 1, boxes_of(scene, 1)[:2], version=2).status_code == 204
    assert applied(scene, "One owl less").status_code == 202
    assert [each["note"] for each in listed(scene)] == ["One owl less", "", ""]


@pytest.mark.sampled
def test_only_what_was_looked_at_is_applied_and_only_if_anything_changes(scene: Scene) -> None:
    here = labels_of(scene).replace("labels", "corrections")
    nothing = scene.organiser.post(f"{here}/preview")
    boxes = boxes_of(scene, 1)
    correct(scene, 1, boxes)
    same = applied(scene)
    correct(scene, 1, boxes[:1])
    scene.organiser.post(f"{here}/preview")
    do_all(scene.platform)
    seen = scene.organiser.get(here).json()["preview"]
    correct(scene, 2, boxes_of(scene, 2)[:1])

    more = scene.organiser.post(f"{here}/apply", json={"preview": seen})
    unseen = scene.organiser.post(f"{here}/apply", json={"preview": str(uuid.uuid4())})

    assert [each.status_code for each in (nothing, same, more, unseen)] == [409] * 4
    assert "nothing would change" in same.text
    assert "you have corrected more since you looked at what changes" in more.text
    assert [each["version"] for each in listed(scene)] == [1]


@pytest.mark.sampled
def test_while_they_are_applied_corrections_stay_as_they_are(scene: Scene) -> None:
    here = labels_of(scene).replace("labels", "corrections")
    boxes = boxes_of(scene, 1)
    correct(scene, 1, boxes[:1])
    scene.organiser.post(f"{here}/preview")
    do_all(scene.platform)
    seen = scene.organiser.get(here).json()["preview"]
    assert scene.organiser.post(f"{here}/apply", json={"preview": seen}).status_code == 202

    changed, back = correct(scene, 1, boxes), scene.organiser.delete(labels_of(scene, 1))
    rescored = scene.organiser.post(f"/api/v1/organise/{scene.code}/test/rescore")
    again = scene.organiser.post(f"{here}/apply", json={"preview": seen})

    assert [each.status_code for each in (changed, back, rescored, again)] == [409] * 4
    assert "a worker is making a version of what you corrected" in changed.text
    assert "a worker applies corrected labels of this phase" in rescored.text
    assert "a worker is applying corrected labels already" in again.text
    assert "asked to apply corrected labels to version 1" in scene.page(
        f"/organise/challenges/{scene.code}/ground-truth"
    )
    do_all(scene.platform)
    assert [each["version"] for each in listed(scene)] == [2, 1]


@pytest.mark.sampled
def test_a_sealed_correction_that_was_exchanged_is_refused(scene: Scene) -> None:
    correct(scene, 1, boxes_of(scene, 1)[:1])
    correct(scene, 2, boxes_of(scene, 2)[:2])
    own = LabelEdit.phase_id == scene.phase.id
    with scene.platform.transaction() as session:
        one, other = session.scalars(select(LabelEdit).where(own).order_by(LabelEdit.image))
        one.sealed, other.sealed = other.sealed, one.sealed
    here = labels_of(scene).replace("labels", "corrections")

    scene.organiser.post(f"{here}/preview")
    do_all(scene.platform)

    assert scene.organiser.get(here).json()["message"] == (
        "'1': It belongs to another image, version or person. Correct it again, or take it back."
    )
    with scene.platform.transaction() as session:  # what was hidden when it was sealed is not published
        session.execute(delete(LabelEdit).where(own, LabelEdit.image == "2"))
        session.execute(update(Phase).where(Phase.id == scene.phase.id).values(disclosure=Disclosure.FULL))
    correct(scene, 1, boxes_of(scene, 1)[:1])
    with scene.platform.transaction() as session:
        row = session.scalars(select(LabelEdit).where(own)).one()
        row.sealed = one.sealed if one.image == "1" else other.sealed
    scene.organiser.post(f"{here}/preview")
    do_all(scene.platform)
    assert "Correct it again" in scene.organiser.get(here).json()["message"]


def test_what_changes_is_found_where_it_was_asked_for_again_before_a_worker_came(scene: Scene) -> None:
    here = labels_of(scene).replace("labels", "corrections")
    boxes = boxes_of(scene, 1)
    for kept in (2, 1):
        assert correct(scene, 1, boxes[:kept]).status_code == 204
        assert scene.organiser.post(f"{here}/preview").status_code == 202
    do_all(scene.platform)

    seen = scene.organiser.get(here).json()

    assert seen["found"], seen
    assert seen["found"]["comparison"]["removed"] == 2
    assert scene.organiser.post(f"{here}/apply", json={"preview": seen["preview"]}).status_code == 202


@pytest.mark.sampled
def test_an_image_with_too_many_boxes_is_refused_in_words_that_count_nothing(scene: Scene) -> None:
    content = json.loads(coco())
    content["annotations"] += [
        {
            "id": 1000 + each,
            "image_id": 1,
            "category_id": 1,
            "iscrowd": 0,
            "area": 4,
            "bbox": [CANARY, 5, 2, 2],
        }
        for each in range(1000)
    ]
    scene.applied(json.dumps(content).encode(), accept_changes=True)
    here = labels_of(scene).replace("labels", "corrections")
    sentence = "'1' has more than 1,000 boxes or 1,000 classes; it is corrected by a new data set."

    problem = shown(scene, 1)["scene"]["problem"]
    correct(scene, 1, [], version=2)
    scene.organiser.post(f"{here}/preview")
    do_all(scene.platform)

    assert (problem, scene.organiser.get(here).json()["message"]) == (sentence, sentence)


def test_a_child_that_fails_logs_nothing_of_labels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ValueError(str(CANARY))

    monkeypatch.setattr(correcting, "scene_of", broken)
    monkeypatch.setattr(heldout_scoring.GroundTruth, "open", broken)
    children: list[Callable[[], object]] = [
        lambda: correcting.make_scene(tmp_path, "1", None, "", ""),
        lambda: changed_pictures.choose(tmp_path, tmp_path),
        lambda: changed_pictures.draw(str([CANARY]).encode(), 1, {}),
    ]
    for child in children:
        with pytest.raises(SystemExit) as ended:
            child()
        logged = "".join(capsys.readouterr())
        assert "work on annotation failed" in logged
        assert str(CANARY) not in logged
        assert ended.value.__cause__ is None


def test_boxes_lie_within_numbers_that_have_an_area(scene: Scene) -> None:
    far = {"class_name": "cat", "left": 1, "top": 1, "right": 1e308, "bottom": 1e9}

    refused = correct(scene, 1, [far])

    assert refused.status_code == 422
    assert "box-1-right: must lie within 1,000,000,000 pixels" in refused.text
    assert "box-1-bottom" not in refused.text


@pytest.mark.sampled
def test_corrections_that_a_worker_applies_do_not_expire_meanwhile(scene: Scene) -> None:
    here = labels_of(scene).replace("labels", "corrections")
    for image in (1, 2):
        assert correct(scene, image, boxes_of(scene, image)[:1]).status_code == 204
    scene.organiser.post(f"{here}/preview")
    do_all(scene.platform)
    seen = scene.organiser.get(here).json()["preview"]
    one = LabelEdit.phase_id == scene.phase.id, LabelEdit.image == "1"
    with scene.platform.transaction() as session:
        old = LabelEdit.saved_at - label_edits.KEPT
        session.execute(update(LabelEdit).where(*one).values(saved_at=old))
    assert scene.organiser.post(f"{here}/apply", json={"preview": seen}).status_code == 202

    label_edits.delete_old(scene.platform)
    do_all(scene.platform)

    objects = truth_of(scene, 2).tables.objects
    assert [int((objects.image == place).sum()) for place in (0, 1)] == [1, 1]
    assert listed(scene)[0]["note"] == "Corrected labels of 2 images"


@pytest.mark.sampled
def test_where_annotation_is_public_only_owners_apply_corrections(scene: Scene) -> None:
    drafts = (
        update(Challenge).where(Challenge.code != scene.code).values(visibility=ChallengeVisibility.DRAFT)
    )
    with scene.platform.transaction() as session:
        session.execute(drafts)  # others of this file hide the same annotation
        session.execute(update(Phase).where(Phase.id == scene.phase.id).values(disclosure=Disclosure.FULL))
    correct(scene, 1, [boxes_of(scene, 1)[0] | {"top": 2.25}])
    here = labels_of(scene).replace("labels", "corrections")
    scene.organiser.post(f"{here}/preview")
    do_all(scene.platform)
    seen = scene.organiser.get(here).json()["preview"]

    with pytest.raises(ForbiddenError, match="Only owners of the challenge publish annotation"):
        corrections.apply(
            scene.platform, organiser_of(scene), scene.phase.id, ConfirmedCorrections(preview=seen)
        )
    assert scene.organiser.post(f"{here}/apply", json={"preview": seen}).status_code == 202
    do_all(scene.platform)
    assert [each["version"] for each in listed(scene)] == [2, 1]


@pytest.mark.sampled
def test_classes_of_images_are_corrected_where_there_are_no_boxes(
    platform: Platform, people: tuple[TestClient, TestClient]
) -> None:
    table = b"image,class\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n"
    scene = Scene(platform, *people)
    scene.code = scene.challenge()
    intake = scene.send(scene.code, ("hidden", "test.csv", table))
    read = scene.read(intake)
    assert read["state"] == "read", read
    scene.apply(intake, set="hidden-0", phase="test", quotas="9/7")
    image = scene.organiser.get(labels_of(scene)).json()["images"][1]["name"]
    found = shown(scene, image)["scene"]
    here = page_of(scene, image)
    assert (found["labels"]["classes"], found["has_boxes"]) == (
        [{"class_name": "dog", "difficult": False}],
        False,
    )
    assert "Classes that the image shows" in scene.page(here)
    box = {"class_name": "cat", "left": 1, "top": 1, "right": 3, "bottom": 3}
    refused = correct(scene, image, [box])
    form = {
        "version": "1", "has-classes": "true", "class-1-class": "dog", "class-1-removed": "true",
        "class-2-class": "cat", "class-2-difficult": "true",
    }  # fmt: skip

    saved = scene.organiser.post(here, data=form, headers=HTML)

    assert (refused.status_code, saved.status_code) == (422, 303)
    assert "this annotation has classes of images, and no boxes" in refused.text
    assert applied(scene).status_code == 202
    labels = truth_of(scene, 2).tables.labels
    assert labels[:, 1].tolist() == [0, -1]


# killed at every statement


def prepared(scene: Scene) -> Actor:
    """Nothing waits any more; the organiser."""
    work_again(scene.platform)
    with scene.platform.transaction() as session:
        session.execute(delete(LabelEdit).where(LabelEdit.phase_id == scene.phase.id))
        session.execute(delete(LabelPreview).where(LabelPreview.phase_id == scene.phase.id))
    return organiser_of(scene)


@pytest.mark.sampled
def test_a_kill_at_any_statement_of_saving_or_asking_leaves_before_or_after(scene: Scene) -> None:
    phase_id, actor = scene.phase.id, organiser_of(scene)
    recorded = [0]

    def audits() -> int:
        own = select(func.count()).where(AuditRecord.subject == f"phase {phase_id}")
        with scene.platform.transaction() as session:
            return session.scalar(own) or 0

    def state(_: object) -> list[Any]:
        kinds = (JobKind.LABEL_SCENE, JobKind.LABEL_PREVIEW)
        counts = [
            select(func.count()).where(LabelEdit.phase_id == phase_id),
            select(func.count()).where(LabelPreview.phase_id == phase_id),
            select(func.count()).where(Job.kind.in_(kinds)),
        ]
        with scene.platform.transaction() as session:
            return [*(session.scalar(each) for each in counts), audits() - recorded[0]]

    def prepare() -> Actor:
        found = prepared(scene)
        recorded[0] = audits()
        return found

    def prepare_edit() -> Actor:
        prepare()
        label_edits.save(scene.platform, actor, phase_id, "2", LabelCorrection(version=1))
        recorded[0] = audits()
        return actor

    def save(_: Actor) -> None:
        label_edits.save(scene.platform, actor, phase_id, "1", LabelCorrection(version=1))

    def ask(_: Actor) -> None:
        label_scenes.request(scene.platform, actor, phase_id, "1")

    def preview(_: Actor) -> None:
        corrections.request_preview(scene.platform, actor, phase_id)

    def take_back(_: Actor) -> None:
        label_edits.take_back(scene.platform, actor, phase_id, "2")

    assert assert_all_or_nothing(scene.platform, prepare, save, state) > 5
    assert assert_all_or_nothing(scene.platform, prepare, ask, state) > 3
    assert assert_all_or_nothing(scene.platform, prepare_edit, preview, state) > 5
    assert assert_all_or_nothing(scene.platform, prepare_edit, take_back, state) > 5


@pytest.mark.sampled
def test_a_worker_killed_at_any_statement_shows_and_counts_all_the_same(scene: Scene) -> None:
    phase_id = scene.phase.id

    def prepare_scene() -> Actor:
        actor = prepared(scene)
        for_one.remove(scene.platform, Artefact.kind == for_one.SCENES)
        label_scenes.request(scene.platform, actor, phase_id, "1")
        return actor

    def prepare_preview() -> Actor:
        actor = prepared(scene)
        label_edits.save(scene.platform, actor, phase_id, "1", LabelCorrection(version=1))
        corrections.request_preview(scene.platform, actor, phase_id)
        return actor

    def state(actor: Actor) -> list[bool]:
        sheet = corrections.view(scene.platform, actor, phase_id)
        image = label_scenes.view(scene.platform, actor, phase_id, "1")
        return [sheet.found is not None, image.scene is not None]

    def work(_: object) -> None:
        with scene.platform.transaction() as session:
            session.execute(update(Job).values(lease_until=None, not_before=None))
        attempts.do_next(scene.platform, Queue.ORGANISING, HANDLERS)

    def again(_: Actor) -> None:
        work_again(scene.platform)

    for prepare, which in ((prepare_preview, 0), (prepare_scene, 1)):

        def found(actor: Actor, which: int = which) -> bool:
            return state(actor)[which]

        assert assert_all_or_nothing(scene.platform, prepare, work, found, again, every=10) > 5


@pytest.mark.sampled
def test_a_worker_killed_at_any_statement_of_applying_leaves_before_or_after(
    platform: Platform, people: tuple[TestClient, TestClient], tmp_path: Path
) -> None:
    with platform.transaction() as session:
        user_id = session.scalars(select(User.id).order_by(User.id).limit(1)).one()
    seen = VersionDiff(VersionComparison("", "test", 1, removed=2), (), None)

    def prepare() -> tuple[int, Actor]:
        with platform.transaction() as session:
            session.execute(delete(Job))
        code = kit_phase(platform, tmp_path)
        with platform.transaction() as session:
            phase = session.scalars(select(Phase).join(Challenge).where(Challenge.code == code)).one()
            session.add(organising(user_id, phase.challenge_id))
        actor = Actor(user_id=user_id, organises=frozenset({phase.challenge_id}))
        label_edits.save(platform, actor, phase.id, "000001", LabelCorrection(version=1))
        with platform.transaction() as session:
            edits = [str(each.id) for each in label_edits.of_person(session, phase.id, user_id)]
            row = LabelPreview(
                id=uuid.uuid4(), phase_id=phase.id, user_id=user_id, edits=edits, report=to_plain(seen)
            )
            session.add(row)
            session.flush()
            preview = row.id
        corrections.apply(
            platform, actor, phase.id, ConfirmedCorrections(preview=preview, note="Nothing there")
        )
        return phase.id, actor

    def state(found: tuple[int, Actor]) -> list[Any]:
        phase_id, actor = found
        sheet = corrections.view(platform, actor, phase_id)
        of_phase = GroundTruth.phase_id == phase_id
        with platform.transaction() as session:
            rows = select(GroundTruth.version, GroundTruth.note).where(of_phase).order_by(GroundTruth.version)
            versions = [tuple(row) for row in session.execute(rows)]
            counts = [
                select(func.count()).select_from(Trial).join(GroundTruth).where(of_phase),
                select(func.count()).where(Event.phase_id == phase_id),
                select(func.count()).where(TruthCopy.phase_id == phase_id),
                select(func.count()).where(AuditRecord.subject == f"phase {phase_id}"),
            ]
            found_counts = [session.scalar(each) for each in counts]
        return [versions, len(sheet.waiting), sheet.preview is None, *found_counts]

    def apply(_: object) -> None:
        with platform.transaction() as session:
            session.execute(update(Job).values(lease_until=None, not_before=None))
        attempts.do_next(platform, Queue.ORGANISING, HANDLERS)

    assert assert_all_or_nothing(platform, prepare, apply, state, every=3) > 20


@pytest.mark.sampled
def test_of_two_organisers_who_apply_at_once_one_wins_and_the_other_is_told(scene: Scene) -> None:
    scene.ash.post(f"/role-links/{roles.create_organiser_link(scene.platform, scene.code)}")
    boxes = boxes_of(scene, 1)
    here = labels_of(scene).replace("labels", "corrections")
    seen = []
    for person, kept in ((scene.organiser, 1), (scene.ash, 2)):
        sent = person.put(labels_of(scene, 1), json={"version": 1, "boxes": boxes[:kept]})
        assert sent.status_code == 204, sent.text
        person.post(f"{here}/preview")
        do_all(scene.platform)
        seen.append(person.get(here).json()["preview"])
    first = scene.organiser.post(f"{here}/apply", json={"preview": seen[0]})
    waiting = scene.ash.post(f"{here}/apply", json={"preview": seen[1]})
    do_all(scene.platform)
    late = scene.ash.post(f"{here}/apply", json={"preview": seen[1]})

    assert (first.status_code, waiting.status_code, late.status_code) == (202, 409, 409)
    assert "a worker is applying corrected labels already, which" in waiting.text
    assert "version 2 was applied after you had corrected 1" in late.text
    assert [each["version"] for each in listed(scene)] == [2, 1]


@pytest.mark.sampled
def test_nothing_is_applied_for_who_was_removed_as_an_organiser_meanwhile(scene: Scene) -> None:
    scene.applied(coco(shift=1.0))
    edited = correct(scene, 1, boxes_of(scene, 1)[:1], version=2)
    here = labels_of(scene).replace("labels", "corrections")
    scene.organiser.post(f"{here}/preview")
    do_all(scene.platform)
    intake = scene.send(scene.code, ("hidden", "test.json", coco(shift=2.0)))
    scene.read(intake)
    seen = scene.organiser.get(here).json()["preview"]
    scene.ash.post(f"/role-links/{roles.create_organiser_link(scene.platform, scene.code)}")

    def asked_and_removed(address: str, **sent: Any) -> int:
        """Ask for something, be removed before a worker does it, and be an organiser again."""
        asked = scene.organiser.post(address, json=sent)
        theirs = ChallengeOrganiser.user_id == organiser_of(scene).user_id
        with scene.platform.transaction() as session:
            session.execute(update(ChallengeOrganiser).where(theirs).values(role=ChallengeRole.VIEWER))
        do_all(scene.platform)
        copy = scene.ash.get(f"/api/v1/organise/phases/{scene.phase.id}/ground-truth/1").json()["copy"]
        refusals.append(
            copy["message"] if copy else scene.ash.get(f"{ORGANISE}/data-sets/{intake}").json()["message"]
        )
        with scene.platform.transaction() as session:
            session.execute(update(ChallengeOrganiser).where(theirs).values(role=ChallengeRole.OWNER))
        return asked.status_code

    refusals: list[str] = []
    answers = [
        asked_and_removed(f"{ORGANISE}/data-sets/{intake}/apply", set="hidden-0", phase="test"),
        asked_and_removed(f"{here}/apply", preview=seen),
        asked_and_removed(f"/api/v1/organise/phases/{scene.phase.id}/ground-truth/1/use", newest=2),
    ]

    assert (edited.status_code, answers) == (204, [202] * 3)
    assert all("does not organise this challenge any more" in each for each in refusals), refusals
    assert len(refusals) == 3
    assert [each["version"] for each in listed(scene)] == [2, 1]


def test_who_asks_for_too_many_scenes_and_previews_waits(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = scene.platform.limiter.rates | {Limited.VIEW: limits.parse_many("2/hour")}
    monkeypatch.setattr(scene.platform.limiter, "rates", rates)
    paths = [
        f"/organise/phases/{scene.phase.id}/{path}" for path in ("labels/1/scene", "corrections/preview")
    ]

    answers = [scene.organiser.post(f"{api}{path}").status_code for path in paths for api in ("/api/v1", "")]

    assert answers == [202, 409, 429, 429]
