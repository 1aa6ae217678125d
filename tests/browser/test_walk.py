"""The whole way from a visitor without an account to a row on the leaderboard."""

import re
import tarfile

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.people import mailed_link
from tests.system.installations import DESCRIPTION, Installation
from tests.system.servers import eventually

pytestmark = pytest.mark.browser


def test_a_visitor_gets_a_result_onto_the_leaderboard(site: Site, visit: Visit) -> None:
    page = visit()
    register(page, site.installation, "Walker")
    upload_with_problems_and_then_without(page, site)

    with site.worker_asleep():
        confirm(page, "Walker_net")
        expect(state(page)).to_have_text("queued")
        expect(page.locator("#status .outcome")).to_contain_text("Number 1 in the queue")
        page.evaluate("window.wasNeverReloaded = true")
    expect(state(page)).to_have_text("scored")

    expect(page.locator("#announcement")).to_have_text("Detection, given data: scored")
    assert page.evaluate("window.wasNeverReloaded")
    expect(page.locator("#status")).not_to_have_attribute("hx-get", re.compile("."))
    see_it_on_the_board(page, "Walker_net")


@pytest.mark.sampled
def test_a_forgotten_password_can_be_reset(site: Site, visit: Visit) -> None:
    page, phone = visit(), visit()
    register(page, site.installation, "Forgetful")
    phone.goto("/login")
    phone.get_by_role("link", name="Forgot your password?").click()
    phone.get_by_label("E-mail address").fill("forgetful@example.org")
    phone.get_by_role("button", name="Send the link").click()
    expect(phone.get_by_role("heading", name="Check your mail")).to_be_visible()

    phone.goto(mailed_link(site.installation.platform, "forgetful@example.org", "Choose a new password"))
    phone.get_by_label("New password").fill("a better horse battery")
    phone.get_by_role("button", name="Change password and log out everywhere").click()
    expect(phone.get_by_text("You are logged out everywhere.")).to_be_visible()
    phone.locator("main").get_by_role("link", name="Log in").click()
    phone.get_by_label("E-mail address").fill("forgetful@example.org")
    phone.get_by_label("Password").fill("a better horse battery")
    phone.get_by_role("button", name="Log in").click()

    expect(phone.locator(".menu summary")).to_have_text("Forgetful")
    page.goto("/account")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_a_visitor_gets_a_result_onto_the_leaderboard_without_javascript(site: Site, visit: Visit) -> None:
    page = visit(java_script_enabled=False)
    register(page, site.installation, "Plain")
    upload_with_problems_and_then_without(page, site)

    with site.worker_asleep():
        confirm(page, "Plain_net")
        expect(state(page)).to_have_text("queued")
    site.organiser.final(int(page.url.rpartition("/")[2]))
    page.get_by_role("link", name="Reload").click()

    expect(state(page)).to_have_text("scored")
    see_it_on_the_board(page, "Plain_net")


@pytest.mark.sampled
def test_a_visitor_finds_a_challenge_its_data_and_its_best_method_in_three_clicks(
    site: Site, visit: Visit
) -> None:
    page = visit()
    best = site.participant.http.get("/api/v1/leaderboards/sample/test/3").json()["rows"][0]["method"]
    archive = "sample-val-images.tar"
    assert eventually(lambda: archive in site.participant.http.get("/challenges/sample/data").text)

    follow(page, "Sample challenge")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sample challenge")
    follow(page, "Sample challenge", "Data")
    with page.expect_download() as downloaded:
        page.get_by_role("link", name=archive).click()
    with tarfile.open(downloaded.value.path()) as images:
        assert len(images.getnames()) == 12
    follow(page, "Sample challenge", best)
    expect(page.get_by_role("heading", level=1)).to_contain_text(best)


def follow(page: Page, *links: str) -> None:
    """Click these links, the first of them on the front page."""
    page.goto("/")
    for link in links:
        page.get_by_role("link", name=link, exact=True).first.click()


def register(page: Page, place: Installation, name: str) -> None:
    page.goto("/")
    page.get_by_role("link", name="Register").click()
    page.get_by_label("E-mail address").fill(f"{name.lower()}@example.org")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Register").click()
    expect(page.locator(".menu summary")).to_have_text(name)
    page.get_by_role("link", name="Confirm it").click()
    expect(page.get_by_text(str(place.settings.data / "mail"))).to_be_visible()
    page.goto(mailed_link(place.platform, f"{name.lower()}@example.org"))
    page.get_by_role("button", name="Confirm address").click()
    expect(page.get_by_text("confirmed", exact=True)).to_be_visible()
    page.goto("/")


def accept_terms(page: Page, challenge: str) -> None:
    page.goto(f"/challenges/{challenge}/terms?next=/challenges/{challenge}")
    page.get_by_role("button", name="Accept version").click()


def upload_with_problems_and_then_without(page: Page, site: Site) -> None:
    page.get_by_role("article").get_by_role("link", name="Sample challenge", exact=True).click()
    page.get_by_role("link", name="Submit results for test").click()
    upload(page, site.spoilt)
    expect(page.get_by_text("2 problems", exact=True)).to_be_visible()
    problems = page.locator(".faults").first
    expect(problems.get_by_role("heading", name="comp3_det_test_car.txt")).to_be_visible()
    expect(problems).to_contain_text("line 1: unknown image")
    expect(problems).to_contain_text("line 3: expected 6 fields, found 5")
    expect(page.locator("#confirm")).to_have_count(0)

    upload(page, site.good)
    expect(page.get_by_text("valid", exact=True).first).to_be_visible()


def upload(page: Page, archive: bytes) -> None:
    page.get_by_label("Archive of prediction files").set_input_files(
        FilePayload(name="results.tar.gz", mimeType="application/gzip", buffer=archive)
    )
    page.get_by_role("button", name="Upload and check").click()
    page.wait_for_url("**/uploads/*")


def confirm(page: Page, method: str) -> None:
    page.get_by_label("Name on the leaderboard").fill(method)
    page.get_by_text("Describe the method").click()
    page.get_by_label("Title").fill("Each second box")
    page.get_by_label("Description").fill(DESCRIPTION)
    page.get_by_role("group", name="Training data").get_by_role("checkbox").check()
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/submissions/\d+$"))


def state(page: Page) -> Locator:
    return page.locator("#status h2 .chip")


def see_it_on_the_board(page: Page, method: str) -> None:
    mean = page.locator(".headline").inner_text()
    page.get_by_text(f"Make {method} public").click()
    page.get_by_role("button", name="Make public").click()
    expect(page.get_by_text("Only your team")).to_have_count(0)
    page.get_by_role("link", name="Leaderboard of Detection").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=method))
    expect(row.locator(".mean")).to_contain_text(mean)
    expect(page.locator(".key")).to_contain_text("Each second box")
