"""Pages with data offer the same data as JSON, and scripts and styles stay small."""

import gzip
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.routing import Match

from app.models import Challenge
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_templates import pages

ROOT = Path(__file__).parents[2]
ALTERNATE = re.compile('<link rel="alternate" type="application/json" href="([^"]+)">')
LINE = re.compile('<a href="([^"]+)">(?:This page|These images) as JSON</a>')
HEAVIEST = 150_000  # bytes of a page's scripts and styles, compressed


def routes_at(app: FastAPI, path: str) -> Iterator[APIRoute]:
    scope = {"type": "http", "method": "GET", "path": path}
    for router in app.state.routers:
        yield from (
            route
            for route in router.routes
            if isinstance(route, APIRoute) and route.matches(scope)[0] is Match.FULL
        )


@pytest.fixture(scope="module")
def challenge(platform: Platform) -> str:
    with platform.transaction() as session:
        session.add(Challenge(code="twin", title="Twin", dataset="VOC2012"))
    return "twin"


@pytest.mark.usefixtures("challenge")
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/challenges",
        "/challenges?state=open",
        "/leaderboards",
        "/challenges/twin",
        "/find?q=twin",
        "/docs/formats",
        "/docs/protocols",
        "/docs/protocols/voc2007",
    ],
)
def test_the_json_of_a_page_matches_its_schema(app: FastAPI, browser: Browser, path: str) -> None:
    page = browser().get(path).text
    twin = unescape(ALTERNATE.findall(page)[0])
    response = browser().get(twin)

    [route] = routes_at(app, twin.partition("?")[0])
    assert response.headers["content-type"] == "application/json"
    TypeAdapter(route.response_model).validate_json(response.text)
    assert f'<a href="{twin}">' in unescape(page) or path.startswith("/find")


def test_a_page_that_links_to_its_json_also_names_it_in_its_head() -> None:
    found = {
        template: (LINE.findall(text), ALTERNATE.findall(text.partition("</head>")[0]))
        for template, text, _ in pages()
        if LINE.search(text)
    }

    assert {"submissions/submission.html", "teams/team.html", "comparisons/comparison.html"} <= set(found)
    assert [template for template, (lines, names) in found.items() if names[:1] != lines[:1]] == []


def test_scripts_and_styles_of_every_page_stay_small() -> None:
    sizes = {
        path: len(gzip.compress((ROOT / path.lstrip("/")).read_bytes()))
        for _, text, _ in pages()
        for path in re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css))"', text)
    }

    heaviest = max(
        sum(sizes[path] for path in set(re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css))"', text)))
        for _, text, _ in pages()
    )

    assert len(sizes) > 4
    assert 10_000 < heaviest < HEAVIEST


def test_the_style_sheet_of_all_pages_stays_small_and_in_layers() -> None:
    style = (ROOT / "static" / "style.css").read_text()

    assert len(style.encode()) <= 20 * 1024
    assert "@layer reset, tokens, base, components, pages;" in style
    assert "prefers-color-scheme" not in style  # a chosen theme is stronger, and light-dark() knows it
