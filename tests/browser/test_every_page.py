"""Checks of every page for every kind of user, in light and dark mode, on wide and narrow screens."""

import re

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.axe import violations
from tests.browser.conftest import Visit
from tests.browser.looks import (
    beyond_the_edge,
    faint_texts,
    mute_elements,
    off_the_line,
    shifts,
    spilling_cells,
    too_wide_by,
)
from tests.browser.sites import Site
from tests.system.installations import Client

pytestmark = pytest.mark.browser

SMALL = ViewportSize(width=320, height=700)
PHONE, DESK = ViewportSize(width=390, height=844), ViewportSize(width=1440, height=900)
PUBLIC = (
    "/", "/challenges", "/challenges?task=detection", "/leaderboards", "/challenges/sample", "/challenges/sample/data", "/challenges/sample/rules", "/challenges/sample/news", "/docs/components", "/leaderboards/sample/test/3", "/leaderboards/sample/val/3?sort=car&order=asc",
    "/leaderboards/sample/val/4", "/compare/sample/val/3", "/pictures/sample/val", "/pictures/sample/val/meadow_2114", "/leaderboards/sample/val/3/images",
    "/submissions/{test3}", "/submissions/{val5}", "/teams/{team}", "/login", "/register", "/api/docs", "/api/docs/uploads", "/nowhere",
    "/forgot-password", "/reset-password/used", "/login-link", "/login-link/used", "/confirm-address/used",
    "/leaderboards/sample/test/3?sort=nothing",
    "/leaderboards/sample/test/3/figures", "/leaderboards/sample/val/3/figures", "/compare/sample/test/3?{compared}",
    "/challenges/sample/test/competitions/3", "/find?q=sample",
    "/methods/1", "/runs/{run}/images", "/problems", "/docs?q=quota", "/docs/report-codes", "/setup", "/status", "/invited/used",
    "/docs", "/docs/take-part", "/docs/organise", "/docs/organise/challenge", "/docs/organise/data", "/docs/notifications", "/docs/webhooks", "/docs/formats", "/docs/protocols", "/docs/protocols/voc2012", "/docs/voc2007", "/docs/api",
    "/docs/library", "/docs/recipes", "/docs/migrating", "/docs/speed", "/docs/security", "/docs/administer/install", "/docs/administer/settings", "/docs/administer/costs",
    "/docs/statistics", "/docs/data-sets", "/docs/organise/rules", "/docs/organise/teams", "/docs/organise/scoring", "/docs/administer/mail", "/docs/administer/login",
    "/docs/administer/backup", "/docs/administer/monitoring", "/docs/administer/update", "/docs/administer/scale", "/api/docs/leaderboards",
)  # fmt: skip
PARTICIPANTS = (
    "/teams", "/teams/{team}", "/notifications", "/account/notifications", "/submissions", "/submissions/{val3}", "/account", "/account/tokens", "/account/sessions", "/login/confirm", "/account/second-factor", "/login/code", "/challenges/sample/test/submit", "/uploads/{valid}",
    "/account/address", "/account/creating", "/account/password", "/account/profile", "/account/delete",
    "/pictures/sample/val/{reported}", "/uploads", "/threads", "/challenges/sample/ask?upload={spoilt}",
    "/uploads/{spoilt}", "/organise", "/role-links/used",
)  # fmt: skip
ORGANISERS = (
    "/organise",
    "/organise/challenges/sample",
    "/organise/challenges/sample/submissions",
    "/organise/challenges/sample/submissions?columns=person&columns=file&columns=numbers&state=scored",
    "/organise/challenges/sample/phases",
    "/organise/challenges/sample/ground-truth",
    "/organise/phases/2/ground-truth/1",
    "/organise/phases/2/labels",
    "/organise/phases/2/corrections",
    "/organise/challenges/sample/audit",
    "/organise/challenges/sample/questions",
    "/organise/challenges/sample/data",
    "/organise/teams/{team}",
    "/organise/challenges/sample/terms",
    "/organise/challenges/sample/page",
    "/organise/challenges/sample/picture",
    "/organise/challenges/sample/data",
    "/pictures/sample/val",
    "/organise/challenges/sample/news",
    "/organise/challenges/sample/teams",
    "/organise/challenges/sample/threads",
    "/organise/challenges/sample/label-reports/val/{reported}",
    "/organise/challenges/sample/label-reports?image={reported}",
    "/organise/rescores/{preview}",
    "/organise/challenges/sample/delete",
    "/organise/challenges/sample/organisers",
    "/organise/challenges/sample/visibility",
    "/organise/challenges/sample/settings",
    "/organise/challenges/sample/webhooks",
    "/organise/new",
    "/organise/new/file",
    "/organise/new/{draft}/what",
    "/organise/new/{draft}/data",
    "/organise/new/{draft}/check",
    "/organise/new/{draft}/scoring",
    "/organise/new/{draft}/rules",
    "/organise/new/{draft}/page",
    "/organise/new/{draft}/schedule",
    "/organise/new/{draft}/open",
    "/organise/new/{draft}/delete",
    "/organise/challenges/{draft}",
    "/organise/phases/2",
    "/organise/phases/2/disclosure",
    "/organise/phases/2/exposure",
    "/organise/phases/2/alike",
    "/admin",
    "/admin/people",
    "/admin/notices",
    "/admin/storage",
    "/admin/mail",
    "/admin/site",
    "/admin/settings",
    "/admin/creators",
    "/setup/server",
    "/setup/done",
    "/audit",
    "/submissions/{test3}",
)
MISTAKES = ("/nowhere", "/organise", "/leaderboards/sample/test/3?sort=nothing", "/role-links/used")
# the others are built from the same components
FIRST = {
    "/",
    "/docs/components",
    "/leaderboards/sample/test/3",
    "/submissions/{test3}",
    "/challenges/sample/test/submit",
}
PAGES = [
    pytest.param(who, path, marks=() if path in FIRST else (pytest.mark.slow, pytest.mark.sampled))
    for who, paths in ((None, PUBLIC), ("participant", PARTICIPANTS), ("organiser", ORGANISERS))
    for path in paths
]


@pytest.mark.parametrize(("who", "path"), PAGES)
def test_a_page_is_accessible_in_both_colour_schemes_and_fits_a_phone(
    site: Site, visit: Visit, who: str | None, path: str
) -> None:
    page = visit(who, viewport=DESK)
    response = page.goto(site.address_of(path))

    assert response is not None
    assert shifts(page) == []
    assert (response.status == 404) == (path == "/nowhere")
    assert mute_elements(page) == []
    assert violations(page) == []
    assert faint_texts(page) == []
    assert off_the_line(page) == []
    page.emulate_media(color_scheme="dark")
    assert faint_texts(page) == []
    page.set_viewport_size(PHONE)
    assert off_the_line(page) == []
    assert too_wide_by(page) == 0, beyond_the_edge(page)
    assert spilling_cells(page) == []
    open_details(page)
    assert too_wide_by(page) == 0, beyond_the_edge(page)


def open_details(page: Page) -> None:
    page.locator("details").evaluate_all("(all) => { for (const details of all) details.open = true; }")


@pytest.mark.parametrize("path", ["/docs/components", "/", "/challenges", "/leaderboards/sample/val/3"])
def test_a_page_can_be_read_at_320_pixels_with_large_text_and_with_forced_colours(
    visit: Visit, path: str
) -> None:
    page = visit(None, viewport=SMALL)
    page.goto(path)
    open_details(page)
    assert too_wide_by(page) == 0, beyond_the_edge(page)

    page.evaluate("document.documentElement.style.fontSize = '200%'")
    page.set_viewport_size(PHONE)
    assert too_wide_by(page) == 0, beyond_the_edge(page)
    page.evaluate("document.documentElement.style.fontSize = ''")

    page.emulate_media(forced_colors="active")
    assert violations(page) == []
    buttons = page.locator(".btn:visible, button:visible:not(.theme button)")
    assert set(buttons.evaluate_all("(all) => all.map((each) => getComputedStyle(each).borderTopStyle)")) == {
        "solid"
    }


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_a_chosen_theme_is_stronger_than_that_of_the_system_and_needs_no_script(
    visit: Visit, theme: str
) -> None:
    page = visit(None, color_scheme="light" if theme == "Dark" else "dark", java_script_enabled=False)
    page.goto("/challenges")
    before = page.screenshot()

    page.locator("footer").get_by_role("button", name=theme).click()
    page.wait_for_url("**/challenges")
    after = page.screenshot()
    page.locator("footer").get_by_role("button", name="System").click()
    page.wait_for_load_state()

    assert before != after
    assert page.locator("html").get_attribute("data-theme") is None


@pytest.mark.slow
def test_no_two_pages_have_the_same_title(site: Site) -> None:
    visitor = site.installation.client(site.address)

    titles = [
        *(title_of(visitor, site.address_of(path)) for path in PUBLIC if path not in MISTAKES),
        *(
            title_of(site.participant, site.address_of(path))
            for path in PARTICIPANTS
            if path not in (*MISTAKES, *PUBLIC)
        ),
    ]

    assert len(titles) > 12
    assert [title for title in titles if titles.count(title) > 1] == []


def title_of(client: Client, path: str) -> str:
    page = client.http.get(path, headers={"Accept": "text/html"}).text
    [title] = re.findall("<title>(.*)</title>", page.partition("</head>")[0])  # drawings have titles as well
    return str(title)


@pytest.mark.slow
def test_a_name_of_forty_letters_fits_every_page_on_a_phone(site: Site, visit: Visit) -> None:
    upload, name = site.participant.upload("sample/val", site.good_val), "W" * 40
    number = int(site.participant.confirm(upload, name).json()["id"])
    site.participant.final(number)
    page = visit("participant", viewport=PHONE)

    for path in (
        "/submissions",
        f"/submissions/{number}",
        "/challenges/sample?image_set=val&page=1",
        "/leaderboards/sample/val/3",
    ):
        page.goto(path)
        expect(page.get_by_text(name).first).to_be_visible()
        open_details(page)
        assert too_wide_by(page) == 0


@pytest.mark.slow
def test_a_private_method_with_a_long_name_can_be_made_public_on_a_phone(site: Site, visit: Visit) -> None:
    upload = site.participant.upload("sample/val", site.good_val)
    number = int(site.participant.confirm(upload, "V" * 40, make_public=False).json()["id"])
    site.participant.final(number)
    page = visit("participant", viewport=PHONE)

    page.goto(f"/submissions/{number}")
    open_details(page)

    expect(page.get_by_role("button", name="Make public")).to_be_visible()
    assert too_wide_by(page) == 0


@pytest.mark.slow
def test_a_token_can_be_revoked_on_a_phone(site: Site, visit: Visit) -> None:
    site.participant.http.post("/account/tokens", data={"name": "W" * 80, "scope": "read"})
    page = visit("participant", viewport=PHONE)

    page.goto("/account/tokens")
    open_details(page)

    expect(page.get_by_role("button", name="Revoke permanently").first).to_be_visible()
    assert too_wide_by(page) == 0


@pytest.mark.parametrize(
    ("who", "path", "status", "title"),
    [
        (None, "/nowhere", 404, "Not found"),
        (None, "/submissions/999999", 404, "Not found"),
        ("participant", "/organise", 403, "Forbidden"),
        (None, "/leaderboards/sample/test/3?sort=nothing", 422, "Request not understood"),
    ],
)
def test_an_error_page_shows_its_reference(
    visit: Visit, who: str | None, path: str, status: int, title: str
) -> None:
    page = visit(who)
    response = page.goto(path)

    assert response is not None
    assert response.status == status
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    expect(page.get_by_text("give this reference")).to_contain_text(response.headers["x-request-id"])


@pytest.mark.slow
def test_counts_of_nine_digits_do_not_widen_the_page_on_a_phone(site: Site, visit: Visit) -> None:
    page = visit(None, viewport=PHONE)
    page.goto(site.address_of("/submissions/{val5}"))

    counts = page.locator(".scores tbody td.number:not(.quiet)")
    counts.evaluate_all("(cells) => { for (const cell of cells) cell.textContent = '123,456,789'; }")

    assert counts.count() > 0
    assert too_wide_by(page) == 0
