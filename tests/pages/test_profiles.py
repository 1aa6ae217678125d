"""Personal data is changed, exported and erased."""

import json
from itertools import count
from typing import Any

import httpx2
import pytest
from sqlalchemy import select, text
from starlette.testclient import TestClient

from app.core.access import Actor
from app.intake.importing import TreeImport, import_tree
from app.models import User
from app.organising import roles
from app.people.sessions import actor_of
from app.platform import Platform
from app.results import personal_data
from app.results.personal_data import Deletion, ResultsChoice, delete_unconfirmed_accounts
from tests.kills import assert_all_or_nothing
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_confirmation import can_log_in, unconfirmed
from tests.pages.test_sessions import age
from tests.pages.test_tokens import program
from tests.people import deliver_mail, letters
from tests.system.installations import DESCRIPTION, STATEMENT
from tests.system.kits import results, small_kit

NUMBERS = count(1)


@pytest.fixture(scope="module", autouse=True)
def _challenge(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    import_tree(platform, TreeImport(small_kit(tmp_path_factory.mktemp("profiles")), "oak", "test"))


def ask(platform: Platform, statement: str, **values: object) -> list[tuple[Any, ...]]:
    with platform.transaction() as session:
        return [tuple(row) for row in session.execute(text(statement), values)]


def submit(client: TestClient, method: str, *, is_public: bool) -> None:
    path = "/api/v1/challenges/oak/test/uploads?filename=results.tar.gz"
    upload = client.put(path, content=results(cat=5, dog=5)).json()["id"]
    described = {
        "name": method,
        "contributors": "Ash Grove",
        "affiliation": "Grove",
        "description": DESCRIPTION,
    }
    body = {"upload": upload, "method": described, "training": STATEMENT, "make_public": is_public}
    response = client.post("/api/v1/submissions", json=body, headers={"Accept": "application/json"})
    assert response.status_code == 201, response.text


def end(client: TestClient, password: str = PASSWORD, results: str = "keep") -> httpx2.Response:
    response = client.post("/account/delete", data={"password": password, "results": results})
    assert isinstance(response, httpx2.Response)
    return response


def test_a_profile_can_be_changed_and_is_validated(browser: Browser) -> None:
    ash = registered(browser(), "ash@example.org")

    changed = ash.post("/account/profile", data={"name": " Ash Tree ", "affiliation": "University of Oak"})
    hidden = ash.post("/account/profile", data={"name": "\u202egro.evil", "affiliation": "x" * 201})

    assert changed.status_code == 303
    assert "Ash Tree" in ash.get("/account").text
    assert 'value="University of Oak"' in ash.get("/account/profile").text
    assert hidden.status_code == 422
    assert "Fix 2 problems" in hidden.text


def test_an_export_contains_everything_about_a_person_and_nothing_about_others(
    browser: Browser, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(personal_data, "PAGE", 1)  # so that every list has several pages
    beech, cedar = registered(browser(), "beech@example.org"), registered(browser(), "cedar@example.org")
    for method in ("Trunk", "Bark"):
        submit(beech, method, is_public=False)
    submit(cedar, "Needle", is_public=False)

    response = beech.get("/account/data.json")

    found = json.loads(response.text)
    assert response.headers["content-disposition"].startswith("attachment")
    assert response.headers["cache-control"] == "no-store"
    assert found["account"]["email"] == "beech@example.org"
    assert [each["method"] for each in found["submissions"]] == ["Trunk", "Bark"]
    assert [each["filename"] for each in found["uploads"]] == ["results.tar.gz"] * 2
    assert len(found["sessions"]) == 1
    assert found.keys() == {
        "account", "left_out", "sessions", "logins", "tokens", "teams", "terms", "downloads", "uploads", "submissions",
        "threads", "thread_messages", "team_messages", "actions", "invitations", "requests",
        "notifications", "mails", "mail_choices", "label_edits", "label_reports",
    }  # fmt: skip
    assert "cedar" not in response.text
    assert "Needle" not in response.text
    assert "argon2" not in response.text


def test_a_program_exports_only_what_its_scope_may_read(browser: Browser) -> None:
    elder = registered(browser(), "elder@example.org")
    submit(elder, "Sap", is_public=False)
    reader = program(browser, elder, "read")

    found = reader.get("/api/v1/account/export").json()

    assert [each["method"] for each in found["submissions"]] == ["Sap"]
    assert found["account"].keys() == {"id", "name", "affiliation", "homepage", "orcid", "created_at"}
    assert set(found["left_out"]) == {
        "email", "new_email", "verified_at", "suspended_at", "role", "sessions", "logins", "tokens", "mails", "actions",
    }  # fmt: skip
    assert not set(found["left_out"]) & found.keys()
    assert elder.get("/api/v1/account/export").json()["account"]["email"] == "elder@example.org"


def test_an_export_in_the_browser_needs_a_recent_login(browser: Browser, platform: Platform) -> None:
    maple = registered(browser(), "maple@example.org")
    age(platform, "authenticated_at", "31 minutes")

    assert maple.get("/api/v1/account/export").json()["code"] == "recent-login-required"


def test_homepage_and_orcid_are_shown_once_a_person_agrees(browser: Browser, platform: Platform) -> None:
    oak, stranger = registered(browser(), "oak@example.org"), browser()
    profile = {
        "name": "Oak",
        "homepage": "https://oak.example",
        "orcid": "https://orcid.org/0000-0002-1825-0097",
    }
    assert oak.post("/account/profile", data=profile).status_code == 303
    assert 'value="0000-0002-1825-0097"' in oak.get("/account/profile").text
    assert oak.post("/account/profile", data={**profile, "homepage": "http://oak.example"}).status_code == 422
    submit(oak, "Acorn", is_public=True)
    [(team, method)] = ask(platform, "SELECT team_id, id FROM method WHERE name = 'Acorn'")

    assert "oak.example" not in stranger.get(f"/methods/{method}").text
    oak.post(f"/teams/{team}/named", data={"named": "yes"})

    for shown in (stranger.get(f"/methods/{method}").text, oak.get(f"/teams/{team}").text):
        assert '<a href="https://oak.example" rel="nofollow noopener noreferrer">' in shown
        assert 'href="https://orcid.org/0000-0002-1825-0097"' in shown


def test_deleting_an_account_erases_its_name_address_sessions_and_tokens(
    browser: Browser, platform: Platform
) -> None:
    dogwood, phone = registered(browser(), "dogwood@example.org"), browser()
    assert can_log_in(phone, "dogwood@example.org")
    [[user_id]] = ask(platform, "SELECT id FROM user_account WHERE email = 'dogwood@example.org'")

    assert end(dogwood, "a guess").status_code == 403
    assert end(dogwood, results="burn").status_code == 422
    assert "Account deleted" in end(dogwood).text

    assert dogwood.get("/account").status_code == 303
    assert phone.get("/account").status_code == 303
    assert not can_log_in(browser(), "dogwood@example.org")
    row = "SELECT email, name, affiliation, password_hash, verified_at FROM user_account WHERE id = :id"
    assert ask(platform, row, id=user_id) == [("", "Deleted account", "", None, None)]
    for table in ("login_session", "api_token", "mail_link", "challenge_organiser", "member"):
        assert ask(platform, f"SELECT count(*) FROM {table} WHERE user_id = :id", id=user_id) == [(0,)]
    action = "SELECT action, subject FROM audit WHERE user_id = :id ORDER BY id DESC LIMIT 1"
    assert ask(platform, action, id=user_id) == [("account.delete", f"person {user_id}")]
    deliver_mail(platform)
    assert letters(platform, "dogwood@example.org")[-1]["Subject"] == "Your account was deleted"
    assert registered(browser(), "dogwood@example.org")  # the address is free again


def board_of(platform: Platform, *methods: str) -> list[tuple[Any, ...]]:
    statement = (
        "SELECT m.name, t.name, m.contributors, m.affiliation, e.state FROM method m JOIN team t ON t.id = m.team_id"
        " JOIN result e ON e.method_id = m.id WHERE m.name = ANY(:names) ORDER BY m.id"
    )
    return ask(platform, statement, names=list(methods))


@pytest.mark.sampled
def test_a_person_chooses_whether_results_stay_or_are_erased(browser: Browser, platform: Platform) -> None:
    elm, fir = registered(browser(), "elm@example.org"), registered(browser(), "fir@example.org")
    for client, kind in ((elm, "Elm"), (fir, "Fir")):
        submit(client, f"{kind} one", is_public=True)
        submit(client, f"{kind} two", is_public=False)
    [[_, team, *_], _] = board_of(platform, "Elm one", "Elm two")
    page = fir.get("/account/delete").text
    address = f"/methods/{ask(platform, 'SELECT id FROM method WHERE name = :name', name='Fir one')[0][0]}"
    for said in ("Another grove", "A third grove"):
        changed = fir.patch(f"/api/v1{address}", json={"affiliation": said, "title": said})
        assert changed.status_code == 200, changed.text
    assert '<dd class="text">Another grove' in browser().get(address).text

    assert "1 private result and 1 public result" in page
    end(elm, results="keep")
    end(fir, results="erase")

    assert board_of(platform, "Elm one", "Elm two") == [
        ("Elm one", team, "Ash Grove", "Grove", "pending"),
        ("Elm two", team, "Ash Grove", "Grove", "pending"),
    ]
    [public, private] = board_of(platform, "Fir one", "Fir two")
    assert public[1].startswith("Team ")
    assert public[2:] == ("", "", "pending")
    assert private[2:] == ("", "", "withdrawn")
    earlier = browser().get(f"/api/v1{address}").json()["changes"]
    assert [each["before"] for each in earlier] == [{"title": "Another grove"}, {"title": ""}]


@pytest.mark.sampled
def test_results_are_erased_with_their_account_or_not_at_all(browser: Browser, platform: Platform) -> None:
    def scene() -> Actor:
        email = f"yew{next(NUMBERS)}@example.org"
        yew = registered(browser(), email)
        for kind in ("one", "two"):
            submit(yew, f"{email} {kind}", is_public=False)
        with platform.transaction() as session:
            user = session.scalars(select(User.id).where(User.email == email)).one()
            found = actor_of(session, user)
        assert found is not None
        return found

    def erase(actor: Actor) -> None:
        form = Deletion(password=PASSWORD, results=ResultsChoice.ERASE)
        personal_data.end_account(platform, actor, form)

    def state(actor: Actor) -> object:
        values = {"id": actor.user_id, "subject": f"person {actor.user_id}"}
        return (
            ask(
                platform,
                "SELECT deleted_at IS NULL, password_hash IS NULL FROM user_account WHERE id = :id",
                **values,
            ),
            ask(
                platform,
                "SELECT result.state, withdraw_reason FROM result JOIN submission ON submission.id = submission_id"
                " WHERE user_id = :id ORDER BY result.id",
                **values,
            ),
            ask(platform, "SELECT count(*) FROM member WHERE user_id = :id", **values),
            ask(
                platform,
                "SELECT count(*) FROM login_session WHERE user_id = :id AND expires_at > now()",
                **values,
            ),
            ask(
                platform,
                "SELECT count(*) FROM audit WHERE action = 'account.delete' AND subject = :subject",
                **values,
            ),
        )

    assert_all_or_nothing(platform, scene, erase, state, every=5)


def add_second_factors(platform: Platform) -> None:
    """Give every admin a second factor."""
    with platform.transaction() as session:
        session.execute(
            text(
                "INSERT INTO second_factor (user_id, secret, confirmed_at, last_step)"
                " SELECT id, 'secret', now(), 0 FROM user_account WHERE role = 'admin' ON CONFLICT DO NOTHING"
            )
        )


def test_the_last_admin_cannot_be_deleted_until_there_is_another(
    browser: Browser, platform: Platform
) -> None:
    gorse, hazel = registered(browser(), "gorse@example.org"), registered(browser(), "hazel@example.org")
    gorse.post(f"/role-links/{roles.create_admin_link(platform)}")
    add_second_factors(platform)

    assert end(gorse).status_code == 409
    hazel.post(f"/role-links/{roles.create_admin_link(platform)}")
    add_second_factors(platform)
    assert end(gorse).status_code == 200
    assert "Deleted account" not in hazel.get("/admin/people").text
    assert ask(platform, "SELECT count(*) FROM second_factor") == [(1,)]


def test_deleting_and_exporting_need_a_login(browser: Browser) -> None:
    assert browser().post("/account/delete", data={"password": PASSWORD, "results": "keep"}).status_code in (
        303, 401,
    )  # fmt: skip
    assert browser().get("/account/data.json").status_code == 303


def test_an_unconfirmed_account_is_deleted_after_a_month(browser: Browser, platform: Platform) -> None:
    ivy, juniper = unconfirmed(browser(), "ivy@example.org"), registered(browser(), "juniper@example.org")
    assert delete_unconfirmed_accounts(platform) == 0
    with platform.transaction() as session:
        session.execute(text("UPDATE user_account SET created_at = now() - interval '31 days'"))
    assert delete_unconfirmed_accounts(platform) == 0  # its owner is still logged in
    ivy.post("/logout")

    assert delete_unconfirmed_accounts(platform) == 1

    assert ivy.get("/account").status_code == 303
    assert juniper.get("/account").status_code == 200
    assert ask(platform, "SELECT count(*) FROM user_account WHERE email = 'ivy@example.org'") == [(0,)]
