"""Admins say who may create challenges, and decide requests."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from sqlalchemy import select
from starlette.testclient import TestClient

from app.core.access import Actor, Scope
from app.models import AuditRecord, CreationRule, Role, User
from app.organising import roles
from app.organising.creating import may_create, may_create_challenges
from app.people.sessions import identify
from app.platform import Platform
from app.web.dependencies import SESSION_COOKIE
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.people import deliver_mail, letters
from tests.second_factors import give_second_factor


@pytest.fixture(scope="module")
def admin(app: FastAPI, platform: Platform) -> Iterator[TestClient]:
    with TestClient(app, follow_redirects=False) as client:
        registered(client, "admin@example.org")
        client.post(f"/role-links/{roles.create_admin_link(platform)}")
        give_second_factor(platform, "admin@example.org")
        yield client


def choose(admin: TestClient, rule: str) -> None:
    """Choose the rule as the form of the site does."""
    known = admin.get("/api/v1/admin/site").json()
    new = {name: known[name] for name in ("name", "contact", "version")} | {"creation": rule}
    assert admin.put("/api/v1/admin/site", json=new).status_code == 200


def can_create(platform: Platform, client: TestClient) -> bool:
    with platform.transaction() as session:
        return may_create_challenges(session, identify(platform, client.cookies.get(SESSION_COOKIE), None))


ASH = Actor(user_id=1, is_verified=True)


@pytest.mark.parametrize(
    ("rule", "actor", "named", "expected"),
    [
        (CreationRule.ADMINS, Actor(user_id=2, role=Role.ADMIN, has_second_factor=True), False, True),
        (CreationRule.ADMINS, Actor(user_id=2, role=Role.ADMIN), False, False),
        (CreationRule.ADMINS, ASH, True, False),
        (CreationRule.NAMED, ASH, True, True),
        (CreationRule.NAMED, ASH, False, False),
        (CreationRule.APPROVAL, ASH, True, True),
        (CreationRule.APPROVAL, ASH, False, False),
        (CreationRule.APPROVAL, Actor(user_id=1), True, False),
        (CreationRule.APPROVAL, Actor(user_id=1, is_verified=True, scopes=frozenset(Scope)), True, False),
        (CreationRule.APPROVAL, Actor(), True, False),
    ],
)
def test_admins_and_named_people_may_create(
    rule: CreationRule, actor: Actor, *, named: bool, expected: bool
) -> None:
    assert may_create(rule, actor, is_named=named) is expected


def test_a_request_is_refused_with_a_reason_and_approved_later(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    choose(admin, "after approval")
    ash = registered(browser(), "ash@example.org")

    short = ash.post("/account/creating", data={"sentence": "trees"})
    asked = ash.post("/account/creating", data={"sentence": "A challenge on <b>leaves</b> for 30 students"})
    twice = ash.post("/account/creating", data={"sentence": "A challenge on leaves, once more"})
    page = admin.get("/admin/creators").text
    [number] = {part.split("/")[0] for part in page.split("/admin/creators/requests/")[1:]}
    blank = admin.post(f"/admin/creators/requests/{number}/refuse", data={"reason": ""})
    refused = admin.post(f"/admin/creators/requests/{number}/refuse", data={"reason": "Tell us of the data"})
    late = admin.post(f"/admin/creators/requests/{number}/approve")

    assert [each.status_code for each in (short, asked, twice, blank, refused, late)] == [
        422,
        303,
        409,
        422,
        303,
        409,
    ]
    assert "&lt;b&gt;leaves" in page
    assert "1 request to decide" not in admin.get("/admin").text
    assert "Tell us of the data" in ash.get("/account/creating").text
    assert not can_create(platform, ash)

    ash.post("/account/creating", data={"sentence": "Leaves of 12 species, photographed by us"})
    assert "1 request to decide" in admin.get("/admin").text
    page = admin.get("/admin/creators").text
    [number] = {part.split("/")[0] for part in page.split("/admin/creators/requests/")[1:]}
    admin.post(f"/admin/creators/requests/{number}/approve")
    deliver_mail(platform)

    assert can_create(platform, ash)
    assert [each["Subject"] for each in letters(platform, "ash@example.org")[-2:]] == [
        "You may not create challenges yet",
        "You may create challenges",
    ]
    assert "Leaves of 12 species" in letters(platform, "admin@example.org")[-1].get_content()
    with platform.transaction() as session:
        actions = session.scalars(
            select(AuditRecord.action).where(AuditRecord.action.startswith("creation."))
        ).all()
    assert actions == ["creation.ask", "creation.refuse", "creation.ask", "creation.approve"]
    choose(admin, "admins")
    assert not can_create(platform, ash)


def test_people_are_named_and_removed_and_nobody_else_asks(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    choose(admin, "named people")
    elm, fir = registered(browser(), "elm@example.org"), registered(browser(), "fir@example.org")

    unknown = admin.post("/admin/creators", data={"email": "nobody@example.org"})
    named = admin.post("/admin/creators", data={"email": "ELM@example.org"})
    said = admin.get("/admin/creators").text
    asked = fir.post("/account/creating", data={"sentence": "I would like to run a challenge"})

    assert '<p class="flash" role="status">' in said
    assert [each.status_code for each in (unknown, named, asked)] == [422, 303, 409]
    assert [can_create(platform, each) for each in (elm, fir, admin)] == [True, False, True]
    with platform.transaction() as session:
        number = session.scalars(select(User.id).where(User.email == "elm@example.org")).one()
    assert admin.post(f"/admin/creators/{number}/remove").status_code == 303
    assert not can_create(platform, elm)


@pytest.mark.parametrize(
    ("rule", "says", "own"),
    [
        ("admins", "Admins alone may create challenges.", "Admins create the challenges of this server"),
        ("named people", "and so may the people below", "Admins, and people whom they name,"),
    ],
)
def test_pages_on_creating_say_what_the_rule_in_force_allows(
    admin: TestClient, browser: Browser, rule: str, says: str, own: str
) -> None:
    choose(admin, rule)
    person = registered(browser(), f"oak-{len(rule)}@example.org")

    page = admin.get("/admin/creators").text
    asked = person.get("/account/creating").text

    assert says in page
    assert ("The people below may do so" in page, "as admins do" in page) == (False, False)
    assert own in asked
    assert "how to ask" not in person.get("/account").text
