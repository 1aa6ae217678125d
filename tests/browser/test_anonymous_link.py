"""An anonymous link, from the team that makes it to the reviewer who opens it in another browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.sites import Site

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_reviewer_opens_an_anonymous_link_that_is_later_revealed(site: Site, visit: Visit) -> None:
    upload = site.participant.upload("sample/test", site.good)
    number = int(site.participant.confirm(upload, "Blind_net", make_public=False).json()["id"])
    site.participant.final(number)
    page, reviewer = visit("participant"), visit()
    page.goto(f"/submissions/{number}")

    page.get_by_role("link", name="Anonymous links").first.click()
    page.get_by_role("button", name="Make an anonymous link").click()
    address = page.get_by_role("link", name="/anonymous/").get_attribute("href") or ""
    reviewer.goto(address)
    expect(reviewer.get_by_role("heading", name="Anonymous result")).to_be_visible()
    expect(reviewer.locator(".headline")).to_have_text(re.compile(r"^\d+\.\d$"))
    expect(reviewer.get_by_text("Blind_net")).to_have_count(0)

    page.goto(f"/submissions/{number}")
    page.get_by_text("Make Blind_net public").click()
    page.get_by_role("button", name="Make public").click()
    page.get_by_role("link", name="Anonymous links").first.click()
    page.get_by_role("button", name="Reveal").click()
    reviewer.reload()
    expect(reviewer.get_by_role("heading", name="Blind_net")).to_be_visible()
