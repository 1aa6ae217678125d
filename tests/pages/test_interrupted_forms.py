"""Forms sent after the session ended, and addresses that accept only forms."""

import re
from html import unescape

from fastapi.routing import APIRoute
from sqlalchemy import text

from app.main import PAGES
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered

FORMS = sorted(
    route.path
    for router in PAGES
    for route in router.routes
    if isinstance(route, APIRoute) and "POST" in (route.methods or ())
)


def hidden(page: str, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(f'name="{name}" value="([^"]*)"', page)
    return unescape(found[1]) if found else ""


def test_after_the_session_ends_a_form_can_be_resent_after_a_login_in_another_tab(
    browser: Browser, platform: Platform
) -> None:
    ash = registered(browser(), "interrupted@example.org")
    with platform.engine.begin() as connection:
        connection.execute(text("UPDATE login_session SET expires_at = now() - interval '1 hour'"))
    form = {"name": "laptop", "scope": "read"}

    interrupted = ash.post("/account/tokens", data=form)
    ash.post("/login", data={"email": "interrupted@example.org", "password": PASSWORD})
    reloaded = ash.post("/account/tokens", data=form)

    assert interrupted.status_code == 401
    assert "Nothing has been sent" in interrupted.text
    assert 'href="/login" target="_blank"' in interrupted.text
    assert "laptop" in reloaded.text


def test_a_part_of_a_page_that_a_script_renews_says_that_the_session_has_ended(browser: Browser) -> None:
    visitor = browser()
    visitor.headers |= {"Accept": "*/*", "HX-Request": "true"}

    response = visitor.get("/submissions")

    assert response.status_code == 200  # htmx shows no other
    assert response.headers["cache-control"] == "no-store"
    assert "You are no longer logged in." in response.text
    assert "<html" not in response.text


def test_a_program_without_a_token_gets_an_error_in_json(browser: Browser) -> None:
    program = browser()
    program.headers["Accept"] = "*/*"

    response = program.post("/account/tokens", data={"name": "x"})

    assert response.status_code == 401
    assert response.json()["code"] == "login-required"
    assert response.headers["www-authenticate"] == "Bearer"


def test_opening_the_address_of_a_form_leads_to_its_page(browser: Browser) -> None:
    wrong = []
    for path in FORMS:
        address = re.sub(r"\{(\w+)\}", "7", path)
        response = browser().get(address)
        target = response.headers.get("location", "").partition("?")[0].rstrip("/")
        if response.status_code == 303:
            is_right = address.startswith(target) or response.headers["location"].startswith("/login?next=")
        else:  # its own page, or one about something that does not exist or has expired
            is_right = response.status_code in (200, 400, 404, 410, 422)
        if not is_right:
            wrong.append((path, response.status_code, target))

    assert len(FORMS) > 100
    assert wrong == []


def test_opening_the_address_of_a_form_keeps_the_session(browser: Browser) -> None:
    vetch = registered(browser(), "vetch@example.org")

    assert vetch.get("/logout").headers["location"] == "/"
    assert vetch.get("/account/tokens/7/revoke").headers["location"] == "/account/tokens"
    assert vetch.get("/uploads/7/check").headers["location"] == "/uploads/7"
    assert vetch.get("/account").status_code == 200
    assert vetch.put("/account").status_code == 405
