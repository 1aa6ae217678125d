"""How long a login lasts, where one is logged in, and what asks for the password again."""

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.platform import Platform
from app.sessions import service as sessions
from tests.pages.conftest import Browser
from tests.pages.statements import asked
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_drafts import hidden
from tests.pages.test_tokens import READ, program


def age(platform: Platform, column: str, interval: str) -> None:
    """Move a time of every session into the past."""
    with platform.engine.begin() as connection:
        connection.execute(text(f"UPDATE login_session SET {column} = {column} - interval '{interval}'"))


def cookie_of(client: TestClient) -> str:
    return str(client.cookies["heldout_session"])


@pytest.mark.parametrize(("column", "interval"), [("expires_at", "14 days"), ("last_seen_at", "72 hours")])
def test_a_session_ends_after_its_time_and_without_use(
    browser: Browser, platform: Platform, column: str, interval: str
) -> None:
    ash = registered(browser(), f"{column}@example.org")
    assert ash.get("/account").status_code == 200

    age(platform, column, interval)

    assert ash.get("/account").status_code == 303


def test_one_query_tells_whose_session_or_token_it_is(browser: Browser, platform: Platform) -> None:
    owner = registered(browser(), "holly@example.org")
    token = program(browser, owner, READ).headers["Authorization"].removeprefix("Bearer ")

    with asked(platform) as statements:
        people = [
            sessions.identify(platform, cookie_of(owner), None),
            sessions.identify(platform, None, token),
        ]

    assert [person.email for person in people] == ["holly@example.org"] * 2
    assert len(statements) == 2, statements


def test_use_is_noted_and_keeps_a_session_alive(browser: Browser, platform: Platform) -> None:
    beech = registered(browser(), "beech@example.org")

    for _ in range(3):
        age(platform, "last_seen_at", "71 hours")
        assert beech.get("/account").status_code == 200


def test_a_login_gives_a_new_session_and_ends_the_one_that_was_there(
    browser: Browser, platform: Platform
) -> None:
    cedar = registered(browser(), "cedar@example.org")
    before = cookie_of(cedar)

    cedar.post("/login", data={"email": "cedar@example.org", "password": PASSWORD})

    assert cookie_of(cedar) != before
    assert not sessions.identify(platform, before, None).is_logged_in


def test_a_cookie_that_somebody_planted_is_not_taken_over(browser: Browser, platform: Platform) -> None:
    registered(browser(), "dogwood@example.org")
    victim = browser()
    victim.cookies.set("heldout_session", "planted")

    response = victim.post("/login", data={"email": "dogwood@example.org", "password": PASSWORD})

    assert "planted" not in response.headers["set-cookie"]
    assert not sessions.identify(platform, "planted", None).is_logged_in


def test_the_list_of_sessions_names_browsers_and_marks_this_one(browser: Browser) -> None:
    elm, phone = registered(browser(), "elm@example.org"), browser()
    phone.headers["User-Agent"] = (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1"
    )
    phone.post("/login", data={"email": "elm@example.org", "password": PASSWORD})

    page = phone.get("/account/sessions").text

    assert "2 browsers" in page
    assert page.count("this one") == 1
    assert page.index("Safari on iOS") < page.index("this one") < page.index("unknown browser")
    assert elm.get("/account/sessions").headers["cache-control"] == "no-store"


def test_another_session_can_be_ended_but_not_that_of_somebody_else(
    browser: Browser, platform: Platform
) -> None:
    fir, phone = registered(browser(), "fir@example.org"), browser()
    phone.post("/login", data={"email": "fir@example.org", "password": PASSWORD})
    gorse = registered(browser(), "gorse@example.org")
    actor = sessions.identify(platform, cookie_of(fir), None)
    [key] = [each.key for each in sessions.sessions_of(platform, actor, cookie_of(fir)) if not each.is_this]

    gorse.post(f"/account/sessions/{key}/end")
    assert phone.get("/account").status_code == 200
    fir.post(f"/account/sessions/{key}/end")

    assert phone.get("/account").status_code == 303
    assert fir.get("/account").status_code == 200
    assert fir.post("/account/sessions/nonsense/end").status_code == 404


def test_logging_out_everywhere_ends_every_session_of_this_person_alone(browser: Browser) -> None:
    hazel, phone = registered(browser(), "hazel@example.org"), browser()
    phone.post("/login", data={"email": "hazel@example.org", "password": PASSWORD})
    ivy = registered(browser(), "ivy@example.org")

    assert hazel.post("/account/sessions/end-all").headers["location"] == "/login"

    assert [each.get("/account").status_code for each in (hazel, phone, ivy)] == [303, 303, 200]


def test_a_token_is_not_made_long_after_the_login_and_the_form_waits_for_the_password(
    browser: Browser, platform: Platform
) -> None:
    juniper = registered(browser(), "juniper@example.org")
    age(platform, "authenticated_at", "31 minutes")
    before = cookie_of(juniper)

    asked = juniper.post("/account/tokens", data={"name": "laptop"})
    assert asked.status_code == 403
    assert "Confirm that it is you" in asked.text
    carried = {name: hidden(asked.text, name) for name in ("next", "draft")}
    assert juniper.post("/login/confirm", data={"password": "a wrong password", **carried}).status_code == 401
    confirmed = juniper.post("/login/confirm", data={"password": PASSWORD, **carried})

    assert confirmed.headers["location"] == "/account/tokens"
    assert 'value="laptop"' in juniper.get("/account/tokens").text
    assert juniper.post("/account/tokens", data={"name": "laptop", "scope": "read"}).status_code == 200
    assert not sessions.identify(platform, before, None).is_logged_in
