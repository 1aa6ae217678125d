"""Several login providers, including GitHub, and servers without passwords."""

import time
from collections.abc import Iterator

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import text
from starlette.testclient import TestClient

from app.core.settings import LoginProvider, Registration, Settings
from app.main import create_app
from app.people import openid_client
from app.platform import Platform
from tests.github import CLIENT, SECRET, GitHub, github_server
from tests.login_settings import with_settings
from tests.openid_provider import CLIENT as OPENID_CLIENT
from tests.openid_provider import SECRET as OPENID_SECRET
from tests.openid_provider import Person, ProviderServer, openid_provider
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_confirmation import mailed_link, unconfirmed
from tests.pages.test_openid import accounts, come_back, is_logged_in, sent_to, way_back
from tests.patience import HANGS
from tests.second_factors import give_second_factor

GITHUB = "/login/providers/github"
EXAMPLE = "/login/providers/example"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[GitHub, ProviderServer]]:
    with github_server() as github, openid_provider() as provider:
        yield github, provider


@pytest.fixture
def github(servers: tuple[GitHub, ProviderServer]) -> GitHub:
    """A GitHub server without errors."""
    fresh = GitHub()
    servers[0].person, servers[0].addresses, servers[0].failure = fresh.person, [], ""
    return servers[0]


@pytest.fixture(scope="module")
def providers(servers: tuple[GitHub, ProviderServer]) -> tuple[LoginProvider, ...]:
    github, provider = servers
    return (
        LoginProvider(
            id="github",
            name="GitHub",
            kind="github",
            issuer=github.address,
            client_id=CLIENT,
            client_secret=SECRET,
        ),
        LoginProvider(
            id="example",
            name="Example ID",
            issuer=provider.address,
            client_id=OPENID_CLIENT,
            client_secret=OPENID_SECRET,
        ),
    )


@pytest.fixture(scope="module")
def app(platform: Platform, providers: tuple[LoginProvider, ...]) -> FastAPI:
    return create_app(with_settings(platform, login_providers=providers))


def browser(app: FastAPI) -> TestClient:
    return TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False)


def address(email: str, *, primary: bool = True, verified: bool = True) -> dict[str, object]:
    return {"email": email, "primary": primary, "verified": verified}


def newcomer(app: FastAPI, github: GitHub, number: int, name: str) -> TestClient:
    """Somebody who created an account through GitHub."""
    client = browser(app)
    github.person = {"id": number, "login": name, "name": name.title()}
    github.addresses = [address(f"{name}@example.org")]
    assert come_back(client, GITHUB).headers["location"] == "/login/new-account"
    assert client.post("/login/new-account", data={"name": name.title()}).status_code == 303
    return client


def test_every_provider_has_a_login_button(app: FastAPI) -> None:
    for page in ("/login", "/register"):
        shown = browser(app).get(page).text
        assert f'action="{GITHUB}"' in shown
        assert f'action="{EXAMPLE}"' in shown


def test_a_provider_that_is_not_in_the_settings_is_not_found(app: FastAPI) -> None:
    client = registered(browser(app), "nobody@example.org")

    for path in ("/login/providers/gitlab", "/account/logins/gitlab/link", "/account/logins/gitlab/unlink"):
        assert client.post(path).status_code == 404
    assert client.get("/login/providers/gitlab/callback?code=a&state=b").status_code == 404


def test_a_github_account_is_identified_by_its_number_not_its_name(
    app: FastAPI, github: GitHub, platform: Platform
) -> None:
    newcomer(app, github, 1001, "aspen")
    github.person = {"id": 1001, "login": "poplar", "name": "Poplar"}  # the same person, renamed
    again = browser(app)
    assert come_back(again, GITHUB).headers["location"] == "/"
    assert is_logged_in(again)

    github.person = {"id": 1002, "login": "aspen", "name": "Aspen"}  # another person, who took over the name
    github.addresses = [address("other@example.org")]
    other = browser(app)
    assert come_back(other, GITHUB).headers["location"] == "/login/new-account"
    assert not is_logged_in(other)
    with platform.transaction() as session:
        found = session.execute(text("SELECT subject FROM identity WHERE subject IN ('1001', '1002')"))
        assert found.scalars().all() == ["1001"]


@pytest.mark.parametrize(
    "addresses",
    [
        [],
        [address("birch@example.org", verified=False)],
        [address("birch@example.org", primary=False)],
        [address("birch@example.org", primary=False), address("b@example.org", verified=False)],
    ],
)
def test_a_github_address_counts_only_if_it_is_primary_and_verified(
    app: FastAPI, github: GitHub, platform: Platform, addresses: list[dict[str, object]]
) -> None:
    github.person["id"], github.addresses = 1100, addresses
    client = browser(app)

    answer = come_back(client, GITHUB)

    assert answer.status_code == 403
    assert "does not confirm your e-mail address" in answer.text
    assert accounts(platform, "birch@example.org") == 0


def test_a_provider_login_does_not_open_an_account_with_the_same_address(
    app: FastAPI, github: GitHub, platform: Platform
) -> None:
    registered(browser(app), "cedar@example.org")
    with platform.transaction() as session:
        session.execute(text("UPDATE user_account SET verified_at = now() WHERE email = 'cedar@example.org'"))
    github.person["id"], github.addresses = 1200, [address("cedar@example.org")]
    client = browser(app)

    answer = come_back(client, GITHUB)

    assert (answer.status_code, is_logged_in(client)) == (409, False)


def test_the_request_to_github_has_a_state_and_a_code_challenge(app: FastAPI, github: GitHub) -> None:
    sent = httpx2.QueryParams(sent_to(browser(app), GITHUB).partition("?")[2])

    assert sent["code_challenge_method"] == "S256"
    assert len(sent["state"]) > 20
    assert sent["redirect_uri"].endswith("/login/providers/github/callback")
    assert "user:email" in sent["scope"]


def test_a_callback_works_only_once_and_only_in_its_own_browser(app: FastAPI, github: GitHub) -> None:
    github.person["id"], github.addresses = 1300, [address("dogwood@example.org")]
    client, thief = browser(app), browser(app)
    back = way_back(client, GITHUB)

    assert thief.get(back).status_code == 400
    assert client.get(back).headers["location"] == "/login/new-account"
    assert client.get(back).status_code == 400


def test_a_login_started_at_one_provider_cannot_end_at_another(app: FastAPI, github: GitHub) -> None:
    client = browser(app)
    back = way_back(client, GITHUB)

    assert client.get(back.replace("/github/", "/example/")).status_code == 400
    assert client.get(back).status_code == 400  # it has been used


@pytest.mark.parametrize("failure", ["hangs", "500", "garbage"])
def test_a_failure_of_github_is_shown_on_a_page(
    app: FastAPI, github: GitHub, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openid_client, "TIMEOUT", httpx2.Timeout(0.5))
    client = browser(app)
    back = way_back(client, GITHUB)
    github.failure, began = failure, time.monotonic()

    answer = client.get(back)

    assert answer.status_code == 503
    assert "GitHub cannot be reached, or gave no valid answer" in answer.text
    assert time.monotonic() - began < HANGS / 2


def test_an_account_can_have_several_logins_and_must_keep_one(
    app: FastAPI, github: GitHub, servers: tuple[GitHub, ProviderServer]
) -> None:
    client = newcomer(app, github, 1400, "elder")
    assert client.post("/account/logins/github/unlink").status_code == 409
    servers[1].person = Person("elder at example", "elder@elsewhere.example")

    assert come_back(client, "/account/logins/example/link").headers["location"] == "/account/logins"
    assert client.get("/account/logins").text.count("Unlink ") == 2
    assert client.post("/account/logins/github/unlink").status_code == 303
    assert client.post("/account/logins/example/unlink").status_code == 409
    again = browser(app)
    come_back(again, EXAMPLE)
    assert is_logged_in(again)


def test_without_passwords_people_log_in_only_through_providers(
    app: FastAPI, platform: Platform, providers: tuple[LoginProvider, ...], github: GitHub
) -> None:
    registered(browser(app), "fir-tree@example.org").post("/logout")
    strict = create_app(with_settings(platform, login_providers=providers, passwords=False))
    client = browser(strict)

    page = client.get("/login").text
    assert 'type="password"' not in page
    assert 'type="password"' not in client.get("/register").text
    login = {"email": "fir-tree@example.org", "password": PASSWORD}
    assert client.post("/login", data=login).status_code == 403
    assert (
        client.post("/login", data=login, headers={"Accept": "application/json"}).json()["code"]
        == "passwords-off"
    )
    assert client.post("/register", data=login | {"name": "Fir"}).status_code == 403
    for path in ("/forgot-password", "/login-link"):
        assert client.get(path).status_code == 403
        assert client.post(path, data={"email": "fir-tree@example.org"}).status_code == 403
    person = newcomer(strict, github, 1500, "gorse-bush")
    assert is_logged_in(person)
    assert "password" not in person.get("/account").text
    assert person.post("/account/password", data={"password": PASSWORD}).status_code == 403


def test_without_passwords_a_confirmation_link_logs_nobody_in(
    app: FastAPI, platform: Platform, providers: tuple[LoginProvider, ...]
) -> None:
    unconfirmed(browser(app), "hornbeam@example.org")
    link = mailed_link(platform, "hornbeam@example.org")
    stranger = browser(create_app(with_settings(platform, login_providers=providers, passwords=False)))

    assert stranger.get(link).headers["location"].startswith("/login?next=/confirm-address/")
    assert stranger.post(link, data={"password": PASSWORD}).status_code == 401
    assert not is_logged_in(stranger)


def test_the_last_admin_who_can_log_in_through_a_provider_stays(
    app: FastAPI, platform: Platform, providers: tuple[LoginProvider, ...], github: GitHub
) -> None:
    strict = with_settings(platform, login_providers=providers, passwords=False)
    admin = newcomer(create_app(strict), github, 1700, "ironwood")
    registered(browser(app), "jacaranda@example.org")
    with platform.transaction() as session:
        session.execute(text("UPDATE user_account SET role = 'participant'"))
        names = "('ironwood@example.org', 'jacaranda@example.org')"
        session.execute(text(f"UPDATE user_account SET role = 'admin' WHERE email IN {names}"))
    give_second_factor(platform, "ironwood@example.org")

    refused = admin.post("/account/delete", data={"results": "keep"})

    assert "the last admin who can log in" in refused.text


@pytest.mark.parametrize(
    ("registration", "by_password", "by_provider"),
    [(Registration.OPEN, 303, 303), (Registration.PROVIDERS, 403, 303), (Registration.CLOSED, 403, 403)],
)
def test_a_setting_decides_who_may_create_an_account(
    platform: Platform,
    providers: tuple[LoginProvider, ...],
    github: GitHub,
    registration: Registration,
    by_password: int,
    by_provider: int,
) -> None:
    app = create_app(with_settings(platform, login_providers=providers, registration=registration))
    name = f"hazel-{registration.value}"
    form = {"email": f"{name}-p@example.org", "name": "Hazel", "password": PASSWORD}

    assert browser(app).post("/register", data=form).status_code == by_password
    github.person["id"] = 1600 + len(name)
    github.addresses = [address(f"{name}@example.org")]
    assert come_back(browser(app), GITHUB).status_code == by_provider
    assert accounts(platform, f"{name}-p@example.org") == (by_password == 303)


def test_providers_are_read_from_json_and_errors_in_it_reveal_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = (
        '[{"id": "github", "name": "GitHub", "kind": "github", "client_id": "a", "client_secret": "s3cret"}]'
    )
    monkeypatch.setenv("HELDOUT_LOGIN_PROVIDERS", given)
    [provider] = Settings.read().login_providers
    assert (provider.issuer, provider.api) == ("https://github.com", "https://api.github.com/")

    for wrong in (
        given[:-1],
        given.replace('"github",', '"Git Hub",', 1),
        given.replace('"kind": "github", ', ""),
    ):
        monkeypatch.setenv("HELDOUT_LOGIN_PROVIDERS", wrong)
        with pytest.raises(ValueError, match="HELDOUT_LOGIN_PROVIDERS") as refused:
            Settings.read()
        assert "s3cret" not in str(refused.value)


def test_settings_under_which_nobody_could_log_in_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELDOUT_PASSWORDS", "false")

    with pytest.raises(ValueError, match="without passwords expected HELDOUT_LOGIN_PROVIDERS"):
        Settings.read()
