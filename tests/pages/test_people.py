"""How admins manage accounts and roles, and how the audit log records it."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.core.errors import ConflictError, NotFoundError
from app.models import Challenge, Job, JobKind, Role
from app.operations import administration
from app.organising import roles
from app.organising.roles import Grant
from app.people import accounts, sessions
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_roles import audited, person_id
from tests.second_factors import give_second_factor, log_in_with_code, token_of_admin

Api = Callable[[str], TestClient]


@pytest.fixture
def admin(browser: Browser, platform: Platform) -> TestClient:
    """Somebody who runs the server."""
    return admin_of(browser(), platform, "root@example.org")


def admin_of(client: TestClient, platform: Platform, email: str) -> TestClient:
    if person_id(platform, email) is None:
        registered(client, email)
        roles.grant(platform, email, Grant.ADMIN)
        give_second_factor(platform, email)
    else:
        give_second_factor(platform, email)  # none of its codes has been used
        log_in_with_code(client, email, PASSWORD)
    return client


def number(platform: Platform, email: str) -> int:
    found = person_id(platform, email)
    assert found is not None
    return found


def test_people_are_listed_newest_first_and_found_by_part_of_name_or_address(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    for name in ("aspen", "birch", "100%pine"):
        registered(browser(), f"{name}@example.org")

    def found(text: str) -> list[str]:
        people = admin.get("/api/v1/admin/people", params={"text": text}).json()["people"]
        return [each["email"].partition("@")[0] for each in people]

    assert found("")[:3] == ["100%pine", "birch", "aspen"]
    assert found("IRCH@") == ["birch"]
    assert found("0%p") == ["100%pine"]
    assert found("%") == ["100%pine"]
    assert "birch@example.org" in admin.get("/admin/people?text=birch").text
    assert "No account matches" in admin.get("/admin/people?text=nobody+like+this").text


def test_people_are_paged(
    browser: Browser, platform: Platform, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(browser(), "elm@example.org")
    monkeypatch.setattr(administration, "PAGE", 1)

    first = admin.get("/api/v1/admin/people").json()
    second = admin.get("/api/v1/admin/people", params={"after": first["next"]}).json()

    assert [each["email"] for each in first["people"]] == ["elm@example.org"]
    assert second["people"][0]["id"] < first["people"][0]["id"]
    assert f"/admin/people?text=&amp;after={first['next']}" in admin.get("/admin/people").text


def test_suspending_a_person_ends_sessions_and_blocks_tokens_and_logins(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    fern = registered(browser(), "fern@example.org")
    fern_id = number(platform, "fern@example.org")
    token = accounts.create_program_token(platform, "program@localhost", "Program")
    program_id = number(platform, "program@localhost")

    for person in (fern_id, program_id):
        done = admin.post(f"/admin/people/{person}/suspend", data={"reason": "sells accounts"})
        assert done.headers["location"] == f"/admin/people/{person}"

    assert fern.get("/account").headers["location"].startswith("/login")
    assert not sessions.identify(platform, None, token).is_logged_in
    refused = browser().post("/login", data={"email": "fern@example.org", "password": PASSWORD})
    assert refused.status_code == 403
    assert "suspended" in refused.text
    assert (
        "suspended"
        not in browser()
        .post("/login", data={"email": "fern@example.org", "password": "another password"})
        .text
    )

    admin.post(f"/admin/people/{program_id}/unsuspend", data={"reason": "was a mistake"})
    admin.post(f"/admin/people/{fern_id}/unsuspend", data={"reason": "was a mistake"})
    assert sessions.identify(platform, None, token).is_logged_in
    assert not sessions.identify(platform, fern.cookies["heldout_session"], None).is_logged_in
    assert (
        browser().post("/login", data={"email": "fern@example.org", "password": PASSWORD}).status_code == 303
    )
    [closed, opened] = [
        record
        for record in audited(platform, "person.suspend", "person.unsuspend")
        if record.subject == f"person {fern_id}"
    ]
    assert (closed.subject, closed.reason) == (f"person {fern_id}", "sells accounts")
    assert (closed.before, closed.after) == ({"suspended": False}, {"suspended": True})
    assert closed.details == {"sessions": 1}
    assert (opened.before, opened.after) == ({"suspended": True}, {"suspended": False})


def test_suspending_needs_a_reason_and_is_idempotent(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    registered(browser(), "gorse@example.org")
    page = f"/admin/people/{number(platform, 'gorse@example.org')}"
    before = len(audited(platform, "person.suspend", "person.unsuspend"))

    refused = admin.post(f"{page}/suspend", data={"reason": " "})
    assert refused.status_code == 422
    assert "must not be empty" in refused.text
    assert admin.post(f"{page}/unsuspend", data={"reason": "none"}).status_code == 303
    for _ in range(2):
        admin.post(f"{page}/suspend", data={"reason": "spam"})

    assert len(audited(platform, "person.suspend", "person.unsuspend")) == before + 1


def test_the_admin_role_is_given_and_removed_with_a_reason(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    hazel = registered(browser(), "hazel@example.org")
    page = f"/admin/people/{number(platform, 'hazel@example.org')}"

    admin.post(f"{page}/role", data={"role": "admin", "reason": "helps"})
    assert hazel.get("/admin").headers["location"].startswith("/account/second-factor")
    give_second_factor(platform, "hazel@example.org")
    assert hazel.get("/admin").status_code == 200
    hazel.post(f"{page}/role", data={"role": "participant", "reason": "enough"})
    assert hazel.get("/admin").status_code == 403

    person = f"person {number(platform, 'hazel@example.org')}"
    [up, down] = [record for record in audited(platform, "role.change") if record.subject == person]
    assert (up.reason, up.before, up.after) == ("helps", {"role": "participant"}, {"role": "admin"})
    assert (down.reason, down.after) == ("enough", {"role": "participant"})


def test_the_last_admin_who_can_log_in_cannot_be_removed(platform: Platform, admin: TestClient) -> None:
    root = number(platform, "root@example.org")
    actor = sessions.identify(platform, admin.cookies["heldout_session"], None)

    with pytest.raises(ConflictError, match="the last admin"):
        administration.change_role(platform, actor, root, Role.PARTICIPANT, "tired")
    with pytest.raises(ConflictError, match="your own account"):
        administration.suspend(platform, actor, root, "tired")
    other = sessions.identify(platform, None, token_of_admin(platform, "robot@localhost", "Robot"))
    with pytest.raises(ConflictError, match="the last admin"):
        administration.suspend(platform, other, root, "a coup")
    with pytest.raises(NotFoundError, match="there is no person 999999"):
        administration.suspend(platform, actor, 999_999, "nobody")


def people_of(client: TestClient, page: str) -> dict[str, str]:
    """Addresses and roles of the people of a challenge."""
    return {
        each["email"].partition("@")[0]: each["role"]
        for each in client.get(f"/api/v1{page}").json()["organisers"]
    }


def test_people_of_a_challenge_are_added_by_address_and_removed(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    with platform.transaction() as session:
        session.add(Challenge(code="voc 1", title="The first", dataset="VOC2007"))
    page, ivy = "/organise/challenges/voc%201/organisers", registered(browser(), "ivy@example.org")
    person, api = number(platform, "ivy@example.org"), f"/api/v1{page}"

    assert admin.post(api, json={"email": "Ivy@example.org"}).status_code == 204
    assert "ivy@example.org" in admin.get(page).text
    assert ivy.get("/organise").status_code == 200
    unknown = admin.post(api, json={"email": "nobody@example.org"})
    assert (unknown.status_code, "no account has the address" in unknown.text) == (422, True)
    assert admin.put(f"{api}/{person}", json={"role": "viewer"}).status_code == 204
    assert list(people_of(admin, page).values()) == ["viewer"]
    assert ivy.get(page).status_code == 200
    assert "ivy@example.org" not in ivy.get(page).text.partition("<main")[2]
    admin.post(f"{page}/{person}/remove")
    assert ivy.get("/organise").status_code == 403
    assert admin.post(f"{page}/{person}/remove").status_code == 404
    [removal] = [each for each in audited(platform, "role.revoke") if each.subject == f"person {person}"]
    assert removal.details == {"challenge_role": {"before": "viewer", "after": None}}


def test_only_owners_name_owners_and_the_last_owner_cannot_leave(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    with platform.transaction() as session:
        session.add(Challenge(code="coop", title="The second", dataset="VOC2007"))
    page, api = "/organise/challenges/coop/organisers", "/api/v1/organise/challenges/coop/organisers"
    teak, yucca, balsa = (registered(browser(), f"{name}@example.org") for name in ("teak", "yucca", "balsa"))
    first, second, third = (number(platform, f"{name}@example.org") for name in ("teak", "yucca", "balsa"))
    admin.post(api, json={"email": "teak@example.org", "role": "owner"})

    assert teak.post(api, json={"email": "yucca@example.org"}).status_code == 204
    assert yucca.post(api, json={"email": "balsa@example.org", "role": "owner"}).status_code == 403
    assert yucca.post(api, json={"email": "teak@example.org", "role": "viewer"}).status_code == 403
    assert yucca.post(api, json={"email": "balsa@example.org", "role": "viewer"}).status_code == 204
    assert yucca.post(f"{page}/{third}/remove").status_code == 403
    assert balsa.post(api, json={"email": "yucca@example.org", "role": "viewer"}).status_code == 403
    for refused in (
        teak.post(f"{page}/leave"),
        teak.post(f"{page}/{first}/remove"),
        teak.post(f"{page}/{first}/role", data={"role": "viewer"}),
    ):
        assert (refused.status_code, "needs an owner" in refused.text) == (409, True)
    assert people_of(admin, page) == {"teak": "owner", "yucca": "organiser", "balsa": "viewer"}

    assert teak.post(f"{page}/{second}/role", data={"role": "owner"}).headers["location"] == page
    assert teak.post(f"{page}/leave").headers["location"] == "/"
    assert teak.get(page).status_code == 403
    assert balsa.delete(f"{api}/me").status_code == 204
    assert people_of(admin, page) == {"yucca": "owner"}
    assert admin.post(f"{page}/{second}/remove").headers["location"] == page


def test_an_invitation_by_mail_works_once_and_can_be_revoked(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    with platform.transaction() as session:
        session.add(Challenge(code="grove", title="The grove", dataset="VOC2007"))
    page, api = "/organise/challenges/grove/organisers", "/api/v1/organise/challenges/grove/organisers"
    cedar, larch = (registered(browser(), f"{name}@example.org") for name in ("cedar", "larch2"))

    wrong = admin.post(page, data={"email": "nobody", "role": "viewer"})
    assert (wrong.status_code, "not an e-mail address" in wrong.text) == (422, True)
    sent = admin.post(page, data={"email": "Guest@example.org", "role": "viewer"})
    [path] = re.findall(r"/role-links/[\w-]+", sent.text)
    assert path not in admin.get(page).text
    with platform.transaction() as session:
        [letter] = session.scalars(
            select(Job).where(Job.kind == JobKind.MAIL, Job.payload["address"].astext == "guest@example.org")
        )
        assert letter.payload["letter"] == "role-invitation"
        assert letter.payload["fields"]["link"].endswith(path)
    assert "a viewer of <strong>The grove</strong>" in cedar.get(path).text
    assert [cedar.post(path).status_code, larch.post(path).status_code] == [303, 410]
    assert people_of(cedar, page) == {"": "viewer"}  # without addresses

    second = admin.post(f"{api}/invitations", json={"email": "other@example.org", "role": "owner"}).json()[
        "link"
    ]
    [open_one] = admin.get(api).json()["invitations"]
    assert cedar.get(api).json()["invitations"] == []
    assert cedar.delete(f"{api}/invitations/{open_one['key']}").status_code == 403
    assert admin.post(f"{page}/invitations/{open_one['key']}/revoke").status_code == 303
    assert admin.post(f"{page}/invitations/{open_one['key']}/revoke").status_code == 404
    assert larch.post(second[second.index("/role-links") :]).status_code == 410


def test_a_form_that_an_invitation_fills_in_registers_its_address_and_leads_back(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    with platform.transaction() as session:
        session.add(Challenge(code="glade", title="The glade", dataset="VOC2007"))
    page = "/organise/challenges/glade/organisers"
    address = "new+guest@example.org"
    [path] = re.findall(
        r"/role-links/[\w-]+", admin.post(page, data={"email": address, "role": "organiser"}).text
    )
    guest = browser()

    [register] = re.findall('href="(/register[^"]*)"', guest.get(path).text.split("<main")[1])
    form = guest.get(unescape(register)).text
    fields = dict(re.findall(r'name="(next|email)"[^>]*?value="([^"]*)"', form))
    filled = {name: unescape(value) for name, value in fields.items()}
    registered_as = guest.post("/register", data=filled | {"name": "New Guest", "password": PASSWORD})
    offer = guest.get(registered_as.headers["location"])
    taken = guest.post(path)

    assert filled == {"next": path, "email": address}
    assert (registered_as.status_code, registered_as.headers["location"]) == (303, path)
    assert "an organiser of <strong>The glade</strong>" in offer.text
    assert (taken.status_code, taken.headers["location"]) == (303, "/organise")
    assert people_of(admin, page)["new+guest"] == "organiser"


@pytest.mark.parametrize("proposed", ['"><script>alert(1)</script>', "a" * 254, "nobody"])
def test_what_a_link_proposes_as_an_address_is_text_that_is_checked_like_any_other(
    browser: Browser, proposed: str
) -> None:
    form = browser().get("/register", params={"email": proposed}).text

    [value] = re.findall(r'name="email"[^>]*?value="([^"]*)"', form)
    assert unescape(value) == proposed
    assert "<script>alert" not in form
    refused = browser().post("/register", data={"email": proposed, "name": "Ash", "password": PASSWORD})
    assert refused.status_code == 422


def test_a_link_never_takes_rights_away(browser: Browser, platform: Platform, admin: TestClient) -> None:
    with platform.transaction() as session:
        session.add(Challenge(code="heath", title="The heath", dataset="VOC2007"))
    heather = registered(browser(), "heather@example.org")
    page = "/organise/challenges/heath/organisers"
    admin.post(f"/api/v1{page}", json={"email": "heather@example.org", "role": "owner"})

    invitation = {"email": "heather@example.org", "role": "viewer"}
    link = admin.post(f"/api/v1{page}/invitations", json=invitation).json()["link"]

    assert heather.post(link[link.index("/role-links") :]).status_code == 303
    assert people_of(admin, page) == {"heather": "owner"}


def test_programs_can_suspend_people_and_change_roles(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    registered(browser(), "juniper@example.org")
    address = f"/api/v1/admin/people/{number(platform, 'juniper@example.org')}"

    assert admin.post(f"{address}/suspend", json={"reason": "spam"}).status_code == 204
    assert admin.get(address).json()["suspended_at"] is not None
    assert admin.post(f"{address}/unsuspend", json={"reason": "no spam"}).status_code == 204
    assert admin.post(f"{address}/role", json={"role": "admin", "reason": "helps"}).status_code == 204
    assert admin.get(address).json()["role"] == "admin"
    assert admin.post(f"{address}/role", json={"role": "participant", "reason": "no"}).status_code == 204
    assert admin.get("/api/v1/admin/people/999999").status_code == 404


def test_the_audit_log_can_be_filtered_and_paged(
    browser: Browser, platform: Platform, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(browser(), "lime@example.org")
    for granted in (Grant.ADMIN, Grant.PARTICIPANT):
        roles.grant(platform, "lime@example.org", granted)
    lime, root = (f"person {number(platform, f'{each}@example.org')}" for each in ("lime", "root"))
    admin.post(f"/admin/people/{lime.split()[1]}/suspend", data={"reason": "a <reason>"})

    def found(**search: str | int) -> list[str]:
        return [each["action"] for each in admin.get("/api/v1/audit", params=search).json()["records"]]

    assert found(subject=lime) == ["person.suspend", "role.grant", "role.grant"]
    assert found(subject=lime, action="role") == ["role.grant", "role.grant"]
    assert found(subject=lime, by=int(root.split()[1])) == ["person.suspend"]
    assert found(subject="person 999999") == []
    assert "a &lt;reason&gt;" in admin.get("/audit", params={"subject": lime}).text

    monkeypatch.setattr("app.organising.audit.PAGE", 2)
    page = admin.get("/audit", params={"subject": lime}).text
    first = admin.get("/api/v1/audit", params={"subject": lime}).json()
    assert f"/audit?subject=person+{lime.split()[1]}&amp;before={first['next']}" in page
    assert found(subject=lime, before=first["next"]) == ["role.grant"]


def test_the_audit_of_admins_has_their_pages_beside_it_and_a_reason_stands_with_what_was_done(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    registered(browser(), "linden@example.org")
    linden = number(platform, "linden@example.org")
    admin.post(f"/admin/people/{linden}/suspend", data={"reason": "two accounts"})

    page = admin.get("/audit", params={"subject": f"person {linden}"}).text

    assert '<nav class="pages" aria-label="Admin pages">' in page
    assert re.findall(r'<th scope="col">([^<]+)</th>', page) == ["When", "What", "Challenge", "Details"]
    assert {"Accounts", "Results"} <= set(re.findall(r'<option value="\w+\." >([^<]+)</option>', page))
    assert '<q class="sub">two accounts</q>' in page
    assert '<a href="/audit" aria-current="page">' in page


def test_an_organiser_sees_the_audit_log_of_their_own_challenges(
    browser: Browser, platform: Platform, admin: TestClient
) -> None:
    with platform.transaction() as session:
        session.add_all(Challenge(code=code, title=code, dataset="VOC2007") for code in ("north", "south"))
    north, south = (registered(browser(), f"{each}@example.org") for each in ("north", "south"))
    for code in ("north", "south"):
        roles.grant(platform, f"{code}@example.org", Grant.ORGANISER, code)

    for client, code in ((north, "north"), (south, "south")):
        records = client.get("/api/v1/audit").json()["records"]
        assert [(each["action"], each["challenge"]) for each in records] == [("role.grant", code)]
    assert "What was done in the challenges that you organise" in north.get("/audit").text
    assert registered(browser(), "east@example.org").get("/audit").status_code == 403
