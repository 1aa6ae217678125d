"""Forms that report errors at the field, and an upload that survives a lost connection."""

import re

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.browser.watching import Watch

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def log_in(page: Page, password: str) -> None:
    page.goto("/login")
    page.get_by_label("E-mail address").fill("ada@example.org")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_wrong_password_is_reported_at_the_field_and_at_the_top(visit: Visit) -> None:
    page = visit()

    log_in(page, "not the password")

    field = page.get_by_label("E-mail address")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description("No account has this e-mail address and password")
    expect(field).to_have_value("ada@example.org")
    expect(page.get_by_label("Password")).to_have_value("")
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("alert").get_by_role("link", name="E-mail address").click()
    expect(field).to_be_in_viewport()
    expect(page).to_have_title(re.compile("^Problems: "))


def test_after_logging_out_the_account_needs_a_login(visit: Visit) -> None:
    page = visit()
    log_in(page, "a long password")
    page.locator(".menu summary").click()

    page.get_by_role("button", name="Log out").click()

    expect(page.get_by_role("link", name="Log in")).to_be_visible()
    page.goto("/account")
    expect(page).to_have_url(re.compile(r"/login\?next=/account$"))


def test_a_new_token_is_shown_once_and_can_be_revoked(visit: Visit) -> None:
    page = visit("participant")
    page.goto("/account/tokens")
    page.get_by_label("Name", exact=True).fill("browser test")

    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_role("status")).to_contain_text("hld_")
    page.goto("/account/tokens")

    expect(page.get_by_role("status")).to_have_count(0)
    row = page.get_by_role("row", name="browser test")
    row.get_by_text("Revoke browser test").click()
    row.get_by_role("button", name="Revoke permanently").click()
    # folded if there are other tokens
    expect(page.locator("tr", has_text="browser test")).to_contain_text("revoked")


def test_a_confirmation_without_a_competition_asks_for_one(site: Site, visit: Visit) -> None:
    page = visit("participant")
    page.goto(f"/uploads/{site.uploads['valid']}?again=true")
    page.get_by_label("Name on the leaderboard").fill("Undecided")
    chosen = page.get_by_role("group", name="Competitions").get_by_role("checkbox")
    chosen.uncheck()
    page.get_by_role("group", name="Training data").get_by_role("checkbox").check()

    page.get_by_role("button", name="Submit", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("Competitions: at least one is needed")
    expect(page.get_by_role("group", name="Competitions")).to_have_accessible_description(
        "At least one is needed"
    )
    expect(chosen).not_to_be_checked()
    expect(page.get_by_label("Name on the leaderboard")).to_have_value("Undecided")


def test_a_method_that_has_a_result_is_reported_at_its_field(site: Site, visit: Visit) -> None:
    taken = site.participant.submission(site.scored["test", 3])["method"]["name"]
    page = visit("participant")
    page.goto(f"/uploads/{site.uploads['valid']}?again=true")
    page.get_by_label("Name on the leaderboard").fill(taken)
    page.get_by_role("group", name="Training data").get_by_role("checkbox").check()

    page.get_by_role("button", name="Submit", exact=True).click()

    expect(page.get_by_label("Name on the leaderboard")).to_have_accessible_description(
        re.compile(f"^'{taken}' already has a result in competition 3")
    )


def test_an_upload_resumes_after_a_lost_connection(site: Site, visit: Visit, watch: Watch) -> None:
    page = visit("participant")
    cut: list[str] = []

    def cut_once(route: Route) -> None:
        if route.request.method == "PATCH" and not cut:
            cut.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    page.route("**/api/v1/uploads/*", cut_once)
    page.goto("/challenges/sample/test/submit")
    page.get_by_label("Archive of prediction files").set_input_files(
        FilePayload(name="cut.tar.gz", mimeType="application/gzip", buffer=site.good)
    )
    page.get_by_role("button", name="Upload and check").click()

    expect(page.locator("#submitting .filename").first).to_have_text("cut.tar.gz")
    expect(page.get_by_text("valid", exact=True).first).to_be_visible()
    assert cut
    watch.refused.update(cut)


def test_a_file_that_is_too_large_is_refused_before_it_is_sent(visit: Visit) -> None:
    page = visit("participant")
    page.goto("/challenges/sample/test/submit")

    page.get_by_label("Archive of prediction files").set_input_files(
        FilePayload(name="large.tar", mimeType="application/x-tar", buffer=bytes((1 << 20) + 1))
    )

    expect(page.locator("#upload-state")).to_have_text(
        "large.tar has 1 MiB, and an archive may have at most 1 MiB here. Nothing was sent."
    )


def test_after_the_session_expires_a_form_survives_a_login_in_a_new_tab(site: Site, visit: Visit) -> None:
    page = visit()
    log_in(page, "a long password")
    page.goto(f"/uploads/{site.uploads['valid']}?again=true")
    page.get_by_label("Name on the leaderboard").fill('Typed "once" <only>')
    page.get_by_text("Describe the method").click()
    page.get_by_label("Title").fill("A title")
    page.get_by_label("Description").fill("Two lines\nof description")
    page.get_by_role("group", name="Training data").get_by_role("checkbox").check()
    page.get_by_role("checkbox", name="3, detection").uncheck()
    site.installation.ask(
        "UPDATE login_session SET expires_at = now() WHERE created_at = (SELECT max(created_at) FROM login_session)"
    )

    page.get_by_role("checkbox", name="Make it public").check()
    expect(page.locator("#follows")).to_contain_text("You are no longer logged in")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("You are no longer logged in")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="log in in a new tab").click()
    tab = opened.value
    tab.get_by_label("E-mail address").fill("ada@example.org")
    tab.get_by_label("Password").fill("a long password")
    tab.get_by_role("button", name="Log in").click()
    expect(tab.get_by_role("link", name="Log in")).to_have_count(0)
    page.reload()

    expect(page.get_by_label("Name on the leaderboard")).to_have_value('Typed "once" <only>')
    expect(page.get_by_label("Title")).to_have_value("A title")
    expect(page.get_by_label("Description")).to_have_value("Two lines\nof description")
    expect(page.get_by_role("checkbox", name="3, detection")).not_to_be_checked()
