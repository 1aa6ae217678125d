"""Programs that use the API go on working: it is compared with its stored description."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.architecture.api_changes import Comparison, described, essence, stored

RENEW = (
    "\nPrograms of people rely on what the API of version 1 has; add to it instead. If this has to be, list it in CHANGELOG.md and run"
    " `make api`."
)


@pytest.mark.sampled
def test_nothing_of_the_api_is_gone_or_narrower() -> None:
    changes = list(Comparison(stored(), described()).changes())

    assert not changes, "\n".join(changes) + RENEW


SMALL: dict[str, Any] = {
    "paths": {
        "/boards/{id}": {
            "put": {
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}},
                    {"name": "sort", "in": "query", "schema": {"type": "string", "enum": ["mean", "name"]}},
                ],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/New"}}}},
                "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/View"}}}}},
            }
        },
        "/boards": {"get": {"responses": {"200": {"content": {"text/csv": {"schema": {"type": "string"}}}}}}},
    },
    "schemas": {
        "New": {
            "type": "object",
            "properties": {
                "name": {"anyOf": [{"type": "string", "maxLength": 60}, {"type": "null"}]},
                "weight": {"type": "number"},
            },
        },
        "View": {
            "type": "object",
            "required": ["name", "rows"],
            "properties": {
                "name": {"type": "string"},
                "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
            },
        },
        "Row": {
            "type": "object",
            "required": ["mean", "next"],
            "properties": {
                "mean": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "next": {"anyOf": [{"$ref": "#/components/schemas/Row"}, {"type": "null"}]},
            },
        },
    },
}  # fmt: skip


def call(changed: Any) -> Any:
    return changed["paths"]["/boards/{id}"]["put"]


def fields(changed: Any, schema: str) -> Any:
    return changed["schemas"][schema]["properties"]


BREAKS: dict[str, tuple[Callable[[Any], object], str]] = {
    "path": (lambda new: new["paths"].pop("/boards"), "GET /boards is gone"),
    "operation": (lambda new: new["paths"]["/boards/{id}"].pop("put"), "PUT /boards/{id} is gone"),
    "parameter": (
        lambda new: call(new)["parameters"].pop(),
        "PUT /boards/{id}: the query parameter sort is gone",
    ),
    "new required parameter": (
        lambda new: call(new)["parameters"].append(
            {"name": "by", "in": "query", "required": True, "schema": {}}
        ),
        "PUT /boards/{id}: the query parameter by is required now",
    ),
    "value of a parameter": (
        lambda new: call(new)["parameters"][1]["schema"].update(enum=["mean"]),
        "PUT /boards/{id}: the query parameter sort does not take name any more",
    ),
    "bound of a parameter": (
        lambda new: call(new)["parameters"][0]["schema"].update(minimum=2),
        "PUT /boards/{id}: the path parameter id has minimum 2 now",
    ),
    "status": (
        lambda new: call(new)["responses"].update({"201": call(new)["responses"].pop("200")}),
        "PUT /boards/{id}: the status 200 is gone",
    ),
    "media type": (
        lambda new: new["paths"]["/boards"]["get"]["responses"]["200"].pop("content"),
        "GET /boards: the answer as text/csv is gone",
    ),
    "body": (
        lambda new: call(new)["requestBody"].update(required=True),
        "PUT /boards/{id}: a body is required now",
    ),
    "field of a request": (lambda new: fields(new, "New").pop("weight"), "New.weight is gone"),
    "new required field": (
        lambda new: (
            fields(new, "New").update(date={"type": "string"}),
            new["schemas"]["New"].update(required=["date"]),
        ),
        "New.date is required now",
    ),
    "required field": (
        lambda new: new["schemas"]["New"].update(required=["name"]),
        "New.name is required now",
    ),
    "null in a request": (
        lambda new: fields(new, "New")["name"]["anyOf"].pop(),
        "New.name may not be null any more",
    ),
    "number in a request": (
        lambda new: fields(new, "New")["weight"].update(type="integer"),
        "New.weight may not be number any more",
    ),
    "length in a request": (
        lambda new: fields(new, "New")["name"]["anyOf"][0].update(maxLength=59),
        "New.name has maxLength 59 now",
    ),
    "choice in a request": (
        lambda new: fields(new, "New")["name"]["anyOf"][0].update(enum=["a"]),
        "New.name takes only a now",
    ),
    "field of an answer": (lambda new: fields(new, "Row").pop("mean"), "Row.mean is gone"),
    "certainty of an answer": (
        lambda new: new["schemas"]["Row"].update(required=["next"]),
        "Row.mean may be missing now",
    ),
    "type in an answer": (
        lambda new: fields(new, "View")["name"].update(type="integer"),
        "View.name may be integer now",
    ),
    "null in an answer": (
        lambda new: fields(new, "View").update(name={"anyOf": [{"type": "string"}, {"type": "null"}]}),
        "View.name may be null now",
    ),
    "items of an answer": (
        lambda new: fields(new, "View")["rows"].update(items={"type": "string"}),
        "View.rows, each may be string now",
    ),
}


@pytest.mark.parametrize("kind", BREAKS)
def test_each_kind_of_change_that_breaks_programs_is_named_once(kind: str) -> None:
    change, sentence = BREAKS[kind]
    new = deepcopy(SMALL)
    change(new)

    assert list(Comparison(SMALL, new).changes()) == [sentence]


def test_additions_break_nothing() -> None:
    new = deepcopy(SMALL)
    new["paths"]["/teams"] = {"get": {"responses": {}}}
    call(new)["parameters"].append({"name": "by", "in": "query", "schema": {"type": "string"}})
    call(new)["parameters"][1]["schema"]["enum"].append("date")
    call(new)["parameters"][0]["schema"]["minimum"] = 0
    call(new)["responses"]["202"] = {}
    fields(new, "New")["weight"]["anyOf"] = [{"type": "number"}, {"type": "null"}]
    fields(new, "New")["date"] = {"type": "string"}
    fields(new, "Row")["rank"] = {"type": "integer"}
    fields(new, "Row")["mean"] = {"type": "number"}
    new["schemas"]["Row"]["required"].append("rank")

    assert list(Comparison(SMALL, new).changes()) == []
    assert list(Comparison(new, new).changes()) == []


def test_words_for_people_may_change_and_a_field_may_be_called_like_one() -> None:
    whole = {
        "properties": {"title": {"type": "string", "title": "Title", "description": "of the board"}},
        "title": "View",
    }

    assert essence(whole) == {"properties": {"title": {"type": "string"}}}
