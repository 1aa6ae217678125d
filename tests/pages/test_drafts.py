"""A form never loses what was typed: sessions that end, and addresses that only take forms."""

import re
from html import unescape

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import text

from app.drafts import Draft
from app.main import PAGES
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.samples import samples
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_templates import render

FORMS = sorted(
    route.path
    for router in PAGES
    for route in router.routes
    if isinstance(route, APIRoute) and "POST" in (route.methods or ())
)


def end_sessions(platform: Platform) -> None:
    with platform.engine.begin() as connection:
        connection.execute(text("UPDATE login_session SET expires_at = now() - interval '1 hour'"))


def hidden(page: str, name: str) -> str:
    found = re.search(f'name="{name}" value="([^"]*)"', page)
    return unescape(found[1]) if found else ""


def test_a_form_sent_after_the_session_ended_is_filled_in_again_after_the_login(
    browser: Browser, platform: Platform
) -> None:
    rowan = registered(browser(), "rowan@example.org")
    end_sessions(platform)

    response = rowan.post("/account/tokens", data={"name": 'a "quoted" <name>'})

    assert response.status_code == 401
    assert "the form will be filled in as you left it" in response.text
    login = {"email": "rowan@example.org", "password": PASSWORD}
    carried = {"next": hidden(response.text, "next"), "draft": hidden(response.text, "draft")}
    again = rowan.post("/login", data={**login, "password": "mistyped password", **carried})
    assert again.status_code == 401
    carried = {"next": hidden(again.text, "next"), "draft": hidden(again.text, "draft")}
    assert rowan.post("/login", data=login | carried).headers["location"] == "/account/tokens"
    page = rowan.get("/account/tokens").text
    assert 'value="a &#34;quoted&#34; &lt;name&gt;"' in page
    assert "You have no tokens yet" in page  # nothing was sent by itself
    assert "The form is filled in as you left it" in page


def test_a_form_that_was_sent_again_is_empty_afterwards(browser: Browser, platform: Platform) -> None:
    sorrel = registered(browser(), "sorrel@example.org")
    end_sessions(platform)
    response = sorrel.post("/account/tokens", data={"name": "laptop"})
    carried = {"next": hidden(response.text, "next"), "draft": hidden(response.text, "draft")}
    sorrel.post("/login", data={"email": "sorrel@example.org", "password": PASSWORD} | carried)

    assert sorrel.post("/account/tokens", data={"name": "laptop", "scope": "read"}).status_code == 200

    assert "The form is filled in" not in sorrel.get("/account/tokens").text


def test_what_else_is_opened_in_between_is_not_touched_by_the_draft(
    browser: Browser, platform: Platform
) -> None:
    tansy = registered(browser(), "tansy@example.org")
    end_sessions(platform)
    response = tansy.post("/account/tokens", data={"name": "laptop"})
    carried = {"next": hidden(response.text, "next"), "draft": hidden(response.text, "draft")}
    tansy.post("/login", data={"email": "tansy@example.org", "password": PASSWORD} | carried)

    assert "filled in as you left it" not in tansy.get("/login").text
    assert "laptop" in tansy.get("/account/tokens").text


def test_a_form_is_not_filled_in_for_somebody_else_who_logs_in_next(
    browser: Browser, platform: Platform
) -> None:
    registered(browser(), "zinnia@example.org")
    shared = registered(browser(), "vervain@example.org")
    end_sessions(platform)
    response = shared.post("/account/tokens", data={"name": "of vervain"})
    carried = {"next": hidden(response.text, "next"), "draft": hidden(response.text, "draft")}

    shared.post("/login", data={"email": "zinnia@example.org", "password": PASSWORD} | carried)
    page = shared.get("/account/tokens").text

    assert "zinnia@example.org" in shared.get("/account").text
    assert "of vervain" not in page
    assert "filled in as you left it" not in page
    newcomer = {"email": "newcomer@example.org", "name": "Newcomer", "password": PASSWORD}
    shared.post("/register", data=newcomer | carried)
    assert "of vervain" not in shared.get("/account/tokens").text
    shared.post("/login", data={"email": "vervain@example.org", "password": PASSWORD} | carried)
    assert "of vervain" in shared.get("/account/tokens").text


def test_a_form_that_was_sent_after_a_logout_is_filled_in_for_the_same_person_only(browser: Browser) -> None:
    registered(browser(), "yucca@example.org")
    shared = registered(browser(), "woodruff@example.org")
    shared.post("/logout")
    assert shared.get("/account/tokens").status_code == 303
    response = shared.post("/account/tokens", data={"name": "in another tab"})
    carried = {"next": hidden(response.text, "next"), "draft": hidden(response.text, "draft")}

    shared.post("/login", data={"email": "yucca@example.org", "password": PASSWORD} | carried)

    assert "in another tab" not in shared.get("/account/tokens").text
    shared.post("/login", data={"email": "woodruff@example.org", "password": PASSWORD} | carried)
    assert "in another tab" in shared.get("/account/tokens").text


def test_a_form_of_a_session_that_is_long_forgotten_is_filled_in_for_nobody(
    browser: Browser, platform: Platform
) -> None:
    tulip = registered(browser(), "tulip@example.org")
    with platform.engine.begin() as connection:
        connection.execute(text("DELETE FROM login_session"))
    response = tulip.post("/account/tokens", data={"name": "laptop"})
    carried = {"next": hidden(response.text, "next"), "draft": hidden(response.text, "draft")}

    tulip.post("/login", data={"email": "tulip@example.org", "password": PASSWORD} | carried)

    assert "laptop" not in tulip.get("/account/tokens").text


def test_a_form_survives_the_registration_of_somebody_who_has_no_account_yet(browser: Browser) -> None:
    visitor = browser()
    response = visitor.post("/account/tokens", data={"name": "first token"})
    carried = {"next": hidden(response.text, "next"), "draft": hidden(response.text, "draft")}

    form = visitor.post("/register/continue", data=carried)
    assert form.status_code == 200
    carried = {"next": hidden(form.text, "next"), "draft": hidden(form.text, "draft")}
    person = {"email": "saffron@example.org", "name": "Saffron"}
    again = visitor.post("/register", data=person | {"password": "short"} | carried)
    assert again.status_code == 422
    carried = {"next": hidden(again.text, "next"), "draft": hidden(again.text, "draft")}
    registration = visitor.post("/register", data=person | {"password": PASSWORD} | carried)

    assert 'action="/register/continue"' in response.text
    assert registration.headers["location"] == "/account/tokens"
    assert 'value="first token"' in visitor.get("/account/tokens").text


def test_no_password_is_carried_along(browser: Browser) -> None:
    response = browser().post("/account/tokens", data={"name": "x", "password": "a secret of mine"})

    assert response.status_code == 401
    assert "a secret of mine" not in response.text


@pytest.mark.parametrize(
    "draft",
    ["{", "[]", '{"action": 1}', "x" * 70_000, '{"action": "", "page": "", "fields": {"a": ["\\u0000"]}}'],
)
def test_a_draft_that_our_page_did_not_write_stops_nobody_from_logging_in(
    browser: Browser, draft: str
) -> None:
    email = f"umbel{abs(hash(draft))}@example.org"
    registered(browser(), email)

    response = browser().post("/login", data={"email": email, "password": PASSWORD, "draft": draft})

    assert response.status_code in (303, 422)


def test_a_program_without_a_token_gets_json(browser: Browser) -> None:
    program = browser()
    program.headers["Accept"] = "*/*"

    response = program.post("/account/tokens", data={"name": "x"})

    assert response.status_code == 401
    assert response.json()["code"] == "login-required"
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", FORMS)
def test_the_address_of_every_form_leads_to_its_page_when_it_is_opened(browser: Browser, path: str) -> None:
    address = re.sub(r"\{(\w+)\}", "7", path)

    response = browser().get(address)

    if response.status_code == 303:
        assert address.startswith(
            response.headers["location"].partition("?")[0].rstrip("/")
        ) or response.headers["location"].startswith("/login?next=")
    else:
        assert response.status_code in (
            200,
            404,
            422,
        )  # a page of its own, or of something that does not exist


def test_an_address_of_a_form_keeps_a_person_who_is_logged_in_on_the_site(browser: Browser) -> None:
    vetch = registered(browser(), "vetch@example.org")

    assert vetch.get("/logout").headers["location"] == "/"
    assert vetch.get("/register/continue").headers["location"] == "/register"
    assert vetch.get("/account/tokens/7/revoke").headers["location"] == "/account/tokens"
    assert vetch.get("/uploads/7/check").headers["location"] == "/uploads/7"
    assert vetch.get("/account").status_code == 200
    assert vetch.put("/account").status_code == 405


def test_a_reason_is_filled_in_again_on_the_page_where_it_was_typed(
    browser: Browser, platform: Platform
) -> None:
    yarrow = registered(browser(), "yarrow@example.org")
    end_sessions(platform)

    response = yarrow.post(
        "/entries/7/withdraw",
        data={"reason": "a mistake of ours"},
        headers={"Referer": "http://testserver/submissions/7"},
    )
    foreign = yarrow.post(
        "/entries/7/withdraw", data={"reason": "x"}, headers={"Referer": "http://evil.example/submissions/7"}
    )

    assert hidden(response.text, "next") == "/submissions/7"
    assert hidden(foreign.text, "next") == "/"
    draft = Draft.model_validate_json(hidden(response.text, "draft"))
    assert draft.value("/entries/7/withdraw", "reason") == "a mistake of ours"
    assert draft.value("/entries/8/withdraw", "reason") == ""


def test_the_page_of_a_submission_shows_the_reason_where_it_was_typed() -> None:
    [(page, context, entry), *_] = [
        (page, context, entry)
        for page, context in samples()
        if page == "submissions/submission.html"
        for entry in context["submission"].entries
        if entry.can_withdraw
    ]
    action = f"/entries/{entry.id}/withdraw"

    drawn = render(
        page, {**context, "draft": Draft(action=action, page="/", fields={"reason": ["a mistake"]})}
    )

    assert 'value="a mistake"' in drawn
    assert "The form is filled in as you left it" in drawn
