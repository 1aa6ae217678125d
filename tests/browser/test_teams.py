"""Somebody joins a team by an invitation link, in their own browser."""

import re

import pytest
from playwright.sync_api import expect

from app.people.accounts import create_person
from app.people.passwords import hash_password
from tests.browser.conftest import Visit
from tests.browser.sites import Site

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_somebody_joins_a_team_by_a_link_and_is_removed_again(site: Site, visit: Visit) -> None:
    with site.installation.platform.transaction() as session:
        create_person(
            session, "grace@example.org", "Grace", hash_password("a long password"), is_verified=True
        )
    owner = visit("participant")
    owner.goto("/teams")
    owner.get_by_role("rowheader").get_by_role("link").first.click()
    team = owner.get_by_role("heading", level=1).inner_text()

    owner.get_by_role("button", name="Create an invitation link").click()
    link = owner.get_by_role("status").get_by_role("code").inner_text()
    expect(owner.get_by_text("It is shown only once")).to_be_visible()
    assert re.search(r"/invitations/[\w-]{32}$", link)

    guest = visit()
    guest.goto(link[link.index("/invitations/") :])
    guest.get_by_label("E-mail address").fill("grace@example.org")
    guest.get_by_label("Password").fill("a long password")
    guest.get_by_role("button", name="Log in").click()
    expect(guest.get_by_role("heading", name="What joining means")).to_be_visible()
    guest.get_by_role("button", name=f"Join {team}").click()

    expect(guest.get_by_role("heading", level=1)).to_have_text(team)
    expect(guest.get_by_role("table", name=f"Members of {team}")).to_contain_text("Grace")
    owner.goto(guest.url)
    owner.get_by_text("Remove Grace").click()
    owner.get_by_role("button", name="Remove from the team").click()
    expect(owner.get_by_role("table", name=f"Members of {team}")).not_to_contain_text("Grace")
