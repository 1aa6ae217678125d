"""Registration, login, logout and tokens in the browser."""

import pytest
from starlette.testclient import TestClient

from app.people import accounts, sessions, tokens
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.people import confirm_address

PASSWORD = "a long enough password"


def registered(client: TestClient, email: str, password: str = PASSWORD) -> TestClient:
    response = client.post("/register", data={"email": email, "name": "Ash Grove", "password": password})
    assert response.status_code == 303, response.text
    confirm_address(client.app.state.platform, email)  # type: ignore[attr-defined]
    return client


def test_registering_logs_in_and_opens_the_account(browser: Browser) -> None:
    ash = registered(browser(), "ash@example.org")

    assert ash.get("/account").status_code == 200
    assert "Ash Grove" in ash.get("/").text


def test_the_session_cookie_is_hidden_from_scripts_and_other_sites(browser: Browser) -> None:
    response = browser().post(
        "/register", data={"email": "beech@example.org", "name": "Beech", "password": PASSWORD}
    )

    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("email", "nowhere"),
        ("name", "\u202egro.evil"),
        ("name", "\u200b\u200b"),
        ("password", "short"),
        ("password", "x" * 300),
        ("password", "password2026"),
        ("password", "dogwood@example.org"),
    ],
)
def test_an_invalid_registration_is_reported_at_the_field(browser: Browser, field: str, value: str) -> None:
    form = {"email": "dogwood@example.org", "name": "Dogwood", "password": PASSWORD} | {field: value}

    response = browser().post("/register", data=form)

    assert response.status_code == 422
    assert 'aria-invalid="true"' in response.text


def test_spaces_in_a_password_are_kept(browser: Browser) -> None:
    registered(browser(), "elder@example.org", password="  two blanks before  ")

    trimmed = browser().post("/login", data={"email": "elder@example.org", "password": "two blanks before"})
    typed = browser().post("/login", data={"email": "elder@example.org", "password": "  two blanks before  "})

    assert (trimmed.status_code, typed.status_code) == (401, 303)


def test_a_wrong_password_and_an_unknown_address_get_the_same_response(browser: Browser) -> None:
    registered(browser(), "elm@example.org")

    wrong = browser().post("/login", data={"email": "elm@example.org", "password": "not the password"})
    unknown = browser().post("/login", data={"email": "nobody@example.org", "password": "not the password"})

    assert wrong.status_code == unknown.status_code == 401
    sentence = "no account has this e-mail address and password"
    assert sentence in wrong.text
    assert sentence in unknown.text


def test_logging_out_ends_the_session_on_the_server(browser: Browser) -> None:
    fir = registered(browser(), "fir@example.org")
    stolen = fir.cookies["heldout_session"]

    fir.post("/logout")

    thief = browser()
    thief.cookies.set("heldout_session", stolen)
    assert thief.get("/account").status_code == 303


def test_login_returns_to_the_previous_page_but_never_to_another_site(browser: Browser) -> None:
    registered(browser(), "gorse@example.org")
    form = {"email": "gorse@example.org", "password": PASSWORD}

    inside = browser().post("/login", data=form | {"next": "/submissions"})
    outside = browser().post("/login", data=form | {"next": "//evil.example/x"})
    tricked = browser().post("/login", data=form | {"next": "/\\evil.example"})

    assert inside.headers["location"] == "/submissions"
    assert outside.headers["location"] == "/"
    assert tricked.headers["location"] == "/"


def test_a_request_from_another_site_is_refused(browser: Browser) -> None:
    hazel = registered(browser(), "hazel@example.org")

    forged = hazel.post("/account/tokens", data={"name": "x"}, headers={"Origin": "https://evil.example"})
    fetched = hazel.post("/account/tokens", data={"name": "x"}, headers={"Sec-Fetch-Site": "cross-site"})
    sibling = hazel.post("/account/tokens", data={"name": "x"}, headers={"Sec-Fetch-Site": "same-site"})

    assert [forged.status_code, fetched.status_code, sibling.status_code] == [403, 403, 403]


def test_a_token_is_shown_once_acts_for_its_owner_and_can_be_revoked(
    browser: Browser, platform: Platform
) -> None:
    ivy = registered(browser(), "ivy@example.org")
    page = ivy.post("/account/tokens", data={"name": "laptop", "scope": "read"}).text
    token = page[page.index("hld_") :].split("<")[0].split('"')[0].strip()
    program = browser()
    program.headers["Authorization"] = f"Bearer {token}"

    assert program.get("/api/v1/submissions").status_code == 200
    assert token not in ivy.get("/account/tokens").text

    actor = sessions.identify(platform, None, token)
    [view] = tokens.tokens(platform, actor.user_id)
    ivy.post(f"/account/tokens/{view.id}/revoke")
    assert program.get("/api/v1/submissions").status_code == 401


def test_nobody_can_revoke_somebody_elses_token(browser: Browser, platform: Platform) -> None:
    token = accounts.create_program_token(platform, "juniper@localhost", "Juniper")
    [view] = tokens.tokens(platform, sessions.identify(platform, None, token).user_id)
    kapok = registered(browser(), "kapok@example.org")

    kapok.post(f"/account/tokens/{view.id}/revoke")

    assert sessions.identify(platform, None, token).is_logged_in


def test_a_page_that_needs_a_login_redirects_to_the_login(browser: Browser) -> None:
    response = browser().get("/submissions")

    assert response.status_code == 303
    assert response.headers["location"] == "/login?next=/submissions"
