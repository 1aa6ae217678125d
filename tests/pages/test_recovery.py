"""Passwords are changed by mail or with the old one; both end every other session."""

import time
from collections.abc import Iterator

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.core.rate_limits import Limited
from app.people.passwords import is_password
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_confirmation import can_log_in, mailed_link, unconfirmed
from tests.pages.test_tokens import READ, program
from tests.people import deliver_mail, letters
from tests.second_factors import code_of, give_second_factor

NEW = "another long enough password"


@pytest.fixture(autouse=True)
def _without_earlier_mail(platform: Platform) -> Iterator[None]:
    yield
    with platform.transaction() as session:
        for table in ("job", "mail_request"):
            session.execute(text(f"DELETE FROM {table}"))


def is_logged_in(client: TestClient) -> bool:
    return client.get("/account").status_code == 200


def ask_for_link(client: TestClient, email: str) -> str:
    response = client.post("/forgot-password", data={"email": email})
    assert response.status_code == 200
    return response.text


def test_a_forgotten_password_can_be_reset_once_by_a_mailed_link(
    browser: Browser, platform: Platform
) -> None:
    ash = registered(browser(), "ash@example.org")
    visitor = browser()

    ask_for_link(visitor, " ASH@example.org ")
    link = mailed_link(platform, "ash@example.org")
    assert visitor.get(link).status_code == 200
    assert visitor.post(link, data={"password": "short"}).status_code == 422
    assert "You are logged out everywhere" in visitor.post(link, data={"password": NEW}).text

    assert not is_logged_in(ash)
    assert not can_log_in(browser(), "ash@example.org")
    assert can_log_in(browser(), "ash@example.org", NEW)
    assert "has been used or has expired" in visitor.get(link).text
    assert visitor.post(link, data={"password": PASSWORD}).status_code == 410
    deliver_mail(platform)
    assert letters(platform, "ash@example.org")[-1]["Subject"] == "Your password was changed"
    with platform.transaction() as session:
        counted = text(
            "SELECT count(*) FROM audit JOIN user_account ON subject = 'person ' || user_account.id"
            " WHERE action = 'account.reset_password' AND email = 'ash@example.org'"
        )
        assert session.execute(counted).scalar() == 1


def test_an_address_without_an_account_gets_the_same_response_and_no_mail(
    browser: Browser, platform: Platform
) -> None:
    registered(browser(), "beech@example.org")

    pages = [ask_for_link(browser(), email) for email in ("beech@example.org", "nobody@example.org")]
    deliver_mail(platform)

    assert pages[0] == pages[1]
    assert letters(platform, "nobody@example.org") == []
    assert len(letters(platform, "beech@example.org")) == 1


def test_requesting_a_link_takes_equally_long_for_an_unknown_address(browser: Browser) -> None:
    visitor = browser()
    registered(browser(), "cedar@example.org")

    def seconds(email: str) -> float:
        start = time.process_time()  # which other load on the machine does not change
        ask_for_link(visitor, email)
        return time.process_time() - start

    seconds("warm-up@example.org")
    times = [(seconds("cedar@example.org"), seconds(f"unknown{number}@example.org")) for number in range(9)]

    known, unknown = (min(column) for column in zip(*times, strict=True))
    assert 0.5 < known / unknown < 2


def test_many_requests_by_others_do_not_invalidate_the_first_link(
    browser: Browser, platform: Platform
) -> None:
    registered(browser(), "dogwood@example.org")
    for _ in range(9):
        ask_for_link(browser(), "dogwood@example.org")
    first = mailed_link(platform, "dogwood@example.org")

    assert len(letters(platform, "dogwood@example.org")) == 3
    assert browser().post(first, data={"password": NEW}).status_code == 200


def test_a_reset_confirms_the_address_and_ends_sessions_and_tokens_of_strangers(
    browser: Browser, platform: Platform
) -> None:
    mallory = unconfirmed(browser(), "elm@example.org")
    page = mallory.post("/account/tokens", data={"name": "back door", "scope": "read"}).text
    token = page[page.index("hld_") :].split("<")[0]
    ask_for_link(browser(), "elm@example.org")

    assert browser().post(mailed_link(platform, "elm@example.org"), data={"password": NEW}).status_code == 200

    program = browser()
    program.headers["Authorization"] = f"Bearer {token}"
    assert not is_logged_in(mallory)
    assert program.get("/api/v1/submissions").status_code == 401
    assert can_log_in(browser(), "elm@example.org", NEW)


def test_a_reset_is_refused_if_another_account_confirmed_the_address_meanwhile(
    browser: Browser, platform: Platform
) -> None:
    first, second = (unconfirmed(browser(), "fir@example.org") for _ in range(2))
    ask_for_link(browser(), "fir@example.org")
    link = mailed_link(platform, "fir@example.org")
    with platform.transaction() as session:
        session.execute(
            text(
                "UPDATE user_account SET verified_at = now() WHERE id ="
                " (SELECT min(id) FROM user_account WHERE email = 'fir@example.org')"
            )
        )

    refused = browser().post(link, data={"password": NEW})

    assert refused.status_code == 409
    assert is_logged_in(first)
    assert is_logged_in(second)


def test_changing_a_password_needs_the_old_one_and_ends_other_sessions(
    browser: Browser, platform: Platform
) -> None:
    gorse, phone = registered(browser(), "gorse@example.org"), browser()
    assert can_log_in(phone, "gorse@example.org")
    form = {"present_password": PASSWORD, "password": NEW}

    wrong = gorse.post("/account/password", data=form | {"present_password": "a guess"})
    weak = gorse.post("/account/password", data=form | {"password": "gorse@example.org"})
    changed = gorse.post("/account/password", data=form)

    assert [wrong.status_code, weak.status_code, changed.status_code] == [403, 422, 303]
    assert "little more than your name or e-mail address" in weak.text
    assert is_logged_in(gorse)
    assert not is_logged_in(phone)
    assert can_log_in(phone, "gorse@example.org", NEW)
    deliver_mail(platform)
    assert letters(platform, "gorse@example.org")[-1]["Subject"] == "Your password was changed"


def test_after_a_reset_the_link_lists_active_tokens_and_can_revoke_them(
    browser: Browser, platform: Platform
) -> None:
    holly, visitor = registered(browser(), "holly@example.org"), browser()
    programs = [program(browser, holly, READ) for _ in range(3)]
    other = program(browser, registered(browser(), "ivy@example.org"), READ)
    [first, *_, foreign] = token_ids(platform)
    with platform.transaction() as session:
        session.execute(
            text("UPDATE api_token SET last_used_at = '2012-11-03' WHERE id = :id"), {"id": first}
        )
    ask_for_link(visitor, "holly@example.org")
    link = mailed_link(platform, "holly@example.org")
    assert visitor.post(f"{link}/tokens").status_code == 410  # a link revokes nothing before the reset

    page = visitor.post(link, data={"password": NEW}).headers["location"]
    listed = visitor.get(page)
    assert "3 API tokens of your account still work" in listed.text
    assert listed.text.count("never") == 2
    assert visitor.post(page, headers={"Origin": "https://evil.example"}).status_code == 403
    for one in (first, foreign):
        assert visitor.post(page, data={"token_id": one}).headers["location"] == page
    assert works(*programs, other) == [False, True, True, True]
    visitor.post(page)

    assert works(*programs, other) == [False, False, False, True]
    assert "No API token of your account works" in visitor.get(page).text
    assert visitor.post(link, data={"password": PASSWORD}).status_code == 410
    with platform.transaction() as session:
        session.execute(text("UPDATE mail_link SET expires_at = expires_at - interval '1 hour'"))
    assert visitor.post(page).status_code == 410


def works(*programs: TestClient) -> list[bool]:
    return [each.get("/api/v1/submissions").status_code == 200 for each in programs]


def token_ids(platform: Platform) -> list[int]:
    """The four newest tokens of all people, which include those of this test."""
    with platform.transaction() as session:
        return list(
            session.scalars(
                text("SELECT id FROM (SELECT id FROM api_token ORDER BY id DESC LIMIT 4) AS t ORDER BY 1")
            )
        )


@pytest.mark.parametrize(
    ("count", "page", "sentence"),
    [
        (0, "/account", "No API tokens of your account work."),
        (1, "/account/tokens?password_changed=true", "1 API token still works."),
        (2, "/account/tokens?password_changed=true", "2 API tokens still work."),
    ],
)
def test_after_a_change_the_page_and_the_mail_mention_active_tokens(
    browser: Browser, platform: Platform, count: int, page: str, sentence: str
) -> None:
    email = f"juniper{count}@example.org"
    juniper = registered(browser(), email)
    programs = [program(browser, juniper, READ) for _ in range(count)]

    changed = juniper.post("/account/password", data={"present_password": PASSWORD, "password": NEW})

    assert changed.headers["location"] == page
    assert ("The active tokens below still work" in juniper.get(page).text) == (count > 0)
    deliver_mail(platform)
    body = letters(platform, email)[-1].get_content()
    assert sentence in body
    assert ("/account/tokens" in body) == (count > 0)
    assert works(*programs) == [True] * count


@pytest.mark.parametrize("email", ["nowhere", "a@b.c\r\nBcc: d@e.f", ""])
def test_an_invalid_address_gets_no_link(browser: Browser, email: str) -> None:
    assert browser().post("/forgot-password", data={"email": email}).status_code == 422


@pytest.mark.parametrize("act", ["log in", "password", "address", "delete"])
def test_a_password_that_is_replaced_while_it_is_checked_opens_nothing(
    browser: Browser, platform: Platform, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    email = f"{act.replace(' ', '-')}@late.example"
    stranger, owner = registered(browser(), email), browser()
    ask_for_link(owner, email)
    link = mailed_link(platform, email)

    def check_slowly(password: str, known: str | None) -> bool:
        is_right = is_password(password, known)
        monkeypatch.undo()
        assert owner.post(link, data={"password": NEW}).status_code == 200
        return is_right

    monkeypatch.setattr("app.people.sessions.is_password", check_slowly)
    acts = {
        "log in": ("/login", {"email": email, "password": PASSWORD}),
        "password": (
            "/account/password",
            {"present_password": PASSWORD, "password": "of a stranger, and long"},
        ),
        "address": ("/account/address", {"email": "stranger@late.example", "password": PASSWORD}),
        "delete": ("/account/delete", {"password": PASSWORD, "results": "keep"}),
    }
    address, form = acts[act]
    late = browser() if act == "log in" else stranger
    answer = late.post(address, data=form)

    assert answer.status_code in (401, 403), answer.text
    assert not is_logged_in(late)
    assert can_log_in(browser(), email, NEW)
    with platform.transaction() as session:
        new_email = text("SELECT new_email FROM user_account WHERE email = :email")
        assert session.scalar(new_email, {"email": email}) is None


def test_a_login_that_a_reset_ends_is_not_completed_by_a_code(
    browser: Browser, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(browser(), "code@late.example")
    give_second_factor(platform, "code@late.example")
    stranger, owner = browser(), browser()
    assert (
        stranger.post("/login", data={"email": "code@late.example", "password": PASSWORD}).status_code == 303
    )
    ask_for_link(owner, "code@late.example")
    link = mailed_link(platform, "code@late.example")

    def hit_late(_: object, what: Limited, *__: object) -> None:
        if what is not Limited.GUESS:
            return
        monkeypatch.undo()
        assert owner.post(link, data={"password": NEW}).status_code == 200

    monkeypatch.setattr(type(platform.limiter), "hit", hit_late)
    answer = stranger.post("/login/code", data={"code": code_of()})

    assert answer.status_code == 401
    assert not is_logged_in(stranger)
