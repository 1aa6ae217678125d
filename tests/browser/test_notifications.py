"""A notification is read by opening its page."""

import re

import pytest
from playwright.sync_api import expect

from app.jobs import events
from app.models import EventKind, Member, User
from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.system.installations import awaited

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_opening_what_a_notification_is_about_marks_it_as_read(site: Site, visit: Visit) -> None:
    page = visit("participant")
    with site.installation.platform.transaction() as session:
        person = session.query(User).filter_by(email="ada@example.org").one()
        member = session.query(Member).filter_by(user_id=person.id).first()
        assert member is not None
        events.record(
            session, EventKind.TEAM_APPROVED, challenge_id=member.challenge_id, team_id=member.team_id
        )
    awaited(lambda: "was approved" in page.goto("/notifications").text())  # type: ignore[union-attr]
    bell = page.locator(".bell")
    unread = int(re.findall(r"\d+", bell.inner_text())[0])

    page.get_by_role("link", name="was approved for").click()
    expect(page).to_have_url(re.compile("/teams$"))
    page.goto("/notifications")

    left = re.findall(r"\d+", bell.inner_text())  # the page of teams reads others of its kinds, too
    assert int(left[0] if left else 0) < unread
    expect(page.locator("li:not(.unread)", has_text="was approved")).to_have_count(1)
    page.get_by_role("button", name="Mark all as read").click() if unread > 1 else None
    expect(page.locator(".told .unread")).to_have_count(0)
