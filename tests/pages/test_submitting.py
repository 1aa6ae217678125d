"""Submitting as participants meet it: limits, warnings, the one page, what follows, and what changes in between."""

import json
import math
import re
import shlex
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import httpx2
import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.intake.importing import TreeImport, import_tree
from app.models import Challenge, ChallengeVisibility, Disclosure, Phase, Upload, UploadState
from app.platform import Platform
from app.web.formats import size
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.pages.test_terms import organiser
from tests.scoring.builders import Kit, annotation, thing
from tests.system.kits import line, packed

OBJECTS = {"bird": 1, "boat": 1, "car": 4, "cat": 1, "cow": 1, "dog": 12}  # in each image
IMAGES = {image_set: tuple(f"{image_set}_{n}" for n in range(12)) for image_set in ("val", "test")}
BOX = (1, 1, 10, 10)
MIB = 1 << 20
DAY = timedelta(days=1)


@dataclass
class Scene:
    """A challenge with a public and a held-out image set, its organiser and a participant."""

    platform: Platform
    organiser: TestClient
    ash: TestClient

    def phase(self, image_set: str = "test") -> Phase:
        with self.platform.transaction() as session:
            return session.scalars(select(Phase).where(Phase.image_set == image_set)).one()

    def change(self, image_set: str = "test", **columns: Any) -> None:
        """Change a phase behind everybody's back."""
        with self.platform.transaction() as session:
            session.execute(update(Phase).where(Phase.image_set == image_set).values(**columns))
        self.platform.cache.expire_versions()

    def send(self, content: bytes, name: str = "results.tar.gz") -> httpx2.Response:
        """Send an archive by the plain form."""
        address = "/challenges/drop/test/submit"
        response = self.ash.post(address, files={"archive": (name, content)})
        assert isinstance(response, httpx2.Response)
        return response

    def upload(self, content: bytes | None = None) -> str:
        """Send an archive, valid by default; return the address of its page."""
        return str(self.send(content or archive()).headers["location"])

    def submit(self, page: str, method: str, **fields: Any) -> httpx2.Response:
        """Send the form of an upload's page."""
        form = {"method": method, "competition": ["3"], "given_data_only": "true"} | fields
        response = self.ash.post(page, data=form)
        assert isinstance(response, httpx2.Response)
        return response

    def ask(self, **question: str) -> int:
        """Ask a question about methods; return its id."""
        assert self.organiser.post("/organise/challenges/drop/questions", data=question).status_code == 303
        asked = self.ash.get("/api/v1/challenges/drop/questions").json()
        return next(int(each["id"]) for each in asked if each["text"] == question["text"])

    def submissions(self) -> list[Any]:
        found: list[Any] = self.ash.get("/api/v1/submissions").json()
        return found

    def report(self, content: bytes) -> Any:
        """Send a valid archive and return its report."""
        report = self.ash.get(f"/api/v1{self.upload(content)}").json()["report"]
        assert report["valid"], report
        return report


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("drop") / "VOC2012"
    objects = [thing(name, BOX) for name, number in OBJECTS.items() for _ in range(number)]
    for image_set, images in IMAGES.items():
        labels = {name: "1 " * len(images) for name in OBJECTS}
        Kit(root, image_set).main({image: annotation(*objects) for image in images}, labels)
    return root


@pytest.fixture(scope="module")
def _challenge(platform: Platform, tree: Any) -> None:
    for image_set, disclosure in (("val", Disclosure.FULL), ("test", Disclosure.CLASSES)):
        limits = {"max_file_bytes": 500_000}
        request = TreeImport(tree, "drop", image_set, title="Drop", disclosure=disclosure, limits=limits)
        import_tree(platform, request)


@pytest.fixture
def scene(browser: Browser, platform: Platform, _challenge: None, request: pytest.FixtureRequest) -> Scene:
    name = str(len(request.node.name))
    people = (
        organiser(browser, platform, f"olga{name}@example.org", "drop"),
        registered(browser(), f"ash{name}@example.org"),
    )
    return Scene(platform, *people)


def archive(*order: str, image_set: str = "test", competition: int = 3) -> bytes:
    """An archive with as many predictions of each class as another one in this order has objects; by default its own."""
    numbers = dict(zip(OBJECTS, (OBJECTS[name] for name in order or OBJECTS), strict=True))
    return packed(
        {
            f"results/VOC2012/Main/comp{competition}_det_{image_set}_{name}.txt": "".join(
                line(image, place / 20 + n / 1000, BOX)
                for place, image in enumerate(IMAGES[image_set])
                for n in range(number)
            ).encode()
            for name, number in numbers.items()
        }
    )


SHUFFLED = ("dog", "bird", "boat", "car", "cat", "cow")


@pytest.mark.parametrize("path", ["/submissions", "/uploads"])
def test_who_has_sent_nothing_is_offered_the_open_phases_with_their_deadlines(
    scene: Scene, path: str
) -> None:
    closes = datetime.now(UTC) + timedelta(days=3)
    scene.change(closes_at=closes)

    page = scene.ash.get(path).text
    scene.change(paused_at=closes)
    paused = scene.ash.get(path).text
    scene.change(closes_at=None, paused_at=None)

    test, val = (page.find(f'href="/challenges/drop/{each}/submit"') for each in ("test", "val"))
    assert 0 < test < val
    assert "Nothing " in page
    assert f"{closes:%-d %b %Y %H:%M} UTC" in page
    assert "/challenges/drop/test/submit" not in paused


@pytest.mark.parametrize("path", ["/submissions", "/uploads"])
def test_organisers_are_not_offered_their_drafts_as_open(scene: Scene, path: str) -> None:
    def set_visibility(visibility: ChallengeVisibility) -> None:
        with scene.platform.transaction() as session:
            session.execute(update(Challenge).values(visibility=visibility))

    opened = scene.organiser.get(path).text
    set_visibility(ChallengeVisibility.DRAFT)
    draft = scene.organiser.get(path).text
    set_visibility(ChallengeVisibility.LISTED)

    assert "/challenges/drop/val/submit" in opened
    assert "/submit" not in draft


def test_a_report_compares_class_shares_with_public_annotation_alone(scene: Scene) -> None:
    def codes() -> list[str]:
        return [each["code"] for each in scene.report(archive(*SHUFFLED))["warnings"]]

    [warning] = scene.report(archive(*SHUFFLED))["warnings"]
    assert warning["message"] == (
        "comp3: the shares of the classes are far from those in val, whose annotation is public: 'bird' has 60% of the 240 predictions "
        "and 5% of the 240 objects there; 70% of the predictions would have to be of another class. "
        "Are the classes in another order?"
    )
    assert scene.report(archive())["warnings"] == []
    opened = scene.phase("val").opens_at
    scene.change("val", opens_at=datetime.now(UTC) + timedelta(days=1))
    assert codes() == []  # nothing is public now, and the hidden annotation of test is not used
    scene.change("val", opens_at=opened)


def test_organisers_set_the_size_of_archives_on_the_page_of_the_phase(scene: Scene) -> None:
    phase, content = scene.phase(), archive()
    page = f"/organise/phases/{phase.id}"
    form = {
        "opens_at": f"{phase.opens_at:%Y-%m-%dT%H:%M}",
        "grace_minutes": "60",
        "quotas": "2/7",
        "reason": "COCO",
    }

    def limited(**limits: str) -> httpx2.Response:
        return scene.organiser.post(f"{page}/rules", data=form | limits)

    metadata = f"filename {b64encode(b'comp3_det_test_cat.txt').decode()}"
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "500001", "Upload-Metadata": metadata}
    plain_file = scene.ash.post("/api/v1/challenges/drop/test/uploads", headers=headers)
    assert "a file that is not packed may have at most 500000 bytes" in plain_file.text
    shown = unescape(scene.organiser.get(page).text)
    assert re.search(r'name="max_upload"\s+type="number"\s+autocomplete="off"\s+value="1"', shown)
    assert "At most 1 MiB on this server." in shown
    beyond = limited(max_upload="1.5", max_file_bytes="99999999", max_lines="7")
    assert beyond.status_code == 409
    for reason in (
        "Size of an archive: this server allows at most 1 MiB",
        "Size of a file: this",
        "Lines of a file: this can only",
    ):
        assert reason in beyond.text
    assert 'value="1.5"' in beyond.text
    assert limited(max_upload="many").status_code == 422
    less = len(content) // 2 / MIB
    assert limited(max_upload=f"{less}", max_file_bytes="1200", max_unpacked_bytes="2400").status_code == 303
    try:
        refused = scene.send(content)
        assert refused.status_code == 413
        assert f"this one has {len(content)}" in refused.text
        told = f"{size(math.ceil(less * MIB))}, and 2.3 GiB unpacked</dd> <dt>One file</dt> <dd>1.2 GiB</dd>"
        for address in ("/rules", "/test/submit", "/test/competitions/3"):
            assert told in " ".join(scene.ash.get(f"/challenges/drop{address}").text.split()), address
        assert re.search(r'data-most="\d{3,4}"', scene.ash.get("/challenges/drop/test/submit").text)
    finally:
        scene.change(max_upload=None)
    assert scene.send(content).status_code == 303


def test_the_page_of_a_phase_leads_to_the_other_open_ones(scene: Scene) -> None:
    link = '<a href="/challenges/drop/val/submit">submit to val</a>'
    open_at = datetime.now(UTC) - DAY
    scene.change("val", opens_at=open_at)
    assert link in scene.ash.get("/challenges/drop/test/submit").text

    scene.change("val", opens_at=open_at + 9 * DAY)

    assert link not in scene.ash.get("/challenges/drop/test/submit").text
    scene.change("val", opens_at=open_at)


def test_each_step_is_on_one_page_at_the_address_of_the_upload(scene: Scene) -> None:
    empty = plain(scene.ash.get("/challenges/drop/test/submit"))
    invalid = scene.upload(packed({"results/VOC2012/Main/comp3_det_test_cat.txt": b"nowhere 0.5 1 1 9 9\n"}))
    page = scene.upload()
    shown = plain(scene.ash.get(page))

    assert ("1 · Archive" in empty, "2 · Report" in empty, "3 · Method" in empty) == (True, True, True)
    assert "unknown image" in plain(scene.ash.get(invalid))
    assert 'id="confirm"' not in plain(scene.ash.get(invalid))
    for sentence in (
        "Uses 1 of 2 detection results this week; 1 left after it.",
        "One final result per method: you cannot replace it later.",
        "Only your team and the organisers see the result",
        "No worker is running at the moment",
    ):
        assert sentence in shown
    assert "Everybody sees the method" in plain(scene.ash.get(f"{page}?make_public=true"))
    assert "detection results" not in follows(scene.ash.get(f"{page}?is_chosen=true"))
    assert scene.ash.get(f"{page}?competition=x").status_code == 422
    submitted = scene.submit(page, "First_net")
    assert (submitted.status_code, submitted.headers["location"][:13]) == (303, "/submissions/")
    after = plain(scene.ash.get(page))
    assert 'id="confirm"' not in after
    assert f'href="{submitted.headers["location"]}"' in after
    again = plain(scene.ash.get(f"{page}?again=true&method=first_net"))
    assert "First_net</a> is your method; only your team and the organisers see it." in again
    assert "'First_net' already has a result in competition 3" in again
    assert "none is left after it, and the next one is free" in again
    as_organiser = plain(scene.organiser.get(page))
    assert "Upload to Drop, test" in as_organiser
    assert ('id="upload"' in as_organiser, 'id="confirmation"' in as_organiser) == (False, False)


def test_an_archive_that_waits_says_whether_it_is_being_checked(scene: Scene) -> None:
    page = scene.upload()
    waiting = update(Upload).where(Upload.id == page.rpartition("/")[2])

    def shown(until: datetime | None) -> tuple[bool, bool]:
        with scene.platform.transaction() as session:
            session.execute(
                waiting.values(state=UploadState.RECEIVED, report=None, valid=None, check_until=until)
            )
        text = plain(scene.ash.get(page))
        return "The archive is being checked." in text, "Check again</button>" in text

    now = datetime.now(UTC)
    assert [shown(now + DAY), shown(now - DAY), shown(None)] == [(True, False), (False, True), (False, True)]
    assert scene.ash.post(f"{page}/check").headers["location"] == page
    assert 'id="confirm"' in plain(scene.ash.get(page))


def plain(response: httpx2.Response) -> str:
    """The text of a page, with single spaces."""
    assert response.status_code == 200, response.text
    return " ".join(unescape(response.text).split())


def follows(response: httpx2.Response) -> str:
    """What follows from submitting, as the page says it."""
    return plain(response).partition('<div id="follows"')[2].partition("</div>")[0]


def test_the_same_form_sent_twice_is_one_submission_and_an_edited_one_another(scene: Scene) -> None:
    page = scene.upload()
    [key] = re.findall('name="key" value="([0-9a-f]+)"', scene.ash.get(page).text)

    first, second = (scene.submit(page, "Twice_net", key=key) for _ in range(2))
    edited = scene.submit(page, "Thrice_net", key=key)
    without_key = scene.submit(page, "Twice_net")

    assert first.headers["location"] == second.headers["location"]
    assert edited.status_code == 303
    assert edited.headers["location"] != first.headers["location"]
    assert without_key.status_code == 409
    assert len(scene.submissions()) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("closes", "closed on"),
        ("terms", "Accept version"),
        ("quota", "2 of 2 detection results in 7 days are used"),
    ],
)
def test_what_changes_between_check_and_submission_is_said_and_costs_nothing(
    scene: Scene, change: str, reason: str
) -> None:
    page = scene.upload()
    before = len(scene.submissions())
    assert "This cannot be submitted now" not in plain(scene.ash.get(page))
    if change == "closes":
        scene.change(closes_at=datetime.now(UTC), grace=timedelta(0))
    elif change == "terms":
        scene.organiser.post(
            "/organise/challenges/drop/terms", data={"text": "Do not train on these images."}
        )
    else:
        for name in ("One_net", "Two_net"):
            assert scene.submit(scene.upload(), name).status_code == 303
        before += 2

    refused = scene.submit(page, "Late_net", title="A typed title")
    shown = plain(scene.ash.get(page))

    assert refused.status_code == 409
    text = " ".join(unescape(refused.text).split())
    assert "This was not submitted, and nothing was counted" in text
    assert reason in text
    assert re.search(r'name="title"[^>]*value="A typed title"', refused.text)
    is_disabled = re.search(r'id="confirm"[^>]*disabled', shown) is not None
    assert is_disabled == (change != "terms"), "terms are accepted in another tab, and the form is sent then"
    assert len(scene.submissions()) == before
    if change == "terms":
        assert f'href="/challenges/drop/terms?next={page}" target="_blank">Accept the terms</a>' in shown
        back = scene.ash.post("/challenges/drop/terms", data={"version": "1", "next": page})
        assert back.headers["location"] == page
        assert scene.submit(page, "Late_net").status_code == 303
        scene.organiser.post("/organise/challenges/drop/terms", data={"text": ""})
    else:
        assert reason in shown
        scene.change(closes_at=None, grace=timedelta(hours=1))


def test_the_organisers_questions_are_answered_where_a_method_is_submitted(scene: Scene) -> None:
    runtime = scene.ask(text="Runtime", kind="number", unit="ms", is_required="true")
    extra = scene.ask(text="Extra data", kind="choice", choices="COCO\nnone")
    page = scene.upload()

    shown = plain(scene.ash.get(page))
    assert re.search(
        rf'<label for="field-answer-{runtime}"> Runtime \(ms\) <span class="optional">to publish', shown
    )
    assert re.search(rf'<label for="field-answer-{extra}"> Extra data <span class="optional">optional', shown)
    wrong = scene.submit(page, "Answering", **{f"answer-{runtime}": "fast", f"answer-{extra}": "COCO"})
    assert wrong.status_code == 409
    assert "'Runtime': expected a number, in ms, found 'fast'" in unescape(wrong.text)
    assert (f'name="answer-{runtime}"' in wrong.text, 'value="fast"' in wrong.text) == (True, True)
    assert re.search(r'<option value="COCO" selected>', wrong.text)
    missing = scene.submit(page, "Answering", description="How it works. " * 40, make_public="true")
    assert "answers these questions, too: Runtime" in missing.text
    assert (
        scene.submit(
            page, "Answering", **{f"answer-{runtime}": "12.50", f"answer-{extra}": "none"}
        ).status_code
        == 303
    )

    known = plain(scene.ash.get(f"{scene.upload()}?method=Answering"))
    assert re.search(r"<dt>Runtime</dt> <dd>12\.5 ms</dd> <dt>Extra data</dt> <dd>none</dd>", known)
    for number in (runtime, extra):
        scene.organiser.post(f"/organise/challenges/drop/questions/{number}/delete")


def test_the_command_line_on_the_page_submits_what_the_form_would(scene: Scene) -> None:
    runtime = scene.ask(text="Runtime", kind="number")
    page = scene.upload(archive(competition=4))
    form = {
        "method": "O'Brien's net",
        "competition": ["4"],
        "other_data": "COCO",
        "make_public": "true",
        f"answer-{runtime}": "7",
    }

    refused = scene.ash.post(page, data=form)  # without the last statement, and a description
    [call] = re.findall(r'<code id="call">(.*?)</code>', refused.text, re.DOTALL)
    words = shlex.split(unescape(call))
    body = json.loads(words[words.index("-d") + 1])

    assert words[-1].endswith("/api/v1/submissions")
    assert body["method"] == {"name": "O'Brien's net", "answers": {str(runtime): "7"}}
    assert (body["competitions"], body["make_public"]) == ([4], True)
    assert body["training"] == {"other_data": "COCO", "no_excluded_data": True}
    del body["make_public"]
    accepted = scene.ash.post("/api/v1/submissions", json=body, headers={"Accept": "application/json"})
    assert accepted.status_code == 201, accepted.text
    method = scene.ash.get(f"/api/v1/methods/{accepted.json()['method']['id']}").json()
    assert [each["answer"] for each in method["answers"]] == ["7"]
    scene.organiser.post(f"/organise/challenges/drop/questions/{runtime}/delete")
