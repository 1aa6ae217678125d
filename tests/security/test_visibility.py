"""A draft, and a challenge for invited people, do not exist for anybody else, by any route."""

import re
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.intake.importing import TreeImport, import_tree
from app.models import (
    Announcement,
    Challenge,
    ChallengeInvitation,
    ChallengePage,
    ChallengeVisibility,
    Disclosure,
    Method,
    Phase,
    Team,
    Terms,
    User,
)
from app.people.sessions import Browser, start_session
from app.people.teams import own_or_new_team
from app.web.dependencies import SESSION_COOKIE
from tests.security.conftest import Walker
from tests.security.test_permissions import ROWS, Row
from tests.security.undoing import UndonePlatform
from tests.security.world import HERE, THERE, Ids, World
from tests.system.kits import small_kit

NAME = "Zanzibar"
ROLES = ("member", "organiser", "admin", "elsewhere")
PATHS = (
    f"/challenges/{HERE}",
    f"/challenges/{HERE}/news.atom",
    f"/api/v1/challenges/{HERE}",
    f"/challenges/{HERE}/data",
)
# addresses that name something of a challenge
OF_A_CHALLENGE = re.compile(
    r"{(challenge|(upload|submission|method|result|run|team|phase)_id|receipt)}|/anonymous/"
)
REDIRECTS = "/uploads/{upload_id}/archive"  # to the API, whatever exists


def challenge_here(session: Session) -> Challenge:
    return session.scalars(select(Challenge).where(Challenge.code == HERE)).one()


@pytest.fixture(scope="module")
def world(undone: UndonePlatform, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A challenge in which everything that has a name has that of the challenge."""
    tree = small_kit(tmp_path_factory.mktemp("kit"))
    for code in (HERE, THERE):
        import_tree(undone, TreeImport(tree, code, "test", disclosure=Disclosure.FULL))
    with undone.transaction() as session:
        challenge = challenge_here(session)
        challenge.title = NAME
        session.add(Terms(challenge_id=challenge.id, version=1, text=NAME))
        session.add(
            ChallengePage(challenge_id=challenge.id, tagline=NAME, overview=NAME, contact="z@example.org")
        )
        session.add(Announcement(id=1_000_000, challenge_id=challenge.id, title=NAME, text=NAME))
        author = User(email="author@example.org", name="author")
        session.add(author)
        session.flush()
        team = own_or_new_team(session, author.id, challenge.id)
        session.get_one(Team, team).name = f"{NAME} team"
        made = World(
            undone,
            session.scalars(select(Phase.id).where(Phase.challenge_id == challenge.id)).one(),
            team,
            team,
        )
    ids = made.result("public", is_open=True)
    with undone.transaction() as session:
        session.get_one(Method, int(ids["method_id"])).name = f"{NAME} method"
    return made


def become(world: World, visibility: ChallengeVisibility) -> None:
    """Change who can see the challenge, as another process would have done a second ago."""
    with world.platform.transaction() as session:
        challenge_here(session).visibility = visibility
    world.platform.cache.expire_versions()


def ask(world: World, walker: Walker, row: Row, ids: Ids, role: str, **headers: str) -> Response:
    request = row.request(ids)
    request["url"] = request["url"].replace("/challenges/there", f"/challenges/{HERE}")
    headers |= request.pop("headers", {}) | world.headers(role)
    if row.method in ("GET", "HEAD"):
        return walker.request(**request, headers=headers)
    with world.platform.undone():
        return walker.request(**request, headers=headers)


DRAFT, LINK, INVITED = ChallengeVisibility.DRAFT, ChallengeVisibility.LINK, ChallengeVisibility.INVITED


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("visibility", "role"),
    [
        (DRAFT, "visitor"),
        (DRAFT, "participant"),
        (DRAFT, "member"),
        (INVITED, "visitor"),
        (INVITED, "participant"),
    ],
)
def test_a_hidden_challenge_is_nowhere(
    world: World, walker: Walker, visibility: ChallengeVisibility, role: str
) -> None:
    ids = world.result("public", is_open=True)
    become(world, ChallengeVisibility.LISTED)
    reads = [row for row in ROWS if row.method == "GET"]
    for row in reads:  # so that every page that is cached is in the cache
        ask(world, walker, row, ids, "visitor")
    become(world, visibility)
    found = walker.get("/api/v1/find", params={"q": NAME}, headers=world.headers(role)).json()
    assert (found["challenges"], found["methods"]) == ([], [])

    shown, named = [], []
    for row in ROWS:
        if row.method == "OPTIONS" or (row.method != "GET" and "{challenge}" not in row.path):
            continue
        said = row.expected(role, "public")
        response = ask(world, walker, row, ids, role, Accept="text/html")
        is_refused = response.status_code in (
            (401, 403, 303, 404) if said in ("login", "forbidden") else (404,)
        )
        if OF_A_CHALLENGE.search(row.path) and not is_refused and row.path != REDIRECTS:
            shown.append((row.method, row.path, response.status_code))
        is_own = role == "member" and not OF_A_CHALLENGE.search(row.path)
        if NAME.lower() in response.text.lower() and not is_own:
            named.append((row.method, row.path))

    assert (shown, named) == ([], [])


@pytest.mark.sampled
def test_a_challenge_by_link_is_at_its_addresses_and_in_no_list(world: World, walker: Walker) -> None:
    ids = world.result("public", is_open=True)
    become(world, LINK)

    for row in [row for row in ROWS if row.method == "GET"]:
        response = ask(world, walker, row, ids, "visitor", Accept="text/html")
        if not OF_A_CHALLENGE.search(row.path):
            assert NAME not in response.text, row.path
        elif response.status_code == 200 and "text/html" in response.headers["content-type"]:
            assert response.headers.get("x-robots-tag", "").startswith("noindex"), row.path
    assert walker.get(f"/challenges/{HERE}").status_code == 200
    assert walker.get("/api/v1/find", params={"q": NAME}).json()["methods"] == []


@pytest.mark.parametrize(
    ("invitation", "is_confirmed", "sees"),
    [
        ({"address": "ash@lab.example.org"}, True, True),
        ({"address": "ash@lab.example.org"}, False, False),
        ({"address": "ash@lab.example.org", "revoked_at": func.now()}, True, False),
        ({"domain": "lab.example.org"}, True, True),
        ({"domain": "lab.example.org"}, False, False),
        ({"domain": "example.org"}, True, False),
    ],
)
def test_invited_are_those_with_a_confirmed_address(
    world: World, walker: Walker, invitation: dict[str, Any], *, is_confirmed: bool, sees: bool
) -> None:
    become(world, INVITED)
    with world.platform.undone():
        with world.platform.transaction() as session:
            user = User(
                email="ash@lab.example.org", name="Ash", verified_at=func.now() if is_confirmed else None
            )
            session.add(user)
            session.add(ChallengeInvitation(challenge_id=challenge_here(session).id, **invitation))
            session.flush()
            cookie = start_session(session, world.platform, user.id, Browser("test"))
        headers = {"Cookie": f"{SESSION_COOKIE}={cookie}"}
        responses = [walker.get(path, headers=headers) for path in PATHS]
        lists = walker.get("/teams", headers=headers)

    assert [response.status_code == 200 for response in responses] == [sees] * len(PATHS)
    assert (NAME in lists.text) == sees  # as a challenge to create a team in
    assert all(
        response.headers["cache-control"] in ("no-store", "private, no-cache") for response in responses
    )


def test_organisers_and_members_see_what_is_hidden_from_others(world: World, walker: Walker) -> None:
    become(world, INVITED)
    found = {
        role: walker.get(f"/challenges/{HERE}", headers=world.headers(role)).status_code for role in ROLES
    }
    become(world, DRAFT)
    draft = {
        role: walker.get(f"/challenges/{HERE}", headers=world.headers(role)).status_code for role in ROLES
    }

    assert found == {"member": 200, "organiser": 200, "admin": 200, "elsewhere": 404}
    assert draft == {"member": 404, "organiser": 200, "admin": 200, "elsewhere": 404}


def test_a_cached_page_is_checked_for_each_reader(world: World, walker: Walker) -> None:
    become(world, ChallengeVisibility.LISTED)
    first = walker.get(f"/challenges/{HERE}/news")
    become(world, INVITED)

    known = {"If-None-Match": first.headers["etag"]}
    other = walker.get(f"/challenges/{HERE}/news", headers=known)
    feed = walker.get(f"/challenges/{HERE}/news.atom", headers=world.headers("member"))

    assert (first.status_code, other.status_code) == (200, 404)
    assert feed.headers["cache-control"] == "private, no-cache"
