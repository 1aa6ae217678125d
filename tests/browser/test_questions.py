"""A participant asks why an archive is invalid; an organiser answers and publishes the answer; a visitor reads it."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.sites import Site

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_question_about_a_report_is_answered_and_published(site: Site, visit: Visit) -> None:
    ada, olga, visitor = visit("participant"), visit("organiser"), visit()
    ada.goto(f"/uploads/{site.uploads['spoilt']}")
    ada.get_by_role("link", name="Ask the organisers").click()
    ada.get_by_role("textbox", name="Question").fill("Why five fields?")
    ada.get_by_role("textbox", name="Details").fill("The kit writes **five**.")
    ada.get_by_role("button", name="Send").click()
    expect(ada.get_by_role("heading", level=1)).to_have_text("Why five fields?")
    expect(ada.get_by_text("open", exact=True)).to_be_visible()

    olga.goto("/organise/challenges/sample")
    olga.get_by_role("link", name=re.compile("^Answer ?: [0-9]+ questions? of teams")).click()
    row = olga.get_by_role("row", name="Why five fields?")
    row.get_by_role("link", name="results.tar.gz").click()
    expect(olga.get_by_role("heading", name="Fix 2 problems")).to_be_visible()
    olga.go_back()
    olga.get_by_role("link", name="Why five fields?").click()
    olga.get_by_label("Answer").fill("Six: the confidence is missing.")
    olga.get_by_role("button", name="Answer as an organiser").click()
    expect(olga.get_by_text("answered", exact=True)).to_be_visible()

    ada.goto("/threads")
    expect(ada.get_by_role("row", name="Why five fields?")).to_contain_text("answered")
    ada.get_by_role("link", name="Why five fields?").click()
    expect(ada.get_by_text("Six: the confidence is missing.")).to_be_visible()

    olga.get_by_role("link", name="Publish as question and answer").click()
    olga.get_by_label("Title").fill("Fields of a detection file")
    olga.get_by_role("textbox", name="Question").fill("How many fields has a line?")
    olga.get_by_role("button", name="Publish").click()
    olga.get_by_role("link", name="published under News").click()
    expect(olga).to_have_url(f"{site.address}/challenges/sample/news#answers")
    visitor.goto("/challenges/sample/news")
    answer = visitor.get_by_role("article", name="Fields of a detection file")
    expect(answer).to_contain_text("Six: the confidence is missing.")
    assert "Ada Byron" not in answer.inner_text()
