"""Rate limits stop guessing without locking out owners of accounts."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import anyio
import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.types import Message

from app.core.caching import Cache
from app.core.rate_limits import limiter_of
from app.core.settings import LoginSettings
from app.main import create_app
from app.models import Disclosure
from app.people.passwords import MAX_WAITING, THREADS, pool
from app.platform import Platform
from tests.pages.boards import board_of
from tests.pages.test_accounts import PASSWORD, registered
from tests.pages.test_teams import new_challenge

Visitor = Callable[[str], TestClient]
OFFICE, HOME, STRANGERS = "192.0.2.1", "198.51.100.7", "203.0.113.9"
ADDRESSES = (f"203.0.113.{number}" for number in count(10))


@pytest.fixture(scope="module")
def visitor(platform: Platform) -> Visitor:
    """Opens browsers at an address, on a server with the default limits."""
    limiter = limiter_of(LoginSettings(), str(platform.settings.broker_url))
    app = create_app(replace(platform, limiter=limiter))
    return lambda address: TestClient(
        app, headers={"Accept": "text/html"}, follow_redirects=False, client=(address, 50_000)
    )


def log_in(browser: TestClient, email: str, password: str = PASSWORD) -> int:
    return browser.post("/login", data={"email": email, "password": password}).status_code


def test_after_five_wrong_passwords_the_next_is_refused_without_hashing(visitor: Visitor) -> None:
    registered(visitor(OFFICE), "ash@example.org")
    thief = visitor(STRANGERS)
    assert [log_in(thief, "ash@example.org", "a wrong password") for _ in range(5)] == [401] * 5

    held = [pool.slots.acquire(blocking=False) for _ in range(THREADS + MAX_WAITING)]  # nothing can be hashed
    refused = thief.post("/login", data={"email": "ash@example.org", "password": PASSWORD})
    pool.slots.release(len(held))

    assert refused.status_code == 429
    assert 50 < int(refused.headers["retry-after"]) <= 60
    assert "Too many attempts to log in to this account. Please try again in " in refused.text


@pytest.mark.parametrize(
    "guess",
    [
        lambda thief: thief.post("/setup", data={"code": "x" * 22}),
        lambda thief: thief.get("/setup", params={"code": "x" * 22}),
        lambda thief: thief.get(f"/invited/{'x' * 22}"),
    ],
)
def test_codes_cannot_be_guessed(visitor: Visitor, guess: Callable[[TestClient], httpx2.Response]) -> None:
    thief = visitor(next(ADDRESSES))

    answers = [guess(thief).status_code for _ in range(21)]

    assert set(answers[:20]) <= {410, 422}
    assert answers[20] == 429


def test_attempts_on_an_unknown_account_are_limited_in_the_same_way(visitor: Visitor) -> None:
    thief = visitor(STRANGERS)

    assert [log_in(thief, "nobody@example.org", "a wrong password") for _ in range(6)] == [401] * 5 + [429]


def test_the_owner_can_still_log_in_from_elsewhere_or_a_known_browser(visitor: Visitor) -> None:
    owner = registered(visitor(OFFICE), "beech@example.org")
    owner.post("/logout")
    colleague = visitor(OFFICE)
    for _ in range(7):
        log_in(colleague, "beech@example.org", "a wrong password")

    assert log_in(visitor(OFFICE), "beech@example.org") == 429
    assert log_in(visitor(HOME), "beech@example.org") == 303
    assert log_in(owner, "beech@example.org") == 303


def test_guessing_from_many_addresses_blocks_only_unknown_browsers(visitor: Visitor) -> None:
    owner = registered(visitor(OFFICE), "cedar@example.org")
    owner.post("/logout")
    codes = [
        log_in(visitor(f"203.0.113.{number}"), "cedar@example.org", "a wrong password")
        for number in range(31)
    ]

    assert codes == [401] * 30 + [429]
    assert log_in(owner, "cedar@example.org") == 303


def test_a_successful_login_resets_the_attempts(visitor: Visitor) -> None:
    registered(visitor(OFFICE), "dogwood@example.org")

    for _ in range(3):
        for _ in range(4):
            assert log_in(visitor(HOME), "dogwood@example.org", "a wrong password") == 401
        assert log_in(visitor(HOME), "dogwood@example.org") == 303


def test_two_web_processes_share_their_counts(platform: Platform) -> None:
    settings, broker = LoginSettings(limit_register="1/hour"), str(platform.settings.broker_url)
    codes = []
    for number in range(2):
        app = create_app(replace(platform, limiter=limiter_of(settings, broker)))
        browser = TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False, client=(HOME, 1))
        person = {"email": f"elm{number}@example.org", "name": "Elm", "password": PASSWORD}
        codes.append(browser.post("/register", data=person).status_code)

    assert codes == [303, 429]


def test_queries_of_a_board_are_limited_unless_they_are_cached(platform: Platform, tmp_path: Path) -> None:
    board_of(platform, tmp_path, "selected", Disclosure.FULL)
    limiter = limiter_of(LoginSettings(limit_view="2/hour"), str(platform.settings.broker_url))
    app = create_app(replace(platform, limiter=limiter, cache=Cache()))
    reader, other = (TestClient(app, client=(address, 50_000)) for address in (STRANGERS, HOME))
    board = "/leaderboards/selected/test/3"

    def codes(*queries: str) -> list[int]:
        return [reader.get(f"{board}{query}").status_code for query in queries]

    assert codes("?sort=cat", "?sort=dog", "?sort=cat", "?density=compact") == [200, 200, 200, 429]
    assert codes("", "?sort=dog") == [200, 200]
    assert reader.get(f"/api/v1{board}?sort=method").status_code == 429
    assert other.get(f"{board}?sort=method").status_code == 200


def test_changes_to_methods_and_teams_are_limited(platform: Platform) -> None:
    limiter = limiter_of(LoginSettings(limit_change="3/hour"), str(platform.settings.broker_url))
    app = create_app(replace(platform, limiter=limiter))
    challenge = new_challenge(platform)
    elm = registered(
        TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False), "elm@example.org"
    )
    team = elm.post("/teams", data={"challenge": challenge, "name": "Elms"}).headers["location"]

    edits = [elm.post(f"{team}/edit", data={"name": f"Elms {number}"}).status_code for number in range(2)]
    refused = elm.post(f"/api/v1{team}/hand-over", json={"person": 1})
    others = [
        elm.post(address, data={"name": "x"}).status_code
        for address in (
            "/methods/1/edit",
            "/account/tokens",
            "/results/1/links",
            "/teams",
            "/invitations/guessed",
        )
    ]

    assert edits == [303] * 2
    assert (refused.status_code, refused.json()["code"]) == (429, "rate-limit")
    assert others == [429] * 5


def test_costly_pages_share_one_limit_per_account_at_every_address(
    platform: Platform, tmp_path: Path
) -> None:
    board_of(platform, tmp_path, "costly", Disclosure.FULL)
    limiter = limiter_of(LoginSettings(limit_view="4/hour"), str(platform.settings.broker_url))
    app = create_app(replace(platform, limiter=limiter, cache=Cache()))
    office, home = (
        TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False, client=(address, 50_000))
        for address in (OFFICE, HOME)
    )
    registered(office, "cherry@example.org")
    home.cookies = office.cookies
    board, run = "/leaderboards/costly/test/3", 1

    costly = ["/find?q=x", f"{board}/figures", f"{board}/images", f"/runs/{run}/images"]
    first = [(office if place % 2 else home).get(path).status_code for place, path in enumerate(costly)]
    then = [
        home.get(path).status_code
        for path in (
            *costly,
            f"/api/v1/runs/{run}/curves",
            f"/api/v1/runs/{run}/curves.csv",
            "/submissions/1",
        )
    ]

    assert 429 not in first
    assert set(then) == {429}
    assert home.get(board).status_code == 200
    home.cookies.clear()
    assert home.get("/find?q=x").status_code == 200


class Slow:
    """A route that takes a moment, added to an application, and how many requests are in it, now and at most."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.inside = self.most = 0
        self._here = threading.Lock()
        app.add_api_route("/slow", self.answer)

    def answer(self) -> None:
        with self._here:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.1)
        with self._here:
            self.inside -= 1

    def asked_from_addresses(self, cookies: Sequence[dict[str, str]]) -> list[int]:
        """Ask at the same time, each with its cookies from an address of its own; return what was answered, in order of arrival."""
        order: list[int] = []

        async def ask(number: int, cookie: dict[str, str]) -> None:
            transport = httpx2.ASGITransport(self.app, client=(f"192.0.2.{number}", 50_000))
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://testserver", cookies=cookie
            ) as client:
                assert (await client.get("/slow")).status_code == 200
                order.append(number)

        async def ask_all() -> None:
            async with anyio.create_task_group() as tasks:
                for number, cookie in enumerate(cookies):
                    tasks.start_soon(ask, number, cookie)

        anyio.run(ask_all)
        return order


@pytest.fixture
def slow(platform: Platform) -> Slow:
    """A route of a server that handles one request of an account at a time."""
    settings = platform.settings.model_copy(update={"requests_at_once": 1})
    return Slow(create_app(replace(platform, settings=settings)))


def cookie_of(slow: Slow, email: str) -> dict[str, str]:
    person = TestClient(slow.app, headers={"Accept": "text/html"}, follow_redirects=False)
    registered(person, email)
    return {"heldout_session": person.cookies["heldout_session"]}


def test_concurrent_requests_of_an_account_are_limited_across_addresses(slow: Slow) -> None:
    cookie = cookie_of(slow, "hawthorn@example.org")

    slow.asked_from_addresses([cookie] * 6)

    assert slow.most == 1


@pytest.mark.parametrize("cookie", [{}, {"heldout_session": "x" * 43}], ids=["none", "invented"])
def test_visitors_with_many_addresses_hold_up_nobody_who_is_logged_in(
    slow: Slow, cookie: dict[str, str]
) -> None:
    mine = cookie_of(slow, f"rowan{len(cookie)}@example.org")

    order = slow.asked_from_addresses([*[cookie] * 10, mine])

    assert slow.most == 2  # a visitor and I
    assert order.index(10) < 5


async def left_open(app: FastAPI, number: int, method: str, path: str) -> None:
    """A request from an address of its own whose body never arrives, or whose answer is never read."""

    async def receive() -> Message:
        if method == "POST":
            await anyio.sleep_forever()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await anyio.sleep_forever()

    headers = [(b"host", b"testserver"), (b"content-type", b"application/x-www-form-urlencoded")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers,
        "client": (f"198.51.100.{number}", 50_000), "server": ("testserver", 80),
    }  # fmt: skip
    await app(scope, receive, send)


def test_visitors_who_read_or_send_slowly_hold_up_no_other(slow: Slow) -> None:
    async def ask() -> int:
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                way = ("GET", "/slow") if number % 2 else ("POST", "/login")
                tasks.start_soon(left_open, slow.app, number, *way)
            transport = httpx2.ASGITransport(slow.app, client=(OFFICE, 50_000))
            async with httpx2.AsyncClient(transport=transport, base_url="http://testserver") as client:
                with anyio.move_on_after(60):
                    found = (await client.get("/slow")).status_code
                    tasks.cancel_scope.cancel()
                    return found
            tasks.cancel_scope.cancel()
        return 0

    assert anyio.run(ask) == 200
