"""The documentation of the API, written from what the routes say of themselves."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.access import Action
from app.web import action_of, render, requires

router = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of the API."""

    method: str
    path: str
    summary: str
    description: str
    permission: str
    parameters: tuple[tuple[str, str, bool, str], ...]  # name, where, required, description
    body: str | None
    responses: tuple[tuple[str, str], ...]  # status, description


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
    operations = tuple(
        _operation(method.upper(), path, told, permissions.get((method.upper(), path), ""))
        for path, methods in schema["paths"].items()
        for method, told in methods.items()
    )
    return render(request, "api_docs.html", operations=operations)


def _operation(method: str, path: str, told: dict[str, Any], permission: str) -> Operation:
    parameters = tuple(
        (one["name"], one["in"], one.get("required", False), one.get("schema", {}).get("description", ""))
        for one in told.get("parameters", ())
    )
    content = told.get("requestBody", {}).get("content", {})
    return Operation(
        method=method,
        path=path,
        summary=told.get("summary", ""),
        description=told.get("description", ""),
        permission=permission,
        parameters=parameters,
        body=", ".join(content) or None,
        responses=tuple(
            (status, answer.get("description", "")) for status, answer in told["responses"].items()
        ),
    )
