"""How people become admins and organisers of challenges."""

from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.core.errors import ConflictError, NotFoundError
from app.models import AuditRecord, Challenge, Role, User
from app.organising import roles
from app.organising.roles import Grant
from app.people import accounts, sessions
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.second_factors import give_second_factor


@pytest.fixture(scope="module", autouse=True)
def challenges(platform: Platform) -> dict[str, int]:
    """Two challenges, by code."""
    with platform.transaction() as session:
        made = [Challenge(code=code, title=f"The {code}", dataset="VOC2007") for code in ("one", "two")]
        session.add_all(made)
        session.flush()
        return {each.code: each.id for each in made}


@pytest.fixture
def lonely(platform: Platform) -> str:
    """A challenge that nobody organises."""
    with platform.transaction() as session:
        session.add(Challenge(code="lonely", title="Nobody's", dataset="VOC2007"))
    return "lonely"


def organised(platform: Platform, client: TestClient) -> frozenset[int]:
    """The challenges that this person organises."""
    return sessions.identify(platform, client.cookies["heldout_session"], None).organises


def test_an_organiser_link_works_once_and_needs_a_login(
    browser: Browser, platform: Platform, challenges: dict[str, int]
) -> None:
    link = f"/role-links/{roles.create_organiser_link(platform, 'one')}"
    larch, maple = registered(browser(), "larch@example.org"), registered(browser(), "maple@example.org")

    assert browser().post(link).status_code in (303, 401)
    assert "an owner of <strong>The one</strong>" in larch.get(link).text
    assert larch.get("/organise").status_code == 403
    assert larch.post(link).status_code == 303
    assert larch.get("/organise").status_code == 200
    assert organised(platform, larch) == {challenges["one"]}
    assert maple.post(link).status_code == 410
    assert maple.get("/organise").status_code == 403


def test_an_admin_link_makes_an_admin_who_organises_every_challenge(
    browser: Browser, platform: Platform
) -> None:
    link = f"/role-links/{roles.create_admin_link(platform)}"
    rowan = registered(browser(), "rowan@example.org")

    assert not accounts.is_set_up(platform)
    assert "an admin" in rowan.get(link).text
    rowan.post(link)

    actor = sessions.identify(platform, rowan.cookies["heldout_session"], None)
    assert actor.role is Role.ADMIN
    assert actor.organises == frozenset()
    assert not actor.organises_challenge(12345)
    give_second_factor(platform, "rowan@example.org")
    assert sessions.identify(platform, rowan.cookies["heldout_session"], None).organises_challenge(12345)
    assert accounts.is_set_up(platform)


def test_with_several_challenges_an_organiser_link_must_name_one(platform: Platform) -> None:
    with pytest.raises(ConflictError, match=r"name one of them: .*two, one"):
        roles.create_organiser_link(platform)
    with pytest.raises(NotFoundError, match="there is no challenge 'three'"):
        roles.create_organiser_link(platform, "three")


def test_a_challenge_has_an_organiser_once_somebody_who_can_log_in_is_one(
    browser: Browser, platform: Platform, lonely: str
) -> None:
    registered(browser(), "sorrel@example.org")

    assert not roles.organiser_exists(platform, lonely)
    roles.grant(platform, "sorrel@example.org", Grant.ORGANISER, lonely)
    assert roles.organiser_exists(platform, lonely)
    roles.grant(platform, "sorrel@example.org", Grant.PARTICIPANT)
    assert not roles.organiser_exists(platform, lonely)


def test_a_role_is_granted_by_address_regardless_of_spelling(
    browser: Browser, platform: Platform, challenges: dict[str, int]
) -> None:
    nutmeg = registered(browser(), "nutmeg@example.org")

    assert roles.grant(platform, " Nutmeg@example.org", Grant.ORGANISER, "one")
    assert roles.grant(platform, "nutmeg@example.org", Grant.ORGANISER, "one")
    assert roles.grant(platform, "nutmeg@example.org", Grant.ORGANISER, "two")
    assert not roles.grant(platform, "nobody@example.org", Grant.ORGANISER, "one")
    assert nutmeg.get("/organise").status_code == 200
    assert organised(platform, nutmeg) == set(challenges.values())

    roles.grant(platform, "nutmeg@example.org", Grant.PARTICIPANT, "one")
    assert organised(platform, nutmeg) == {challenges["two"]}


def audited(platform: Platform, *actions: str) -> list[AuditRecord]:
    """Audit records of these actions, oldest first."""
    statement = select(AuditRecord).where(AuditRecord.action.in_(actions)).order_by(AuditRecord.id)
    with platform.transaction() as session:
        rows = list(session.scalars(statement))
        session.expunge_all()
    return rows


def person_id(platform: Platform, email: str) -> int | None:
    with platform.transaction() as session:
        return session.scalar(select(User.id).where(User.email == email))


def state(role: str, *organises: int) -> dict[str, Any]:
    return {"role": role, "organises": list(organises)}


def test_a_change_of_role_is_recorded_in_the_audit_log(
    browser: Browser, platform: Platform, challenges: dict[str, int]
) -> None:
    registered(browser(), "olive@example.org")
    before = len(audited(platform, "role.grant"))

    roles.grant(platform, "olive@example.org", Grant.ADMIN)
    roles.grant(platform, "olive@example.org", Grant.ORGANISER, "one")
    roles.grant(platform, "olive@example.org", Grant.PARTICIPANT)
    roles.grant(platform, "nobody@example.org", Grant.ADMIN)

    records = audited(platform, "role.grant")[before:]
    olive, one = person_id(platform, "olive@example.org"), challenges["one"]
    assert {(each.user_id, each.subject) for each in records} == {(None, f"person {olive}")}
    assert [(each.challenge_id, each.before, each.after) for each in records] == [
        (None, state("participant"), state("admin")),
        (one, state("admin"), state("admin", one)),
        (None, state("admin", one), state("participant")),
    ]


def test_creating_and_using_a_link_is_recorded_in_the_audit_log(
    browser: Browser, platform: Platform, challenges: dict[str, int]
) -> None:
    before = len(audited(platform, "link.create", "link.use"))
    quince = registered(browser(), "quince@example.org")

    token = roles.create_organiser_link(platform, "one")
    for _ in range(2):
        quince.post(f"/role-links/{token}")

    [made, used] = audited(platform, "link.create", "link.use")[before:]
    person = person_id(platform, "quince@example.org")
    assert (made.action, made.user_id, made.challenge_id) == ("link.create", None, challenges["one"])
    assert (made.details["role"], made.details["challenge"]) == ("owner", "one")
    assert "expires_at" in made.details
    assert (used.action, used.user_id, used.subject) == ("link.use", person, f"person {person}")
    assert (used.before, used.after) == (state("participant"), state("participant", challenges["one"]))
    assert used.details == {"link": made.subject, "role": "owner"}
    assert token not in str((made.subject, made.details, used.subject, used.details))
