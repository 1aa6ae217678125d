"""How long sessions last, how they are listed and ended, and login links."""

from collections.abc import Iterator

import limits
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.core.rate_limits import Limited
from app.people import sessions
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.statements import asked
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_interrupted_forms import hidden
from tests.pages.test_tokens import READ, program
from tests.people import deliver_mail, letters, mailed_link
from tests.second_factors import code_of, give_second_factor


@pytest.fixture
def _locked_out(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Allow an account only one password login in unknown browsers."""
    rates = platform.limiter.rates | {Limited.LOGIN: limits.parse_many("1/hour")}
    monkeypatch.setattr(platform.limiter, "rates", rates)
    yield
    with platform.transaction() as session:
        session.execute(text("DELETE FROM mail_request"))


def login_link(platform: Platform, address: str) -> str:
    """The path of the latest login link to an address."""
    deliver_mail(platform)
    return mailed_link(platform, address, "Log in to your account")


@pytest.mark.usefixtures("_locked_out")
def test_a_login_link_works_in_a_new_browser_despite_the_limit_on_passwords(
    browser: Browser, platform: Platform
) -> None:
    registered(browser(), "larch@example.org")
    wrong = {"email": "larch@example.org", "password": "a stranger's guess"}
    browser().post("/login", data=wrong)
    owner = browser()

    refused = owner.post("/login", data=wrong | {"password": PASSWORD})
    assert refused.status_code == 429
    assert 'href="/login-link"' in refused.text
    owner.post("/login-link", data={"email": " LARCH@example.org"})
    link = login_link(platform, "larch@example.org")
    offered = owner.get(link)

    assert "larch@example.org" in offered.text
    assert offered.headers["cache-control"] == "no-store"
    assert owner.get("/account").status_code == 303  # opening the link, as mail scanners do, logs nobody in
    assert browser().post(link, headers={"Origin": "https://evil.example"}).status_code == 403
    assert owner.post(link).headers["location"] == "/account"
    assert owner.get("/account").status_code == 200
    assert browser().post(link).status_code == 410
    assert "used or has expired" in browser().get(link).text


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE mail_link SET expires_at = expires_at - interval '15 minutes'",
        "UPDATE user_account SET email = 'new-' || email WHERE email LIKE 'maple%'",
        "UPDATE user_account SET suspended_at = now() WHERE email LIKE 'maple%'",
        "UPDATE mail_link SET purpose = 'reset-password'",
    ],
)
def test_a_login_link_ends_when_it_expires_or_its_address_or_account_changes(
    browser: Browser, platform: Platform, change: str
) -> None:
    address = f"maple{len(change)}@example.org"
    registered(browser(), address)
    browser().post("/login-link", data={"email": address})
    link = login_link(platform, address)
    with platform.transaction() as session:
        session.execute(text(change))

    assert browser().post(link).status_code == 410


def test_a_login_link_still_needs_the_second_factor(browser: Browser, platform: Platform) -> None:
    registered(browser(), "oak@example.org")
    give_second_factor(platform, "oak@example.org")
    visitor = browser()
    visitor.post("/login-link", data={"email": "oak@example.org"})

    response = visitor.post(login_link(platform, "oak@example.org"))

    assert response.headers["location"] == "/login/code"
    assert visitor.get("/account").status_code == 303
    visitor.post("/login/code", data={"code": code_of()})
    assert visitor.get("/account").status_code == 200


def test_without_a_confirmed_account_the_response_is_the_same_but_no_link_is_sent(
    browser: Browser, platform: Platform
) -> None:
    registered(browser(), "pine@example.org")
    form = {"email": "poplar@example.org", "name": "Poplar", "password": PASSWORD}
    browser().post("/register", data=form)
    addresses = [f"{name}@example.org" for name in ("pine", "poplar", "nobody")]

    # three requests each, of which one in ten minutes is sent
    answers = {browser().post("/login-link", data={"email": each}).text for each in addresses * 3}
    deliver_mail(platform)

    def sent(address: str) -> int:
        return [letter["Subject"] for letter in letters(platform, address)].count("Log in to your account")

    assert len(answers) == 1
    assert [sent(each) for each in addresses] == [1, 0, 0]


def age(platform: Platform, column: str, interval: str) -> None:
    """Move a timestamp of every session into the past."""
    with platform.engine.begin() as connection:
        connection.execute(text(f"UPDATE login_session SET {column} = {column} - interval '{interval}'"))


def cookie_of(client: TestClient) -> str:
    return str(client.cookies["heldout_session"])


@pytest.mark.parametrize(("column", "interval"), [("expires_at", "14 days"), ("last_seen_at", "72 hours")])
def test_a_session_expires_after_its_lifetime_or_when_idle(
    browser: Browser, platform: Platform, column: str, interval: str
) -> None:
    ash = registered(browser(), f"{column}@example.org")
    assert ash.get("/account").status_code == 200

    age(platform, column, interval)

    assert ash.get("/account").status_code == 303


def test_one_query_identifies_a_session_or_a_token(browser: Browser, platform: Platform) -> None:
    owner = registered(browser(), "holly@example.org")
    token = program(browser, owner, READ).headers["Authorization"].removeprefix("Bearer ")

    with asked(platform) as statements:
        people = [
            sessions.identify(platform, cookie_of(owner), None),
            sessions.identify(platform, None, token),
        ]

    assert [person.email for person in people] == ["holly@example.org"] * 2
    assert len(statements) == 2, statements


def test_using_a_session_keeps_it_alive(browser: Browser, platform: Platform) -> None:
    beech = registered(browser(), "beech@example.org")

    for _ in range(3):
        age(platform, "last_seen_at", "71 hours")
        assert beech.get("/account").status_code == 200


def test_a_login_replaces_the_previous_session(browser: Browser, platform: Platform) -> None:
    cedar = registered(browser(), "cedar@example.org")
    before = cookie_of(cedar)

    cedar.post("/login", data={"email": "cedar@example.org", "password": PASSWORD})

    assert cookie_of(cedar) != before
    assert not sessions.identify(platform, before, None).is_logged_in


def test_a_planted_cookie_is_not_accepted(browser: Browser, platform: Platform) -> None:
    registered(browser(), "dogwood@example.org")
    victim = browser()
    victim.cookies.set("heldout_session", "planted")

    response = victim.post("/login", data={"email": "dogwood@example.org", "password": PASSWORD})

    assert "planted" not in response.headers["set-cookie"]
    assert not sessions.identify(platform, "planted", None).is_logged_in


def test_the_list_of_sessions_names_browsers_and_marks_the_current_one(browser: Browser) -> None:
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


def test_many_sessions_are_listed_in_pages(browser: Browser, platform: Platform) -> None:
    rowan = registered(browser(), "rowan@example.org")
    actor = sessions.identify(platform, cookie_of(rowan), None)
    assert actor.user_id is not None
    with platform.transaction() as session:
        for number in range(31):
            sessions.start_session(
                session, platform, actor.user_id, sessions.Browser("", f"Browser {number}")
            )

    first, second = (rowan.get(f"/account/sessions?page={page}").text for page in (1, 2))

    assert "32 browsers" in first
    assert [each.count('data-set="Last seen"') for each in (first, second)] == [30, 2]
    assert "Page 1 of 2" in first
    assert 'rel="prev" href="/account/sessions?page=1"' in second
    assert rowan.get("/account/sessions?page=3").status_code == 404


def test_people_can_end_their_other_sessions_but_not_somebody_elses(
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


def test_logging_out_everywhere_ends_all_sessions_of_that_person_only(browser: Browser) -> None:
    hazel, phone = registered(browser(), "hazel@example.org"), browser()
    phone.post("/login", data={"email": "hazel@example.org", "password": PASSWORD})
    ivy = registered(browser(), "ivy@example.org")

    assert hazel.post("/account/sessions/end-all").headers["location"] == "/login"

    assert [each.get("/account").status_code for each in (hazel, phone, ivy)] == [303, 303, 200]


def test_creating_a_token_long_after_the_login_needs_the_password(
    browser: Browser, platform: Platform
) -> None:
    juniper = registered(browser(), "juniper@example.org")
    age(platform, "authenticated_at", "31 minutes")
    before = cookie_of(juniper)

    asked = juniper.post("/account/tokens", data={"name": "laptop"})
    assert asked.status_code == 403
    assert "Confirm that it is you" in asked.text
    carried = {"next": hidden(asked.text, "next")}
    assert juniper.post("/login/confirm", data={"password": "a wrong password", **carried}).status_code == 401
    confirmed = juniper.post("/login/confirm", data={"password": PASSWORD, **carried})

    assert confirmed.headers["location"] == "/account/tokens"
    assert juniper.post("/account/tokens", data={"name": "laptop", "scope": "read"}).status_code == 200
    assert not sessions.identify(platform, before, None).is_logged_in
