"""The first organiser, and re-scoring from the browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.system.servers import eventually

pytestmark = pytest.mark.browser


def test_a_new_organiser_has_a_phase_scored_again(site: Site, visit: Visit) -> None:
    page = visit()
    become_organiser(page, site.organiser_link())
    page.goto("/organise/challenges/sample/ground-truth")
    phase = page.get_by_role("region", name="val")

    with site.worker_asleep():
        phase.get_by_text("Score everything again").click()
        phase.get_by_role("button", name="Score sample val again").click()
        expect(phase.get_by_text("re-scoring", exact=True)).to_be_visible()
        expect(phase).to_contain_text("The boards switch when every result is scored or decided")
        page.goto("/leaderboards/sample/val/3")
        expect(page.get_by_role("status")).to_contain_text("This board shows the old results")
    assert eventually(lambda: not site.organiser.board("sample/val")["rescoring"])

    page.goto(f"/submissions/{site.scored['val', 3]}")
    page.get_by_text("How it was scored").click()
    expect(page.get_by_text("the board shows this re-scoring")).to_be_visible()


def test_an_organiser_has_one_result_scored_again(site: Site, visit: Visit) -> None:
    page = visit("organiser")
    page.goto(f"/submissions/{site.scored['test', 3]}")

    page.get_by_role("button", name="Score competition 3 again").click()

    expect(page).to_have_url(re.compile(r"/submissions/\d+$"))
    assert eventually(lambda: not site.organiser.board("sample/test")["rescoring"])
    page.goto(f"/submissions/{site.scored['test', 3]}")
    page.get_by_text("How it was scored").click()
    expect(page.get_by_text("scored 2 times")).to_be_visible()


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
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("article", name="Workshop in October")).to_contain_text("The best methods")
    reader.goto("/")
    reader.get_by_role("link", name="Workshop in October").click()
    expect(reader.get_by_role("article", name="Workshop in October")).to_be_in_viewport()


def become_organiser(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_role("main").get_by_role("link", name="Register").click()
    page.get_by_label("E-mail address").fill("founder@example.org")
    page.get_by_label("Name").fill("Founder")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Register").click()
    page.get_by_role("button", name="Make me an owner").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Organise")
