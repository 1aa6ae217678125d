"""Every route for every role and every state of a result, against the table in permissions.yaml."""

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml
from fastapi import FastAPI
from fastapi.routing import APIRoute
from httpx2 import Response
from sqlalchemy import func, update
from starlette.routing import BaseRoute, Mount, Route

from app.challenges import challenges
from app.core.access import Action, Scope, allowed
from app.core.problems import kind_of_status
from app.core.secret_hashes import hash_of_token
from app.intake.importing import TreeImport, import_tree
from app.models import (
    Announcement,
    Challenge,
    ChallengeDraft,
    ChallengePage,
    ChallengePicture,
    DataDownload,
    Disclosure,
    Invitation,
    Notice,
    Phase,
    Site,
    Terms,
    TextImage,
    User,
)
from app.people.teams import own_or_new_team
from app.web.dependencies import action_of
from app.web.middleware import HEALTH_PATHS
from tests.security.conftest import Walker
from tests.security.undoing import UndonePlatform
from tests.security.world import (
    HERE,
    IMAGES,
    LONG_AGO,
    PEOPLE,
    ROLES,
    THERE,
    TOKENS,
    Ids,
    World,
    restore_files,
)
from tests.system.kits import small_kit

TABLE = yaml.safe_load((Path(__file__).parent / "permissions.yaml").read_text())
RULES: Mapping[str, Mapping[str, str]] = TABLE["rules"]
ROUTES: Mapping[str, Any] = TABLE["routes"]
SCOPES: Mapping[str, str] = TABLE["scopes"]
OF_A_RESULT = (
    "upload_id",
    "submission_id",
    "method_id",
    "result_id",
    "run_id",
    "receipt",
    "link_id",
    "link_token",
)
HELD_BY_TOKENS = (("viewer", Scope.ORGANISE), ("organiser", Scope.ORGANISE), ("admin", Scope.ADMIN))
ANSWERS = ("login", "forbidden", "hidden", "not theirs")
CASES = (
    ("private", True),
    ("anonymous", True),  # private, with an anonymous link
    ("private", False),
    ("public", True),
    ("withdrawn", False),
)  # whether the phase is open
FIXED = {
    "challenge": HERE,
    "competition": "3",
    "role": "images",
    "code": "quota",
    "path": "style.css",
    "name": "image",
    "token": "unknown",
    "provider": "example",
    "token_id": "1",
    "key": "unknown",
    "invitation_id": "1",
    "announcement_id": "1000000",
    "notice_id": "1000000",
}
NOWHERE = dict.fromkeys(("truth_id", "user_id", "message_id", "rescore_id", "phase_id", "team_id", "person", "pair_id", "slot_id", "announcement_id", "thread_id", "report_id", "mail_id", "webhook_id", "notification_id", *OF_A_RESULT), "999999999") | {
    "undecided_run_id": "999999999",
    "upload_id": str(uuid.UUID(int=7)),
    "data_upload_id": str(uuid.UUID(int=7)),
    "intake_id": str(uuid.UUID(int=7)),
    "intake_file_id": str(uuid.UUID(int=7)),
    "file_id": "999999999",
    "image_set": "nowhere",
}  # fmt: skip


def routes_of(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, Action | None]]:
    """Every route as "METHOD /path", with the action that it names."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield from (
                (f"{method} {route.path}", action_of(route.dependencies)) for method in route.methods or ()
            )
        elif isinstance(route, Mount):
            yield f"GET {route.path}/{{path}}", Action.READ_PUBLIC
        else:
            assert isinstance(route, Route)
            yield f"GET {route.path}", Action.READ_PUBLIC


@dataclass(frozen=True, slots=True)
class Row:
    """What the table says about a route."""

    method: str
    path: str
    said: Any

    @property
    def cases(self) -> tuple[tuple[str, bool], ...]:
        """The states of a result in which it is tested, each with whether the phase is open."""
        parts = f"{self.path} {self.said}"
        if any(f"{{{name}}}" in parts for name in OF_A_RESULT):
            return CASES
        return (("public", True), ("public", False)) if "{image_set}" in parts else (("public", True),)

    def rule(self, state: str) -> Mapping[str, str]:
        """What each role gets; ok if the table does not say."""
        if isinstance(self.said, str):
            return RULES[self.said]
        known = "private" if state == "anonymous" and "anonymous" not in self.said else state
        return RULES[self.said.get("rule", self.said.get(known))]

    @property
    def scopes(self) -> str:
        """The scopes of tokens that may use it: the first matching line."""
        route = f"{self.method} {self.path}"
        return next(scopes for pattern, scopes in SCOPES.items() if re.fullmatch(pattern, route))

    def expected(self, role: str, state: str) -> str:
        """What somebody gets: a token of the wrong scope nothing, one of the right scope what its owner gets."""
        person, scope = TOKENS.get(role, (role, None))
        if scope is None:
            return self.rule(state).get(person, "ok")
        if scope not in self.scopes:
            return "forbidden"
        if (person, scope) not in HELD_BY_TOKENS and person != "member":
            person = "participant"  # somebody who organises nothing
        return self.rule(state).get(person, "ok")

    @property
    def changes(self) -> bool:
        """Whether a request may change something."""
        return self.method not in ("GET", "HEAD", "OPTIONS")

    @property
    def has_objects(self) -> bool:
        """Whether who may do it can depend on what exists, because the address or what is sent names something."""
        return "{" in self.path or not isinstance(self.said, str)

    def asked(self, action: Action, world: World) -> list[str]:
        """The roles that requests are made for.

        The action refuses a role that may do it to nothing at all, whatever exists, and without objects it also lets
        through: a request of one that it refuses and one that it lets through shows that it is asked. Requests are made
        for all roles for which objects decide, or the table says something else.
        """
        decided: dict[str, list[str]] = {}
        for role in ROLES:
            actor = world.actor(role)
            is_let_through = allowed(actor, action)
            refused = "forbidden" if actor.is_logged_in else "login"
            said = {self.expected(role, state) for state, _ in self.cases}
            if said == {"ok" if is_let_through else refused} and not (is_let_through and self.has_objects):
                decided.setdefault("ok" if is_let_through else "refused", []).append(role)
        probes = {roles[crc32(self.path.encode()) % len(roles)] for roles in decided.values()}
        return [role for role in ROLES if role in probes or role not in {*chain(*decided.values())}]

    @property
    def is_hidden_from(self) -> set[str]:
        """The roles for which it is hidden in at least one case."""
        states = [state for state, _ in self.cases]
        return {role for role in ROLES for state in states if self.expected(role, state) == "hidden"}

    def request(self, ids: Ids) -> dict[str, Any]:
        """What is sent for these ids."""
        where = {} if isinstance(self.said, str) else self.said.get("where", {})
        known = FIXED | ids
        known |= {name: value.format(**known) for name, value in where.items()}
        send = {} if isinstance(self.said, str) else self.said.get("send", {})
        return {"method": self.method, "url": self.path.format(**known), **_filled(send, known)}


def _filled(value: Any, ids: Ids) -> Any:
    if isinstance(value, dict):
        return {name: _filled(each, ids) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, ids) for each in value]
    return value.format(**ids) if isinstance(value, str) else value


ROWS = [Row(*route.partition(" ")[::2], said) for route, said in ROUTES.items()]


@pytest.fixture(scope="module")
def world(undone: UndonePlatform, tmp_path_factory: pytest.TempPathFactory) -> World:
    tree = small_kit(tmp_path_factory.mktemp("kit"))
    for challenge in (HERE, THERE):
        import_tree(undone, TreeImport(tree, challenge, "test", disclosure=Disclosure.FULL))
    with undone.transaction() as session:
        here = session.query(Challenge).filter_by(code=HERE).one()
        there = session.query(Challenge).filter_by(code=THERE).one()
        session.add(Terms(challenge_id=there.id, version=1, text="Be fair"))
        session.add(
            Site(
                name="Oaks",
                contact="site@example.org",
                imprint="Us",
                privacy="None",
                logo=b"x",
                logo_digest="x",
            )
        )
        session.add(ChallengeDraft(challenge_id=here.id))
        session.add(ChallengePage(challenge_id=here.id, contact="organisers@example.org"))
        session.add(ChallengePicture(challenge_id=here.id, alt="A scene", digest="x", large=b"x", small=b"x"))
        session.add(TextImage(challenge_id=here.id, name="x-1x1.jpg", alt="A scene", content=b"x"))
        session.add(Announcement(id=1_000_000, challenge_id=here.id, title="News", text="Some"))
        session.add(Notice(id=1_000_000, title="Maintenance", starts_at=LONG_AGO))
        template = session.query(Phase).filter_by(challenge_id=here.id).one()
        people = [User(email=f"{name}@example.org", name=name) for name in ("author", "other")]
        session.add_all(people)
        session.flush()
        team, other = (own_or_new_team(session, person.id, here.id) for person in people)
        return World(undone, template.id, team, other)


def test_every_route_is_in_the_table_and_names_an_action(app: FastAPI) -> None:
    known = dict(routes_of(app.routes))

    assert sorted(ROUTES) == sorted(known)
    assert [route for route, action in known.items() if action is None] == []


def test_the_table_knows_the_roles_and_outcomes() -> None:
    assert all(set(rule) <= set(PEOPLE) and set(rule.values()) <= set(ANSWERS) for rule in RULES.values())


@pytest.fixture(scope="module")
def actions(app: FastAPI) -> Mapping[str, Action]:
    """The action of every route."""
    return {route: action for route, action in routes_of(app.routes) if action is not None}


@pytest.mark.sampled
@pytest.mark.divided
@pytest.mark.parametrize("row", ROWS, ids=[f"{row.method} {row.path}" for row in ROWS])
def test_each_role_gets_the_outcome_in_the_table(
    row: Row, actions: Mapping[str, Action], world: World, walker: Walker
) -> None:
    found, said = {}, {}
    asked = row.asked(actions[f"{row.method} {row.path}"], world)
    nothing = {role: answered(row, NOWHERE, world, role, walker) for role in row.is_hidden_from}
    for state, is_open in row.cases:
        ids = world.result(state, is_open=is_open)
        restore_files(world)
        # tokens get what their owners get or nothing, whatever the state: they are walked in one of the states
        for role in asked if (state, is_open) == row.cases[0] else [one for one in asked if one in PEOPLE]:
            case = f"{role}, {state}, {'open' if is_open else 'closed'}"
            said[case] = row.expected(role, state)
            found[case] = outcome(answered(row, ids, world, role, walker), ids, nothing.get(role))

    assert found == said


# by the reason: what people may still do in an archived challenge, and what changes nothing of one
STAYS_OPEN: Mapping[str, str] = {
    "accounts, the site, and who organises": (
        ".* (/api/v1)?/(account|admin|login|login-link|logout|register|forgot-password|reset-password|confirm-address|setup|theme"
        "|notifications|unsubscribe|invited|role-links|organise/role-links)(/.*)?"
        "|.* (/api/v1)?/organise/challenges/{challenge}/organisers(/.*)?"
    ),
    "owners take it back, or delete it": (
        ".* (/api/v1)?/organise/challenges/{challenge}/(archive|take-back|delete|deletion)"
    ),
    "people leave, withdraw, cancel and link to their results, and choose whether they are named": (
        "POST (/api/v1)?/(teams/{team_id}/leave|results/{result_id}/(withdraw|links)|submissions/{submission_id}/cancel)"
        "|.* (/api/v1)?/(links/{link_id}/.*|teams/{team_id}/named)"
    ),
    "people accept terms, which changes nothing for others": "POST (/api/v1)?/challenges/{challenge}/terms",
    "questions are asked and answered": (
        ".* (/api/v1)?(/organise)?/threads/.*|POST (/api/v1)?/challenges/{challenge}/(threads|ask|contact)|POST /contact"
    ),
    "an upload that was there goes on, is checked again or deleted": (
        "(PATCH|POST|DELETE) (/api/v1)?/uploads/{upload_id}(/check|/delete)?"
    ),
    "pictures that are missing are made": "POST /organise/phases/{phase_id}/pictures/retry",
    "webhooks are those of their teams and organisers": ".* (/api/v1)?/webhooks/.*",
    "what is only looked at": (
        "POST (/api/v1)?/organise/(challenges/{challenge}/(view-as|submissions/preview)|view-as/end)"
        "|PUT /api/v1/organise/challenges/{challenge}/file"
        "|POST (/api/v1)?/organise/phases/{phase_id}/ground-truth/{version}/changes/{before}(/drawn)?"
        "|.* (/api/v1)?/organise/phases/{phase_id}/(labels/{image}/(scene|take-back)|corrections/preview)"
    ),
    "bytes that count once the last have arrived, which is refused": (
        ".* (/api/v1)?/organise/(data-uploads/{data_upload_id}|data-set-files/{intake_file_id})(/delete)?"
    ),
    "drafts are not archived": ".* (/api/v1)?/organise/new(/.*)?",
}
# where what the table sends is refused before the challenge is asked about
SENT: Mapping[str, dict[str, Any]] = {
    "POST /teams": {"data": {"challenge": HERE, "name": "Elm"}},
    "POST /api/v1/challenges/{challenge}/teams": {"json": {"name": "Elm"}},
    "POST /teams/{team_id}/edit": {"data": {"name": "Elm"}},
    "POST /teams/{team_id}/invitations": {"data": {"uses": "1", "days": "3"}},
    "POST /methods/{method_id}/edit": {
        "data": {"name": "Elm", "description": "A dull method. " * 50, "title": "A dull one"}
    },
    "POST /organise/challenges/{challenge}/news/{announcement_id}": {
        "data": {"title": "News", "text": "Other", "version": "1"}
    },
    "POST /organise/challenges/{challenge}/page": {"data": {"overview": "Find them", "version": "1"}},
    "POST /organise/challenges/{challenge}/terms": {"data": {"text": "Be fair to all others. " * 10}},
    "POST /organise/challenges/{challenge}/data": {
        "data": {"name": "a.zip", "title": "Late", "kind": "other", "audience": "everybody", "later": "1"}
    },
    "POST /challenges/{challenge}/{image_set}/submit": {"files": {"archive": ("a.tar", b"x")}},
    "POST /organise/runs/{run_id}/decision": {"data": {"choice": "retry", "phase": "{phase_id}"}},
    "POST /invitations/{token}": {"url": "/invitations/{invitation}"},
    "POST /api/v1/invitations/accept": {"json": {"token": "{invitation}"}},
    "PUT /api/v1/challenges/{challenge}/{image_set}/uploads": {
        "params": {"filename": "a.tar"},
        "content": b"x",
    },
}


@pytest.mark.sampled
def test_an_archived_challenge_refuses_every_change_but_those_that_are_named(
    world: World, walker: Walker
) -> None:
    ids = world.result("private", is_open=True)
    ids |= {"invitation": "the-secret-of-a-link"}
    link = Invitation(team_id=world.team_id, token_hash=hash_of_token(ids["invitation"]), uses_left=1)
    with world.platform.transaction() as session:
        link.expires_at = challenges.now(session) + timedelta(days=1)
        session.add(link)
    stays_open = re.compile("|".join(STAYS_OPEN.values()))
    found = {}
    for row in ROWS:
        route = f"{row.method} {row.path}"
        if not row.changes or stays_open.fullmatch(route):
            continue
        role = next((each for each in ("member", "owner") if row.expected(each, "private") == "ok"), None)
        if role is None:
            continue
        request = row.request(ids) | _filled(SENT.get(route, {}), FIXED | ids)
        headers = request.pop("headers", {}) | world.headers(role)
        with world.platform.undone():
            with world.platform.transaction() as session:
                session.execute(update(Challenge).values(archived_at=func.now()))
            response = walker.request(**request, headers=headers)
        if response.status_code < 400 or "archived" not in response.text:
            found[route] = (response.status_code, response.text[:200])

    assert found == {}


# pages that look the same to everybody, for reviewers and for frames of other sites, and what only programs read
WITHOUT_ACCOUNT = (
    "/anonymous/{token}",
    "/leaderboards/{challenge}/{image_set}/{competition}/embed",
    *HEALTH_PATHS,
)


@pytest.mark.sampled
@pytest.mark.parametrize("role", ["member", "admin"])
def test_every_page_shows_whose_account_is_logged_in(
    app: FastAPI, world: World, walker: Walker, role: str
) -> None:
    ids = world.result("public", is_open=True)
    pages = [row for row in ROWS if row.method == "GET" and not row.path.startswith("/api/v1/")]
    headers = world.headers(role) | {"Accept": "text/html"}
    seen, lacking = set(), []
    for row in pages:
        response = walker.request(**row.request(ids) | {"headers": headers})
        is_page = response.headers.get("content-type", "").startswith("text/html")
        if row.path in WITHOUT_ACCOUNT or not is_page or "<header" not in response.text:
            continue
        seen.add(row.path)
        menu = re.search('<nav class="account".*?</nav>', response.text, re.DOTALL)
        if menu is None or f'<summary class="btn" aria-label="{role}">' not in menu[0] or "Log in" in menu[0]:
            lacking.append(row.path)

    assert len(seen) > 80
    assert lacking == []


VOLATILE = {"x-request-id", "date", "set-cookie"}
WITHOUT_HEAD = "/login/providers/{provider}/callback"  # its code works once, so a HEAD leaves it alone


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("role", "accept"),
    [
        ("visitor", "text/html"),
        pytest.param("owner", "application/json", marks=pytest.mark.slow),
    ],
)
def test_head_is_answered_as_get_without_a_body(world: World, walker: Walker, role: str, accept: str) -> None:
    ids = world.result("public", is_open=True)
    restore_files(world)
    own = {row.path for row in ROWS if row.method == "HEAD"}
    rows = [row for row in ROWS if row.method == "GET" and row.path not in own and row.path != WITHOUT_HEAD]
    headers = world.headers(role) | {"Accept": accept}
    different = {}
    for row in rows:
        asked = row.request(ids) | {"headers": headers}
        got, head = walker.request(**asked), walker.request(**asked | {"method": "HEAD"})
        kept = [{name for name in each.headers if name not in VOLATILE} for each in (got, head)]
        if (got.status_code, *kept[:1]) != (head.status_code, *kept[1:]) or head.content:
            different[row.path] = (got.status_code, head.status_code, kept[0] ^ kept[1], head.content[:40])

    assert len(rows) > 150
    assert different == {}


def test_head_is_not_counted_as_a_download(world: World, walker: Walker) -> None:
    ids = world.result("public", is_open=True)
    restore_files(world)
    address, headers = f"/challenges/{HERE}/data/{ids['file_id']}", world.headers("member")

    def counted() -> int:
        with world.platform.transaction() as session:
            return session.query(DataDownload).filter_by(file_id=int(ids["file_id"])).count()

    with world.platform.transaction() as session:  # the same person may have downloaded it before
        session.query(DataDownload).filter_by(file_id=int(ids["file_id"])).delete()
    asked = walker.request("HEAD", address, headers=headers)
    between = counted()
    walker.request("GET", address, headers=headers)

    assert (asked.status_code, asked.headers["Content-Length"], asked.content) == (200, str(len(IMAGES)), b"")
    assert "attachment" in asked.headers["Content-Disposition"]
    assert (between, counted()) == (0, 1)


def test_what_is_not_answered_names_all_methods_of_the_address(walker: Walker) -> None:
    for address, methods in {
        "/login": "GET, HEAD, POST",
        "/logout": "POST",
        "/challenges": "GET, HEAD",
        "/api/v1/uploads/00000000-0000-0000-0000-000000000007": "DELETE, GET, HEAD, OPTIONS, PATCH",
    }.items():
        response = walker.request("PUT", address)
        assert (response.status_code, response.headers["Allow"]) == (405, methods), address


def outcome(response: Response, ids: Ids, nothing: Response | None) -> str:
    """What somebody gets; a hidden result has to look like `nothing`, the response if there is none."""
    if response.status_code != 404:
        answers = {
            "login-required": "login",
            "forbidden": "forbidden",
            "second-factor-required": "forbidden",
            "server-error": "error",
        }
        return answers.get(code_of(response), "ok")
    is_hidden = nothing is not None and shown(response, ids) == shown(nothing, NOWHERE)
    return "hidden" if is_hidden else "not theirs"


def code_of(response: Response) -> str:
    """The code of a problem; empty if the response is something else, such as a form with its errors."""
    if response.headers.get("content-type") != "application/problem+json":
        return ""
    return str(response.json()["code"]) if response.content else kind_of_status(response.status_code).code


def answered(row: Row, ids: Ids, world: World, role: str, walker: Walker) -> Response:
    """The response to somebody; what it changed in the database is undone."""
    request = row.request(ids)
    headers = request.pop("headers", {}) | world.headers(role)
    with world.platform.undone() if row.changes else nullcontext():
        return walker.request(**request, headers=headers)


def shown(response: Response, ids: Ids) -> tuple[list[str], object]:
    """A response without its reference and the requested ids."""
    problem = response.json() if response.content else {"detail": "", "reference": ""}
    detail = problem["detail"]
    for value in ids.values():
        detail = re.sub(rf"\b{value}\b", "…", detail)
    return sorted(response.headers), problem | {"detail": detail, "reference": ""}
