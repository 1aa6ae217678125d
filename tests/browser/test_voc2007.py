"""VOC2007 on an empty server: its first organiser sets it up, runs it and closes it, and never needs a shell."""

import json
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from app.organising import roles
from tests.browser.conftest import PATIENCE
from tests.browser.test_new_challenge import READING, Brought, create, open_it, packed, picture, send
from tests.browser.test_walk import accept_terms, confirm, register, upload
from tests.browser.watching import Watch
from tests.pages.data_sets import zipped
from tests.second_factors import code_of
from tests.shared import SHARED
from tests.system.installations import Installation, installation
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.browser, pytest.mark.shared, pytest.mark.slow, pytest.mark.timeout(900)]

DATA = SHARED / "data"
KIT = DATA / "voc2007_annotations_imagesets.tar.xz"
METHOD = "yolo2_e150"
GOLDEN = DATA / "golden" / "det_voc2007_real.json"
BOARD = "/leaderboards/VOC2007/test/4"


@pytest.fixture
def place(own_servers: OwnServers) -> Iterator[Installation]:
    """An installation on which nobody has an account."""
    if not DATA.is_dir():
        pytest.skip(f"the real data is not at {DATA}")
    with installation(own_servers, workers=2, lease_seconds=30, sweep_seconds=5) as running:
        running.start_worker()
        running.start_sender()
        yield running


def test_voc2007_is_set_up_run_and_closed_in_the_browser(chromium: Browser, place: Installation) -> None:
    address = place.start_web()
    watch = Watch(address)
    olga, ada = (window(chromium, address, watch) for _ in range(2))
    kit, golden = unpacked(KIT), json.loads(GOLDEN.read_text())[METHOD]["voc2007_11pt"]

    become_admin(olga, place)
    create(olga, voc2007(kit))
    open_it(olga)

    register(ada, place, "Ada")
    accept_terms(ada, "VOC2007")
    ask_about_a_refusal(ada)
    answer(olga)
    ada.reload()
    expect(ada.get_by_text("The last number is missing.")).to_be_visible()

    submit(ada, packed(results()))
    assert shown(ada) == {name: in_percent(each["ap"]) for name, each in golden["classes"].items()}
    expect(ada.locator("td.mean")).to_contain_text(in_percent(golden["mean"]))

    later = datetime.now(UTC) + timedelta(days=60)
    move_deadline(olga, later)
    ada.goto("/challenges/VOC2007")
    expect(ada.get_by_role("main")).to_contain_text(f"{later:%d %b %Y}")
    grant(olga, "Ada", later)

    replace_annotation(olga, swapped(kit))
    assert shown(ada)["cat"] == in_percent(golden["classes"]["cat"]["ap"])  # until new scores are published
    score_again(olga)
    assert shown(ada)["cat"] == in_percent(golden["classes"]["cat"]["ap"])
    publish(olga)
    assert float(shown(ada)["cat"]) < 5

    close(olga)
    ada.goto("/challenges/VOC2007/test/submit")
    expect(ada.get_by_role("main")).to_contain_text(re.compile("closed", re.IGNORECASE))
    assert watch.complaints() == []


def window(chromium: Browser, address: str, watch: Watch) -> Page:
    context = chromium.new_context(base_url=address)
    context.set_default_timeout(2 * PATIENCE)
    watch.over(context)
    return context.new_page()


# what is brought


def unpacked(archive: Path) -> dict[str, bytes]:
    """The files of an archive by their names, without the folder that contains all."""
    with tarfile.open(archive) as opened:
        return {
            member.name.partition("/")[2]: opened.extractfile(member).read()  # type: ignore[union-attr]
            for member in opened
            if member.isfile()
        }


def annotation_of(kit: Mapping[str, bytes], image_set: str) -> dict[str, bytes]:
    """The part of the development kit that has the boxes of one image set."""
    listed = f"ImageSets/Main/{image_set}.txt"
    of_images = (f"Annotations/{image}.xml" for image in kit[listed].decode().split())
    return {f"VOC2007/{name}": kit[name] for name in (listed, *of_images)}


def voc2007(kit: Mapping[str, bytes]) -> Brought:
    """The validation set in public, the test set hidden, and a plain picture of the annotated size for each image."""
    public, hidden = annotation_of(kit, "val"), annotation_of(kit, "test")
    pictures = {
        f"{Path(name).stem}.jpg": picture(int(Path(name).stem), size_in(content))
        for name, content in (public | hidden).items()
        if name.endswith(".xml")
    }
    sent = {
        "images": ("JPEGImages.zip", zipped(pictures)),
        "public": ("VOC2007-val.zip", zipped(public)),
        "hidden": ("VOC2007-test.zip", zipped(hidden)),
    }
    classes = ("aeroplane", "tvmonitor")
    return Brought("VOC2007", "Detection", "VOC-like", sent, classes, 4, own_score="All figures")


def size_in(annotation: bytes) -> tuple[int, int]:
    width, height = (
        int(re.search(rf"<{side}>(\d+)<".encode(), annotation)[1])  # type: ignore[index]
        for side in ("width", "height")
    )
    return width, height


def swapped(kit: Mapping[str, bytes]) -> bytes:
    """The annotation of the test set in which cats are dogs and dogs are cats."""
    other = {b"cat": b"dog", b"dog": b"cat"}
    return zipped(
        {
            name: re.sub(
                b"<name>(cat|dog)</name>", lambda found: b"<name>" + other[found[1]] + b"</name>", content
            )
            for name, content in annotation_of(kit, "test").items()
        }
    )


def results() -> dict[str, bytes]:
    files = unpacked(DATA / "results" / f"{METHOD}.tar.xz")
    return {f"results/VOC2007/{name}": content for name, content in files.items()}


def in_percent(score: float) -> str:
    return f"{100 * score:.1f}"


# what the organiser does


def become_admin(page: Page, place: Installation) -> None:
    """Follow the link that the server prints, up to the choice of what comes next."""
    page.goto(f"/setup?code={roles.create_setup_code(place.platform)}")
    page.get_by_label("E-mail address").fill("olga@example.org")
    page.get_by_label("Name").fill("Olga Orga")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Create my account").click()
    page.get_by_role("button", name="Set up two-factor login").click()
    page.get_by_role("textbox", name="Code").fill(code_of(page.locator("pre code").inner_text()))
    page.get_by_role("button", name="Use two-factor login").click()
    page.get_by_role("link", name="Go on").click()
    page.get_by_role("button", name="Save and go on").click()
    page.get_by_role("link", name="Create a challenge").click()


def answer(page: Page) -> None:
    """Find the question that a participant asks about a report, look at the report, and answer."""
    page.goto("/organise/challenges/VOC2007")
    page.get_by_role("link", name=re.compile("^Answer")).click()
    page.get_by_role("row", name="Why was I refused?").get_by_role("link", name="results.tar.gz").click()
    expect(page.get_by_text("expected 6 fields, found 5")).to_be_visible()  # after two clicks
    page.go_back()
    page.get_by_role("link", name="Why was I refused?").click()
    page.get_by_label("Answer").fill("The last number is missing.")
    page.get_by_role("button", name="Answer as an organiser").click()
    expect(page.get_by_text("answered", exact=True)).to_be_visible()


def move_deadline(page: Page, closes: datetime) -> None:
    page.goto("/organise/challenges/VOC2007/phases")
    page.get_by_role("link", name="Edit of test").click()
    page.locator("#field-closes_at").fill(f"{closes:%Y-%m-%dT%H:%M}")
    page.locator("#field-reason").fill("Agreed with the teams")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("#saved")).to_contain_text("Saved.")


def grant(page: Page, team: str, until: datetime) -> None:
    page.get_by_text("Grant slots").click()
    page.locator("#field-team").select_option(team)
    page.get_by_label("Last day (UTC)").fill(f"{until:%Y-%m-%d}")
    page.locator("#field-slot_reason").fill("A broken worker")
    page.get_by_role("button", name="Grant").click()
    expect(page.get_by_role("row").filter(has_text="A broken worker")).to_contain_text("free")


def replace_annotation(page: Page, annotation: bytes) -> None:
    """Send other annotation of the test set through the drop zone, compare it with the old, and apply it."""
    page.goto("/organise/challenges/VOC2007/ground-truth")
    page.get_by_role("link", name="Send images and annotation").click()
    page.get_by_role("button", name="New data set").click()
    send(page, "hidden", "VOC2007-test.zip", annotation)
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_role("heading", name="Apply it")).to_be_visible(timeout=READING)
    expect(page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="cat"))).to_contain_text("→")
    expect(page.get_by_label("Phase", exact=True)).to_have_value("test")
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.get_by_text("applied", exact=True).first).to_be_visible(timeout=READING)


def score_again(page: Page) -> None:
    page.get_by_role("link", name="score everything again").click()
    expect(page.get_by_text("The boards show version 1; the newest is version 2")).to_be_visible()
    page.get_by_text("Score everything again", exact=True).click()
    page.get_by_role("button", name="Score VOC2007 test again").click()
    until(page, lambda: page.get_by_text("new scores ready").is_visible())


def publish(page: Page) -> None:
    """Look at what a re-scoring changes, and let the boards show it."""
    page.get_by_role("link", name="Look at the preview of test").click()
    page.get_by_role("button", name="Publish the new scores").click()
    expect(page.get_by_text("published", exact=True)).to_be_visible()


def close(page: Page) -> None:
    page.goto("/organise/challenges/VOC2007/phases")
    page.get_by_role("link", name="Edit of test").click()
    page.get_by_text("Close test early").click()
    page.get_by_label("Now", exact=True).check()
    page.get_by_label("Reason for closing early").fill("Everybody who takes part is done.")
    page.get_by_role("button", name="Close early").click()
    expect(page).to_have_url(re.compile(r"saved=1$"))


def until(page: Page, is_there: Callable[[], bool]) -> None:
    """Load the page again until something is there."""
    give_up = datetime.now(UTC) + timedelta(milliseconds=READING)
    while not is_there() and datetime.now(UTC) < give_up:
        page.wait_for_timeout(1000)
        page.reload()
    assert is_there()


# what the participant does


def ask_about_a_refusal(page: Page) -> None:
    page.goto("/challenges/VOC2007/test/submit")
    upload(page, packed({"results/VOC2007/Main/comp4_det_test_car.txt": b"000001 0.5 1 1 9\n"}))
    expect(page.get_by_role("heading", name=re.compile("^Fix "))).to_be_visible()
    page.get_by_role("link", name="Ask the organisers").click()
    page.get_by_role("textbox", name="Question").fill("Why was I refused?")
    page.get_by_role("textbox", name="Details").fill("The archive is as always.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Why was I refused?")


def submit(page: Page, archive: bytes) -> None:
    page.goto("/challenges/VOC2007/test/submit")
    upload(page, archive)
    expect(page.locator("#confirm")).to_be_visible(timeout=READING)
    page.get_by_label("data used besides the given one").fill("ImageNet")
    confirm(page, METHOD)
    expect(page.locator("#status h2 .chip")).to_have_text("scored", timeout=READING)
    page.get_by_text(f"Make {METHOD} public").click()
    page.get_by_role("button", name="Make public").click()
    expect(page.get_by_text("Only your team")).to_have_count(0)


def shown(page: Page) -> dict[str, str]:
    """The values of the method's row on the leaderboard by class, as they are written."""
    page.goto(BOARD)
    board = page.locator("table.board")
    cells = board.get_by_role("row").filter(has=page.get_by_role("rowheader", name=METHOD)).locator("th, td")
    values = dict(zip(board.locator("thead th").all(), cells.all_inner_texts(), strict=True))
    return {
        heading.locator("a").get_attribute("data-full") or "": value.split()[0]
        for heading, value in values.items()
        if "class" in (heading.get_attribute("class") or "")
    }
