"""A challenge is created in six steps: drafts, what each step refuses, phases, opening, copying, deleting."""

import io
import json
import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import PurePath
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from httpx2 import Response
from PIL import Image
from sqlalchemy import func, select, text, update
from starlette.testclient import TestClient

import heldout_scoring
from app.challenges import challenges
from app.challenges.terms import current_terms
from app.images import archives
from app.intake import applying, intakes, keys, reading
from app.jobs.sandbox import run_in_subprocess
from app.models import (
    Artefact,
    AuditRecord,
    Base,
    Board,
    Challenge,
    ChallengeDraft,
    ChallengeVisibility,
    GroundTruth,
    Intake,
    IntakeFile,
    NameSecret,
    Phase,
    Picture,
    Terms,
    Trial,
)
from app.organising import drafts, roles
from app.platform import Platform
from tests.pages.data_sets import coco_file, jpeg, kit, zipped
from tests.pages.test_accounts import registered
from tests.patience import LIMIT
from tests.people import confirm_address
from tests.second_factors import give_second_factor
from tests.system.servers import eventually
from tests.working import do_all

NEW = "/organise/new"
WHAT = {"title": "Birds", "template": "voc", "tasks": ["detection"], "tracks": "one", "tagline": "Find them"}
SCORING = {"protocol": "voc2012", "own": "all", "others": "live"}
RULES = {"per_week": "2", "total": "30", "visibility": "listed", "terms": "research"}
PAGE = {
    "overview": "# Birds", "version": "1", "tagline": "Find them",
    "pictures_from": "elsewhere", "pictures_address": "https://pictures.example/birds",
}  # fmt: skip


@dataclass
class Place:
    """Somebody who may create challenges."""

    platform: Platform
    organiser: TestClient

    def draft(self, **changes: Any) -> str:
        """Create a draft and return its code."""
        code = f"birds{uuid.uuid4().hex[:8]}"
        answer = self.organiser.post(NEW, data={**WHAT, "code": code, **changes})
        assert (answer.status_code, answer.headers["location"]) == (303, f"{NEW}/{code}/data"), answer.text
        return code

    def send(self, code: str, **files: bytes) -> None:
        """Send annotation by role, and have it read."""
        with self.platform.transaction() as session:
            challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
            intake = intakes.newest(session, challenge.id)
        assert intake is not None
        for role, content in files.items():
            address = f"/api/v1/organise/data-sets/{intake.id}/files/{role}/{role}.zip"
            assert self.organiser.put(address, content=content).status_code == 201
        self.save(code, "data")
        do_all(self.platform)

    def save(self, code: str, step: str, /, **form: Any) -> Response:
        if step == "check":
            form = {"without_picture": "100", **form}
        answer = self.organiser.post(f"{NEW}/{code}/{step}", data=form)
        assert answer.status_code == 303, words(answer.text)[:2000]
        return answer

    def finished(self, **rules: str) -> str:
        """Create a draft with all steps, and have its phases made."""
        code = self.draft()
        self.send(code, public=zipped(kit("val")), hidden=zipped(kit("test")))
        self.save(code, "check", sets=["public-0", "hidden-0"])
        self.save(code, "scoring", **SCORING)
        self.save(code, "rules", **{**RULES, **rules})
        self.save(code, "page", **PAGE)
        do_all(self.platform)
        return code

    def page(self, address: str) -> str:
        answer = self.organiser.get(address)
        assert answer.status_code == 200, answer.text
        return words(answer.text)


def words(page: str) -> str:
    """The text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.fixture(scope="module")
def place(app: FastAPI, platform: Platform) -> Iterator[Place]:
    client = TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False)
    registered(client, "creator@example.org")
    client.post(f"/role-links/{roles.create_admin_link(platform)}")
    give_second_factor(platform, "creator@example.org")
    keys.check(platform)
    yield Place(platform, client)
    client.close()


def test_six_steps_make_phases_that_open_for_everybody(place: Place, app: FastAPI) -> None:
    code = place.finished()
    visitor = TestClient(app, headers={"Accept": "text/html"})
    before = visitor.get(f"/challenges/{code}").status_code
    listed = place.page(f"/organise/challenges/{code}")

    opened = place.organiser.post(f"{NEW}/{code}/open")

    assert "Before it opens" in listed
    assert "Trial results show what participants will see done" in listed
    assert (
        "A team, and each person in it, may have 2 results in 7 days and 30 results in total, per task"
        in listed
    )
    assert (before, opened.status_code, visitor.get(f"/challenges/{code}").status_code) == (404, 303, 200)
    with place.platform.transaction() as session:
        phases = {
            each.image_set: each
            for each in session.scalars(select(Phase).join(Challenge).where(Challenge.code == code))
        }
        boards = session.scalars(select(Board.competition).where(Board.phase_id == phases["test"].id)).all()
        challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
        assert phases["test"].opens_at == challenge.opened_at
        terms = session.scalars(select(Terms.text).where(Terms.challenge_id == challenge.id)).one()
    assert {name: each.disclosure.value for name, each in phases.items()} == {
        "test": "classes",
        "val": "full",
    }
    assert [str(each) for each in phases["test"].quotas] == ["2 in 7 days", "30 in total"]
    assert (boards, phases["val"].quotas) == ([4], ())
    rules = place.page(f"/organise/phases/{phases['test'].id}")
    assert "Task detection Slots" in rules
    trials = place.page(f"/organise/phases/{phases['test'].id}/trials")
    assert ("Detection, average precision" in trials, "Classification" in trials) == (True, False)
    assert "All tasks Detection All states" in place.page(f"/organise/challenges/{code}/submissions")
    assert "research and teaching" in terms
    assert "lacks" not in place.page(f"/organise/challenges/{code}")
    assert place.organiser.get(f"{NEW}/{code}/rules").headers["location"] == f"/organise/challenges/{code}"
    assert place.organiser.post(f"{NEW}/{code}/scoring", data=SCORING).status_code == 409


def test_terms_that_name_the_challenge_follow_its_title_until_they_are_written_anew(place: Place) -> None:
    code = place.draft()
    place.save(code, "rules", **RULES)

    def stated() -> str:
        with place.platform.transaction() as session:
            newest = current_terms(session, code, None)
        return newest.text if newest else ""

    place.save(code, "what", **{**WHAT, "code": code, "title": "Owls"})
    assert stated().startswith("By taking part in Owls you agree that")
    place.save(code, "rules", **{**RULES, "terms": "own", "terms_text": "Birds are for all of us."})
    place.save(code, "what", **{**WHAT, "code": code, "title": "Herons"})
    assert stated() == "Birds are for all of us."
    place.save(code, "rules", **RULES)
    place.organiser.post(f"/organise/challenges/{code}/terms", data={"text": "Herons are for all of us."})
    place.save(code, "what", **{**WHAT, "code": code, "title": "Storks"})
    assert stated() == "Herons are for all of us."


def test_a_draft_is_nowhere_for_anybody_but_its_organisers(place: Place, app: FastAPI) -> None:
    code = place.draft()
    stranger = registered(TestClient(app, follow_redirects=False), "stranger@example.org")

    for address in (f"/challenges/{code}", f"/challenges/{code}/rules", f"{NEW}/{code}/what"):
        assert stranger.get(address).status_code in (403, 404)
    assert code not in stranger.get("/challenges").text + stranger.get("/find?q=Birds").text
    assert stranger.get(NEW).status_code == 403
    assert code in place.organiser.get(NEW).text
    assert "Draft" in place.page("/organise")


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (
            {"title": "", "code": "two words", "tasks": [], "template": "lvis"},
            ("at least 2 characters", "cannot be used in URLs", "at least one is needed", "Fix 4 problems"),
        ),
        ({"template": "coco", "tasks": ["detection", "action"]}, ("not action",)),
        ({"code": "account"}, ("is reserved",)),
    ],
)
def test_the_first_step_tells_all_its_problems_at_once(
    place: Place, form: dict[str, Any], expected: tuple[str, ...]
) -> None:
    answer = place.organiser.post(NEW, data={**WHAT, "code": "birds", **form})

    assert answer.status_code == 422
    for each in expected:
        assert each in words(answer.text)


def test_an_address_is_taken_once_and_changes_until_the_challenge_opens(place: Place) -> None:
    code, other = place.draft(), place.draft()

    taken = place.organiser.post(f"{NEW}/{other}/what", data={**WHAT, "code": code})
    moved = place.save(other, "what", **{**WHAT, "code": f"{other}-b", "title": "Owls"})

    assert taken.status_code == 422
    assert "is taken" in taken.text
    assert moved.headers["location"] == f"{NEW}/{other}-b/data"
    assert "Owls" in place.page(f"{NEW}/{other}-b/what")
    assert place.organiser.get(f"{NEW}/{other}/what").status_code == 404


def test_the_check_shows_counts_of_each_class_and_refuses_sets_without_the_task(place: Place) -> None:
    code = place.draft(tasks=["layout"])
    place.send(code, public=zipped(kit("val")), hidden=zipped(kit("test")))

    page = place.page(f"{NEW}/{code}/check")
    nothing = place.organiser.post(f"{NEW}/{code}/check", data={})
    bare = place.organiser.post(f"{NEW}/{code}/check", data={"sets": ["hidden-0", "public-0"]})
    unknown = place.organiser.post(f"{NEW}/{code}/check", data={"sets": ["hidden-7"]})

    assert "cat 1 in 1 1 in 1 dog 2 in 2 2 in 2" in page
    assert (nothing.status_code, bare.status_code, unknown.status_code) == (422, 422, 422)
    assert "there is no annotation for layout" in words(bare.text)
    assert "choose image sets of the report" in words(unknown.text)


@pytest.mark.sampled
def test_classes_get_names_and_an_order_and_are_ignored_until_the_challenge_opens(place: Place) -> None:
    code = place.draft()
    place.send(code, public=zipped(kit("val")), hidden=zipped(kit("test")))
    classes = {"found": ["cat", "dog"], "names": [" tom", "dog"], "positions": ["2", "1"]}

    place.save(code, "classes", **classes)
    do_all(place.platform)
    renamed = place.page(f"{NEW}/{code}/check")
    stale = place.organiser.post(f"{NEW}/{code}/classes", data=classes)
    place.save(
        code, "classes", found=["dog", "cat"], names=["dog", "tom"], positions=["1", "2"], ignored="dog"
    )
    do_all(place.platform)
    fewer = place.page(f"{NEW}/{code}/check")
    place.save(code, "check", sets=["hidden-0"])
    place.save(code, "scoring", **SCORING)
    place.save(code, "rules", **RULES)
    place.save(code, "page", **PAGE)
    do_all(place.platform)

    assert "dog 2 in 2 2 in 2 cat 1 in 1 1 in 1" in renamed
    assert "tom (1 object: ± 98)" in renamed
    assert stale.status_code == 409
    assert ("tom (1 object" in fewer, "dog (2 objects" in fewer) == (True, False)
    with place.platform.transaction() as session:
        phase = session.scalars(select(Phase).join(Challenge).where(Challenge.code == code)).one()
        truth, trial = session.execute(
            select(GroundTruth, Trial.scores).join(Trial).where(GroundTruth.phase_id == phase.id)
        ).one()
        description = challenges.description_of(place.platform.descriptions, phase.description_key)
    assert description.classes == ("tom",)
    assert [row["name"] for row in truth.statistics["rows"]] == ["tom"]
    assert {row["name"] for task in trial for result in task["results"] for row in result["classes"]} == {
        "tom"
    }
    assert "changed which classes of a data set count" in place.page(f"/organise/challenges/{code}/audit")
    place.save(code, "classes", found=["dog", "cat"], names=["dog", "cat"], positions=["1", "2"])
    do_all(place.platform)
    assert "Make the phases" in place.page(f"/organise/challenges/{code}")


def test_all_problems_of_class_names_are_told_at_once(place: Place, answered: str) -> None:
    classes = {"found": ["cat", "dog"], "positions": ["1", "2"]}

    wrong = place.organiser.post(f"{NEW}/{answered}/classes", data={**classes, "names": ["", "big dog"]})
    same = place.organiser.post(f"{NEW}/{answered}/classes", data={**classes, "names": ["dog", "dog"]})
    none = place.organiser.post(
        f"{NEW}/{answered}/classes", data={**classes, "names": ["cat", "dog"], "ignored": ["cat", "dog"]}
    )
    text_ = place.organiser.post(
        f"{NEW}/{answered}/classes", data={**classes, "names": ["cat", "dog"], "positions": ["first", "2"]}
    )

    assert [each.status_code for each in (wrong, same, none, text_)] == [422] * 4
    assert "Fix 2 problems Class 1 : needs a name" in words(wrong.text)
    assert "Class 2 : cannot stand in the name of a file" in words(wrong.text)
    assert 'value="big dog"' in wrong.text
    assert words(same.text).casefold().count("two classes cannot both be called dog") == 4
    assert "at least one has to count" in words(none.text)
    assert "must be a whole number" in words(text_.text)


@pytest.mark.sampled
def test_chosen_classes_that_no_longer_fit_are_not_used(place: Place) -> None:
    code = place.draft()
    place.send(code, hidden=zipped(kit("test")))
    place.save(code, "classes", found=["cat", "dog"], names=["owl", "dog"], positions=["1", "2"])
    do_all(place.platform)

    place.send(code, hidden=zipped(kit("test", ("cat", "owl"))))

    page = place.page(f"{NEW}/{code}/check")
    assert "do not fit, and are not used: two classes would be called owl" in page
    assert "cat 1 in 1 owl 2 in 2" in page


@pytest.mark.sampled
def test_hidden_images_get_neutral_names_which_only_workers_can_trace_back(place: Place) -> None:
    code = place.draft(tasks=["classification"])
    cats = {f"cat/cat_{number}.jpg": jpeg(shade=number, rotated=True) for number in range(20)}
    dogs = {f"dog/dog_{number}.jpg": jpeg(shade=255 - number) for number in range(20)}
    place.send(code, hidden=zipped({**cats, **dogs}))
    offered = place.page(f"{NEW}/{code}/check")

    for neutral in ("true", "", "true"):
        place.save(code, "names", neutral=neutral)
        do_all(place.platform)
    page = place.page(f"{NEW}/{code}/check")
    place.save(code, "check", sets=["hidden-0"])
    place.save(code, "scoring", **SCORING)
    place.save(code, "rules", **RULES)
    place.save(code, "page", **PAGE)
    do_all(place.platform)

    assert "the names of the images of test predict the class" in offered
    assert "Rename, shuffle and strip" in offered
    assert "Hidden images have neutral names" in page
    assert "predict the class" not in page
    with place.platform.transaction() as session:
        phase = session.scalars(select(Phase).join(Challenge).where(Challenge.code == code)).one()
        [truth] = session.scalars(select(GroundTruth).where(GroundTruth.phase_id == phase.id))
        description = challenges.description_of(place.platform.descriptions, phase.description_key)
        secret = session.scalars(select(NameSecret).join(Challenge).where(Challenge.code == code)).one()
        report = session.scalars(select(Intake.report).join(Challenge).where(Challenge.code == code)).one()
    names = [image.id for image in description.images]
    assert all(re.fullmatch(r"\d{10}", name) for name in names)
    assert (len(set(names)), names) == (40, sorted(names))
    assert not any(name in json.dumps(report) for name in names)
    assert secret.sealed.startswith(b"age-encryption.org")
    shown = {PurePath(name).stem: content for name, content in archives.contents_of(place.platform, phase.id)}
    with place.platform.truths.materialise(truth.key) as path:
        labels = heldout_scoring.GroundTruth.open(path).tables.labels
    for column, name in enumerate(names):
        with Image.open(io.BytesIO(shown[name])) as image:
            is_cat = np.asarray(image).mean() < 100
            assert not image.getexif()
        assert labels[:, column].tolist() == ([1, -1] if is_cat else [-1, 1])


def test_names_stay_where_a_hidden_image_has_no_picture(place: Place) -> None:
    code = place.draft()
    place.send(code, hidden=zipped(kit("test")))
    place.save(code, "names", neutral="true")
    do_all(place.platform)

    page = place.page(f"{NEW}/{code}/check")
    place.save(code, "names", neutral="")
    do_all(place.platform)

    assert "images cannot get neutral names: the image a of test has no file" in page
    assert "Use the names as they were sent" in page
    assert "Is this what you meant?" in place.page(f"{NEW}/{code}/check")


def test_problems_of_the_annotation_stop_at_the_check(place: Place) -> None:
    code = place.draft(template="coco")
    place.send(code, hidden=zipped({"test.json": coco_file(categories=[])}))

    page = place.page(f"{NEW}/{code}/check")

    assert "Fix" in page
    assert "Send corrected files" in page
    assert place.organiser.post(f"{NEW}/{code}/check", data={"sets": ["hidden-0"]}).status_code == 409


def test_names_that_results_cannot_have_are_made_neutral_at_the_check(place: Place) -> None:
    code = place.draft()
    files = {"classes.txt": b"cat", "a b.txt": b"0 0.5 0.5 0.2 0.5", "a b.jpg": jpeg()}
    place.send(code, hidden=zipped(files))
    before = place.page(f"{NEW}/{code}/check")

    place.save(code, "names", neutral="true")
    do_all(place.platform)

    assert "Results cannot have the names of hidden images" in before
    assert "Is this what you meant?" in place.page(f"{NEW}/{code}/check")


def test_a_class_that_no_file_of_results_can_be_called_by_is_called_otherwise_before_scoring(
    place: Place,
) -> None:
    code = place.draft()
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
    things = "".join(f"<object><name>{name}</name>{box}</object>" for name in ("cat", "car/truck"))
    page = (
        f"<annotation><size><width>50</width><height>40</height><depth>3</depth></size>{things}</annotation>"
    )
    place.send(code, hidden=zipped({"a.xml": page.encode()}))
    chosen = {"sets": ["hidden-0"], "without_picture": "1"}

    refused = place.organiser.post(f"{NEW}/{code}/check", data=chosen)
    classes = {"found": ["car/truck", "cat"], "names": ["car_truck", "cat"], "positions": ["1", "2"]}
    place.save(code, "classes", **classes)
    do_all(place.platform)
    gone_on = place.save(code, "check", **chosen)

    assert refused.status_code == 422
    assert "cannot stand in the name of a file of results; leave out slashes; call it otherwise" in words(
        refused.text
    )
    assert gone_on.headers["location"] == f"{NEW}/{code}/scoring"


def test_what_columns_hold_is_said_within_the_steps(place: Place) -> None:
    code = place.draft()
    place.send(code, public=zipped({"val.csv": b"Bild,Art\na,cat\n", "a.jpg": jpeg()}))

    refused = place.organiser.post(f"{NEW}/{code}/tables", data={"columns": ["", "class"]})
    place.save(code, "tables", columns=["image", "class"], has_names="true")
    do_all(place.platform)

    assert refused.status_code == 422
    assert "One column has to hold the image" in words(refused.text)
    assert f'action="{NEW}/{code}/tables"' in refused.text
    assert "<option selected>class</option>" in refused.text  # what was typed
    page = place.page(f"{NEW}/{code}/check")
    assert "val.csv is read as you said; change what its columns hold" in page


@pytest.mark.sampled
def test_a_hidden_set_for_training_is_no_phase_by_itself_and_in_no_text(place: Place) -> None:
    code = place.draft()
    rows = (
        f"{name}.jpg,cat,1,1,{9 + number},9,{'val' if number > 2 else 'train'}"
        for number, name in enumerate("abcdef")
    )
    place.send(
        code,
        hidden=zipped({"boxes.csv": "\n".join(["image,class,left,top,right,bottom,split", *rows]).encode()}),
    )

    check = place.organiser.get(f"{NEW}/{code}/check").text
    [listed] = place.organiser.get(f"/api/v1/organise/challenges/{code}/data-sets").json()["intakes"]
    data_set = place.organiser.get(f"/organise/data-sets/{listed['id']}").text
    place.save(code, "check", sets=re.findall(r'name="sets" value="([^"]+)" checked', check))
    place.save(code, "scoring", **SCORING)
    place.save(code, "rules", **RULES)
    page = place.organiser.get(f"{NEW}/{code}/page").text

    ticked = dict(re.findall(r'name="sets" value="([^"]+)" (checked)?', check))
    assert ticked == {"hidden-0": "", "hidden-1": "checked"}
    assert "| val | 3 | hidden |" in page
    assert "| train |" not in page
    assert re.search(r'id="field-phase"[^>]* value="val"', data_set)
    assert "It has annotation for classification, detection. It has none for segmentation" in words(data_set)


@pytest.mark.parametrize(
    ("step", "form", "expected"),
    [
        (
            "scoring",
            {"protocol": "lvis", "own": "all", "others": "live", "ladder": "true"},
            ("Fix 2 problems", "choose a protocol", "the ladder shows the primary figure"),
        ),
        ("scoring", {"protocol": "voc2012", "own": "everything", "others": "never"}, ("Fix 2 problems",)),
        (
            "rules",
            {
                "opens_at": "2020-01-01T00:00", "closes_at": "yesterday", "per_week": "many", "visibility": "draft",
                "terms": "own", "opens_zone": "UTC", "closes_zone": "Mars/North",
            },
            ("Fix 3 problems", "must be a date and a time", "must be a whole number", "once it is open"),
        ),
        (
            "rules",
            {"closes_at": "2020-01-01T00:00", "visibility": "invited", "terms": "own"},
            ("Fix 4 problems", "in the future", "needs a quota", "name at least one", "write the terms"),
        ),
        (
            "rules",
            {**RULES, "opens_at": "0001-01-01T00:00", "closes_at": "9999-12-31T23:59"},
            ("Fix 2 problems", "must be in a year from 1970 to 2999"),
        ),
        (
            "rules",
            {**RULES, "visibility": "invited", "invited": "nobody\n@example.org"},
            ("neither an address",),
        ),
        ("page", {"contact": "nobody", "citation": "Birds, 2027", "version": "0"}, ("Fix 2 problems",)),
    ],
)  # fmt: skip
def test_a_step_tells_all_its_problems_at_once_and_saves_nothing(
    place: Place, answered: str, step: str, form: dict[str, Any], expected: tuple[str, ...]
) -> None:
    before = settings(place, answered)

    answer = place.organiser.post(f"{NEW}/{answered}/{step}", data=form)

    assert answer.status_code == 422
    for each in expected:
        assert each in words(answer.text)
    assert settings(place, answered) == before


@pytest.fixture(scope="module")
def answered(place: Place) -> str:
    """A draft with hidden annotation whose sets are chosen."""
    code = place.draft()
    place.send(code, hidden=zipped(kit("test")))
    place.save(code, "check", sets=["hidden-0"])
    return code


def settings(place: Place, code: str) -> Any:
    with place.platform.transaction() as session:
        return session.scalars(
            select(ChallengeDraft.settings).join(Challenge).where(Challenge.code == code)
        ).one()


@pytest.mark.sampled
def test_scores_at_the_close_need_a_closing_date(place: Place) -> None:
    code = place.draft()
    place.send(code, hidden=zipped(kit("test")))
    place.save(code, "check", sets=["hidden-0"])
    place.save(code, "rules", **RULES)
    place.save(code, "scoring", protocol="voc2012", own="nothing", others="live")
    place.save(code, "page", **PAGE)

    listed = place.page(f"/organise/challenges/{code}")
    opened = place.organiser.post(f"{NEW}/{code}/open")
    closes = datetime.now(UTC) + timedelta(days=42)
    place.save(code, "rules", **RULES, closes_at=f"{closes:%Y-%m-%dT%H:%M}", closes_zone="AoE")
    proposed = place.page(f"{NEW}/{code}/rules")

    place.save(code, "scoring", protocol="voc2012", own="all", others="frozen", frozen_days="7")
    place.organiser.post(f"{NEW}/{code}/phases")
    do_all(place.platform)

    with place.platform.transaction() as session:
        [phase] = session.scalars(select(Phase).join(Challenge).where(Challenge.code == code))
    assert phase.closes_at is not None
    assert phase.frozen_from == phase.closes_at - timedelta(days=7)
    sheet = place.organiser.get(f"/organise/phases/{phase.id}").text
    assert re.search(r'name="frozen_days"[^>]*value="7"', sheet)
    assert "closes at: scores are shown when the phase closes" in listed
    assert opened.status_code == 409
    assert "Classes, scoring and rules are decided" in words(opened.text)
    assert "we propose 2 per week and 14 in total" in proposed


@pytest.mark.sampled
def test_a_data_set_is_read_once_for_all_its_phases(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    code, children = place.draft(), []
    pictures = zipped({f"{name}.jpg": jpeg(shade=number) for number, name in enumerate("abc")})
    place.send(code, images=pictures, public=zipped(kit("val")), hidden=zipped(kit("test")))
    place.save(code, "check", sets=["public-0", "hidden-0"])
    place.save(code, "scoring", **SCORING)
    place.save(code, "rules", **RULES)

    def counted(*given: Any, **named: Any) -> bytes:
        children.append(given)
        return run_in_subprocess(*given, **named)

    monkeypatch.setattr(reading, "run_in_subprocess", counted)
    place.save(code, "page", **PAGE)
    do_all(place.platform)

    assert len(children) == 1
    with place.platform.transaction() as session:
        shown = session.execute(
            select(Phase.image_set, func.count())
            .join(Challenge)
            .join(Picture, (Picture.phase_id == Phase.id) & Picture.problem.is_(None))
            .where(Challenge.code == code)
            .group_by(Phase.image_set)
        ).all()
    assert {name: count > 0 for name, count in shown} == {"test": True, "val": True}


@pytest.mark.sampled
def test_phases_are_made_again_when_a_step_changes(place: Place) -> None:
    code = place.finished()
    place.save(code, "scoring", protocol="voc2007", own="mean", others="live", ladder="true")
    stale = place.page(f"/organise/challenges/{code}")
    early = place.organiser.post(f"{NEW}/{code}/open")
    place.save(code, "phases")
    do_all(place.platform)

    opened = place.organiser.post(f"{NEW}/{code}/open")

    assert "Make the phases" in stale
    assert (early.status_code, opened.status_code) == (409, 303)
    with place.platform.transaction() as session:
        found = session.execute(
            select(Phase.protocol, Phase.disclosure)
            .join(Challenge)
            .where(Challenge.code == code, Phase.image_set == "test")
        ).one()
    assert tuple(map(str, found)) == ("voc2007", "ladder")


@pytest.mark.sampled
def test_drawings_of_annotation_are_deleted_once_it_is_sent_as_hidden(place: Place) -> None:
    code = place.draft()
    place.send(code, public=zipped(kit("val")), images=zipped({f"{name}.jpg": jpeg() for name in "abc"}))
    with place.platform.transaction() as session:
        challenge = session.scalars(select(Challenge).where(Challenge.code == code)).one()
        intake = intakes.newest(session, challenge.id)
        assert intake is not None
        files = select(IntakeFile.id).where(IntakeFile.intake_id == intake.id, IntakeFile.role == "public")
        [public] = session.scalars(files)
    drawing = f"/organise/data-sets/{intake.id}/pictures/public/1"
    before = place.organiser.get(drawing).status_code

    place.organiser.delete(f"/api/v1/organise/data-set-files/{public}").raise_for_status()
    place.send(code, hidden=zipped(kit("val")))

    assert (before, place.organiser.get(drawing).status_code) == (200, 404)
    with place.platform.transaction() as session:
        kept = select(func.count()).select_from(Artefact).where(Artefact.subject == str(intake.id))
        assert session.scalar(kept) == 0


@pytest.mark.sampled
def test_an_address_that_changes_while_phases_are_made_leaves_no_challenge_at_the_former_one(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = place.finished()
    place.save(code, "scoring", protocol="voc2007", own="mean", others="live", ladder="true")
    prepare = applying.prepare

    def prepared(*arguments: Any) -> Any:
        ready = prepare(*arguments)
        place.save(code, "what", **{**WHAT, "code": f"{code}-b"})
        return ready

    monkeypatch.setattr(applying, "prepare", prepared)
    place.save(code, "phases")
    do_all(place.platform)

    assert "address of the challenge was changed" in place.page(f"/organise/challenges/{code}-b")
    with place.platform.transaction() as session:
        assert challenges.challenge_of(session, code) is None


@pytest.mark.sampled
def test_a_draft_opens_by_itself_and_says_why_it_did_not(place: Place) -> None:
    ready, changed = place.finished(), place.finished()
    tomorrow = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M}"
    past = place.organiser.post(f"{NEW}/{ready}/schedule", data={"opens_at": "2020-01-01T00:00"})
    for code in (ready, changed):
        place.save(code, "schedule", opens_at=tomorrow)
    place.save(changed, "scoring", protocol="voc2007", own="mean", others="live")
    with place.platform.transaction() as session:
        session.execute(update(ChallengeDraft).values(opens_at=func.now() - timedelta(minutes=1)))

    drafts.open_due(place.platform)

    assert past.status_code == 422
    with place.platform.transaction() as session:
        rows = dict(session.execute(select(Challenge.code, Challenge.visibility)).all())
    assert (rows[ready], rows[changed]) == (ChallengeVisibility.LISTED, ChallengeVisibility.DRAFT)
    assert "It did not open by itself. not done yet: The phases are made" in place.page(
        f"/organise/challenges/{changed}"
    )


def test_whom_corrected_rules_no_longer_name_is_no_longer_invited(place: Place, answered: str) -> None:
    def rules(visibility: str, invited: str) -> str:
        place.save(answered, "rules", **{**RULES, "visibility": visibility, "invited": invited})
        return place.page(f"/organise/challenges/{answered}/visibility")

    mistaken = rules("invited", "@example.com ash@example.org")
    corrected = rules("invited", "@lab.example.com ash@example.org")
    public = rules("listed", "@lab.example.com ash@example.org")

    assert "@example.com" in mistaken
    assert ("@example.com" in corrected, "@lab.example.com" in corrected) == (False, True)
    assert "ash@example.org" in corrected
    assert "ash@example.org" not in public


@pytest.mark.sampled
def test_another_data_set_of_a_draft_is_started_once_however_often_it_is_asked_for(place: Place) -> None:
    code = place.finished()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: place.organiser.post(f"{NEW}/{code}/data-set"), range(4)))

    assert {each.headers.get("location") for each in answers} == {f"{NEW}/{code}/data"}
    sets = place.organiser.get(f"/api/v1/organise/challenges/{code}/data-sets").json()["intakes"]
    assert sorted(each["state"] for each in sets) == ["applied", "receiving"]


@pytest.mark.sampled
def test_another_data_set_of_an_open_challenge_leaves_nothing_to_decide(place: Place) -> None:
    code = place.finished()
    place.organiser.post(f"{NEW}/{code}/open")
    started = place.organiser.post(f"/api/v1/organise/challenges/{code}/data-sets").json()
    address = f"/api/v1/organise/data-sets/{started['id']}"
    place.organiser.put(f"{address}/files/hidden/test.zip", content=zipped(kit("test")))
    place.organiser.post(f"{address}/read")
    do_all(place.platform)

    overview = place.page(f"/organise/challenges/{code}")

    assert "Still worth doing" in overview  # a second organiser
    assert "to do" not in overview
    assert "is a challenge in detection" not in overview  # as it was when it opened


@pytest.mark.sampled
def test_each_way_to_begin_a_challenge_has_one_form_and_leads_to_the_others(place: Place) -> None:
    place.finished()

    for address, action in ((NEW, NEW), (f"{NEW}/file", f"{NEW}/file"), (f"{NEW}?way=copy", f"{NEW}/copies")):
        page = place.organiser.get(address).text
        assert re.findall(rf'<form method="post" action="({NEW}[^"]*)"', page) == [action]
        for other in (NEW, f"{NEW}/file", f"{NEW}?way=copy"):
            assert f'href="{other}"' in page


@pytest.mark.sampled
def test_a_copy_proposes_the_settings_without_data_dates_and_people(place: Place) -> None:
    code = place.finished(visibility="invited", invited="@example.org", per_day="3")
    copied = f"{code}-2"

    made = place.organiser.post(
        f"{NEW}/copies", data={"copy_source": code, "copy_title": "Birds 2", "copy_code": copied}
    )
    exported = place.organiser.get(f"/organise/challenges/{code}/settings.json")
    bad = place.organiser.post(
        f"{NEW}/copies", data={"copy_source": code, "copy_title": "", "copy_code": code}
    )

    assert made.headers["location"] == f"{NEW}/{copied}/what"
    rules = place.organiser.get(f"{NEW}/{copied}/rules").text
    assert re.search(r'name="per_day"[^>]*value="3"', rules)
    assert "@example.org<" not in rules
    assert "Nothing was read yet" in place.page(f"{NEW}/{copied}/check")
    assert (
        "# Birds" not in place.organiser.get(f"{NEW}/{copied}/page").text
    )  # it counts the data of the other
    assert exported.json()["scoring"]["protocol"] == "voc2012"
    assert "invited" not in exported.json()["rules"]
    assert (bad.status_code, "Title of the copy" in bad.text) == (422, True)


def test_deleting_a_draft_deletes_its_data_and_keeps_the_audit(place: Place) -> None:
    code = place.finished()
    with place.platform.transaction() as session:
        number = session.scalars(select(Challenge.id).where(Challenge.code == code)).one()

    gone = place.organiser.post(f"{NEW}/{code}/delete")

    assert gone.status_code == 303, gone.text
    assert place.organiser.get(f"/organise/challenges/{code}").status_code == 404
    with place.platform.transaction() as session:
        for table in Base.metadata.sorted_tables:
            if "challenge_id" in table.c and table.name != AuditRecord.__tablename__:
                rows = text(f'SELECT count(*) FROM "{table.name}" WHERE challenge_id = :number')
                assert session.scalar(rows, {"number": number}) == 0, table.name
        assert session.scalar(select(func.count()).where(AuditRecord.challenge_id == number))
    assert f"challenge {number}" in place.page("/audit")


@pytest.mark.sampled
def test_only_owners_make_phases_with_public_annotation_and_delete_a_draft(
    place: Place, app: FastAPI
) -> None:
    code = place.finished()
    helper = registered(TestClient(app, follow_redirects=False), "helper@example.org")
    new = {"email": "helper@example.org", "role": "organiser"}
    added = place.organiser.post(f"/api/v1/organise/challenges/{code}/organisers", json=new)
    assert added.status_code < 300, added.text

    saved = helper.post(f"{NEW}/{code}/scoring", data={**SCORING, "own": "mean"})
    page = helper.post(f"{NEW}/{code}/page", data={**PAGE, "version": "2"})
    made = helper.post(f"{NEW}/{code}/phases")
    deleted = helper.post(f"{NEW}/{code}/delete")

    assert (saved.status_code, page.status_code, made.status_code, deleted.status_code) == (
        303,
        303,
        403,
        403,
    )
    assert "Only owners of the challenge publish annotation" in made.text


@pytest.mark.sampled
def test_only_owners_make_phases_that_show_everything_once_they_are_over(place: Place, app: FastAPI) -> None:
    code = place.draft()
    place.send(code, hidden=zipped(kit("test")))
    place.save(code, "check", sets=["hidden-0"])
    place.save(code, "scoring", **SCORING, details_at_close="true")
    place.save(code, "rules", **RULES)
    helper = registered(TestClient(app, follow_redirects=False), "keeper@example.org")
    new = {"email": "keeper@example.org", "role": "organiser"}
    place.organiser.post(f"/api/v1/organise/challenges/{code}/organisers", json=new).raise_for_status()

    assert helper.post(f"{NEW}/{code}/page", data=PAGE).status_code == 303
    refused = helper.post(f"{NEW}/{code}/phases")
    made = place.organiser.post(f"{NEW}/{code}/phases")

    assert refused.status_code == 403
    assert "Only owners of the challenge publish annotation" in refused.text
    assert made.status_code == 303


def test_a_draft_takes_no_address_that_another_takes_at_the_same_moment(place: Place) -> None:
    code, soon = place.draft(), f"soon{uuid.uuid4().hex[:8]}"
    waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as late:
        with place.platform.transaction() as session:
            session.add(Challenge(code=soon, title="Soon", dataset=soon))
            session.flush()
            answer = late.submit(place.organiser.post, f"{NEW}/{code}/what", data={**WHAT, "code": soon})
            assert eventually(lambda: bool(session.scalar(waits)))
        refused = answer.result(LIMIT)

    assert refused.status_code == 422
    assert f"{soon} was taken a moment ago" in words(refused.text)


def test_a_person_whom_the_site_names_creates_challenges(place: Place, app: FastAPI) -> None:
    site = place.organiser.get("/api/v1/admin/site").json()
    new = {name: site[name] for name in ("name", "contact", "version")} | {"creation": "named people"}
    assert place.organiser.put("/api/v1/admin/site", json=new).status_code == 200
    named = registered(TestClient(app, follow_redirects=False), "named@example.org")
    form = {**WHAT, "code": "owls"}
    refused = named.post(NEW, data=form)
    place.organiser.post("/admin/creators", data={"email": "named@example.org"})
    confirm_address(place.platform, "named@example.org")

    created = named.post(NEW, data=form)

    assert (refused.status_code, created.status_code) == (403, 303), created.text
    assert named.get(f"{NEW}/owls/what").status_code == 200
    assert named.get("/organise").status_code == 200
