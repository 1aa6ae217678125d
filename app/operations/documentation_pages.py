"""HTML pages: the documentation in docs/, formats, protocols and problem codes, and the generated API reference."""

import json
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from app.challenges.protocols import protocols
from app.core.access import Action
from app.core.errors import NotFoundError
from app.core.problems import PROBLEMS, example_problem
from app.operations import documentation as described_data
from app.operations import documentation_site as site
from app.operations.documentation import CallGroup
from app.platform import Platform
from app.web.dependencies import ThePlatform, action_of, render, requires

router = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])
LONGEST_SEARCH: Final = 100  # characters

MOVED: Final = {
    "/help": "/docs",
    "/help/first-submission": "/docs/take-part",
    "/help/formats": "/docs/formats",
    "/help/rules": "/docs/take-part#rules",
    "/help/scoring": "/docs/protocols",
    "/help/api": "/docs/api",
    "/published/voc2007": "/docs/voc2007",
    "/published/voc2007/1": "/docs/voc2007#classification",
    "/published/voc2007/3": "/docs/voc2007#detection",
}
"""The current addresses of former pages, for redirects."""


@router.get("/api/docs")
def reference(request: Request, platform: ThePlatform) -> Response:
    """Show what the API offers, by subject, after a request that anybody can send."""
    return _page(
        request,
        "docs/reference.html",
        groups=_groups(request),
        first=platform.cache.version("first exchange", lambda: described_data.first_exchange(platform)),
        example=json.dumps(example_problem(), indent=2),
    )


@router.get("/api/docs/{subject}")
def reference_of(request: Request, subject: str) -> Response:
    """Show the calls of a subject, with parameters and examples."""
    groups = _groups(request)
    group = next((group for group in groups if group.slug == subject), None)
    if group is None:
        raise NotFoundError(f"The API has no subject {subject!r}")
    calls = described_data.operations(request.app.openapi(), group.calls)
    return _page(request, "docs/calls.html", here="/api/docs", groups=groups, group=group, calls=calls)


def _groups(request: Request) -> tuple[CallGroup, ...]:
    routes = [route for router in request.app.state.routers for route in router.routes]
    permissions = {
        (method, route.path): str(action_of([*route.dependencies]) or "")
        for route in routes
        for method in route.methods
    }
    return described_data.call_groups(request.app.openapi(), permissions)


@router.get("/problems")
def problem_types(request: Request) -> Response:
    """List all problem codes with their meanings."""
    return _page(request, "docs/problems.html", problems=PROBLEMS.values())


@router.get("/problems/{code}")
def problem_type(request: Request, code: str) -> Response:
    """Explain a problem code, on the page that the `type` of a problem links to."""
    if code not in PROBLEMS:
        raise NotFoundError(f"There is no problem code {code!r}")
    return _page(request, "docs/problems.html", here="/problems", problems=(PROBLEMS[code],))


@router.get("/docs/protocols")
def scoring_protocols(request: Request) -> Response:
    """List all protocols."""
    return _page(request, "docs/protocols.html", protocols=protocols())


@router.get("/docs/protocols/{code}")
def scoring_protocol(request: Request, code: str) -> Response:
    """Show how a protocol scores each task."""
    described = described_data.known_protocol(code)
    return _page(request, "docs/protocol.html", here="/docs/protocols", protocol=described)


@router.get("/docs/formats")
def formats(request: Request, platform: ThePlatform) -> Response:
    """Show the formats of prediction files, with examples to download."""
    phases = described_data.phases_with_examples(platform)
    return _page(request, "docs/formats.html", formats=described_data.formats(), phases=phases)


@router.get("/docs/components")
def components(request: Request) -> Response:
    """Show the parts that all pages are made of."""
    return _page(request, "docs/components.html", rows=site.EXAMPLE_ROWS)


@router.get("/docs")
def overview(request: Request, platform: ThePlatform, q: str = "") -> Response:
    """Show where to begin, and what the documentation has about the words that are sought."""
    words = q[:LONGEST_SEARCH].strip()
    page = _with_own_examples(platform, "/docs")
    return _page(request, "docs/index.html", page=page, words=words, found=site.find(words))


@router.get("/docs/api")
def api_by_example(request: Request, platform: ThePlatform) -> Response:
    """Show how to submit with curl and Python, with a phase of this server as the example."""
    return _page(request, "docs/page.html", page=_with_own_examples(platform, "/docs/api"), below=())


def _with_own_examples(platform: Platform, address: str) -> site.Page:
    board = described_data.board_to_try(platform)
    return site.with_examples_of(site.page_at(address), platform.settings.address, board)


@router.get("/docs/images/{name}")
def image(name: str) -> Response:
    """Return an image of the documentation."""
    if name not in site.image_names():
        raise NotFoundError(f"There is no image {name!r}")
    return FileResponse(site.IMAGES / name)


def markdown_page(request: Request) -> Response:
    """Show the page of a Markdown file."""
    address = request.url.path
    return _page(request, "docs/page.html", page=site.page_at(address), below=site.pages_below(address))


for address in site.FILES:
    if address not in {"/docs", "/docs/api"}:
        router.get(address)(markdown_page)


def moved(request: Request) -> Response:
    """Redirect from a former page."""
    return RedirectResponse(MOVED[request.url.path], HTTPStatus.PERMANENT_REDIRECT)


for address in MOVED:
    router.get(address)(moved)


@router.get("/help/scoring/{code}")
def moved_protocol(code: str) -> Response:
    """Redirect from the former page of a protocol."""
    return RedirectResponse(f"/docs/protocols/{quote(code)}", HTTPStatus.PERMANENT_REDIRECT)


def _page(request: Request, template: str, here: str = "", **context: Any) -> Response:
    """Render a page with the navigation of the documentation. here: the address to highlight there, by default its own."""
    here = here or request.url.path
    beside = site.neighbours(request.url.path)
    return render(request, template, navigation=site.NAVIGATION, here=here, beside=beside, **context)
