"""The first organiser, and re-scoring from the browser."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.system.servers import eventually

pytestmark = pytest.mark.browser


def test_a_new_organiser_has_a_phase_scored_again(site: Site, visit: Visit) -> None:
    page = visit()
    become_organiser(page, site.organiser_link())
    phase = page.get_by_role("region", name="Sample challenge, val")

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

    expect(page.get_by_role("heading", level=1)).to_have_text("Organise")
    assert eventually(lambda: not site.organiser.board("sample/test")["rescoring"])
    page.goto(f"/submissions/{site.scored['test', 3]}")
    page.get_by_text("How it was scored").click()
    expect(page.get_by_text("scored 2 times")).to_be_visible()


def become_organiser(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_role("main").get_by_role("link", name="Register").click()
    page.get_by_label("E-mail address").fill("founder@example.org")
    page.get_by_label("Name").fill("Founder")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Register").click()
    page.get_by_role("button", name="Make me an organiser").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Organise")
