"""A router that looks at how a path begins answers what one without that look answers."""

from collections.abc import Iterable
from typing import Any, Never

import pytest
from fastapi import APIRouter, FastAPI
from starlette.routing import Match

from app.main import API, PAGES
from app.routing import RoomRouter

PATHS = ("/", "/organise", "/organise/phases/3", "/organised", "/api/v1/editions/voc/test", "/nothing", "")


def test_every_room_answers_the_same_paths_as_without_that_look() -> None:
    rooms = (*API, *PAGES)
    app, plain = _app(map(RoomRouter, rooms)), _app(rooms)

    for path in PATHS:
        assert _matches(app, path) == _matches(plain, path), path
    assert Match.FULL in _matches(app, "/organise/phases/3")


def test_routes_of_another_beginning_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    room = APIRouter(prefix="/organise")
    room.add_api_route("/phases/{phase_id}", lambda phase_id: phase_id)
    monkeypatch.setattr(room.routes[0], "matches", _refuse)

    assert _matches(_app([RoomRouter(room)]), "/admin") == [Match.NONE]


def _app(rooms: Iterable[APIRouter]) -> FastAPI:
    app = FastAPI(openapi_url=None)
    for room in rooms:
        app.include_router(room)
    return app


def _matches(app: FastAPI, path: str) -> list[Match]:
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": path, "headers": []}
    return [route.matches(dict(scope))[0] for route in app.router.routes]


def _refuse(*_: object) -> Never:
    raise AssertionError("this route is none of that path")
