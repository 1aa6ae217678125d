"""Error messages on pages, in one table, each of them provoked."""

import pytest
from starlette.testclient import TestClient

from tests.pages.provoking import (
    NOWHERE,
    Provoke,
    Scene,
    confirmation,
    confirmation_beyond_the_quota,
    confirmation_sent_twice,
    scene,
)
from tests.pages.test_accounts import PASSWORD

__all__ = ["scene"]

LOGIN = {"email": "visitor@example.org", "password": PASSWORD}
REGISTRATION = {"email": "another@example.org", "name": "Another", "password": PASSWORD}


PAGES: dict[str, tuple[Provoke, int, str, str]] = {
    "an address that does not exist": (
        lambda scene: scene.visitor.get("/nothing"), 404, "<h1>Not found</h1>", "There is nothing at this address.",
    ),
    "a page for organisers": (
        lambda scene: scene.visitor.get("/organise"), 403, "<h1>Forbidden</h1>", "Only organisers may do this.",
    ),
    "a method that a page does not have": (
        lambda scene: scene.visitor.put("/account"), 405, "<h1>Method not allowed</h1>", "This address does not accept PUT.",
    ),
    "a form that is too large": (
        lambda scene: scene.visitor.post("/login", data={"email": "x" * (2 << 20)}),
        413, "<h1>Content too large</h1>", "Nothing you typed is lost",
    ),
    "a form from another site": (
        lambda scene: scene.visitor.post("/login", data=LOGIN, headers={"Sec-Fetch-Site": "cross-site"}),
        403, "<h1>Forbidden</h1>", "This request was sent from another website;",
    ),
    "a wrong password": (
        lambda scene: scene.visitor.post("/login", data={**LOGIN, "password": "wrong"}),
        401, "Fix 1 problem", "no account has this e-mail address and password",
    ),
    "an invalid e-mail address": (
        lambda scene: scene.visitor.post("/register", data={**REGISTRATION, "email": "nowhere"}),
        422, "Fix 1 problem", "is not an e-mail address, such as name@example.org",
    ),
    "a short password": (
        lambda scene: scene.visitor.post("/register", data={**REGISTRATION, "password": "short"}),
        422, "Fix 1 problem", "must have at least 10 characters",
    ),
    "a long password": (
        lambda scene: scene.visitor.post("/register", data={**REGISTRATION, "password": "x" * 201}),
        422, "Fix 1 problem", "must have at most 200 characters",
    ),
    "a name with invisible characters": (
        lambda scene: scene.visitor.post("/register", data={**REGISTRATION, "name": "\u202egro.evil"}),
        422, "Fix 1 problem", "must have visible characters, and no control or invisible ones",
    ),
    "three mistakes at once": (
        lambda scene: scene.visitor.post("/register", data={"email": "", "name": "", "password": ""}),
        422, "Fix 3 problems", "must have at least 2 characters",
    ),
    "a token without a name": (
        lambda scene: scene.visitor.post("/account/tokens", data={"name": "", "scope": "read"}),
        422, "Fix 1 problem", "must not be empty",
    ),
    "a link that was used": (
        lambda scene: scene.visitor.post("/role-links/used"),
        410, "<h1>Link for a role</h1>", "This link has been used or revoked, or has expired.",
    ),
    "no archive in the form": (
        lambda scene: scene.visitor.post("/challenges/open/test/submit", data={}),
        422, "<h1>Request not understood</h1>", "Choose an archive first.",
    ),
    "a method without a name": (
        lambda scene: confirmation(scene, method=""), 422, "Fix 1 problem", "must have at least 2 characters",
    ),
    "a method name with invisible characters": (
        lambda scene: confirmation(scene, method="Ha\u200bzel"),
        422, "Fix 1 problem", "must have only letters A to Z, digits and ASCII punctuation",
    ),
    "a statement that is missing": (
        lambda scene: confirmation(scene, method="Linden", given_data_only=""),
        409, "Fix 1 problem", "tick “only the given data was used”",
    ),
    "a method without a competition": (
        lambda scene: confirmation(scene, competition=[]), 422, "Fix 1 problem", "at least one is needed",
    ),
    "a competition that is not a number": (
        lambda scene: confirmation(scene, competition=["three"]), 422, "Fix 1 problem", "at least one is needed",
    ),
    "a description that is too long": (
        lambda scene: confirmation(scene, description="x" * 4001),
        422, "Fix 1 problem", "must have at most 4000 characters",
    ),
    "a second result of a method": (
        confirmation_sent_twice, 409, "Fix 1 problem", "&#39;Hazel&#39; has a result in competition 3 that is not scored yet",
    ),
    "a quota that is used up, in the form": (
        confirmation_beyond_the_quota, 409, "This was not submitted, and nothing was counted", "1 of 1 detection results in 7 days are used",
    ),
    "an upload that does not exist": (
        lambda scene: scene.visitor.get(f"/uploads/{NOWHERE}"), 404, "<h1>Not found</h1>", "no upload",
    ),
    "an address whose number is beyond the database's": (
        lambda scene: scene.visitor.get(f"/submissions/{10**30}"),
        404, "<h1>Not found</h1>", "There is nothing at this address.",
    ),
    "an address with a word instead of a number": (
        lambda scene: scene.visitor.get("/submissions/seven"),
        404, "<h1>Not found</h1>", "There is nothing at this address.",
    ),
    "a form without a session": (
        lambda scene: TestClient(scene.visitor.app, headers={"Accept": "text/html"}).post("/account/tokens", data={"name": "x"}),
        401, "<h1>Log in</h1>", "You are no longer logged in.",
    ),
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("situation", PAGES)
def test_every_error_shows_a_page_with_a_way_back(scene: Scene, situation: str) -> None:
    provoke, status, heading, sentence = PAGES[situation]

    response = provoke(scene)

    assert response.status_code == status, response.text
    assert heading in response.text
    assert sentence in response.text
    assert response.headers["content-type"].startswith("text/html")
    assert 'href="/"' in response.text  # a way back
    assert "default-src 'none'" in response.headers["content-security-policy"]


def test_an_error_page_for_an_invalid_query_links_to_the_page_without_it(scene: Scene) -> None:
    board = "/leaderboards/open/test/3"

    page = scene.visitor.get(f"{board}?as_of=soon")

    assert page.status_code == 422
    assert f'<a href="{board}">' in page.text


def test_a_form_reports_a_used_quota_only_once(scene: Scene) -> None:
    page = confirmation_beyond_the_quota(scene).text

    assert page.count("1 of 1 detection results in 7 days are used") == 1
    assert 'value="Rowan"' in page
