"""Two-factor login: set-up, login and recovery."""

import re

from sqlalchemy import select
from starlette.testclient import TestClient

from app.models import SecondFactor, User
from app.organising import roles
from app.people import second_factor, sessions
from app.platform import Platform
from app.results.personal_data import erase_person
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_sessions import age, cookie_of
from tests.second_factors import code_of, give_second_factor, log_in_with_code


def set_up(client: TestClient) -> tuple[str, list[str]]:
    """Set up a second factor as a person does; return its secret and the recovery codes."""
    client.post("/account/second-factor/start")
    [secret] = re.findall(r"<code>([A-Z2-7]{32})</code>", client.get("/account/second-factor").text)
    page = client.post("/account/second-factor/confirm", data={"code": code_of(secret, steps=-1)})
    assert page.status_code == 200, page.text
    return secret, re.findall(r"\w{4}-\w{4}-\w{4}-\w{4}", page.text)


def password_given(client: TestClient, email: str, **fields: str) -> TestClient:
    response = client.post("/login", data={"email": email, "password": PASSWORD, **fields})
    assert response.headers["location"].startswith("/login/code")
    return client


def test_a_login_gives_no_access_before_the_code(browser: Browser) -> None:
    secret, _ = set_up(registered(browser(), "ash@example.org"))
    phone = password_given(browser(), "ash@example.org", next="/submissions")

    assert phone.get("/account").headers["location"] == "/login/code?next=/account"
    assert phone.post("/account/tokens", data={"name": "x", "scope": "read"}).status_code == 401
    assert phone.post("/login/code", data={"code": "000000"}).status_code == 401
    done = phone.post("/login/code", data={"code": code_of(secret), "next": "/submissions"})

    assert done.headers["location"] == "/submissions"
    assert phone.get("/account").status_code == 200


def test_a_code_works_only_once(browser: Browser) -> None:
    secret, _ = set_up(registered(browser(), "beech@example.org"))
    code = code_of(secret)
    first, second = (password_given(browser(), "beech@example.org") for _ in range(2))

    assert first.post("/login/code", data={"code": code}).status_code == 303
    assert second.post("/login/code", data={"code": code}).status_code == 401


def test_a_recovery_code_works_only_once(browser: Browser) -> None:
    cedar = registered(browser(), "cedar@example.org")
    _, codes = set_up(cedar)
    first, second = (password_given(browser(), "cedar@example.org") for _ in range(2))

    assert len(codes) == 10
    assert first.post("/login/code", data={"code": codes[0].upper()}).status_code == 303
    assert second.post("/login/code", data={"code": codes[0]}).status_code == 401
    assert "9 recovery codes left" in cedar.get("/account/second-factor").text


def test_new_recovery_codes_replace_the_old_ones(browser: Browser) -> None:
    dogwood = registered(browser(), "dogwood@example.org")
    _, old = set_up(dogwood)

    page = dogwood.post("/account/second-factor/codes").text

    assert len(set(re.findall(r"\w{4}-\w{4}-\w{4}-\w{4}", page))) == 10
    phone = password_given(browser(), "dogwood@example.org")
    assert phone.post("/login/code", data={"code": old[1]}).status_code == 401


def test_the_session_id_changes_after_the_code_and_after_set_up(browser: Browser, platform: Platform) -> None:
    elm = registered(browser(), "elm@example.org")
    before = cookie_of(elm)
    secret, _ = set_up(elm)
    phone = password_given(browser(), "elm@example.org")
    waiting = cookie_of(phone)
    phone.post("/login/code", data={"code": code_of(secret)})

    assert not sessions.identify(platform, before, None).is_logged_in
    assert not sessions.identify(platform, waiting, None).is_logged_in
    assert elm.get("/account").status_code == phone.get("/account").status_code == 200


def test_a_wrong_code_does_not_switch_on_the_second_factor(browser: Browser, platform: Platform) -> None:
    fir = registered(browser(), "fir@example.org")
    fir.post("/account/second-factor/start")

    assert fir.post("/account/second-factor/confirm", data={"code": "123"}).status_code == 422
    assert (
        browser().post("/login", data={"email": "fir@example.org", "password": PASSWORD}).headers["location"]
        == "/"
    )
    assert "Set up" not in fir.get("/account/second-factor").text  # the scanned key is still shown


def test_removing_the_second_factor_needs_the_password_and_ends_codes_at_login(
    browser: Browser, platform: Platform
) -> None:
    hazel = registered(browser(), "hazel@example.org")
    give_second_factor(platform, "hazel@example.org")
    age(platform, "authenticated_at", "31 minutes")

    assert hazel.post("/account/second-factor/remove").status_code == 403
    hazel.post("/login/confirm", data={"password": PASSWORD})
    assert hazel.post("/account/second-factor/remove").status_code == 303

    again = browser().post("/login", data={"email": "hazel@example.org", "password": PASSWORD})
    assert again.headers["location"] == "/"


def test_a_new_admin_has_to_set_up_a_second_factor_first(browser: Browser, platform: Platform) -> None:
    ivy = registered(browser(), "ivy@example.org")
    link = f"/role-links/{roles.create_admin_link(platform)}"
    assert "Admins need two-factor login" in ivy.get(link).text
    ivy.post(link)

    for path in ("/", "/organise", "/account/tokens"):
        assert ivy.get(path).headers["location"].startswith("/account/second-factor?next=")
    assert ivy.post("/account/tokens", data={"name": "x", "scope": "organise"}).status_code == 403
    assert "Admins need a second factor" in ivy.get("/account/second-factor").text
    set_up(ivy)

    assert ivy.get("/organise").status_code == 200
    assert ivy.post("/account/second-factor/remove").status_code == 403


def test_an_operator_can_remove_a_lost_second_factor(browser: Browser, platform: Platform) -> None:
    registered(browser(), "juniper@example.org")
    give_second_factor(platform, "juniper@example.org")

    assert second_factor.remove_for(platform, "Juniper@example.org")
    assert not second_factor.remove_for(platform, "nobody@example.org")

    response = browser().post("/login", data={"email": "juniper@example.org", "password": PASSWORD})
    assert response.headers["location"] == "/"


def test_deleting_an_account_deletes_its_second_factor(browser: Browser, platform: Platform) -> None:
    registered(browser(), "larch@example.org")
    give_second_factor(platform, "larch@example.org")

    with platform.transaction() as session:
        user = session.scalars(select(User).where(User.email == "larch@example.org")).one()
        erase_person(session, user)
        assert session.get(SecondFactor, user.id) is None


def test_an_account_has_one_second_factor_and_codes_need_the_password_first(
    browser: Browser, platform: Platform
) -> None:
    kapok = registered(browser(), "kapok@example.org")
    assert kapok.post("/account/second-factor/confirm", data={"code": "1"}).status_code == 409
    assert kapok.post("/account/second-factor/codes").status_code == 409
    give_second_factor(platform, "kapok@example.org")

    assert kapok.post("/account/second-factor/start").status_code == 409
    assert browser().post("/login/code", data={"code": code_of()}).status_code == 401
    assert log_in_with_code(browser(), "kapok@example.org", PASSWORD).status_code == 303
