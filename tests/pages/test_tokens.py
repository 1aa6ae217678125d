"""What programs may and may not do with a token."""

import re
from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text
from starlette.testclient import TestClient

from app.core.access import Actor
from app.models import Challenge
from app.organising import roles
from app.organising.roles import Grant
from app.people import second_factor, sessions
from app.people.tokens import new_token, tokens
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.second_factors import give_second_factor

READ, SUBMIT, ORGANISE, ADMIN = "read", "submit", "organise", "admin"
OF_ADMINS = ("/api/v1/admin/storage", "/api/v1/admin/messages", "/admin", "/admin/storage")


def program(browser: Browser, owner: TestClient, *scopes: str, days: int = 90) -> TestClient:
    """A program with a new token of this owner."""
    page = owner.post("/account/tokens", data={"name": "cluster", "scope": list(scopes), "days": days})
    assert page.status_code == 200, page.text
    [token] = set(re.findall(r"hld_\w{36}", page.text))
    client = browser()
    client.headers |= {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    return client


def organise(platform: Platform, email: str) -> None:
    with platform.engine.begin() as connection:
        connection.execute(
            text("UPDATE user_account SET role = 'admin' WHERE email = :email"), {"email": email}
        )
    give_second_factor(platform, email)


def test_a_token_to_read_can_only_read(browser: Browser) -> None:
    reader = program(browser, registered(browser(), "ash@example.org"), READ)

    refused = reader.put("/api/v1/challenges/a/b/uploads?filename=x.zip")

    assert reader.get("/api/v1/submissions").status_code == 200
    assert refused.status_code == 403
    assert refused.json()["detail"] == "This token may not do this; its scope is read"


@pytest.mark.parametrize(
    "path", ["/account/tokens", "/account/sessions/end-all", "/logout", "/login/confirm"]
)
def test_no_token_can_change_an_account_or_create_tokens(
    browser: Browser, platform: Platform, path: str
) -> None:
    owner = registered(browser(), f"beech{len(path)}@example.org")
    organise(platform, f"beech{len(path)}@example.org")
    everything = program(browser, owner, READ, SUBMIT, ADMIN)

    response = everything.post(path, data={"name": "another", "scope": "read"})

    assert response.status_code == 403
    assert owner.get("/account/tokens").text.count("/revoke") == 1


@pytest.fixture
def challenges(platform: Platform) -> tuple[str, str]:
    """Two new challenges."""
    with platform.transaction() as session:
        made = [
            Challenge(code=f"{uuid4().hex[:8]}", title="A challenge", dataset="VOC2007") for _ in range(2)
        ]
        session.add_all(made)
    return made[0].code, made[1].code


def statuses(client: TestClient, *paths: str) -> list[int]:
    return [client.get(path).status_code for path in paths]


def organising(challenge: str) -> tuple[str, str]:
    return f"/organise/challenges/{challenge}/terms", f"/api/v1/organise/challenges/{challenge}/teams"


def test_an_organisers_token_gains_nothing_when_its_owner_becomes_an_admin(
    browser: Browser, platform: Platform, challenges: tuple[str, str]
) -> None:
    own, other = challenges
    otto = registered(browser(), "otto@example.org")
    roles.grant(platform, "otto@example.org", Grant.ORGANISER, own)
    script = program(browser, otto, ORGANISE)
    before = statuses(script, *OF_ADMINS, *organising(own), *organising(other))

    otto.post(f"/role-links/{roles.create_admin_link(platform)}")
    promoted = statuses(script, *OF_ADMINS, *organising(own), *organising(other))
    give_second_factor(platform, "otto@example.org")
    enrolled = statuses(script, *OF_ADMINS, *organising(own), *organising(other))

    assert before == promoted == enrolled
    assert set(before[:4]) == {403}
    assert 200 in before[4:6]
    assert 200 not in before[6:]
    assert statuses(otto, *OF_ADMINS) == [200] * 4


def test_an_admins_token_has_admin_rights_only_with_a_second_factor(
    browser: Browser, platform: Platform, challenges: tuple[str, str]
) -> None:
    cedar = registered(browser(), "cedar@example.org")
    organise(platform, "cedar@example.org")
    reader, script = program(browser, cedar, READ, SUBMIT), program(browser, cedar, ADMIN)
    assert statuses(reader, *OF_ADMINS, "/api/v1/organise") == [403] * 5
    assert statuses(script, *OF_ADMINS, "/api/v1/organise") == [200] * 5

    second_factor.remove_for(platform, "cedar@example.org")
    refused = script.get("/api/v1/admin/storage")
    assert (refused.status_code, refused.json()["code"]) == (403, "second-factor-required")
    assert statuses(script, *OF_ADMINS, "/api/v1/organise") == [403] * 5
    assert script.get("/api/v1/submissions").status_code == 200

    roles.grant(platform, "cedar@example.org", Grant.ORGANISER, challenges[0])
    assert 200 in statuses(script, *organising(challenges[0]))
    assert 200 not in statuses(script, *organising(challenges[1]))


@pytest.mark.parametrize(
    "days", ["9" * 5000, "0", "-1", "8", "x"], ids=["digits", "none", "past", "eight", "letter"]
)
def test_a_token_lasts_one_of_the_listed_times(browser: Browser, days: str) -> None:
    yew = registered(browser(), f"yew{len(days)}{days[:1]}@example.org".replace("-", "m"))

    refused = yew.post("/account/tokens", data={"name": "cluster", "scope": READ, "days": days})

    assert refused.status_code == 422
    assert not re.findall(r"hld_\w{36}", refused.text)


def test_people_can_create_tokens_only_for_what_they_may_do(
    browser: Browser, platform: Platform, challenges: tuple[str, str]
) -> None:
    def makes(owner: TestClient) -> list[str]:
        form = {"name": "cluster", "days": 7}
        scopes = (READ, SUBMIT, ORGANISE, ADMIN)
        return [
            scope
            for scope in scopes
            if owner.post("/account/tokens", data={**form, "scope": scope}).status_code == 200
        ]

    larch, maple, rowan = (
        registered(browser(), f"{name}@example.org") for name in ("larch", "maple", "rowan")
    )
    roles.grant(platform, "maple@example.org", Grant.ORGANISER, challenges[0])
    organise(platform, "rowan@example.org")

    assert makes(larch) == [READ, SUBMIT]
    assert makes(maple) == [READ, SUBMIT, ORGANISE]
    assert makes(rowan) == [READ, SUBMIT, ADMIN]


def test_a_token_expires(browser: Browser, platform: Platform) -> None:
    owner = registered(browser(), "dogwood@example.org")
    reader = program(browser, owner, READ, days=7)
    assert reader.get("/api/v1/submissions").status_code == 200

    with platform.engine.begin() as connection:
        connection.execute(text("UPDATE api_token SET expires_at = expires_at - interval '7 days'"))

    assert reader.get("/api/v1/submissions").status_code == 401
    assert "expired" in owner.get("/account/tokens").text


def test_a_token_with_a_wrong_checksum_costs_no_query(platform: Platform) -> None:
    nowhere = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/none")
    away = replace(platform, engine=nowhere)

    assert sessions.identify(away, None, new_token()[:-1] + "!") == Actor()


def test_a_person_can_have_at_most_fifty_tokens(browser: Browser, platform: Platform) -> None:
    elm = registered(browser(), "elm@example.org")
    program(browser, elm, READ)
    with platform.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO api_token (user_id, name, token_hash, hint, scopes, expires_at)"
                " SELECT user_id, api_token.name, sha256(number::text::bytea), hint, scopes, expires_at"
                " FROM api_token JOIN user_account ON user_account.id = user_id, generate_series(1, 49) AS number"
                " WHERE email = 'elm@example.org'"
            )
        )

    response = elm.post("/account/tokens", data={"name": "one more", "scope": "read"})

    assert response.status_code == 409
    assert "50 tokens are active; revoke one first" in response.text


def test_all_tokens_of_a_person_can_be_revoked_at_once(browser: Browser) -> None:
    gorse, hazel = (registered(browser(), f"{name}@example.org") for name in ("gorse", "hazel"))
    programs = [program(browser, gorse, READ) for _ in range(2)]
    other = program(browser, hazel, READ)
    assert "/account/tokens/revoke-all" in gorse.get("/account/tokens").text

    assert gorse.post("/account/tokens/revoke-all").headers["location"] == "/account/tokens"

    codes = [each.get("/api/v1/submissions").status_code for each in (*programs, other)]
    assert codes == [401, 401, 200]
    assert "revoke-all" not in gorse.get("/account/tokens").text


def test_tokens_that_no_longer_work_stand_folded_below_those_that_do(browser: Browser) -> None:
    spindle = registered(browser(), "spindle@example.org")
    first, second = (program(browser, spindle, READ) for _ in range(2))
    assert "revoked or expired" not in spindle.get("/account/tokens").text
    number = re.findall(r"/account/tokens/(\d+)/revoke", spindle.get("/account/tokens").text)[0]

    spindle.post(f"/account/tokens/{number}/revoke")

    works, folded = spindle.get("/account/tokens").text.split("1 token revoked or expired")
    assert f"/account/tokens/{number}/revoke" not in works
    assert works.count('/revoke"') == 1
    assert '/revoke"' not in folded
    assert sorted(each.get("/api/v1/submissions").status_code for each in (first, second)) == [200, 401]


def test_creating_and_revoking_a_token_is_recorded_in_the_audit_log(
    browser: Browser, platform: Platform
) -> None:
    fir = registered(browser(), "fir@example.org")
    program(browser, fir, READ, days=30)
    actor = sessions.identify(platform, fir.cookies["heldout_session"], None)
    [view] = tokens(platform, actor.user_id)

    fir.post(f"/account/tokens/{view.id}/revoke")

    with platform.engine.begin() as connection:
        statement = text("SELECT action, details FROM audit WHERE subject = :subject ORDER BY id")
        made, revoked = connection.execute(statement, {"subject": f"token {view.id}"}).all()
    assert made == ("token.create", {"name": "cluster", "scopes": ["read"], "days": 30})
    assert revoked[0] == "token.revoke"
