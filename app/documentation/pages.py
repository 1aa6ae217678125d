"""The documentation of the API, written from what the routes say of themselves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.access import Action
from app.web import action_of, render, requires

router = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])

Schema = Mapping[str, Any]  # a piece of the OpenAPI description


@dataclass(frozen=True, slots=True)
class Field:
    """Something to send along, or the name of something in the body."""

    name: str
    where: str  # path, query, header or body
    is_needed: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of the API."""

    method: str
    path: str
    paragraphs: tuple[str, ...]
    permission: str
    fields: tuple[Field, ...]
    status: str
    is_list: bool
    answer: tuple[str, ...]  # names of what comes back, of each one in a list


@router.get("/api/docs")
def documentation(request: Request) -> Response:
    """Every call of the API, without a script."""
    schema = request.app.openapi()
    routes = [route for router in request.app.state.routers for route in router.routes]
    permissions = {
        (method, route.path): str(action_of([*route.dependencies]) or "")
        for route in routes
        for method in route.methods
    }
    known = schema.get("components", {}).get("schemas", {})
    operations = tuple(
        _operation(method.upper(), path, told, permissions.get((method.upper(), path), ""), known)
        for path, methods in schema["paths"].items()
        for method, told in methods.items()
    )
    return render(request, "api_docs.html", operations=operations)


def _operation(method: str, path: str, told: Schema, permission: str, known: Schema) -> Operation:
    status, success = next(iter(told["responses"].items()))
    answer = _resolved(_json(success), known)
    is_list = answer.get("type") == "array"
    one = _resolved(answer["items"], known) if is_list else answer
    paragraphs = told.get("description", told.get("summary", "")).split("\n\n")
    return Operation(
        method=method,
        path=path,
        paragraphs=tuple(" ".join(paragraph.split()) for paragraph in paragraphs),
        permission=permission,
        fields=(*_parameters(told), *_named(_json(told.get("requestBody", {})), known)),
        status=status,
        is_list=is_list,
        answer=tuple(one.get("properties", ())),
    )


def _json(content: Schema) -> Schema:
    schema: Schema = content.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _parameters(told: Schema) -> Iterator[Field]:
    for one in told.get("parameters", ()):
        yield Field(one["name"], one["in"], one.get("required", False), one.get("description", ""))


def _named(schema: Schema, known: Schema, before: str = "") -> Iterator[Field]:
    """The names in a body; what lies deeper has a dot in its name."""
    resolved = _resolved(schema, known)
    for name, told in resolved.get("properties", {}).items():
        needed = name in resolved.get("required", ())
        yield Field(before + name, "body", needed, told.get("description", ""))
        yield from _named(told, known, f"{before}{name}.")


def _resolved(schema: Schema, known: Schema) -> Schema:
    """What a reference stands for, through "this or nothing"."""
    if "$ref" in schema:
        resolved: Schema = known[schema["$ref"].rpartition("/")[2]]
        return resolved
    return next((_resolved(one, known) for one in schema.get("anyOf", ()) if "$ref" in one), schema)
