"""What programs may do with a token, and what they may not."""

import re
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, text
from starlette.testclient import TestClient

from app.access import Actor
from app.platform import Platform
from app.sessions import service as sessions
from app.tokens.rules import new_token
from app.tokens.service import tokens
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.second_factors import give_second_factor

READ, SUBMIT, ORGANISE = "read", "submit", "organise"


def program(browser: Browser, owner: TestClient, *scopes: str, days: int = 90) -> TestClient:
    """A program with a new token of somebody."""
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


def test_a_token_to_read_reads_and_does_no_more(browser: Browser) -> None:
    reader = program(browser, registered(browser(), "ash@example.org"), READ)

    refused = reader.put("/api/v1/editions/a/b/uploads?filename=x.zip")

    assert reader.get("/api/v1/submissions").status_code == 200
    assert refused.status_code == 403
    assert refused.json()["detail"] == "This token may not do this; its scope is read"


@pytest.mark.parametrize(
    "path", ["/account/tokens", "/account/sessions/end-all", "/logout", "/login/confirm"]
)
def test_no_token_changes_an_account_or_makes_tokens(browser: Browser, platform: Platform, path: str) -> None:
    owner = registered(browser(), f"beech{len(path)}@example.org")
    organise(platform, f"beech{len(path)}@example.org")
    everything = program(browser, owner, READ, SUBMIT, ORGANISE)

    response = everything.post(path, data={"name": "another", "scope": "read"})

    assert response.status_code == 403
    assert owner.get("/account/tokens").text.count("/revoke") == 1


def test_without_the_scope_organise_an_admin_s_token_is_a_participant_s(
    browser: Browser, platform: Platform
) -> None:
    owner = registered(browser(), "cedar@example.org")
    organise(platform, "cedar@example.org")

    assert program(browser, owner, READ, SUBMIT).get("/api/v1/organise").status_code == 403
    assert program(browser, owner, ORGANISE).get("/api/v1/organise").status_code == 200


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


def test_a_person_has_fifty_tokens_at_most(browser: Browser, platform: Platform) -> None:
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

    assert response.status_code == 422
    assert "50 tokens are active; revoke one first" in response.text


def test_all_tokens_of_a_person_are_revoked_at_once(browser: Browser) -> None:
    gorse, hazel = (registered(browser(), f"{name}@example.org") for name in ("gorse", "hazel"))
    programs = [program(browser, gorse, READ) for _ in range(2)]
    other = program(browser, hazel, READ)
    assert "/account/tokens/revoke-all" in gorse.get("/account/tokens").text

    assert gorse.post("/account/tokens/revoke-all").headers["location"] == "/account/tokens"

    codes = [each.get("/api/v1/submissions").status_code for each in (*programs, other)]
    assert codes == [401, 401, 200]
    assert "revoke-all" not in gorse.get("/account/tokens").text


def test_making_and_revoking_a_token_is_in_the_audit(browser: Browser, platform: Platform) -> None:
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
