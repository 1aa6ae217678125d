"""Logging in through an OpenID Connect provider, with a real server."""

import json
import re
import time
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi import FastAPI
from joserfc.jwk import ECKey
from sqlalchemy import text
from starlette.testclient import TestClient

from app.core.settings import LoginProvider
from app.main import create_app
from app.organising import roles
from app.people import openid_client
from app.platform import Platform
from tests.login_settings import with_settings
from tests.openid_provider import CLIENT, SECRET, Person, ProviderServer, openid_provider
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_sessions import age
from tests.patience import HANGS
from tests.people import deliver_mail, letters
from tests.second_factors import give_second_factor


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with openid_provider() as running:
        yield running


@pytest.fixture
def provider(server: ProviderServer) -> ProviderServer:
    """The provider, without errors."""
    server.claims, server.signed_by, server.denies, server.person = {}, None, False, Person()
    server.more_metadata, server.drips = {}, False
    return server


@pytest.fixture(scope="module")
def app(platform: Platform, server: ProviderServer) -> FastAPI:
    return application(platform, server.address)


def application(platform: Platform, issuer: str) -> FastAPI:
    known = {
        "id": "example",
        "name": "Example ID",
        "issuer": issuer,
        "client_id": CLIENT,
        "client_secret": SECRET,
    }
    return create_app(with_settings(platform, login_providers=(LoginProvider.model_validate(known),)))


def sent_to(client: TestClient, start: str = "/login/providers/example", **form: str) -> str:
    """The address at the provider that a browser is sent to."""
    page = client.post(start, data=form)
    assert page.status_code == 200, page.text
    [address] = re.findall(r'content="0; url=([^"]+)"', page.text)
    return unescape(address)


def way_back(client: TestClient, start: str = "/login/providers/example", **form: str) -> str:
    """The address that the provider sends a browser back to."""
    answer = httpx2.get(sent_to(client, start, **form))
    back = urlsplit(answer.headers["location"])
    assert back.path.endswith("/callback")
    return f"{back.path}?{back.query}"


def come_back(client: TestClient, start: str = "/login/providers/example", **form: str) -> httpx2.Response:
    return client.get(way_back(client, start, **form))


def newcomer(client: TestClient, provider: ProviderServer, name: str) -> TestClient:
    """Somebody who created an account through the provider."""
    provider.person = Person(name, f"{name}@example.org", name=name.title())
    assert come_back(client).headers["location"] == "/login/new-account"
    assert client.post("/login/new-account", data={"name": name.title()}).status_code == 303
    return client


def linked(client: TestClient, provider: ProviderServer, name: str) -> TestClient:
    """Somebody with a password who has linked a login of the provider."""
    registered(client, f"{name}@example.org")
    provider.person = Person(name, f"{name}@elsewhere.example")
    assert come_back(client, "/account/logins/example/link").headers["location"] == "/account/logins"
    return client


def accounts(platform: Platform, email: str) -> int:
    statement = text("SELECT count(*) FROM user_account WHERE email = :email")
    with platform.transaction() as session:
        return int(session.execute(statement, {"email": email}).scalar_one())


def is_logged_in(client: TestClient) -> bool:
    return client.get("/account").status_code == 200


def test_a_newcomer_creates_an_account_and_next_time_logs_in_directly(
    browser: Browser, provider: ProviderServer
) -> None:
    ash = browser()
    assert "Log in with Example ID" in ash.get("/login").text
    assert come_back(ash, next="/submissions").headers["location"] == "/login/new-account"
    page = ash.get("/login/new-account").text
    assert "ash@example.org" in page
    assert 'value="Ash Grove"' in page
    assert not is_logged_in(ash)

    made = ash.post("/login/new-account", data={"name": "Ash"})

    assert made.headers["location"] == "/submissions"
    assert "ash@example.org" in ash.get("/account/logins").text
    again = come_back(browser(), next="//evil.example")
    assert again.headers["location"] == "/"


def test_requests_to_the_provider_have_a_state_a_nonce_and_a_code_challenge(
    browser: Browser, provider: ProviderServer
) -> None:
    client = browser()
    for _ in range(2):
        httpx2.get(sent_to(client))

    first, second = provider.asked[-2:]
    assert first["scope"] == "openid email profile"
    assert first["response_type"] == "code"
    assert first["tenant"] == "voc"
    assert first["code_challenge_method"] == "S256"
    assert all(
        first[name] != second[name] and len(first[name]) >= length
        for name, length in (("state", 30), ("nonce", 20), ("code_challenge", 43))
    )


@pytest.mark.parametrize("said", [False, None, "true", "false"])
def test_an_address_unverified_by_the_provider_creates_no_account(
    browser: Browser, platform: Platform, provider: ProviderServer, said: object
) -> None:
    provider.person = Person("mallory", "mallory@example.org", email_verified=said)
    client = browser()

    answer = come_back(client)

    assert answer.status_code == 403
    assert "does not confirm your e-mail address" in answer.text
    assert client.post("/login/new-account", data={"name": "Mallory"}).status_code == 400
    assert accounts(platform, "mallory@example.org") == 0


def test_only_the_owner_of_an_account_can_link_a_login_with_its_address(
    browser: Browser, platform: Platform, provider: ProviderServer
) -> None:
    beech = registered(browser(), "beech@example.org")
    provider.person = Person("beech", "beech@example.org")
    stranger = browser()

    assert come_back(stranger).status_code == 409
    assert not is_logged_in(stranger)

    assert come_back(beech, "/account/logins/example/link").headers["location"] == "/account/logins"
    assert come_back(stranger).headers["location"] == "/"
    assert is_logged_in(stranger)
    deliver_mail(platform)
    assert [letter["Subject"] for letter in letters(platform, "beech@example.org")] == [
        "Another way to log in was added"
    ]


def test_a_login_belongs_to_one_account_and_an_account_has_one_per_provider(
    browser: Browser, provider: ProviderServer
) -> None:
    cedar, dogwood = linked(browser(), provider, "cedar"), registered(browser(), "dogwood@example.org")

    assert "linked to another account" in come_back(dogwood, "/account/logins/example/link").text
    provider.person = Person("cedar-2")
    assert "Unlink it first" in come_back(cedar, "/account/logins/example/link").text


def test_linking_needs_a_recent_login_and_the_same_session(
    browser: Browser, platform: Platform, provider: ProviderServer
) -> None:
    elder = registered(browser(), "elder@example.org")
    provider.person = Person("elder")
    back = way_back(elder, "/account/logins/example/link")
    elder.post("/logout")
    assert "no longer logged in here" in elder.get(back).text

    elder.post("/login", data={"email": "elder@example.org", "password": PASSWORD})
    age(platform, "authenticated_at", "31 minutes")
    assert elder.post("/account/logins/example/link").status_code == 403


def test_a_callback_works_once_and_only_in_its_own_browser(
    browser: Browser, provider: ProviderServer
) -> None:
    elm = linked(browser(), provider, "elm")
    elm.post("/logout")
    back = way_back(elm)

    assert browser().get(back).status_code == 400  # without the cookie
    other = browser()
    way_back(other)
    assert other.get(back).status_code == 400  # with another browser's cookie
    assert elm.get(back).status_code == 303
    elm.post("/logout")
    assert elm.get(back).status_code == 400


ERRORS: list[dict[str, Any]] = [
    {"claims": {"nonce": "another"}},
    {"claims": {"nonce": None}},
    {"claims": {"aud": "another"}},
    {"claims": {"aud": [CLIENT, "another"], "azp": "another"}},
    {"claims": {"iss": "https://evil.example"}},
    {"claims": {"exp": 1}},
    {"claims": {"at_hash": "wrong"}},
    {"claims": {"sub": None}},
    {"claims": {"sub": "x" * 256}},
    {"claims": {"sub": "a\0b"}},
    {"claims": {"auth_time": float("inf")}},
    {"claims": {"auth_time": "yesterday"}},
    {"signed_by": ECKey.generate_key("P-256", {"kid": "a"})},
    {"signed_by": "nobody"},
    {"signed_by": "the secret"},
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: "-".join(map(str, error.get("claims", error))))
def test_an_id_token_that_is_forged_or_from_another_login_is_refused(
    browser: Browser, platform: Platform, provider: ProviderServer, error: dict[str, Any]
) -> None:
    client = browser()
    for name, value in error.items():
        setattr(provider, name, value)

    answer = come_back(client)

    assert answer.status_code == 503
    assert "gave no valid answer" in answer.text
    assert not is_logged_in(client)


def test_metadata_of_the_provider_cannot_change_client_settings(
    browser: Browser, provider: ProviderServer
) -> None:
    provider.more_metadata = {
        "code_challenge_method": None,
        "scope": "openid",
        "timeout": None,
        "id_token_signing_alg_values_supported": ["HS256", "none"],
        "jwks": {"keys": []},
    }

    assert come_back(browser()).status_code == 303
    assert provider.asked[-1]["code_challenge_method"] == "S256"
    assert provider.asked[-1]["scope"] == "openid email profile"


def test_a_provider_that_answers_byte_by_byte_times_out(
    browser: Browser, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openid_client, "TOTAL_TIMEOUT", 0.5)
    provider.drips, began = True, time.monotonic()

    assert browser().post("/login/providers/example").status_code == 503
    assert time.monotonic() - began < HANGS / 2


@pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize("address", ["javascript:alert(1)", "http://id.example/x", "data:text/html,x", ""])
def test_a_provider_that_names_an_address_without_https_is_not_used(
    browser: Browser, provider: ProviderServer, endpoint: str, address: str
) -> None:
    provider.more_metadata = {endpoint: address}

    answer = browser().post("/login/providers/example")

    assert answer.status_code == 503
    assert not address or address not in answer.text


def test_a_callback_that_names_another_issuer_is_refused(browser: Browser, provider: ProviderServer) -> None:
    client = browser()
    back = way_back(client)

    assert client.get(re.sub("iss=[^&]+", "iss=https://evil.example", back)).status_code == 503


def test_a_refusal_by_the_provider_is_shown(browser: Browser, provider: ProviderServer) -> None:
    provider.denies = True

    answer = come_back(browser())

    assert answer.status_code == 403
    assert "Example ID did not log you in" in answer.text


def test_passwords_work_while_a_provider_is_away(browser: Browser, platform: Platform) -> None:
    fir = registered(browser(), "fir@example.org")
    fir.post("/logout")
    away = TestClient(application(platform, "http://127.0.0.1:9"), headers={"Accept": "text/html"})

    answer = away.post("/login/providers/example")

    assert answer.status_code == 503
    assert "your password works as always" in answer.text
    away.post("/login", data={"email": "fir@example.org", "password": PASSWORD})
    assert is_logged_in(away)


def test_a_login_can_be_unlinked_once_a_password_is_chosen(
    browser: Browser, platform: Platform, provider: ProviderServer
) -> None:
    gorse = newcomer(browser(), provider, "gorse")
    refused = gorse.post("/account/logins/example/unlink")
    assert refused.status_code == 409
    assert "Choose a password first" in refused.text

    assert gorse.post("/account/password", data={"password": PASSWORD}).status_code == 303
    assert gorse.post("/account/logins/example/unlink").status_code == 303

    assert come_back(browser()).status_code == 409
    deliver_mail(platform)
    assert letters(platform, "gorse@example.org")[-1]["Subject"] == "A way to log in was removed"
    phone = browser()
    phone.post("/login", data={"email": "gorse@example.org", "password": PASSWORD})
    assert is_logged_in(phone)


def test_without_a_password_a_new_login_at_the_provider_confirms_identity(
    browser: Browser, platform: Platform, provider: ProviderServer
) -> None:
    hazel = newcomer(browser(), provider, "hazel")
    age(platform, "authenticated_at", "31 minutes")
    asked = hazel.post("/account/tokens", data={"name": "laptop"})
    assert asked.status_code == 403
    assert "Confirm with Example ID" in asked.text
    assert hazel.post("/account/delete", data={"results": "keep"}).status_code == 403
    assert hazel.post("/account/password", data={"password": PASSWORD}).status_code == 403

    provider.person.logged_in_at = 3600
    assert "did not ask you to log in again" in come_back(hazel, "/login/providers/example/confirm").text
    provider.person.logged_in_at = 0
    form = {"next": "/account/tokens"}
    assert (
        come_back(hazel, "/login/providers/example/confirm", **form).headers["location"] == "/account/tokens"
    )

    assert provider.asked[-1]["prompt"] == "login"
    assert hazel.post("/account/delete", data={"results": "keep"}).status_code == 200


def test_another_persons_login_confirms_nothing(browser: Browser, provider: ProviderServer) -> None:
    ivy = linked(browser(), provider, "ivy")
    provider.person = Person("somebody else")

    assert "not the login by Example ID" in come_back(ivy, "/login/providers/example/confirm").text


def test_a_login_through_a_provider_still_needs_the_second_factor(
    browser: Browser, platform: Platform, provider: ProviderServer
) -> None:
    linked(browser(), provider, "juniper")
    give_second_factor(platform, "juniper@example.org")
    phone = browser()

    assert come_back(phone, next="/submissions").headers["location"] == "/login/code?next=/submissions"
    assert not is_logged_in(phone)


def test_an_admin_who_logs_in_through_a_provider_has_to_set_up_a_second_factor(
    browser: Browser, platform: Platform, provider: ProviderServer
) -> None:
    larch = newcomer(browser(), provider, "larch")
    larch.post(f"/role-links/{roles.create_admin_link(platform)}")

    assert larch.get("/admin/people").headers["location"].startswith("/account/second-factor")


def test_an_admin_without_a_password_counts_as_able_to_log_in(
    browser: Browser, platform: Platform, provider: ProviderServer
) -> None:
    nutmeg = newcomer(browser(), provider, "nutmeg")
    with platform.transaction() as session:
        session.execute(text("UPDATE user_account SET role = 'participant'"))
    nutmeg.post(f"/role-links/{roles.create_admin_link(platform)}")
    give_second_factor(platform, "nutmeg@example.org")

    page = nutmeg.get("/admin/people?text=nutmeg").text
    assert ("nutmeg@example.org" in page, "program" in page) == (True, False)
    assert "the last admin who can log in" in nutmeg.post("/account/delete", data={"results": "keep"}).text


def test_a_suspended_account_cannot_log_in_through_a_provider(
    browser: Browser, platform: Platform, provider: ProviderServer
) -> None:
    linked(browser(), provider, "maple")
    suspend = text("UPDATE user_account SET suspended_at = now() WHERE email = 'maple@example.org'")
    with platform.transaction() as session:
        session.execute(suspend)
    phone = browser()
    assert "This account is suspended" in come_back(phone).text
    assert not is_logged_in(phone)


def test_a_new_account_is_refused_if_its_address_was_confirmed_meanwhile(
    browser: Browser, provider: ProviderServer
) -> None:
    provider.person = Person("oak", "oak@example.org")
    client = browser()
    come_back(client)
    registered(browser(), "oak@example.org")
    assert client.post("/login/new-account", data={"name": "x"}).status_code == 422
    assert client.post("/login/new-account", data={"name": "Oak"}).status_code == 409


def test_a_linked_login_is_exported_and_deleted_with_the_account(
    browser: Browser, platform: Platform, provider: ProviderServer
) -> None:
    pine = linked(browser(), provider, "pine")

    [login] = json.loads(pine.get("/account/data.json").text)["logins"]
    assert (login["subject"], login["email"]) == ("pine", "pine@elsewhere.example")
    pine.post("/account/delete", data={"password": PASSWORD, "results": "keep"})

    with platform.transaction() as session:
        left = session.execute(text("SELECT count(*) FROM identity WHERE subject = 'pine'")).scalar_one()
    assert left == 0


def test_without_a_provider_its_pages_are_not_found(platform: Platform) -> None:
    client = TestClient(create_app(platform), headers={"Accept": "text/html"}, follow_redirects=False)
    registered(client, "rowan@example.org")

    assert "/login/providers" not in client.get("/login").text
    assert client.post("/login/providers/example").status_code == 404
    paths = ("/login/providers/example/callback?code=a&state=b", "/account/logins", "/account")
    assert [client.get(path).status_code for path in paths] == [404, 404, 200]
