"""Data sets are read by workers: in every layout, with every problem at once, and nothing hidden in a report."""

import io
import json
import re
import tarfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from fastapi import FastAPI
from PIL import Image
from sqlalchemy import delete, func, select, text, update
from starlette.testclient import TestClient

from app.challenges import kits
from app.core.access import Actor
from app.core.errors import NotFoundError
from app.intake import annotated_pictures, for_one, keys, reading, trials
from app.jobs import attempts
from app.jobs.sandbox import ChildFileError
from app.models import (
    Artefact,
    AuditRecord,
    Board,
    Challenge,
    ChallengeOrganiser,
    ChallengeRole,
    Disclosure,
    Event,
    EventKind,
    GroundTruth,
    Intake,
    IntakeFile,
    IntakeRole,
    IntakeSegment,
    Job,
    Phase,
    Picture,
    Result,
    Run,
    Submission,
    Trial,
)
from app.organising import roles
from app.platform import Platform
from heldout_scoring import labels_to_png
from tests.pages import data_sets
from tests.pages.data_sets import CLASS_FOLDERS, TABLE, coco_file, jpeg, kit, label_images, zipped
from tests.pages.test_accounts import registered
from tests.scoring.builders import annotation, part, thing
from tests.working import do_all

ORGANISE = "/api/v1/organise"
PICTURES = zipped({f"pictures/{name}.jpg": jpeg(shade=number) for number, name in enumerate("abc")})


PLAIN: Final = {"set": "hidden-0", "phase": "test", "without_picture": 100}


@dataclass
class Place:
    """Challenges without phases, and their organiser."""

    platform: Platform
    organiser: TestClient

    def challenge(self) -> str:
        """Create an empty challenge, as its organiser."""
        code = f"c{uuid.uuid4().hex[:12]}"
        with self.platform.transaction() as session:
            session.add(Challenge(code=code, title=code, dataset=code))
        self.organiser.post(f"/role-links/{roles.create_organiser_link(self.platform, code)}")
        return code

    def send(self, code: str, *files: tuple[str, str, bytes]) -> str:
        """Send a data set of files, each given by role, name and content."""
        started = self.organiser.post(f"{ORGANISE}/challenges/{code}/data-sets")
        assert started.status_code == 201, started.text
        intake = str(started.json()["id"])
        for role, name, content in files:
            sent = self.organiser.put(f"{ORGANISE}/data-sets/{intake}/files/{role}/{name}", content=content)
            assert sent.status_code == 201, sent.text
        return intake

    def read(self, intake: str) -> dict[str, Any]:
        asked = self.organiser.post(f"{ORGANISE}/data-sets/{intake}/read")
        assert asked.status_code == 202, asked.text
        do_all(self.platform)
        return self.view(intake)

    def apply(self, intake: str, **application: Any) -> dict[str, Any]:
        application = {**PLAIN, **application}
        asked = self.organiser.post(f"{ORGANISE}/data-sets/{intake}/apply", json=application)
        assert asked.status_code == 202, asked.text
        do_all(self.platform)
        return self.view(intake)

    def phase_id(self, code: str) -> int:
        """The only phase of a challenge."""
        with self.platform.transaction() as session:
            return session.scalars(select(Phase.id).join(Challenge).where(Challenge.code == code)).one()

    def view(self, intake: str) -> dict[str, Any]:
        found: dict[str, Any] = self.organiser.get(f"{ORGANISE}/data-sets/{intake}").json()
        return found


@pytest.fixture(scope="module")
def place(app: FastAPI, platform: Platform) -> Iterator[Place]:
    client = TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False)
    registered(client, "organiser@example.org")
    keys.check(platform)
    yield Place(platform, client)
    client.close()


def told(view: dict[str, Any], what: str = "problems") -> list[str]:
    """The findings of a report as lines."""
    assert view["report"] is not None, view
    return [
        ": ".join(str(each[part]) for part in ("file", "line", "place", "message") if each[part] is not None)
        for each in view["report"][what]
    ]


LAYOUTS = {
    "kit": ("test.zip", zipped(kit()), "development kit (VOC)", "test", [1, 2, 3, 4]),
    "kit of an own name": ("k.zip", zipped(kit(folder="")), "development kit (VOC)", "test", [1, 2, 3, 4]),
    "kit without sets": (
        "k.zip",
        zipped({name: content for name, content in kit().items() if "ImageSets" not in name}),
        "development kit (VOC)",
        "test",
        [1, 2, 3, 4],
    ),
    "coco": ("instances_test.json", coco_file(), "COCO JSON", "test", [1]),
    "coco, packed": ("annotation.zip", zipped({"x/test.json": coco_file()}), "COCO JSON", "test", [1]),
    "table": ("boxes.csv", TABLE, "table (CSV)", "test", [1, 2, 3, 4]),
    "folders": ("test.zip", zipped(CLASS_FOLDERS), "a folder for each class", "test", [1, 2]),
    "label images": ("masks.zip", zipped(label_images()), "label images", "test", [5, 6]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_becomes_a_phase(place: Place, layout: str) -> None:
    name, content, words, image_set, competitions = LAYOUTS[layout]
    code = place.challenge()
    intake = place.send(code, ("hidden", name, content))

    view = place.read(intake)
    [found] = view["report"]["sets"]
    assert told(view) == []
    assert (view["state"], found["layout"], found["name"]) == ("read", words, image_set)
    assert found["competitions"] == competitions
    assert [row["name"] for row in found["classes"]] == ["cat", "dog"]
    with place.platform.transaction() as session:
        assert session.scalar(select(Phase.id).join(Challenge).where(Challenge.code == code)) is None

    applied = place.apply(intake, set=found["key"], phase="final")
    assert (applied["state"], applied["image_set"], applied["version"]) == ("applied", "final", 1), applied
    with place.platform.transaction() as session:
        phase = session.scalars(select(Phase).join(Challenge).where(Challenge.code == code)).one()
        assert (phase.disclosure.value, bool(phase.quotas)) == ("classes", True)
        trial = session.scalars(select(Trial).join(GroundTruth).where(GroundTruth.phase_id == phase.id)).one()
    assert (trial.message, trial.finished_at is None) == ("", False)
    assert sorted(each for task in trial.scores for each in task["competitions"]) == competitions
    for task in trial.scores:
        means = {each["kind"]: each["mean"] or 0 for each in task["results"]}
        assert means["jittered"] >= means["empty"], task
    assert not any(reading.scratch_root(place.platform).iterdir())


@pytest.mark.parametrize(
    ("layout", "columns"),
    [
        ("folders", ["Class", "Images"]),
        ("label images", ["Class", "Images"]),
        ("coco", ["Class", "Images", "Objects"]),
    ],
)
def test_objects_are_counted_where_annotation_has_objects(
    place: Place, layout: str, columns: list[str]
) -> None:
    name, content, *_ = LAYOUTS[layout]
    intake = place.send(place.challenge(), ("hidden", name, content))
    place.read(intake)

    page = place.organiser.get(f"/organise/data-sets/{intake}", headers={"Accept": "text/html"}).text

    [table] = [
        each for each in re.findall(r"<table.+?</table>", page, re.DOTALL) if "hidden annotation" in each
    ]
    assert re.findall(r'<th scope="col"[^>]*>(\w+)</th>', table) == columns
    assert {
        row.count("<td") for row in re.findall(r"<tr>.+?</tr>", table.partition("<tbody>")[2], re.DOTALL)
    } == {len(columns) - 1}


@pytest.mark.sampled
def test_classes_that_had_objects_are_compared_with_images_alone(place: Place) -> None:
    code = place.challenge()
    place.read(before := place.send(code, ("hidden", "test.csv", TABLE)))
    place.apply(before)
    place.read(after := place.send(code, ("hidden", "test.zip", zipped(CLASS_FOLDERS))))

    page = place.organiser.get(f"/organise/data-sets/{after}", headers={"Accept": "text/html"}).text

    assert '<th scope="col" class="num">Objects</th>' in page
    assert re.search(r'<span class="quiet">2 →</span>\s*0', page)


@pytest.mark.sampled
def test_annotation_that_counts_otherwise_than_one_may_think_is_warned_of(place: Place) -> None:
    kits = {}
    for role, image_set in (("public", "val"), ("hidden", "test")):
        odd = kit(image_set)
        name = next(each for each in sorted(odd) if each.endswith(".xml"))
        marked = odd[name].replace(b"</name>", b"</name><difficult>True</difficult>", 1)
        kits[role] = ("kit.zip", zipped({**odd, name: marked}))
    lists = json.loads(coco_file())
    lists["annotations"][0]["id"] = 0
    sent = {role: ("f.json", json.dumps(lists).encode()) for role in ("public", "hidden")}

    for public, hidden in ((sent, kits), (kits, sent)):
        files = (("public", *public["public"]), ("hidden", *hidden["hidden"]))
        view = place.read(place.send(place.challenge(), *files))
        said = told(view, "warnings")
        assert told(view) == []
        assert any("numbered 0 as 'id'" in each and "number annotations from 1" in each for each in said), (
            said
        )
        flag = "'True'" if public is kits else "'…'"
        assert any(f"<difficult> of object 1 is {flag}, which is not 1" in each for each in said), said
        assert not any("True" in each for each in said) or public is kits


def test_organisers_see_trial_results_and_have_them_scored_again(place: Place) -> None:
    code, canary = place.challenge(), "33.0625"
    boxes = TABLE.replace(b"b.jpg,dog,5,5,30,30", f"b.jpg,dog,5,5,{canary},30".encode())
    assert canary.encode() in boxes
    intake = place.send(code, ("hidden", "test.csv", boxes), ("images", "p.zip", PICTURES))
    place.read(intake)
    place.apply(intake, set="hidden-0", phase="test")
    phase_id = place.phase_id(code)
    here, html = f"/organise/phases/{phase_id}/trials", {"Accept": "text/html"}

    shown = place.organiser.get(here, headers=html).text
    again = place.organiser.post(here)
    twice = place.organiser.post(here)
    waiting = place.organiser.get(here, headers=html).text
    of_data_set = place.organiser.get(f"/organise/data-sets/{intake}", headers=html).text
    with patched_child(ValueError("SECRET")):
        for _ in range(trials.FAILURES):
            do_all(place.platform)
            with place.platform.transaction() as session:
                session.execute(update(Job).values(not_before=None))
    failed = place.organiser.get(here, headers=html).text

    assert "Detection, average precision in percent" in shown
    assert "Nearly right: the annotation, moved a little" in shown
    assert (again.status_code, twice.status_code) == (303, 409)
    assert "as soon as one is free" in waiting
    assert "Trial results of test" in of_data_set
    assert trials.CRASHED in failed
    assert "SECRET" not in failed
    with place.platform.transaction() as session:
        stored = [
            session.execute(text("SELECT to_jsonb(t)::text FROM trial t")).scalars().all(),
            session.execute(text("SELECT to_jsonb(t)::text FROM intake t")).scalars().all(),
            session.execute(text("SELECT to_jsonb(t)::text FROM artefact t")).scalars().all(),
        ]
        assert stored[0]
        assert not any(canary in row for rows in stored for row in rows)
        for table in (Submission, Result, Run):
            assert session.scalar(select(func.count()).select_from(table)) == 0
        truth = session.scalars(select(GroundTruth).where(GroundTruth.phase_id == phase_id)).one()
        session.execute(delete(Board).where(Board.phase_id == phase_id))
        session.delete(truth)
        session.flush()
        assert session.get(Trial, truth.id) is None
        session.rollback()


@pytest.mark.sampled
def test_hidden_boxes_are_drawn_for_who_asks_and_are_gone_after_ten_minutes(place: Place) -> None:
    code = place.challenge()
    files = (
        ("public", "val.zip", zipped(kit("val"))),
        ("hidden", "test.csv", TABLE),
        ("images", "p.zip", PICTURES),
    )
    intake = place.send(code, *files)
    here, html = f"/organise/data-sets/{intake}", {"Accept": "text/html"}
    early = place.organiser.post(f"{here}/pictures")
    place.read(intake)
    read = place.organiser.get(here, headers=html).text
    public = place.organiser.get(f"{here}/pictures/public/1")
    unasked = place.organiser.get(f"{here}/pictures/hidden/1")

    asked = place.organiser.post(f"{here}/pictures")
    twice = place.organiser.post(f"{here}/pictures")
    awaited = place.organiser.get(here, headers=html).text
    do_all(place.platform)
    drawn = place.organiser.get(here, headers=html).text
    hidden = [place.organiser.get(f"{here}/pictures/hidden/{number}") for number in (1, 2, 3, 4)]
    of_another = replace(actor_of(place, code), user_id=0)
    with pytest.raises(NotFoundError):
        annotated_pictures.picture(place.platform, of_another, uuid.UUID(intake), IntakeRole.HIDDEN, 1)
    with place.platform.transaction() as session:
        kept = select(Artefact).where(Artefact.kind == for_one.HIDDEN_PICTURES)
        row = session.scalars(kept).one()
        key, row.created_at = row.key, row.created_at - for_one.KEPT
        actions = session.scalars(
            select(AuditRecord.action).where(AuditRecord.subject == f"data set {intake}")
        ).all()
    late = place.organiser.get(f"{here}/pictures/hidden/1")
    assert place.platform.artefacts.exists(key)
    for_one.delete_expired(place.platform)

    assert (early.status_code, asked.status_code, twice.status_code) == (409, 303, 409)
    assert "Show hidden annotation" in read
    assert "val: a, cat, dog" in read
    with Image.open(io.BytesIO(public.content)) as picture:
        assert (picture.format, picture.size) == ("JPEG", (50, 40))
        assert (
            len(picture.convert("RGB").getcolors(4000) or ()) > 5
        )  # the pictures that were sent have one colour
    assert (unasked.status_code, late.status_code) == (404, 404)
    assert [each.status_code for each in hidden] == [200, 200, 200, 404]
    assert {each.headers["cache-control"] for each in (public, *hidden[:3])} == {"no-store"}
    assert "A worker draws them" in awaited
    assert "test: b, dog" in drawn
    assert "Drawn for you alone" in drawn
    assert "data-set.pictures" in actions
    assert not place.platform.artefacts.exists(key)
    assert not any(reading.scratch_root(place.platform).iterdir())
    place.organiser.delete(f"{ORGANISE}/data-sets/{intake}")
    annotated_pictures.delete_left(place.platform)
    with place.platform.transaction() as session:
        assert session.scalar(select(Artefact).where(Artefact.subject.startswith(intake))) is None


def actor_of(place: Place, code: str) -> Actor:
    """The organiser of a challenge."""
    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge.id).where(Challenge.code == code)).one()
    return Actor(user_id=1, organises=frozenset({challenge}), owns=frozenset({challenge}))


@contextmanager
def patched_child(error: Exception) -> Iterator[None]:
    """Let the child processes of trial results fail with an error."""

    def fails(*_: object) -> bytes:
        raise error

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trials, "run_in_subprocess", fails)
        yield


@pytest.mark.sampled
def test_pictures_are_those_of_the_images_and_public_annotation_opens_a_phase(place: Place) -> None:
    code = place.challenge()
    intake = place.send(
        code,
        ("public", "val.zip", zipped(kit("val"))),
        ("hidden", "test.csv", TABLE),
        ("images", "p.zip", PICTURES),
    )
    view = place.read(intake)

    assert told(view) == []
    assert view["report"]["images"] == {"count": 3, "smallest": [50, 40], "largest": [50, 40]}
    assert [each["key"] for each in view["report"]["sets"]] == ["public-0", "hidden-0"]
    applied = place.apply(intake, set="public-0", phase="val")

    assert applied["state"] == "applied", applied
    with place.platform.transaction() as session:
        phase = session.scalars(select(Phase).join(Challenge).where(Challenge.code == code)).one()
        assert phase.disclosure.value == "full"
        told_of = session.scalars(select(Event.phase_id).where(Event.kind == EventKind.TRUTH_READY)).all()
        assert phase.id in told_of
        shown = (
            select(Picture.file, Picture.problem)
            .where(Picture.phase_id == phase.id)
            .order_by(Picture.position)
        )
        assert session.execute(shown).all() == [(f"{name}.jpg", None) for name in "abc"]
    again = place.read(place.send(code, ("hidden", "test.csv", TABLE), ("images", "p.zip", PICTURES)))
    assert any(
        "3 images are in test and in the phase val of this challenge" in each
        for each in told(again, "warnings")
    )


MISTAKES = [
    {"id": 3, "image_id": 1, "category_id": 1, "bbox": [1, 1, "SECRET", 10], "area": 1, "iscrowd": 0},
    {"id": 4, "image_id": 1, "category_id": 77, "bbox": [1, 1, 5, 10], "area": 1, "iscrowd": 0},
    {"id": 5, "image_id": 99, "category_id": 1, "bbox": [1, 1, 5, 10], "area": 1, "iscrowd": 0},
    {"id": 6, "image_id": 1, "category_id": 1, "bbox": [1, 1, -5, 10], "area": 1, "iscrowd": 0},
    {"id": 7, "image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 10], "iscrowd": 0},
    {"id": 7, "image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 10], "area": 1, "iscrowd": 0},
    {"id": 8, "image_id": 1, "category_id": 1, "area": 1, "iscrowd": 0},
    "SECRET",
    {"id": 9, "image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 10], "area": "SECRET", "iscrowd": 0},
    {
        "id": 10,
        "image_id": 1,
        "category_id": 1,
        "bbox": [1, 1, 5, 10],
        "area": 1,
        "segmentation": [[1, 2, 3, 4]],
    },
]  # 10 of annotations


OF_HIDDEN = "this breaks a rule of its format"  # what is said of a problem that nobody has thought of
Told = tuple[str, str | None, int | None, str | None, str]  # code, file, line, place, words of the message
IN_PICTURES = {
    "a.jpg": b"GIF89a", "b.jpg": jpeg(), "b.png": b"\x89PNG\r\n\x1a\nbroken", "two/b.jpg": jpeg(), "c.txt": b"x",
    "one.jpg": jpeg(rotated=True), "two.jpg": jpeg(8, 8), "big.png": data_sets.bomb(), "i.jpg": jpeg(9, 9),
}  # fmt: skip
TOLD_OF_PICTURES: tuple[Told, ...] = (
    ("bad-picture", "a.jpg", None, None, "expected a JPEG or PNG image, found a GIF"),
    ("bad-picture", "b.png", None, None, "this image cannot be read"),
    ("two-pictures", "b.jpg", None, None, "this file and b.png both fit the image"),
    ("not-a-picture", "c.txt", None, None, "neither JPEG nor PNG by its name"),
    ("exif-rotation", "one.jpg", None, None, "rotated by its EXIF data"),
    ("too-many-pixels", "big.png", None, None, "at most 64 million are allowed"),
    ("picture-without-annotation", None, None, None, "1 image has no annotation, such as big.png"),
    ("picture-size", "two.jpg", None, None, "the image is 8 x 8, but its annotation says 50 x 40"),
    ("picture-size", "i.jpg", None, None, "the image is 9 x 9, but its annotation says 50 x 40"),
)  # fmt: skip


def coco_with_mistakes() -> bytes:
    sound = {"image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 10], "area": 1, "iscrowd": 0}
    more = [
        *({**each, "id": 1000 + n} if isinstance(each, dict) else each for n, each in enumerate(MISTAKES)),
        {**sound, "id": 1010, "bbox": [40, 30, 31.0625, 20]},
        {**sound, "id": 1011, "category_id": "SECRET"},
        {**sound, "id": 1012, "image_id": "SECRET"},
        {**sound, "id": 1013, "iscrowd": "SECRET"},
        {**sound, "id": 3},
        {**sound, "id": "SECRET"},
    ]
    return coco_file(
        annotations=[*data_sets.coco()["annotations"], *more],
        categories=[{"id": 1, "name": "cat"}, {"id": 4, "name": "cat"}, {"id": 2, "name": "dog"}, {"id": 9}],
        images=[
            *data_sets.coco()["images"],
            {"id": 2, "file_name": "sub/two.jpg", "width": 50, "height": 40},
            {"file_name": "y.jpg"},
            {"id": 5, "file_name": "absent.jpg", "width": 50, "height": 40},
        ],
    )


TOLD_OF_COCO: tuple[Told, ...] = (
    ("bad-bbox", "f.json", None, "annotations[3], id 1000", "expected four numbers"),
    ("unknown-category", "f.json", None, "annotations[4], id 1001", "'category_id' is 77"),
    ("unknown-image", "f.json", None, "annotations[5], id 1002", "'image_id' is 99"),
    ("bad-bbox", "f.json", None, "annotations[6], id 1003", "expected four numbers"),
    ("missing-field", "f.json", None, "annotations[7], id 1004", "'area' is missing"),
    ("missing-field", "f.json", None, "annotations[9], id 1006", "'bbox' is missing"),
    ("bad-entry", "f.json", None, "annotations[10]", "expected an object"),
    ("bad-area", "f.json", None, "annotations[11], id 1008", "expected a number from 0 as 'area'"),
    ("without-mask", "f.json", None, "annotations[0], id 1", "objects have no mask"),
    ("missing-iscrowd", "f.json", None, "annotations[12], id 1009", "'iscrowd' is missing"),
    ("box-outside", "f.json", None, "annotations[13], id 1010", "the box reaches beyond its image"),
    ("bad-category-id", "f.json", None, "annotations[14], id 1011", "'category_id'"),
    ("bad-image-id", "f.json", None, "annotations[15], id 1012", "'image_id'"),
    ("bad-iscrowd", "f.json", None, "annotations[16], id 1013", "'iscrowd'"),
    ("duplicate-id", "f.json", None, "annotations[17], id 3", "'id' is 3 like one before"),
    ("bad-id", "f.json", None, "annotations[18], id SECRET", "'id'"),
    ("duplicate-name", "f.json", None, "categories[1], id 4", "'name' is 'cat' like one before"),
    ("missing-field", "f.json", None, "categories[3], id 9", "'name' is missing"),
    ("category-gaps", "f.json", None, None, "have gaps"),
    ("duplicate-id", "f.json", None, "images[2], id 2", "'id' is 2 like one before"),
    ("missing-field", "f.json", None, "images[3]", "'id' is missing"),
    ("annotation-without-picture", None, None, None, "1 of 3 images of {coco} have no file, such as absent.jpg"),
)  # fmt: skip


def kit_with_mistakes(image_set: str = "test") -> bytes:
    box = (5, 5, 20, 20)
    pages = {
        "a": "<annotation><size><width>5</width></size></annotation>",
        "b": "<annotation>\n<SECRET>\n</annotation>",
        "d": annotation(thing("cat", box), thing("cat", (31.0625, 5, 20, 20))),
        "e": annotation(thing("SECRET", box)),
        "f": annotation(thing("cat", box).replace("<xmax>20", "<xmax>SECRET")),
        "g": annotation(
            thing("", box),
            "\n\n" + thing("cat", box).replace("<ymin>", "\n<ymin>SECRET"),
            "\n\n" + thing("cat", box, parts=part("head", (7, 7, 5, 5))).replace("<xmax>20</xmax>", ""),
        ),
        "h": "<!DOCTYPE a [<!ENTITY b 'SECRET'>]><annotation></annotation>",
        "i": annotation(thing("cat", (5, 5, 231.0625, 20))),
        "j": annotation(thing("cat", box), width=5).replace("<width>5", "<width>SECRET"),
    }
    images = "abcdefghij"
    files = {f"Annotations/{name}.xml": page for name, page in pages.items()}
    files |= {
        f"ImageSets/Main/{image_set}.txt": "".join(f"{each}\n" for each in images),
        f"ImageSets/Main/cat_{image_set}.txt": "".join(f"{each} 7\n" for each in images),
        f"ImageSets/Main/dog_{image_set}.txt": "".join(f"{each} 1\n" for each in reversed(images)),
        f"ImageSets/Main/emu_{image_set}.txt": "a 1\nb 1\nb 1\n",
        f"ImageSets/Main/fox_{image_set}.txt": "".join(f"{each} 1 1\n" for each in images),
        f"ImageSets/Layout/{image_set}.txt": "i 1\ni SECRET\n",
        f"ImageSets/Segmentation/{image_set}.txt": "e\nf\ni\n",
        "SegmentationClass/f.png": "SECRET",
    }
    labels = np.zeros((40, 50), np.uint8)
    masks = {
        "SegmentationClass/e.png": labels_to_png(labels[:10]),
        "SegmentationClass/i.png": labels_to_png(labels + 9),
    }
    contents = {name: text.encode() for name, text in files.items()} | masks
    return zipped({f"VOC2012/{name}": content for name, content in contents.items()})


KIT = "VOC2012/"
TOLD_OF_KIT: tuple[Told, ...] = (
    ("missing-field", f"{KIT}Annotations/a.xml", 1, None, "the image's size has no <height>"),
    ("annotation", f"{KIT}Annotations/b.xml", 3, None, "this is not plain XML"),
    ("no-file", f"{KIT}ImageSets/Main/test.txt", 3, None, "there is no annotation file of the image 'c'"),
    ("inverted-box", f"{KIT}Annotations/d.xml", 1, None, "ends before it begins"),
    ("class", f"{KIT}Annotations/e.xml", None, None, "'SECRET' is no class that has a label file"),
    ("bad-number", f"{KIT}Annotations/f.xml", 1, None, "expected a number in <xmax>"),
    ("missing-field", f"{KIT}Annotations/g.xml", 1, None, "object 1 has no <name>"),
    ("bad-number", f"{KIT}Annotations/g.xml", 4, None, "expected a number in <ymin>"),
    ("inverted-box", f"{KIT}Annotations/g.xml", 6, None, "ends before it begins: 7 7 5 5"),
    ("missing-field", f"{KIT}Annotations/g.xml", 6, None, "object 3 has no <xmax>"),
    ("annotation", f"{KIT}Annotations/h.xml", None, None, "this is not plain XML"),
    ("box-outside", f"{KIT}Annotations/i.xml", None, None, "the box of object 1 reaches beyond its image"),
    ("image-size", f"{KIT}Annotations/j.xml", 1, None, "expected the image's width in pixels"),
    ("label", f"{KIT}ImageSets/Main/cat_test.txt", None, None, "a label is neither 1 nor 0 nor -1"),
    ("label-images", f"{KIT}ImageSets/Main/dog_test.txt", None, None, "expected the images of '{kit}' in their order"),
    ("annotation", f"{KIT}ImageSets/Main/emu_test.txt", 3, None, "is repeated"),
    ("columns", f"{KIT}ImageSets/Main/fox_test.txt", None, None, "too few or too many columns"),
    ("annotation", f"{KIT}ImageSets/Layout/test.txt", 2, None, "expected an image and at most two whole numbers"),
    ("mask-size", f"{KIT}SegmentationClass/e.png", None, None, "expected 50 x 40 pixels, found 50 x 10"),
    ("mask", f"{KIT}SegmentationClass/f.png", None, None, ""),
    ("mask-label", f"{KIT}SegmentationClass/i.png", None, None, "expected labels from 0 to"),
    ("annotation-without-picture", None, None, None, "7 of 10 images of {kit} have no file, such as c, d, e"),
)  # fmt: skip


@pytest.mark.parametrize("hidden", ["coco", "kit"])
def test_fifty_mistakes_of_a_data_set_are_all_told_at_once(place: Place, hidden: str) -> None:
    told_of: dict[str, tuple[Told, ...]] = {"coco": TOLD_OF_COCO, "kit": TOLD_OF_KIT}
    public = "kit" if hidden == "coco" else "coco"
    names = {"coco": ("f.json", coco_with_mistakes()), "kit": ("kit.zip", kit_with_mistakes())}
    images = ("images", "p.zip", zipped(IN_PICTURES))
    if public == "kit":
        names["kit"] = ("kit.zip", kit_with_mistakes("val"))

    view = place.read(
        place.send(place.challenge(), images, ("public", *names[public]), ("hidden", *names[hidden]))
    )

    assert (view["state"], view["report"]["sets"]) == ("invalid", [])
    found = [each for what in ("problems", "warnings") for each in view["report"][what]]
    messages: dict[tuple[object, ...], list[str]] = {}
    for each in found:
        where = tuple(each[part] for part in ("code", "file", "line", "place"))
        messages.setdefault(where, []).append(each["message"])
    assert len(TOLD_OF_PICTURES) + sum(map(len, told_of.values())) >= 50
    untold: list[object] = []
    for code, name, line, at, words in (*TOLD_OF_PICTURES, *told_of[public]):
        file = name and name.replace("test", "val")  # its image set
        said = messages.get((code, file, line, at), [])
        if not any(words.format(coco="val", kit="val") in each for each in said):
            untold.append((code, file, line, at, said))
    for code, file, line, at, _ in told_of[hidden]:
        named = file and re.sub(r"\w+_test", "…_test", file)  # list files are called by classes
        named = named and re.sub(r".*/(\w+\.png)$", r"\1", named)  # and so may folders of pictures be
        spot = (code, named, line, at and at.removesuffix(", id SECRET"))
        if spot not in messages:
            untold.append(spot)
    assert untold == []
    assert not any(each["message"] == OF_HIDDEN for each in found)
    said = [each["code"] for each in found if each["place"] == "annotations[9], id 1006"]
    assert said == ["missing-field"]  # once
    quoted = json.dumps(
        [each for each in found if (each["file"] or "f").startswith({"coco": "f", "kit": KIT}[hidden])]
    )
    assert "SECRET" not in quoted
    assert "31.0625" not in quoted


def test_every_row_of_a_table_that_cannot_be_read_is_told(place: Place) -> None:
    rows = [
        "image,class,left,top,right,bottom",
        "a,cat,1,1,x,5",
        "a,cat,9,1,2,5",
        "a,cat,1,2",
        ",cat,1,1,2,2",
        "a\ab,cat,1,1,2,2",
    ]
    rows += ["a,a\acat,1,1,2,2", "a,cat,1e99,1,2,2", "a,cat,1,1,nan,2"]

    view = place.read(place.send(place.challenge(), ("public", "val.csv", "\n".join(rows).encode())))

    expected = (
        "2: expected four numbers", "3: the box ends before it begins", "4: expected 6 fields, found 4",
        "5: expected the name of an image", "6: expected the name of an image", "7: expected the name of a class",
        "8: expected coordinates", "9: expected coordinates",
    )  # fmt: skip
    assert view["state"] == "invalid"
    lines = told(view)
    assert [each for each in expected if not any(line.startswith(f"val.csv: {each}") for line in lines)] == []


def test_columns_of_a_table_are_said_on_its_page_and_in_the_api(place: Place) -> None:
    hidden, public = (
        place.send(place.challenge(), (role, "t.csv", b"SECRET,kind,x,y,r,b\na,cat,1,1,9,9\n"))
        for role in ("hidden", "public")
    )
    view = place.read(hidden)
    address, page = f"/organise/data-sets/{hidden}", {"Accept": "text/html"}
    columns = ["image", "class", "left", "top", "right", "bottom"]

    shown = place.organiser.get(address, headers=page).text
    refused = place.organiser.post(f"{address}/tables", data={"columns": ["image"]}, headers=page)
    sent = place.organiser.post(
        f"{address}/tables", data={"columns": columns, "has_names": "true"}, headers=page
    )
    do_all(place.platform)

    assert (view["state"], view["report"]["tables"][0]["columns"][0]) == ("invalid", "column 1")
    assert ("column 6" in shown, "SECRET" in shown) == (True, False)
    assert (refused.status_code, "for each of 6 columns" in refused.text, sent.status_code) == (
        422,
        True,
        303,
    )
    assert [(each["images"], each["objects"]) for each in place.view(hidden)["report"]["sets"]] == [(1, 1)]
    again = place.organiser.get(address, headers=page).text
    assert "t.csv is read as you said; change what its columns hold" in again

    assert place.read(public)["report"]["tables"][0]["columns"][0] == "SECRET"
    asked = place.organiser.post(f"{ORGANISE}/data-sets/{public}/tables", json={"columns": columns})
    do_all(place.platform)
    assert (asked.status_code, place.view(public)["state"]) == (202, "read")


def test_the_encoding_of_names_in_an_archive_is_said_on_its_page(place: Place) -> None:
    names = {name: jpeg(shade=shade) for shade, name in enumerate(("XX/a.jpg", "dog/b.jpg"))}
    archive = zipped(names).replace(b"XX", "bü".encode("cp850"))
    sent = place.send(place.challenge(), ("public", "a.zip", archive))
    view = place.read(sent)
    address, page = f"/organise/data-sets/{sent}", {"Accept": "text/html"}

    shown = place.organiser.get(address, headers=page).text
    refused = place.organiser.post(
        f"{address}/tables", data={"encoding": "no", "is_archive": "true"}, headers=page
    )
    chosen = place.organiser.post(
        f"{address}/tables", data={"encoding": "cp850", "is_archive": "true"}, headers=page
    )
    do_all(place.platform)

    assert (view["state"], refused.status_code, chosen.status_code) == ("invalid", 422, 303)
    assert "How are the names in a.zip to be read?" in shown
    assert [each["name"] for each in place.view(sent)["report"]["sets"][0]["classes"]] == ["bü", "dog"]
    assert "a.zip is read as you said; change the encoding" in place.organiser.get(address, headers=page).text


@pytest.mark.sampled
def test_a_report_on_hidden_annotation_names_the_rule_and_quotes_nothing(place: Place) -> None:
    code = place.challenge()
    content = coco_file(annotations=MISTAKES)
    hidden_kit = {
        **kit(),
        "VOC2012/Annotations/a.xml": b"<annotation><size><width>SECRET</width></size></annotation>",
    }
    table = b"image,class,left,top,right,bottom\na,SECRET,9,1,SECRET,5\n"
    folders = {"SECRET/a.jpg": b"GIF89a", "SECRET/../b.jpg": jpeg(), "other/c d.jpg": jpeg()}
    views = [
        place.read(place.send(code, ("hidden", name, sent)))
        for name, sent in (
            ("test.json", content), ("kit.zip", zipped(hidden_kit)), ("test.csv", table), ("f.zip", zipped(folders))
        )
    ]  # fmt: skip

    assert {view["state"] for view in views} == {"invalid"}
    found = [each for view in views for what in ("problems", "warnings") for each in view["report"][what]]
    assert "SECRET" not in json.dumps(found)  # of classes, organisers see names and counts
    assert not any(view["report"]["sets"] for view in views[:3])
    assert (
        "test.json: annotations[0], id 3: expected four numbers, left, top, width and height, neither of the last two below 0,"
        " as 'bbox', found …"
    ) in told(views[0])
    assert told(views[1])[:2] == [
        "VOC2012/Annotations/a.xml: 1: expected the image's width in pixels, found '…'",
        "VOC2012/Annotations/a.xml: 1: the image's size has no <height>",
    ]
    assert told(views[2]) == ["test.csv: 2: expected four numbers as left, top, right, bottom"]


@pytest.mark.sampled
def test_the_annotation_of_a_phase_is_replaced_and_its_boards_wait_for_a_rescoring(place: Place) -> None:
    code = place.challenge()
    first = place.send(code, ("hidden", "test.csv", TABLE))
    place.read(first)
    place.apply(first, set="hidden-0", phase="test", disclosure="mean")
    second = place.send(code, ("hidden", "test.csv", TABLE.replace(b"b.jpg,dog,5", b"b.jpg,dog,7")))
    place.read(second)

    applied = place.apply(second, set="hidden-0", phase="test")
    again = place.send(code, ("hidden", "test.csv", TABLE))
    place.read(again)
    repeated = place.apply(again, set="hidden-0", phase="test")

    assert (applied["state"], applied["version"]) == ("applied", 2)
    assert (repeated["version"], "nothing was changed" in repeated["message"]) == (3, False)
    with place.platform.transaction() as session:
        phase = session.scalars(select(Phase).join(Challenge).where(Challenge.code == code)).one()
        assert phase.disclosure.value == "mean"
        versions = select(func.count()).where(GroundTruth.phase_id == phase.id)
        assert session.scalar(versions) == 3


@pytest.mark.sampled
def test_the_form_of_a_data_set_replaces_annotation_and_leads_to_scoring_again(place: Place) -> None:
    code = place.challenge()
    first, second = (
        place.send(code, ("hidden", "test.csv", TABLE + each)) for each in (b"", b"c.jpg,cat,1,1,9,9\n")
    )
    place.read(first)
    place.apply(first, set="hidden-0", phase="test")
    place.read(second)
    address = f"/organise/data-sets/{second}"
    blank = {"disclosure": "", "quotas": "", "opens_at": "", "closes_at": "", "protocol": ""}

    proposed = place.organiser.get(address, headers={"Accept": "text/html"}).text
    asked = place.organiser.post(f"{address}/apply", data={**PLAIN, **blank})
    do_all(place.platform)

    assert re.search(r'name="phase"[^>]*value="test"', proposed)
    assert (asked.status_code, asked.headers.get("location")) == (303, address), asked.text
    assert (place.view(second)["state"], place.view(second)["version"]) == ("applied", 2)
    applied = place.organiser.get(address, headers={"Accept": "text/html"}).text
    assert f'<a href="/organise/challenges/{code}/ground-truth">score everything again</a>' in applied


@pytest.mark.sampled
def test_only_owners_apply_hidden_annotation_that_is_shown_once_the_phase_is_over(place: Place) -> None:
    code = place.challenge()
    hidden = place.send(code, ("hidden", "test.csv", TABLE))
    place.read(hidden)
    asked = {
        **PLAIN,
        "closes_at": "2099-01-01T00:00:00Z",
        "details_at_close": True,
    }
    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge.id).where(Challenge.code == code)).one()
        theirs = update(ChallengeOrganiser).where(ChallengeOrganiser.challenge_id == challenge)
        session.execute(theirs.values(role=ChallengeRole.ORGANISER))

    refused = place.organiser.post(f"{ORGANISE}/data-sets/{hidden}/apply", json=asked)

    assert refused.status_code == 403
    assert "Only owners of the challenge publish annotation" in refused.text
    with place.platform.transaction() as session:
        session.execute(theirs.values(role=ChallengeRole.OWNER))
    assert place.apply(hidden, **asked)["state"] == "applied"


def test_what_another_phase_hides_is_published_by_an_admin_alone(place: Place) -> None:
    hiding, code = place.challenge(), place.challenge()
    with place.platform.transaction() as session:  # the same data set, so that the annotation is the same
        for each in session.scalars(select(Challenge).where(Challenge.code.in_((hiding, code)))):
            each.dataset = "the same"
    hidden = place.send(hiding, ("hidden", "test.csv", TABLE))
    place.read(hidden)
    place.apply(hidden, set="hidden-0", phase="test")
    public = place.send(code, ("public", "val.csv", TABLE))
    place.read(public)

    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge.id).where(Challenge.code == code)).one()
        [owner] = session.scalars(
            select(ChallengeOrganiser).where(ChallengeOrganiser.challenge_id == challenge)
        )
        owner.role = ChallengeRole.ORGANISER
    of_organiser = place.organiser.post(
        f"{ORGANISE}/data-sets/{public}/apply", json={**PLAIN, "set": "public-0"}
    )
    with place.platform.transaction() as session:
        session.execute(
            update(ChallengeOrganiser)
            .where(ChallengeOrganiser.challenge_id == challenge)
            .values(role=ChallengeRole.OWNER)
        )
    refused = place.apply(public, set="public-0", phase="test")
    asked = place.organiser.post(
        f"{ORGANISE}/data-sets/{public}/apply",
        json={**PLAIN, "set": "public-0", "allow_public_copy": True},
    )

    assert of_organiser.status_code == 403
    assert "Only owners of the challenge publish annotation" in of_organiser.text
    assert refused["state"] == "read"
    assert "keeps the same annotation hidden" in refused["message"]
    assert hiding not in refused["message"]
    assert asked.status_code == 403


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("application", "words"),
    [
        ({"set": "hidden-7", "phase": "test"}, "choose an image set"),
        ({"set": "hidden-0", "phase": "a b"}, "cannot be used in URLs"),
        ({"set": "hidden-0", "phase": "test", "disclosure": "full"}, "was sent as hidden"),
        ({"set": "hidden-0", "phase": "test", "quotas": "many"}, "a quota is written as"),
        ({"set": "hidden-0", "phase": "test", "closes_at": "2020-01-01T00:00Z"}, "before it opens"),
    ],
)
def test_an_application_that_is_not_possible_is_refused(
    place: Place, application: dict[str, str], words: str
) -> None:
    intake = place.send(place.challenge(), ("hidden", "test.csv", TABLE))
    place.read(intake)

    refused = place.organiser.post(f"{ORGANISE}/data-sets/{intake}/apply", json={**PLAIN, **application})

    assert refused.status_code == 422, refused.text
    assert words in refused.text


def test_what_was_sent_as_hidden_is_not_read_as_public_whatever_the_database_says(place: Place) -> None:
    code = place.challenge()
    hidden, public = (place.send(code, (role, "test.csv", TABLE)) for role in ("hidden", "public"))
    with place.platform.transaction() as session:
        for intake, role in ((hidden, IntakeRole.PUBLIC), (public, IntakeRole.HIDDEN)):
            changed = update(IntakeFile).where(IntakeFile.intake_id == uuid.UUID(intake))
            session.execute(changed.values(role=role))

    refused, stricter = place.read(hidden), place.read(public)

    assert (refused["state"], refused["report"]) == ("failed", None)
    assert "The file was not sent as public. Nothing of it was used" in refused["message"]
    assert [each["role"] for each in stricter["report"]["sets"]] == ["hidden"]


def test_hidden_annotation_does_not_become_that_of_a_phase_that_was_made_public_meanwhile(
    place: Place,
) -> None:
    code = place.challenge()
    first = TABLE.replace(b",40,30", b",37,29").replace(
        b"5,5,30,30", b"6,4,28,31"
    )  # which no other phase hides
    for content in (first, first.replace(b"a.jpg,cat,1,1", b"a.jpg,cat,2,3")):
        intake = place.send(code, ("hidden", "test.csv", content))
        place.read(intake)
        asked = place.organiser.post(f"{ORGANISE}/data-sets/{intake}/apply", json=PLAIN)
        assert asked.status_code == 202, asked.text
        if content != first:
            with place.platform.transaction() as session:
                own = update(Phase).where(Phase.id == place.phase_id(code))
                session.execute(own.values(disclosure=Disclosure.FULL))
        do_all(place.platform)

    view = place.view(intake)

    assert (view["state"], view["version"]) == ("read", None)
    assert view["message"] == (
        "the annotation of test became public meanwhile, so hidden annotation cannot become its ground truth"
    )
    with place.platform.transaction() as session:
        of_phase = GroundTruth.phase_id == place.phase_id(code)
        assert session.scalars(select(GroundTruth.version).where(of_phase)).all() == [1]


def test_lost_segments_and_keys_are_told_with_what_to_do(place: Place) -> None:
    code = place.challenge()
    lost, swapped = (place.send(code, ("hidden", "test.csv", TABLE)) for _ in range(2))
    with place.platform.transaction() as session:
        keys_of = {
            str(intake): key
            for intake, key in session.execute(
                select(Intake.id, IntakeSegment.key)
                .select_from(IntakeSegment)
                .join(IntakeFile, IntakeFile.id == IntakeSegment.file_id)
                .join(Intake, Intake.id == IntakeFile.intake_id)
            )
        }
        row = session.scalars(select(IntakeSegment).where(IntakeSegment.key == keys_of[swapped])).one()
        row.key = keys_of[lost]

    found = place.read(swapped)
    with place.platform.transaction() as session:
        name = keys.newest(session).name
    with place.platform.secret.store.open(name) as stream:
        secret = stream.read()
    place.platform.secret.store.delete(name)
    without_key = place.read(lost)
    place.platform.secret.store.put(secret)

    assert (found["state"], without_key["state"]) == ("failed", "failed")
    assert "belongs to another file" in found["message"]
    assert "Upload the annotation again" in without_key["message"]
    assert place.read(lost)["state"] == "read"


@pytest.mark.sampled
def test_a_job_that_is_done_again_does_no_harm_and_a_cancelled_one_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = place.challenge()
    intake, cancelled = (place.send(code, ("hidden", "test.csv", TABLE)) for _ in range(2))
    place.read(intake)
    place.organiser.post(f"{ORGANISE}/data-sets/{intake}/apply", json=PLAIN)
    with monkeypatch.context() as patched:  # the worker dies after the import, before it is recorded

        def killed(*_: object) -> None:
            raise OSError("killed")

        patched.setattr(reading, "_record", killed)
        do_all(place.platform)
        assert place.view(intake)["state"] == "applying"
    with place.platform.transaction() as session:
        session.execute(update(Job).values(not_before=None))
    do_all(place.platform)
    place.organiser.post(f"{ORGANISE}/data-sets/{cancelled}/read")
    stopped = place.organiser.post(f"{ORGANISE}/data-sets/{cancelled}/cancel")
    do_all(place.platform)

    assert (place.view(intake)["state"], place.view(intake)["version"]) == ("applied", 1)
    assert (stopped.json()["state"], place.view(cancelled)["state"]) == ("cancelled", "cancelled")


def test_the_import_folder_is_left_by_no_path_and_no_link(place: Place, tmp_path: Path) -> None:
    folder, outside = tmp_path / "import", tmp_path / "outside"
    for each in (folder, outside):
        each.mkdir()
        (each / "test.csv").write_bytes(TABLE)
    (folder / "link").symlink_to(outside)
    platform = place.platform
    object.__setattr__(platform, "settings", platform.settings.model_copy(update={"import_folder": folder}))

    assert reading._in_import_folder(platform, "test.csv").read_bytes() == TABLE
    for path in ("link/test.csv", "link", "../outside/test.csv", "nothing"):
        with pytest.raises(reading.ImportFolderError):
            reading._in_import_folder(platform, path)
    refused = place.organiser.post(
        f"{ORGANISE}/data-sets/{place.send(place.challenge())}/folder",
        json={"role": "hidden", "path": "test.csv"},
    )
    assert refused.status_code == 403


def test_a_lost_secret_of_names_is_made_anew_only_while_nobody_knows_the_names(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = place.challenge()
    secret = reading.secret_of(place.platform, code)
    assert reading.secret_of(place.platform, code) == secret
    keys.rotate(place.platform)
    with place.platform.transaction() as session:
        session.execute(text("UPDATE intake_key SET created_at = created_at - interval '2 days'"))
    keys.delete_unused(place.platform)
    assert reading.secret_of(place.platform, code) == secret

    def lost(*_: object) -> None:
        raise keys.KeyLostError

    monkeypatch.setattr(keys, "identity", lost)
    other = reading.secret_of(place.platform, code)
    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
        phase = Phase(
            challenge_id=challenge.id, image_set="test", protocol="voc2012", description_key="x", opens_at=func.now(),
            disclosure=Disclosure.FULL,
        )  # fmt: skip
        session.add(phase)
    with pytest.raises(keys.KeyLostError):
        reading.secret_of(place.platform, code)
    with place.platform.transaction() as session:
        session.delete(session.merge(phase))
    assert other != secret


def test_a_data_set_waits_until_an_outage_is_over_and_says_for_what_and_since_when(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake = place.send(place.challenge(), ("hidden", "test.csv", TABLE))

    def fails(*_: object, **__: object) -> bytes:
        raise ChildFileError("a file could not be read or written: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(reading, "run_in_subprocess", fails)
        first = place.read(intake)
        attempts.end_pauses(place.platform)
        do_all(place.platform)
    again = place.view(intake)
    page = place.organiser.get(f"/organise/data-sets/{intake}/status", headers={"Accept": "text/html"}).text
    attempts.end_pauses(place.platform)
    do_all(place.platform)

    assert (again["state"], again["progress"]["since"]) == ("reading", first["progress"]["since"])
    assert "by an error of the server: a file could not be read or written: No space left on device" in page
    assert (place.view(intake)["state"], place.view(intake)["progress"]) == ("read", {})


def named(*names: str, side: int = 9) -> dict[str, Any]:
    """COCO's JSON of images with these files, numbered from 7, and a square object in each."""
    numbers = range(7, 7 + len(names))
    return data_sets.coco(
        images=[
            {"id": number, "file_name": name, "width": 50, "height": 40}
            for number, name in zip(numbers, names, strict=True)
        ],
        annotations=[
            {"id": number, "image_id": number, "category_id": 1 + number % 2, "bbox": [1, 1, side, side], "area": side**2, "iscrowd": 0}
            for number in numbers
        ],
    )  # fmt: skip


def offered(place: Place, code: str, image_set: str) -> tuple[list[str], dict[int, str], str]:
    """What people get of a phase: the names in the archive of its images, those in image_info, and the table of images."""
    here = f"/challenges/{code}/{image_set}"
    with tarfile.open(fileobj=io.BytesIO(place.organiser.get(f"{here}/images.tar").content)) as archive:
        names = archive.getnames()
    info = json.loads(place.organiser.get(f"{here}/image_info.json").text)["images"]
    table = place.organiser.get(f"{here}/images.csv").text.replace("\r\n", "\n")
    return names, {each["id"]: each["file_name"] for each in info}, table


@pytest.mark.sampled
def test_pictures_of_cocos_json_keep_the_names_of_their_files(place: Place) -> None:
    code, names = place.challenge(), ("train/000000397133.jpg", "train/more/ä b.PNG", "train/c.jpg")
    files = {name: jpeg(shade=number) for number, name in enumerate(names)}
    files[names[1]] = labels_to_png(np.zeros((40, 50), np.uint8))
    intake = place.send(
        code,
        ("public", "instances_val.json", json.dumps(named(*names)).encode()),
        ("images", "p.zip", zipped(files)),
    )

    assert told(place.read(intake)) == []
    place.apply(intake, set="public-0", phase="val")
    do_all(place.platform)

    archive, info, table = offered(place, code, "val")
    html = {"Accept": "text/html"}
    with place.platform.transaction() as session:
        kits.queue_kit(session, session.scalars(select(Challenge.id).where(Challenge.code == code)).one())
    do_all(place.platform)
    annotation = place.organiser.get(f"/challenges/{code}/val/annotation.tar.gz").content
    with tarfile.open(fileobj=io.BytesIO(annotation)) as packed:
        instances = packed.extractfile("annotations/instances_val.json")
        assert instances is not None
        listed = json.loads(instances.read())["images"]
    assert archive == [f"val/{name}" for name in names]
    assert info == dict(zip((7, 8, 9), names, strict=True))
    assert [each["file_name"] for each in listed] == [*names]
    assert table == "name,width,height,file\n" + "".join(
        f"{number},50,40,{name}\n" for number, name in info.items()
    )
    found = place.organiser.get(f"/pictures/{code}/val?name=0000003", headers=html).text
    assert "train/000000397133.jpg" in found
    assert "train/c.jpg" not in found
    assert "train/more/ä b.PNG" in place.organiser.get(f"/pictures/{code}/val/8", headers=html).text


def test_hidden_pictures_keep_the_names_of_their_files_and_nothing_of_their_folders(place: Place) -> None:
    code, names = place.challenge(), ("cat/a.jpg", "dog/a.jpg", "dog/b.jpg")
    files = {name: jpeg(shade=number) for number, name in enumerate(names)}
    intake = place.send(
        code,
        ("hidden", "instances_test.json", json.dumps(named(*names, side=8)).encode()),
        ("images", "p.zip", zipped(files)),
    )

    warned = told(place.read(intake), "warnings")
    place.apply(intake)
    phase_id = place.phase_id(code)
    place.organiser.post(
        f"/organise/phases/{phase_id}/pictures", data={"is_public": "true", "reason": "They are public"}
    )
    do_all(place.platform)

    archive, info, table = offered(place, code, "test")
    seen = place.organiser.get(f"/api/v1/challenges/{code}/test/description").text
    assert any(
        "2 of 3 files of test have names ('file_name') that cannot be used everywhere" in each
        for each in warned
    )
    assert archive == ["test/7.jpg", "test/8.jpg", "test/b.jpg"]
    assert info == {7: "7.jpg", 8: "8.jpg", 9: "b.jpg"}
    assert table.endswith("7,50,40,\n8,50,40,\n9,50,40,b.jpg\n")
    assert "dog/" not in seen
    assert json.loads(seen)["files"] == ["", "", "b.jpg"]


@pytest.mark.sampled
def test_annotation_that_is_applied_again_gives_its_pictures_their_names(place: Place) -> None:
    code, unnamed = place.challenge(), named("a.jpg", "b.jpg")
    for each in unnamed["images"]:
        del each["file_name"]
    pictures = zipped({"7.jpg": jpeg(), "8.jpg": jpeg(shade=1)})
    before = place.send(
        code, ("public", "val.json", json.dumps(unnamed).encode()), ("images", "p.zip", pictures)
    )
    place.read(before)
    place.apply(before, set="public-0", phase="val")
    do_all(place.platform)
    numbered = offered(place, code, "val")
    after = place.send(code, ("public", "val.json", json.dumps(named("a.jpg", "b.jpg")).encode()))
    place.read(after)

    view = place.apply(after, set="public-0", phase="val")
    do_all(place.platform)

    assert "This annotation equals version 1" in view["message"]
    assert numbered[0] == ["val/7.jpg", "val/8.jpg"]
    assert offered(place, code, "val")[:2] == (["val/a.jpg", "val/b.jpg"], {7: "a.jpg", 8: "b.jpg"})
    assert place.organiser.get(f"/challenges/{code}/val/images.csv").text.count("jpg") == 2
