"""Everything important works without a mouse, in a sensible order and with visible focus."""

import re

import pytest
from playwright.sync_api import FilePayload, Page, expect

from app.web.formats import short
from sample import CLASSES
from tests.browser.conftest import Visit
from tests.browser.looks import tab_until
from tests.browser.sites import Site

pytestmark = pytest.mark.browser


def test_the_first_tab_stop_skips_the_navigation(visit: Visit) -> None:
    page = visit()
    page.goto("/")

    assert tab_until(page, "Skip to the content") == ["Skip to the content"]
    page.keyboard.press("Enter")

    expect(page.locator("main")).to_be_focused()


def test_slash_focuses_the_search_and_escape_closes_a_menu(visit: Visit) -> None:
    page = visit("participant")
    page.goto("/")

    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("sample")
    page.keyboard.press("Enter")
    page.wait_for_url("**/find?q=sample")
    tab_until(page, "Ada Byron")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="My submissions")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.get_by_role("link", name="My submissions")).to_be_hidden()
    assert tab_until(page, "field-q")[-1] == "field-q"


@pytest.mark.sampled
def test_a_focused_select_is_visible(visit: Visit) -> None:
    page = visit()
    page.goto("/pictures/sample/val/meadow_2114")

    assert tab_until(page, "field-competition")[-1] == "field-competition"


@pytest.mark.sampled
def test_an_archive_is_uploaded_and_confirmed_by_keyboard_alone(site: Site, visit: Visit) -> None:
    page = visit("participant")
    page.on("filechooser", lambda _: None)  # listening only once the key is pressed may be too late
    page.goto("/challenges/sample/test/submit")
    way = tab_until(page, "field-archive")
    assert way[0] == "Skip to the content"
    after = [each for each in way[way.index("Ada Byron") + 1 :] if each != "Status"]  # shown once it is known
    assert after == ["Sample challenge", "submit to val", "field-archive"]

    choose_by_keyboard(page, site.good)
    assert tab_until(page, "Upload and check") == ["field-folder", "Upload and check"]
    page.keyboard.press("Enter")
    expect(page.locator("#report")).to_be_focused()

    assert tab_until(page, "field-method")[-1] == "field-method"
    page.keyboard.type("By_keyboard")
    assert tab_until(page, "given-data-only") == ["", "given-data-only"]
    page.keyboard.press("Space")
    way = tab_until(page, "confirm")
    ours = [each for each in way if not each.startswith("field-answer-")]  # questions that another test asks
    assert ours == ["Describe the method before it is public", "field-make_public", "confirm"]
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/submissions/\d+$"))
    expect(page.locator("#status h2 .chip")).to_have_text("scored")


def choose_by_keyboard(page: Page, archive: bytes) -> None:
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files(FilePayload(name="keys.tar.gz", mimeType="application/gzip", buffer=archive))


@pytest.mark.sampled
def test_a_board_is_sorted_by_keyboard(visit: Visit) -> None:
    page = visit(viewport={"width": 900, "height": 844})
    page.goto("/leaderboards/sample/test/3")
    headers = ["Method", "Team", "mAP", *map(short, CLASSES), "Date"]

    way = tab_until(page, "Date")
    assert [
        each for each in way if each in headers
    ] == headers  # between them, columns that another test adds
    for _ in range(way[::-1].index(short("car"))):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"/test/3\?sort=car&order=desc$"))
    expect(page.get_by_role("columnheader", name="car", exact=True)).to_have_attribute(
        "aria-sort", "descending"
    )
    values = [float(text.split()[0]) for text in column(page, "car")]
    assert values == sorted(values, reverse=True)


def column(page: Page, name: str) -> list[str]:
    """The texts of a column of the board."""
    place = 4 + CLASSES.index(name)
    return page.locator(f"table.board tbody tr > :nth-child({place + 1})").all_inner_texts()
