"""Pages with data offer the same data as JSON."""

import re
from collections.abc import Iterator
from html import unescape

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.routing import Match

from app.models import Challenge
from app.platform import Platform
from tests.pages.conftest import Browser

ALTERNATE = re.compile('<link rel="alternate" type="application/json" href="([^"]+)">')


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


@pytest.mark.sampled
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
    assert f'<a href="{twin}">' in unescape(page)
