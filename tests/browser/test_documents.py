"""The documentation on a phone, and what links into it find."""

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

PHONE = ViewportSize(width=390, height=844)


def test_a_phone_shows_the_list_of_pages_above_the_text_and_only_when_asked(visit: Visit) -> None:
    page = visit(viewport=PHONE, java_script_enabled=False)
    page.goto("/docs/take-part")
    chapters = page.get_by_role("navigation", name="Documentation")
    expect(chapters).to_be_hidden()

    page.get_by_text("Pages of the documentation").click()

    expect(chapters.get_by_role("link", name="Formats")).to_be_visible()
    below, text = chapters.bounding_box(), page.locator("article h1").bounding_box()
    assert below is not None
    assert text is not None
    assert below["y"] + below["height"] <= text["y"]


def test_a_link_to_a_code_of_a_report_opens_its_table_alone(visit: Visit) -> None:
    page = visit(viewport=PHONE)

    page.goto("/docs/report-codes#unsafe-path")

    expect(page.locator("#unsafe-path")).to_be_in_viewport()
    assert page.locator("details.fold[open] h2").all_text_contents() == ["Archives"]


@pytest.mark.parametrize("path", ["/docs", "/docs/api", "/api/docs", "/docs/administer/backup"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_line_of_an_example_is_cut_or_lies_below_the_button_that_copies_it(
    visit: Visit, path: str, width: int
) -> None:
    page = visit(viewport=ViewportSize(width=width, height=900))
    page.goto(path)

    examples = page.locator("pre[data-copy]:visible")
    cut = examples.evaluate_all("(all) => all.filter((each) => each.scrollWidth > each.clientWidth).length")
    covered = examples.evaluate_all(
        """(all) => all.filter((each) => {
          const lines = document.createRange();
          lines.selectNodeContents(each.querySelector("code"));
          const button = each.querySelector(".copy").getBoundingClientRect();
          return [...lines.getClientRects()].some((line) => line.right > button.left && line.top < button.bottom);
        }).length"""
    )

    assert examples.count() > 0
    assert (cut, covered) == (0, 0)
