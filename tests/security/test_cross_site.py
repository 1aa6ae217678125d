"""Pages of other sites can neither make a browser change anything here nor redirect it elsewhere."""

import inspect
import re
from html import unescape
from itertools import count

import pytest
from fastapi.routing import APIRoute

from app.main import API, PAGES
from app.web.addresses import local_path
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.security.test_permissions import code_of

ROUTES = [route for room in (*API, *PAGES) for route in room.routes if isinstance(route, APIRoute)]
CHANGING = sorted(
    f"{method} {route.path}"
    for route in ROUTES
    for method in (route.methods or set()) - {"GET", "HEAD", "OPTIONS"}
)
WITH_NEXT = sorted(
    f"{method} {route.path}"
    for route in ROUTES
    for method in route.methods or ()
    if "next" in {each.alias for each in (*route.dependant.query_params, *route.dependant.body_params)}
    or 'form.text("next")' in inspect.getsource(route.endpoint)
)
FOREIGN = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
)
ELSEWHERE = (
    "https://evil.example/", "//evil.example/", "///evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example",
    "/\n/evil.example", "\t//evil.example", " //evil.example", "javascript:alert(1)", "data:text/html,x", "https:evil.example",
    "/\r\nSet-Cookie: a=b", "/\x00//evil.example", "evil.example", "",
)  # fmt: skip
NUMBERS = count(1)


@pytest.mark.parametrize("first", range(2))
def test_no_route_accepts_a_change_from_another_site(browser: Browser, first: int) -> None:
    oak = registered(browser(), f"oak{next(NUMBERS)}@example.org")

    found = {}
    for number, each in enumerate(CHANGING, start=2 * first):
        method, _, path = each.partition(" ")
        headers = FOREIGN[number % len(FOREIGN)] | {"Accept": "application/json"}
        response = oak.request(method, re.sub("{[^}]*}", "1", path), headers=headers)
        found[each] = (response.status_code, code_of(response))

    assert len(found) > 100
    assert found == dict.fromkeys(CHANGING, (403, "cross-site"))
    assert oak.get("/account").status_code == 200


def test_requests_from_this_site_pass_the_same_check(browser: Browser) -> None:
    oak = registered(browser(), f"oak{next(NUMBERS)}@example.org")

    for own in (
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://testserver"},
    ):
        assert oak.post("/account/profile", data={}, headers=own).status_code == 422


def test_no_response_allows_cross_origin_reads_or_custom_headers(browser: Browser) -> None:
    oak = registered(browser(), f"oak{next(NUMBERS)}@example.org")
    asked = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "PATCH",
        "Access-Control-Request-Headers": "authorization",
    }

    for method, path in (
        ("OPTIONS", "/api/v1/uploads/1"),
        ("OPTIONS", "/account"),
        ("GET", "/account"),
        ("GET", "/api/v1/submissions"),
    ):
        response = oak.request(method, path, headers=asked)
        assert [name for name in response.headers if name.startswith("access-control-")] == []


def test_routes_with_a_next_parameter_are_found() -> None:
    assert {"GET /login", "POST /login", "POST /login/code", "POST /login/confirm", "GET /register"} <= set(
        WITH_NEXT
    )


@pytest.mark.sampled
@pytest.mark.parametrize("route", WITH_NEXT)
def test_a_next_parameter_never_leads_to_another_site(browser: Browser, route: str) -> None:
    method, _, path = route.replace("{provider}", "example").partition(" ")
    email = f"ash{next(NUMBERS)}@example.org"
    registered(browser(), email)
    visitor = browser()
    if path == "/login/confirm":
        visitor.post("/login", data={"email": email, "password": PASSWORD})
    for evil in ELSEWHERE:
        form = {"email": email, "name": "Ash Grove", "password": PASSWORD, "next": evil}
        if path == "/register":
            form["email"] = f"ash{next(NUMBERS)}@example.org"
        response = visitor.get(path, params=form) if method == "GET" else visitor.post(path, data=form)
        # 404: there is no challenge of that name; 503: the provider is unreachable
        assert response.status_code in (200, 303, 401, 404, 503), response.text
        led_to = re.findall(r'(?:href|src|action|formaction)="([^"]*)"', response.text)
        carried = re.findall(r'name="next" value="([^"]*)"', response.text)
        for address in (*map(unescape, led_to + carried), response.headers.get("location", "/")):
            assert is_local(address), (evil, address)
        assert "set-cookie" not in response.headers or "a=b" not in response.headers["set-cookie"]


@pytest.mark.parametrize("address", ELSEWHERE)
def test_an_address_that_browsers_read_as_another_site_is_not_a_local_path(address: str) -> None:
    assert local_path(address) == "/"


@pytest.mark.parametrize(
    "address", ["/", "/login?next=/account", "/teams/7#members", "/a//b", "/challenges/Ü%20x"]
)
def test_a_path_of_this_site_is_kept_unchanged(address: str) -> None:
    assert local_path(address) == address


def is_local(address: str) -> bool:
    """Whether a browser stays on the site; it strips blanks, drops tabs and line ends, and reads backslashes as slashes."""
    seen = re.sub(r"[\t\r\n]", "", address.strip("".join(map(chr, range(33))))).replace("\\", "/")
    return not seen.startswith("//") and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", seen)
