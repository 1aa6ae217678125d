"""The first organiser, and re-scoring from the browser."""

import hashlib
import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.system.installations import DESCRIPTION
from tests.system.servers import eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_new_organiser_has_a_phase_scored_again(site: Site, visit: Visit) -> None:
    page = visit()
    become_organiser(page, site.organiser_link())
    page.goto("/organise/challenges/sample/ground-truth")
    phase = page.get_by_role("region", name="val open")

    with site.worker_asleep():
        phase.get_by_text("Score everything again").click()
        phase.get_by_role("button", name="Score sample val again").click()
        expect(phase.get_by_text("re-scoring", exact=True)).to_be_visible()
        expect(phase).to_contain_text(
            "The boards switch by themselves when every result is scored or decided"
        )
        page.goto("/leaderboards/sample/val/3")
        expect(page.get_by_role("status")).to_contain_text("The old scores stay here")
    assert eventually(lambda: not site.organiser.board("sample/val")["rescoring"])

    page.goto(f"/submissions/{site.scored['val', 3]}")
    page.get_by_text("How it was scored").click()
    expect(page.get_by_text("the leaderboard shows this re-scoring")).to_be_visible()


def test_an_organiser_has_one_result_scored_again(site: Site, visit: Visit) -> None:
    page = visit("organiser")
    page.goto(f"/submissions/{site.scored['test', 3]}")

    page.get_by_role("button", name=re.compile(r"^Score .+ again$")).click()

    expect(page).to_have_url(re.compile(r"/submissions/\d+$"))
    assert eventually(lambda: not site.organiser.board("sample/test")["rescoring"])
    page.goto(f"/submissions/{site.scored['test', 3]}")
    page.get_by_text("How it was scored").click()
    expect(page.get_by_text("scored 2 times")).to_be_visible()


def test_a_row_of_the_table_of_submissions_is_one_line_and_low_on_a_phone(visit: Visit) -> None:
    page = visit("organiser")
    page.goto("/organise/challenges/sample/submissions")
    heights = "[...document.querySelectorAll('tbody tr')].map((row) => row.getBoundingClientRect().height)"

    wide = page.evaluate(heights)
    toolbar = page.evaluate(
        "[...document.querySelectorAll('[role=search].tool > :is(input, select, button, details)')].map((each) => Math.round(each.getBoundingClientRect().height))"
    )
    page.set_viewport_size({"width": 390, "height": 844})
    narrow = page.evaluate(heights)

    assert len(wide) > 5
    assert max(wide) < 48
    assert max(toolbar) - min(toolbar) <= 2
    assert max(narrow) < 140  # even with long names of method, task and team
    assert page.evaluate("document.documentElement.scrollHeight") < 4000
    expect(page.get_by_role("button", name="Withdraw…")).to_be_hidden()
    page.locator("tbody").get_by_role("checkbox").first.check()
    expect(page.get_by_role("button", name="Withdraw…")).to_be_visible()
    page.goto("/organise/challenges/sample/submissions?columns=person")
    addresses = [each.get_attribute("href") or "" for each in page.locator("tbody th a").all()]
    assert len(addresses) > 5
    assert all(re.fullmatch(r"/(submissions/\d+|uploads/[0-9a-f-]{36})", each) for each in addresses)


def test_an_organiser_writes_an_overview_and_an_announcement(site: Site, visit: Visit) -> None:
    page, reader = visit("organiser"), visit()
    page.goto("/organise")
    page.get_by_role("link", name="Sample challenge").first.click()
    page.get_by_role("link", name="Page and files").click()
    page.get_by_label("Tagline").fill("Five tasks on drawn scenes")
    page.get_by_label("Overview").fill("# What to find\n\nObjects of **ten** classes. <b>No HTML.</b>")
    page.get_by_label("Contact").fill("organisers@sample.example")
    page.get_by_role("button", name="Preview").click()
    preview = page.get_by_role("region", name="Preview")
    expect(preview.get_by_role("heading", name="What to find")).to_be_visible()
    expect(preview).to_contain_text("<b>No HTML.</b>")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("heading", name="What to find")).to_be_visible()
    expect(page.get_by_text("Write to the organisers: organisers@sample.example")).to_be_visible()
    reader.goto("/challenges/sample")
    expect(reader.get_by_text("Five tasks on drawn scenes")).to_be_visible()
    assert "organisers@sample.example" not in reader.content()
    reader.get_by_role("button", name="Show the organisers’ address").click()
    expect(reader.get_by_text("organisers@sample.example")).to_be_visible()

    page.goto("/organise/challenges/sample/news")
    page.get_by_label("Title").fill("Workshop in October")
    page.get_by_role("textbox", name="Text").fill("The **best** methods are presented.")
    page.get_by_label("To", exact=True).select_option("everybody")
    page.get_by_role("button", name="Announce").click()
    expect(page.get_by_role("article", name="Workshop in October")).to_contain_text("The best methods")
    reader.goto("/")
    reader.get_by_role("link", name="Workshop in October").click()
    expect(reader.get_by_role("article", name="Workshop in October")).to_be_in_viewport()


def test_an_organiser_asks_for_the_runtime_which_becomes_a_column_and_a_filter(
    site: Site, visit: Visit
) -> None:
    page, author, reader = visit("organiser"), visit("participant"), visit()
    board = "/leaderboards/sample/val/3"
    page.goto("/organise/challenges/sample/questions")
    page.get_by_role("button", name="Ask for Runtime").click()
    expect(page.get_by_role("listitem").filter(has_text="Runtime")).to_be_visible()

    own = site.participant.http.get(f"/api/v1{board}").json()["rows"]
    row = next(each for each in own if each["submission"] == site.scored["val", 3])
    author.goto(f"/methods/{row['method_id']}")
    author.get_by_role("link", name="Edit").click()
    author.get_by_label("Runtime").fill("12.5")
    author.get_by_label("Description").fill(DESCRIPTION)
    author.get_by_role("button", name="Save").click()
    reader.goto(board)
    expect(reader.get_by_role("columnheader", name="Runtime")).to_be_visible()
    expect(reader.get_by_role("row").filter(has_text=row["method"])).to_contain_text("12.5")
    for most, is_listed in (("20", True), ("10", False)):
        reader.goto(board)
        reader.locator("summary").filter(has_text="Filter").click()
        form = reader.get_by_role("search", name="Rows of this leaderboard")
        form.get_by_label(re.compile("Runtime.*at most")).fill(most)
        form.get_by_role("button", name="Show").click()
        expect(reader.locator("table.board").get_by_text(row["method"])).to_have_count(int(is_listed))


def test_an_organiser_chooses_a_picture_for_the_challenge(visit: Visit) -> None:
    page, reader = visit("organiser"), visit()
    page.goto("/organise/challenges/sample/page")
    page.get_by_role("link", name="Images", exact=True).click()
    drawn = io.BytesIO()
    Image.new("RGB", (1600, 1200), "teal").save(drawn, "PNG")

    page.locator("#field-picture").set_input_files(
        FilePayload(name="page.svg", mimeType="image/svg+xml", buffer=b"<svg/>")
    )
    page.locator("#field-alt").fill("A teal square")
    page.get_by_role("button", name="Use this image").click()
    expect(page.get_by_role("alert")).to_contain_text("expected a JPEG, PNG or WebP image, found an SVG")
    page.locator("#field-picture").set_input_files(
        FilePayload(name="teal.png", mimeType="image/png", buffer=drawn.getvalue())
    )
    page.get_by_role("button", name="Use this image").click()

    expect(page.get_by_role("button", name="Remove the image")).to_be_visible()
    for address in ("/", "/challenges", "/challenges/sample"):
        reader.goto(address)
        shown = reader.get_by_role("img", name="A teal square")
        shown.scroll_into_view_if_needed()
        expect(shown).to_have_js_property("complete", value=True)
        assert shown.evaluate("(image) => image.naturalWidth") > 0
        expect(shown).to_have_css(
            "object-fit", "cover"
        )  # cut, and not distorted, where a card has another shape
    page.get_by_role("button", name="Remove the image").click()
    expect(page.get_by_role("img", name="Images of Sample challenge")).to_be_visible()


def test_an_organiser_offers_a_file_for_next_week_over_a_connection_that_breaks(
    visit: Visit, tmp_path: Path
) -> None:
    page, reader = visit("organiser"), visit()
    content = hashlib.shake_256(b"scenes").digest(6 << 20)
    (tmp_path / "extra scenes.zip").write_bytes(content)
    next_week = datetime.now(UTC) + timedelta(days=7)
    page.goto("/organise/challenges/sample/data")
    page.get_by_label("File", exact=True).set_input_files(tmp_path / "extra scenes.zip")
    page.get_by_label("Title").fill("More scenes")
    page.get_by_label("Contents").select_option("other")
    page.get_by_text("When it is available").click()
    page.get_by_label("Available from").fill(f"{next_week:%Y-%m-%dT%H:%M}")

    slow(page, bytes_per_second=2 << 20)
    page.get_by_role("button", name="Add the file").click()
    bar = page.locator("#upload-progress")
    assert eventually(lambda: bar.evaluate("(bar) => bar.value") > 3_000_000)
    page.goto("/organise/challenges/sample/data")  # in the middle of it
    page.get_by_role("link", name="extra scenes.zip").click()
    expect(page.get_by_text("of 6 MiB have arrived")).to_be_visible()
    offsets: list[int] = []
    page.on("request", lambda sent: offsets.append(int(sent.headers.get("upload-offset", -1))))
    page.get_by_label("File", exact=True).set_input_files(tmp_path / "extra scenes.zip")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#upload-state")).to_contain_text("Paused")
    page.get_by_role("button", name="Continue").click()

    expect(page.get_by_text(hashlib.sha256(content).hexdigest())).to_be_visible()
    assert max(offsets) > 0
    assert 0 not in offsets  # nothing was sent again from the start
    reader.goto("/challenges/sample/data")
    row = reader.get_by_role("row").filter(has_text="extra scenes.zip")
    expect(row).to_contain_text("coming")
    expect(row).to_contain_text(f"{next_week.day} {next_week:%b %Y %H:%M} UTC")
    expect(row.get_by_role("link")).to_have_count(0)
    expect(reader.get_by_text("Some files need a login")).to_have_count(0)
    page.get_by_label("Reason").fill("A test")
    page.get_by_role("button", name="Delete", exact=True).click()


def slow(page: Page, bytes_per_second: int) -> None:
    """Let what a page sends take its time."""
    page.context.new_cdp_session(page).send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": bytes_per_second},
    )


def become_organiser(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_role("main").get_by_role("link", name="Register").click()
    page.get_by_label("E-mail address").fill("founder@example.org")
    page.get_by_label("Name").fill("Founder")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Register").click()
    page.get_by_role("button", name="Make me an owner").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Organise")
