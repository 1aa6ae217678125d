"""The API page: every call has a valid example, every problem code its own page."""

import json
import re
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from app.core.problems import PROBLEMS, Problem
from app.main import API
from app.operations.documentation import Call, Operation, call_groups, example_of, operation, operations
from tests.pages.conftest import Browser

ROUTES = [
    route
    for router in API
    for route in router.routes
    if isinstance(route, APIRoute) and route.include_in_schema
]


def described_calls(app: FastAPI) -> list[Operation]:
    groups = call_groups(app.openapi(), {})
    return [each for group in groups for each in operations(app.openapi(), group.calls)]


@pytest.mark.sampled
def test_every_call_has_an_example_of_request_and_response(app: FastAPI) -> None:
    found = described_calls(app)

    assert len(found) >= len(ROUTES) > 10
    for one in found:
        assert one.request.startswith("curl "), one
        assert "{" not in one.request.partition(" -d ")[0], one
        assert one.response or one.status.startswith(("204", "202", "201", "200")), one


def test_the_examples_of_each_call_are_valid(app: FastAPI) -> None:
    described = app.openapi()
    wrong = {}
    for route in ROUTES:
        method = min(route.methods or {""})
        try:
            check_examples(route, described["paths"][route.path][method.lower()], described)
        except (ValidationError, KeyError) as error:
            wrong[f"{method} {route.path}"] = repr(error)

    assert wrong == {}


def check_examples(route: APIRoute, one: dict[str, Any], described: dict[str, Any]) -> None:
    """Read the examples of what a call takes and of what it returns as the application does."""
    known = described["components"]["schemas"]
    if route.body_field is not None:
        schema = one["requestBody"]["content"]["application/json"]["schema"]
        body = example_of(schema, known)
        TypeAdapter(route.body_field.field_info.annotation or object).validate_json(json.dumps(body))
    if route.response_model is not None:
        schema = one["responses"][str(route.status_code or 200)]["content"]["application/json"]["schema"]
        TypeAdapter(route.response_model).validate_json(json.dumps(example_of(schema, known)))


@pytest.mark.sampled
def test_every_call_is_listed_and_described_on_the_page_of_its_subject(
    app: FastAPI, browser: Browser
) -> None:
    visitor = browser()
    index = visitor.get("/api/docs").text
    links = re.findall(r'href="(/api/docs/[a-z-]+)#([a-z0-9-]+)"', index)
    pages = {address: visitor.get(address).text for address in {address for address, _ in links}}

    assert len(links) == len(set(links)) == sum(map(len, app.openapi()["paths"].values()))
    assert [link for link in links if f'<section id="{link[1]}"' not in pages[link[0]]] == []
    assert all(page.count('name="call"') == page.count("<section id=") for page in pages.values())
    assert "Within <code>/api/v1</code> nothing is removed" in index
    assert visitor.get("/api/docs/nothing").status_code == 404


def test_every_problem_code_is_listed(browser: Browser) -> None:
    page = browser().get("/problems").text

    assert [code for code in PROBLEMS if f'href="/problems/{code}"' not in page] == []


def test_the_type_of_each_problem_is_the_address_of_its_page(browser: Browser) -> None:
    visitor = browser()
    pages = {code: visitor.get(problem.address()) for code, problem in PROBLEMS.items()}

    assert [code for code, page in pages.items() if page.status_code != 200] == []
    assert [code for code, page in pages.items() if PROBLEMS[code].title not in page.text] == []


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

    example = operation(Call("GET", "/files", "public.read", "Find"), described, {}).request

    assert "?filename=results.tar.gz" in example
    assert "'Upload-Offset: 1'" in example
