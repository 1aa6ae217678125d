"""The API page: every call has a valid example, every problem code its own page."""

import json
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from app.core.problems import PROBLEMS, Problem
from app.main import API
from app.operations.documentation import Operation, example_of, operation
from tests.pages.conftest import Browser

ROUTES = [
    route
    for router in API
    for route in router.routes
    if isinstance(route, APIRoute) and route.include_in_schema
]


def operations(app: FastAPI) -> list[Operation]:
    described = app.openapi()
    known = described["components"]["schemas"]
    return [
        operation(method.upper(), path, one, "upload.create", known)
        for path, methods in described["paths"].items()
        for method, one in methods.items()
    ]


def test_every_call_has_an_example_of_request_and_response(app: FastAPI) -> None:
    found = operations(app)

    assert len(found) >= len(ROUTES) > 10
    for one in found:
        assert one.request.startswith("curl "), one
        assert "{" not in one.request.partition(" -d ")[0], one
        assert one.response or one.status.startswith(("204", "201", "200")), one


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{min(route.methods or {''})} {route.path}")
def test_the_examples_of_a_call_are_valid(app: FastAPI, route: APIRoute) -> None:
    described = app.openapi()
    known = described["components"]["schemas"]
    method = min(route.methods or {""})
    one: dict[str, Any] = described["paths"][route.path][method.lower()]

    if route.body_field is not None:
        schema = one["requestBody"]["content"]["application/json"]["schema"]
        body = example_of(schema, known)
        TypeAdapter(route.body_field.field_info.annotation or object).validate_json(json.dumps(body))
    if route.response_model is not None:
        schema = one["responses"][str(route.status_code or 200)]["content"]["application/json"]["schema"]
        TypeAdapter(route.response_model).validate_json(json.dumps(example_of(schema, known)))


def test_the_page_shows_every_call_and_every_problem_code(app: FastAPI, browser: Browser) -> None:
    page = browser().get("/api/docs").text

    assert [path for path in app.openapi()["paths"] if path not in page] == []
    assert [code for code in PROBLEMS if f'href="/problems/{code}"' not in page] == []
    assert "Within <code>/api/v1</code> nothing is removed" in page


@pytest.mark.parametrize("code", PROBLEMS)
def test_the_type_of_a_problem_is_the_address_of_its_page(browser: Browser, code: str) -> None:
    page = browser().get(PROBLEMS[code].address())

    assert page.status_code == 200
    assert PROBLEMS[code].title in page.text


def test_an_unknown_problem_code_is_not_found(browser: Browser) -> None:
    assert browser().get("/problems/nothing").status_code == 404
    assert "quota" in browser().get("/problems").text


def test_the_openapi_document_describes_error_responses(browser: Browser) -> None:
    described = browser().get("/api/v1/openapi.json").json()

    for methods in described["paths"].values():
        for one in methods.values():
            content = one["responses"]["4XX"]["content"]["application/problem+json"]
            Problem.model_validate(content["example"])
            assert "422" not in one["responses"]


def test_the_example_of_a_pair_is_a_pair() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer", "minimum": 2}]}

    assert example_of(pair, {}) == ["text", 2]


def test_required_parameters_are_in_the_example() -> None:
    asked = {"name": "filename", "in": "query", "required": True, "schema": {"type": "string"}}
    header = {"name": "Upload-Offset", "in": "header", "required": True, "schema": {"type": "integer"}}
    described = {"parameters": [asked, header], "responses": {"200": {"description": ""}}, "summary": "Find"}

    example = operation("GET", "/files", described, "public.read", {}).request

    assert "?filename=results.tar.gz" in example
    assert "'Upload-Offset: 1'" in example
