"""Which page an address belongs to."""

import unicodedata
from collections.abc import Iterable, Sequence
from urllib.parse import SplitResult, quote, urlsplit

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match

OF_PAGES = frozenset(
    {"api", "v1", "challenges", "leaderboards", "competitions", "methods", "teams", "submissions", "help"}
)
LONGEST_SEARCH = 100  # characters


def address_of(request: Request) -> str:
    """The path of a request with its query."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def local_path(address: str) -> str:
    r"""Where to go next: always a path of this site.

    Browsers take a backslash for a slash, and drop tabs and line ends wherever they stand.

    >>> local_path("/submissions"), local_path("//evil.example"), local_path("/\t/evil.example")
    ('/submissions', '/', '/')
    """
    is_path = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if is_path and not any(unicodedata.category(each) == "Cc" for each in address) else "/"


def nearest_page(request: Request) -> str:
    """The page at this address or, for an address that only takes forms, the nearest one above it."""
    path = request.url.path
    while path not in ("", "/"):
        if _is_page(request, path):
            return address_of(request) if path == request.url.path else path
        path = path.rpartition("/")[0]
    return "/"


def page_above(request: Request, *, without_query: bool = False) -> str | None:
    """The nearest page whose address this one begins with; none where only home is left.

    without_query: this page itself counts, if what its address asks for is dropped.
    """
    if without_query and request.method == "GET" and request.url.query:
        return request.url.path
    path = request.url.path.rstrip("/").rpartition("/")[0]
    while path:
        if _is_page(request, path):
            return path
        path = path.rpartition("/")[0]
    return None


def words_of(path: str) -> str:
    """What somebody may have looked for at an address: its parts without numbers and the names of our pages.

    >>> words_of("/leaderboards/VOC2O12/test/3"), words_of("/nowhere")
    ('VOC2O12 test', 'nowhere')
    """
    parts = [part for part in path.split("/")[1:] if part and not part.isdigit()]
    return " ".join(part for part in parts if part not in OF_PAGES)[:LONGEST_SEARCH]


def without_slash(request: Request) -> str | None:
    """The address without the slash at its end, if there is something at it; never one of another host."""
    path = request.url.path.rstrip("/")
    scope = {**request.scope, "path": path}
    routes: Iterable[BaseRoute] = (route for room in request.app.state.routers for route in room.routes)
    if path == request.url.path or all(route.matches(scope)[0] is Match.NONE for route in routes):
        return None
    return "/" + quote(path.lstrip("/")) + (f"?{request.url.query}" if request.url.query else "")


def page_of_form(request: Request) -> str:
    """The page whose form was sent: the one that the browser names, if it is ours, else the nearest."""
    referrer = parts_of(request.headers.get("referer", ""))
    if referrer.netloc == request.headers.get("host") and _is_page(request, referrer.path):
        return referrer.path + (f"?{referrer.query}" if referrer.query else "")
    return nearest_page(request)


def parts_of(address: str) -> SplitResult:
    """The parts of an address that a header names; all empty where it is none.

    >>> parts_of("http://127.0.0.1:8000/login").netloc, parts_of("http://[").netloc
    ('127.0.0.1:8000', '')
    """
    try:
        return urlsplit(address)
    except ValueError:  # such as an opening bracket alone
        return urlsplit("")


def _is_page(request: Request, path: str) -> bool:
    routes: Sequence[APIRoute] = request.app.state.page_routes
    return any("GET" in (route.methods or ()) and route.path_regex.match(path) for route in routes)
