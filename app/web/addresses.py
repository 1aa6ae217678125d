"""Addresses of pages of this site, derived from the path of a request."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import SplitResult, quote, urlsplit

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match

PAGE_WORDS = frozenset(
    {"api", "v1", "challenges", "leaderboards", "competitions", "methods", "teams", "submissions", "docs"}
)
ONE_OF = {
    "submissions": "the submission",
    "uploads": "the upload",
    "teams": "the team",
    "methods": "the method",
    "challenges": "the challenge",
    "threads": "the question",
}
PAGE_NAMES = {
    "submissions": "the submissions",
    "uploads": "your uploads",
    "teams": "the teams",
    "challenges": "the challenges",
    "leaderboards": "the leaderboards",
    "account": "your account",
    "organise": "the challenges that you organise",
    "phases": "the phases",
    "data": "the data",
    "rules": "the rules",
    "news": "the news",
    "docs": "the documentation",
    "admin": "the administration",
    "login": "the login",
    "notifications": "your notifications",
}
LONGEST_SEARCH = 100  # characters


def address_of(request: Request) -> str:
    """Return the path of a request with its query."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def local_path(address: str) -> str:
    r"""Return `address` if it is a path of this site, otherwise the home page; for redirects.

    Browsers treat a backslash as a slash and ignore tabs and line breaks.

    >>> local_path("/submissions"), local_path("//evil.example"), local_path("/\t/evil.example")
    ('/submissions', '/', '/')
    """
    is_path = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if is_path and not any(unicodedata.category(each) == "Cc" for each in address) else "/"


def nearest_page(request: Request) -> str:
    """Return the page at this address or, if the address only accepts forms, its nearest parent page."""
    path = request.url.path
    while path not in ("", "/"):
        if _is_page(request, path):
            return address_of(request) if path == request.url.path else path
        path = path.rpartition("/")[0]
    return "/"


def parent_page(request: Request, *, without_query: bool = False) -> str | None:
    """Return the nearest parent page; None if that is the home page.

    without_query: if the request is a GET with a query, return the same page without it.
    """
    if without_query and request.method == "GET" and request.url.query:
        return request.url.path
    path = request.url.path.rstrip("/").rpartition("/")[0]
    while path:
        if _is_page(request, path):
            return path
        path = path.rpartition("/")[0]
    return None


def name_of_page(path: str) -> str:
    """Return what a link calls the page at a path; empty if there is no word for it.

    >>> name_of_page("/submissions/92"), name_of_page("/challenges/sample/data"), name_of_page("/organise/phases/2")
    ('the submission', 'the data', '')
    """
    parts = path.strip("/").split("/")
    return PAGE_NAMES.get(parts[-1], "") or (ONE_OF.get(parts[0], "") if len(parts) == 2 else "")


def search_terms(path: str) -> str:
    """Return search terms for a path that was not found: its parts without numbers and page names.

    >>> search_terms("/leaderboards/VOC2O12/test/3"), search_terms("/nowhere")
    ('VOC2O12 test', 'nowhere')
    """
    parts = [part for part in path.split("/")[1:] if part and not part.isdigit()]
    return " ".join(part for part in parts if part not in PAGE_WORDS)[:LONGEST_SEARCH]


def without_slash(request: Request) -> str | None:
    """Return the path and query without a trailing slash, if a route exists there; never an address on another host."""
    path = request.url.path.rstrip("/")
    scope = {**request.scope, "path": path}
    routes: Iterable[BaseRoute] = (route for router in request.app.state.routers for route in router.routes)
    if path == request.url.path or all(route.matches(scope)[0] is Match.NONE for route in routes):
        return None
    return "/" + quote(path.lstrip("/")) + (f"?{request.url.query}" if request.url.query else "")


def route_of(request: Request) -> tuple[APIRoute | None, Mapping[str, str]]:
    """Return the route that will answer a request, and the parameters in its path; None if none does."""
    for route in (route for router in request.app.state.routers for route in router.routes):
        match, found = route.matches(request.scope)
        if match is Match.FULL and isinstance(route, APIRoute):
            return route, found["path_params"]
    return None, {}


def methods_at(request: Request) -> list[str]:
    """Return the methods that this address answers, of all its routes; HEAD wherever GET is answered."""
    routes: Iterable[BaseRoute] = (route for router in request.app.state.routers for route in router.routes)
    here = (route for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    methods = {method for route in here for method in getattr(route, "methods", None) or ()}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


def page_of_form(request: Request) -> str:
    """Return the page whose form was sent: the referring page if it is ours, otherwise the nearest."""
    referrer = parts_of(request.headers.get("referer", ""))
    if referrer.netloc == request.headers.get("host") and _is_page(request, referrer.path):
        return referrer.path + (f"?{referrer.query}" if referrer.query else "")
    return nearest_page(request)


def parts_of(address: str) -> SplitResult:
    """Split a URL from a header; all parts are empty if it is invalid.

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
