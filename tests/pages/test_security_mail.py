"""Mail that tells people about security events of their account."""

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_second_factor import password_given, set_up
from tests.people import deliver_mail, letters
from tests.second_factors import code_of, give_second_factor

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def told(platform: Platform, address: str) -> list[str]:
    """Subjects of the mail to an address, oldest first."""
    deliver_mail(platform)
    return [str(letter["Subject"]) for letter in letters(platform, address)]


def make_token(client: TestClient) -> None:
    client.post("/account/tokens", data={"name": "cluster", "scope": ["read", "submit"], "days": 30})


@pytest.mark.parametrize(
    ("act", "subject"),
    [
        (set_up, "Two-factor login was switched on"),
        (make_token, "An API token was created"),
    ],
)
def test_people_are_mailed_about_new_ways_into_their_account(
    browser: Browser, platform: Platform, act: Callable[[TestClient], object], subject: str
) -> None:
    address = f"{act.__name__}@example.org"

    act(registered(browser(), address))

    assert told(platform, address) == [subject]


def test_the_mail_about_a_token_describes_it_without_the_token_itself(
    browser: Browser, platform: Platform
) -> None:
    make_token(registered(browser(), "ash@example.org"))

    deliver_mail(platform)

    text = letters(platform, "ash@example.org")[-1].get_content()
    assert {"Name: cluster", "Scope: read, submit", "Valid for: 30 days"} <= set(text.splitlines())
    assert "hld_" not in text


def test_people_are_mailed_about_recovery_codes_and_a_removed_second_factor(
    browser: Browser, platform: Platform
) -> None:
    beech = registered(browser(), "beech@example.org")
    _, codes = set_up(beech)
    password_given(browser(), "beech@example.org").post("/login/code", data={"code": codes[0]})
    beech.post("/account/second-factor/codes")
    beech.post("/account/second-factor/remove")

    subjects = told(platform, "beech@example.org")

    assert subjects == [
        "Two-factor login was switched on",
        "A recovery code was used",
        "New recovery codes were created",
        "Two-factor login was switched off",
    ]
    assert "Codes left: 9." in letters(platform, "beech@example.org")[1].get_content()


def test_a_login_from_a_new_browser_is_mailed_once(browser: Browser, platform: Platform) -> None:
    registered(browser(), "cedar@example.org")
    form = {"email": "cedar@example.org", "password": PASSWORD}

    browser().post("/login", data=form)  # the same kind of browser as before
    for _ in range(2):
        browser().post("/login", data=form, headers={"User-Agent": FIREFOX})

    assert told(platform, "cedar@example.org") == ["Login from a new browser"]
    assert "Browser: Firefox on Linux" in letters(platform, "cedar@example.org")[-1].get_content()


def test_an_updated_browser_is_not_a_new_one(browser: Browser, platform: Platform) -> None:
    dogwood = registered(browser(), "dogwood@example.org")

    form = {"email": "dogwood@example.org", "password": PASSWORD}
    dogwood.post("/login", data=form, headers={"User-Agent": FIREFOX})

    assert told(platform, "dogwood@example.org") == []


def test_with_a_second_factor_only_a_completed_login_is_mailed(browser: Browser, platform: Platform) -> None:
    registered(browser(), "elm@example.org")
    give_second_factor(platform, "elm@example.org")
    phone = browser()
    phone.headers["User-Agent"] = FIREFOX
    password_given(phone, "elm@example.org")
    assert told(platform, "elm@example.org") == []

    phone.post("/login/code", data={"code": code_of()})

    assert told(platform, "elm@example.org") == ["Login from a new browser"]


def test_security_mail_is_not_sent_to_an_unconfirmed_address(browser: Browser, platform: Platform) -> None:
    fir = browser()
    fir.post("/register", data={"email": "fir@example.org", "name": "Fir", "password": PASSWORD})
    make_token(fir)

    assert told(platform, "fir@example.org") == ["Confirm your e-mail address"]
