"""An organiser creates a challenge in six steps, opens it, and a participant submits to it: nobody needs a shell."""

import io
import json
import re
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import FilePayload, Page, expect

from heldout_scoring import labels_to_png
from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.browser.test_walk import accept_terms
from tests.pages.data_sets import TABLE, zipped

pytestmark = [pytest.mark.browser, pytest.mark.slow]

READING = 180_000  # milliseconds that a worker may take
BIRDS = (
    "avocet", "bittern", "curlew", "dunlin", "egret", "fieldfare", "gannet", "heron", "ibis", "jackdaw", "kingfisher",
    "lapwing",
)  # fmt: skip


@dataclass(frozen=True)
class Brought:
    """What an organiser brings: files by role, the task, and what the steps show of it."""

    code: str
    task: str
    template: str
    files: Mapping[str, tuple[str, bytes]]
    classes: tuple[str, ...]
    competition: int
    archive: bytes = b""  # of results, where the server offers no example
    own_score: str = "The primary figure"  # what a team sees of it


def picture(number: int, size: tuple[int, int] = (64, 48)) -> bytes:
    stream = io.BytesIO()
    colour = tuple(Random(number).randrange(256) for _ in range(3))
    Image.new("RGB", size, colour).save(stream, "JPEG", comment=str(number))  # or some would be the same
    return stream.getvalue()


def packed(files: Mapping[str, bytes]) -> bytes:
    """A tar.gz of these files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def coco() -> Brought:
    """COCO's JSON with twelve classes of its own, two images of each in every set."""
    images = {f"{number:06}.jpg": picture(number) for number in range(1, 49)}
    sets = {"val": range(1, 25), "test": range(25, 49)}
    written = {name: _instances(numbers) for name, numbers in sets.items()}
    return Brought(
        "birds", "Detection", "COCO-like",
        {
            "images": ("images.zip", zipped(images)),
            "public": ("instances_val.json", written["val"]),
            "hidden": ("instances_test.json", written["test"]),
        },
        BIRDS, 1,
    )  # fmt: skip


def _instances(numbers: range) -> bytes:
    found = {
        "images": [{"id": n, "file_name": f"{n:06}.jpg", "width": 64, "height": 48} for n in numbers],
        "categories": [{"id": n, "name": name} for n, name in enumerate(BIRDS, 1)],
        "annotations": [
            {
                "id": n,
                "image_id": n,
                "category_id": n % 12 + 1,
                "bbox": [4, 4, 30, 20],
                "area": 600,
                "iscrowd": 0,
            }
            for n in numbers
        ],
    }
    return json.dumps(found).encode()


def folders() -> Brought:
    """A folder of pictures for each class, whose sizes the annotation does not tell."""
    files = {
        f"{name}/{name[0]}{n}.jpg": picture(n + 7 * ord(name[0])) for name in BIRDS[:3] for n in range(4)
    }
    lines = "".join(f"{Path(name).stem} 0.5\n" for name in files).encode()
    results = {f"results/feathers/Main/comp2_cls_test_{name}.txt": lines for name in BIRDS[:3]}
    sent = {"hidden": ("test.zip", zipped(files))}
    return Brought("feathers", "Classification", "VOC-like", sent, BIRDS[:3], 2, packed(results))


def label_images() -> Brought:
    """Label images, and the names of their classes."""
    labels = np.zeros((48, 64), np.uint8)
    labels[:20, :20], labels[30:, 30:] = 1, 2
    files = {f"m{n}.png": labels_to_png(np.roll(labels, n, axis=1)) for n in range(4)}
    files["classes.txt"] = b"wing\nbeak\n"
    images = {f"m{n}.jpg": picture(n) for n in range(4)}
    sent = {"images": ("images.zip", zipped(images)), "hidden": ("masks.zip", zipped(files))}
    return Brought("plumage", "Segmentation", "VOC-like", sent, ("wing", "beak"), 6)


@pytest.mark.parametrize("bring", [coco, folders, label_images], ids=lambda each: each.__name__)
def test_a_challenge_is_created_opened_and_submitted_to(
    site: Site, visit: Visit, bring: Callable[[], Brought]
) -> None:
    brought = bring()
    page, reader = visit("organiser"), visit("participant")

    create(page, brought)
    reader.goto(f"/challenges/{brought.code}")
    expect(reader.get_by_role("heading", level=1)).to_have_text("Not found")
    open_it(page)

    reader.goto(f"/challenges/{brought.code}")
    expect(reader.get_by_role("heading", level=1)).to_contain_text(brought.code.capitalize())
    accept_terms(reader, brought.code)
    phase, http = f"{brought.code}/test", site.participant.http
    example = http.get(f"/challenges/{phase}/example.tar.gz?competition={brought.competition}")
    archive = brought.archive or example.content
    submission = site.participant.submit(phase, archive, f"{brought.code} net")
    assert site.participant.final(submission)["results"][0]["state"] == "scored"
    reader.goto(f"/leaderboards/{phase}/{brought.competition}")
    expect(reader.get_by_role("main")).to_contain_text(f"{brought.code} net")


def create(page: Page, brought: Brought, look: Callable[[str], object] = lambda _: None) -> None:
    """Go through the six steps; look: called with the name of each page that is shown."""
    page.goto("/organise")
    page.get_by_role("link", name="New challenge").click()
    page.get_by_label("Title", exact=True).fill(brought.code.capitalize())
    page.get_by_label("Address", exact=True).fill(brought.code)
    page.get_by_role("checkbox", name=re.compile(f"^{brought.task} ")).check()
    page.get_by_role("radio", name=re.compile(f"^{brought.template} ")).check()
    look("1-what")
    page.get_by_role("button", name="Save the draft and go on").click()

    look("2-data-empty")
    for role, (name, content) in brought.files.items():
        send(page, role, name, content)
    look("2-data")
    page.get_by_role("button", name="Read it and go on").click()

    expect(page.get_by_role("heading", name="Is this what you meant?")).to_be_visible(timeout=READING)
    for name in brought.classes:
        expect(page.get_by_role("rowheader", name=name, exact=True)).to_be_visible()
    look("3-check")
    page.get_by_role("button", name="Yes, go on to scoring").click()

    page.get_by_role("radio", name=re.compile(f"^{brought.own_score}")).check()
    look("4-scoring")
    page.get_by_role("button", name="Save and go on to the rules").click()

    closes = datetime.now(UTC) + timedelta(days=42)
    page.locator("#field-closes_at").fill(f"{closes:%Y-%m-%dT%H:%M}")
    page.get_by_label("Time zone of: Closes").select_option("AoE")
    page.get_by_label("Licence of the images").fill("CC-BY-4.0")
    page.get_by_label("Research and teaching").check()
    look("5-rules")
    page.get_by_role("button", name="Save and go on to the page").click()

    expect(page.get_by_label("Text")).to_have_value(re.compile(r"## Task[\s\S]*" + brought.classes[0]))
    expect(page.get_by_text("A team, and each person in it, may have 2 results in 7 days")).to_be_visible()
    look("6-page")
    page.get_by_role("button", name="Save and see what is left").click()
    expect(page.get_by_role("link", name="Open now…")).to_be_visible(timeout=READING)
    look("7-checklist")


def send(page: Page, role: str, name: str, content: bytes) -> None:
    """Drop a file onto the zone of a role."""
    zone = page.locator(f"[data-role={role}]")
    payload = FilePayload(name=name, mimeType="application/octet-stream", buffer=content)
    zone.locator("input").first.set_input_files(payload)
    zone.get_by_role("button", name="Send").click()
    expect(page.get_by_role("row").filter(has_text=name)).to_contain_text("complete", timeout=READING)


def open_it(page: Page) -> None:
    """Open the challenge from its checklist."""
    page.get_by_role("link", name="Open now…").click()
    expect(page.get_by_text("This cannot be taken back.")).to_be_visible()
    page.get_by_label("Open without images for participants").check()
    page.get_by_role("button", name="Open now").click()
    expect(page.get_by_role("heading", name="Before it opens")).to_have_count(0)


def test_files_that_are_sent_side_by_side_all_arrive(visit: Visit) -> None:
    page = visit("organiser")
    page.goto("/organise/new")
    page.get_by_label("Title", exact=True).fill("Side by side")
    page.get_by_label("Address", exact=True).fill("beside")
    page.get_by_role("checkbox", name=re.compile("^Detection ")).check()
    page.get_by_role("button", name="Save the draft and go on").click()
    zones = {role: page.locator(f"[data-role={role}]") for role in ("images", "public", "hidden")}
    for role, zone in zones.items():
        payload = FilePayload(name=f"{role}.zip", mimeType="application/zip", buffer=zipped({"a": b"a"}))
        zone.locator("input").first.set_input_files(payload)

    zones["images"].get_by_role("button", name="Send").click()
    expect(zones["images"].get_by_text("images.zip has arrived.")).to_be_visible()
    zones["public"].get_by_role("button", name="Send").click()
    zones["hidden"].get_by_role("button", name="Send").click()

    for role in zones:
        expect(page.get_by_role("row").filter(has_text=f"{role}.zip")).to_contain_text("complete")


def test_archives_chosen_together_arrive_alone_and_nothing_chosen_is_forgotten(visit: Visit) -> None:
    page = visit("organiser")
    page.goto("/organise/new")
    page.get_by_label("Title", exact=True).fill("Two archives")
    page.get_by_label("Address", exact=True).fill("archives")
    page.get_by_role("checkbox", name=re.compile("^Detection ")).check()
    page.get_by_role("button", name="Save the draft and go on").click()
    zones = {role: page.locator(f"[data-role={role}]") for role in ("images", "public", "hidden")}
    reading = page.get_by_role("button", name="Read it and go on")
    chosen = [
        FilePayload(
            name=f"{name}.zip", mimeType="application/zip", buffer=zipped({f"{name}.jpg": picture(n)})
        )
        for n, name in enumerate("ab")
    ]
    loose = [
        FilePayload(name=f"{name}.jpg", mimeType="image/jpeg", buffer=picture(n))
        for n, name in enumerate("cdefg", 3)
    ]
    table = FilePayload(name="test.csv", mimeType="text/csv", buffer=TABLE)

    zones["hidden"].locator("input").first.set_input_files(table)
    zones["images"].locator("input").first.set_input_files([*chosen, loose[0]])
    zones["images"].get_by_role("button", name="Send").click()
    rows = page.get_by_role("row")
    for name in ("a.zip", "b.zip", "c.jpg"):
        expect(rows.filter(has_text=name)).to_contain_text("complete")
    for name, pack in {"images.tar": loose[1:3], "images-2.tar": loose[3:]}.items():
        zones["images"].locator("input").first.set_input_files(pack)
        expect(zones["images"].get_by_role("status")).to_contain_text(f"{name}, ")
        zones["images"].get_by_role("button", name="Send").click()
        expect(rows.filter(has_text=name)).to_contain_text("complete")
    expect(page.get_by_text("Nothing has arrived yet.")).to_have_count(0)
    zones["hidden"].get_by_role("button", name="Send").click()
    expect(rows.filter(has_text="test.csv")).to_contain_text("complete")
    zones["public"].locator("input").first.set_input_files(table)
    reading.click()
    expect(zones["public"].get_by_text("It has not been sent.")).to_be_visible()
    expect(reading).to_be_visible()
    reading.click()

    expect(page.get_by_role("heading", name="Is this what you meant?")).to_be_visible(timeout=READING)
    expect(page.get_by_text("7 images, ")).to_be_visible()


def test_a_draft_that_nobody_needs_is_deleted(visit: Visit) -> None:
    page = visit("organiser")
    page.goto("/organise/new")
    page.get_by_label("Title", exact=True).fill("A mistake")
    page.get_by_label("Address", exact=True).fill("mistake")
    page.get_by_role("checkbox", name=re.compile("^Detection ")).check()
    page.get_by_role("button", name="Save the draft and go on").click()
    page.get_by_role("link", name="1 What").click()

    page.get_by_text("Delete it…").click()
    page.get_by_role("button", name="Delete A mistake").click()

    expect(page).to_have_url(re.compile("/organise/new$"))
    expect(page.get_by_text("A mistake")).to_have_count(0)
