"""An empty server is set up in the browser by whoever holds the code that it has printed."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import delete, select, text, update
from starlette.testclient import TestClient

from app.models import AuditRecord, OneTimeLink, Role, User
from app.organising import roles
from app.platform import Platform
from tests import second_factors
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.people import deliver_mail, letters


@pytest.fixture(autouse=True)
def _empty(platform: Platform) -> None:
    """A server without an admin, and without codes."""
    with platform.transaction() as session:
        session.execute(update(User).values(role=Role.PARTICIPANT))
        session.execute(delete(OneTimeLink))
        session.execute(text("DELETE FROM mail_request"))
    platform.cache.expire_versions()


def code_of(platform: Platform) -> str:
    code = roles.create_setup_code(platform)
    assert code is not None
    return code


def person(name: str) -> dict[str, str]:
    return {"email": f"{name}@example.org", "name": name.title(), "password": PASSWORD}


def admins(platform: Platform) -> list[str]:
    with platform.transaction() as session:
        return list(session.scalars(select(User.email).where(User.role == Role.ADMIN)))


def enrol(client: TestClient) -> str:
    """Set up a second factor as the page says, and return the page with the recovery codes."""
    client.post("/account/second-factor/start")
    page = client.get("/account/second-factor").text
    [secret] = re.findall(r"<code>([A-Z2-7]{16,})</code>", page)
    return client.post("/account/second-factor/confirm", data={"code": second_factors.code_of(secret)}).text


def test_an_empty_server_leads_whoever_holds_the_code_to_a_working_site(
    browser: Browser, platform: Platform
) -> None:
    code, visitor, ash = code_of(platform), browser(), browser()

    told = visitor.get("/").text
    entered = ash.get("/setup", params={"code": code})
    home = ash.get("/")
    account = ash.get("/setup").text
    created = ash.post("/setup/account", data=person("ash"))
    kept_out = ash.get("/setup/server", headers={"Accept": "text/html"})
    codes = enrol(ash)
    server = ash.get("/setup/server").text
    as_proposed = ash.post("/setup/server", data={"name": "Heldout", "tagline": "", "contact": ""})
    saved = ash.post("/setup/server", data={"name": "Oaks", "tagline": "Trees alone", "contact": "no"})
    again = ash.post("/setup/server", data={"name": "Oaks", "tagline": "Trees alone", "contact": ""})

    assert "not set up yet" in told
    assert "nothing is open" in told
    assert (entered.status_code, entered.headers["location"]) == (303, "/setup")
    assert (home.status_code, home.headers["location"]) == (303, "/setup")
    assert code not in account
    assert (created.status_code, created.headers["location"]) == (303, "/account/second-factor")
    assert kept_out.headers["location"].startswith("/account/second-factor")
    assert 'href="/setup/server"' in codes
    assert "HELDOUT_SMTP_HOST" in server
    assert "No sender is alive" in server
    assert (as_proposed.status_code, as_proposed.headers["location"]) == (303, "/setup/done")
    assert (saved.status_code, again.status_code, again.headers["location"]) == (422, 303, "/setup/done")
    assert "Create a challenge" in ash.get("/setup/done").text
    assert "Trees alone" in browser().get("/").text
    assert "not set up" not in browser().get("/").text
    assert admins(platform) == ["ash@example.org"]


def test_the_code_is_void_after_use_and_once_there_is_an_admin(browser: Browser, platform: Platform) -> None:
    first, second = code_of(platform), code_of(platform)
    ash, elm = browser(), browser()
    ash.get("/setup", params={"code": first})
    elm.get("/setup", params={"code": second})

    assert ash.post("/setup/account", data=person("fir")).status_code == 303
    late = [
        elm.post("/setup/account", data=person("gorse")),
        elm.get("/setup"),
        elm.get("/setup", params={"code": second}),
        browser().get("/setup", params={"code": first}),
        browser().post("/setup", data={"code": first}),
    ]
    with platform.transaction() as session:
        session.execute(update(User).values(role=Role.PARTICIPANT))  # such as by `heldout-server grant`
    used = browser().post("/setup", data={"code": first})

    assert [each.status_code for each in late] == [410] * len(late)
    assert used.status_code == 422
    assert roles.create_setup_code(platform) is not None
    with platform.transaction() as session:
        assert session.scalars(select(User).where(User.email == "gorse@example.org")).all() == []
        record = session.scalars(select(AuditRecord).where(AuditRecord.action == "link.use")).all()[-1]
    assert record.after == {"role": "admin", "organises": []}


def test_of_two_browsers_that_race_one_becomes_the_admin(browser: Browser, platform: Platform) -> None:
    code = code_of(platform)
    rivals = [browser() for _ in range(2)]
    for each in rivals:
        each.get("/setup", params={"code": code})

    with ThreadPoolExecutor(2) as pool:
        names = ("hazel", "ivy")
        posts = pool.map(
            lambda pair: pair[0].post("/setup/account", data=person(pair[1])), zip(rivals, names, strict=True)
        )
        responses = sorted(posts, key=lambda response: response.status_code)

    assert responses[0].status_code == 303
    assert responses[1].status_code in (409, 410)
    assert "somebody else was faster" in responses[1].text
    assert len(admins(platform)) == 1


def test_a_code_is_needed_and_an_account_can_be_used(browser: Browser, platform: Platform) -> None:
    code_of(platform)
    larch, stranger = registered(browser(), "larch@example.org"), browser()

    refused = [
        stranger.post("/setup", data={"code": "x" * 22}),
        stranger.post("/setup/account", data=person("juniper")),
        larch.post("/setup/promote"),
        stranger.post(f"/role-links/{code_of(platform)}"),
    ]
    assert [each.status_code for each in refused] == [422, 422, 422, 401]
    assert larch.post(f"/role-links/{code_of(platform)}").status_code == 410  # it is no link for a role
    assert admins(platform) == []

    larch.post("/setup", data={"code": code_of(platform)})
    taken = browser()
    taken.get("/setup", params={"code": code_of(platform)})
    assert taken.post("/setup/account", data=person("larch")).status_code == 409
    assert "Make me the admin" in larch.get("/setup").text
    assert larch.post("/setup/promote").headers["location"] == "/account/second-factor"
    assert admins(platform) == ["larch@example.org"]


def test_a_test_of_mail_says_what_became_of_it(browser: Browser, platform: Platform) -> None:
    code, maple = code_of(platform), browser()
    maple.get("/setup", params={"code": code})
    maple.post("/setup/account", data=person("maple"))
    enrol(maple)

    maple.post("/setup/mail")
    waiting = maple.get("/setup/server").text
    deliver_mail(platform)
    sent = maple.get("/setup/server").text

    assert "waiting" in waiting
    assert "was written to a file" in sent
    assert letters(platform, "maple@example.org")[-1]["Subject"].startswith("A test of mail")
