"""A session id known to somebody else is useless after a login or a change of password or second factor."""

from collections.abc import Callable
from itertools import count

import pytest
from starlette.testclient import TestClient

from app.organising import roles
from app.people import sessions
from app.platform import Platform
from app.web.dependencies import SESSION_COOKIE
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_recovery import NEW
from tests.pages.test_second_factor import set_up
from tests.pages.test_sessions import cookie_of
from tests.pages.test_tokens import program
from tests.second_factors import code_of, give_second_factor

NUMBERS = count(1)


@pytest.fixture
def email() -> str:
    return f"ash{next(NUMBERS)}@example.org"


def is_open(platform: Platform, cookie: str) -> bool:
    return sessions.identify(platform, cookie, None).is_logged_in


def register(client: TestClient, platform: Platform, email: str) -> None:
    registered(client, email)


def log_in(client: TestClient, platform: Platform, email: str) -> None:
    registered(TestClient(client.app, follow_redirects=False), email)
    assert client.post("/login", data={"email": email, "password": PASSWORD}).status_code == 303


def log_in_with_code(client: TestClient, platform: Platform, email: str) -> None:
    registered(TestClient(client.app, follow_redirects=False), email)
    give_second_factor(platform, email)
    client.post("/login", data={"email": email, "password": PASSWORD})
    assert client.post("/login/code", data={"code": code_of()}).status_code == 303


@pytest.mark.parametrize("way", [register, log_in, log_in_with_code])
def test_a_session_id_from_before_a_login_is_replaced(
    way: Callable[[TestClient, Platform, str], None], browser: Browser, platform: Platform, email: str
) -> None:
    attacker = registered(browser(), f"mallory.{email}")
    planted = cookie_of(attacker)
    victim = browser()
    victim.cookies.set(SESSION_COOKIE, planted)

    way(victim, platform, email)

    ids = [cookie.value for cookie in victim.cookies.jar if cookie.name == SESSION_COOKIE]
    assert any(is_open(platform, str(each)) for each in ids)
    assert attacker.get("/account").status_code == 303
    assert not is_open(platform, planted)


@pytest.mark.parametrize("planted", ["planted", "", "a" * 5000, "'; DROP TABLE login_session; --"])
def test_a_session_id_that_the_server_did_not_issue_is_never_accepted(
    browser: Browser, platform: Platform, planted: str
) -> None:
    visitor = browser()

    response = visitor.get("/account", headers={"Cookie": f"{SESSION_COOKIE}={planted}"})

    assert response.status_code == 303
    assert "set-cookie" not in response.headers
    assert not is_open(platform, planted)


def test_changing_the_password_ends_all_sessions_but_a_new_one(
    browser: Browser, platform: Platform, email: str
) -> None:
    ash, other = registered(browser(), email), browser()
    other.post("/login", data={"email": email, "password": PASSWORD})
    known = [cookie_of(ash), cookie_of(other)]

    ash.post("/account/password", data={"present_password": PASSWORD, "password": NEW})

    assert [is_open(platform, each) for each in known] == [False, False]
    assert ash.get("/account").status_code == 200


def test_setting_up_a_second_factor_ends_sessions_without_a_code(
    browser: Browser, platform: Platform, email: str
) -> None:
    ash, stolen = registered(browser(), email), browser()
    stolen.post("/login", data={"email": email, "password": PASSWORD})

    set_up(ash)

    assert ash.get("/account").status_code == 200
    assert not is_open(platform, cookie_of(stolen))


def test_a_session_with_only_an_admins_password_ends_with_the_second_factor(
    browser: Browser, platform: Platform, email: str
) -> None:
    ash, stolen = registered(browser(), email), browser()
    stolen.post("/login", data={"email": email, "password": PASSWORD})
    ash.post(f"/role-links/{roles.create_admin_link(platform)}")
    set_up(ash)

    assert ash.get("/admin").status_code == 200
    assert stolen.get("/admin").headers["location"].startswith("/login")


def test_only_an_organiser_can_create_a_token_to_organise(browser: Browser, email: str) -> None:
    ash = registered(browser(), email)

    refused = ash.post("/account/tokens", data={"name": "for later", "scope": ["read", "organise"]})

    assert refused.status_code == 422
    assert "organiser" in refused.text
    assert "hld_" not in refused.text


def test_removing_a_second_factor_renews_the_session_id_and_ends_other_sessions(
    browser: Browser, platform: Platform, email: str
) -> None:
    ash, other = registered(browser(), email), browser()
    secret, _ = set_up(ash)
    other.post("/login", data={"email": email, "password": PASSWORD})
    other.post("/login/code", data={"code": code_of(secret)})
    known = [cookie_of(ash), cookie_of(other)]

    ash.post("/account/second-factor/remove")

    assert [is_open(platform, each) for each in known] == [False, False]
    assert ash.get("/account").status_code == 200


def test_a_token_does_not_work_as_a_session_nor_a_session_as_a_token(
    browser: Browser, platform: Platform, email: str
) -> None:
    ash = registered(browser(), email)
    token = program(browser, ash, "read").headers["Authorization"].removeprefix("Bearer ")

    as_session = browser().get("/account", headers={"Cookie": f"{SESSION_COOKIE}={token}"})
    as_token = browser().get("/api/v1/submissions", headers={"Authorization": f"Bearer {cookie_of(ash)}"})

    assert (as_session.status_code, as_token.status_code) == (303, 401)


@pytest.mark.parametrize(
    "path", ["/login", "/register", "/account/password", "/logout", "/account/sessions/end-all"]
)
def test_a_request_with_a_token_never_starts_a_session(browser: Browser, email: str, path: str) -> None:
    ash = registered(browser(), email)
    ash_by_token = program(browser, ash, "read", "submit")
    form = {"email": f"other.{email}", "name": "Ash", "password": PASSWORD, "present_password": PASSWORD}

    response = ash_by_token.post(path, data=form)

    assert response.status_code >= 400
    assert "set-cookie" not in response.headers
