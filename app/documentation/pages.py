"""The documentation of the API, written from what the routes say of themselves, and of its problem codes."""

import json

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.access import Action
from app.documentation.rules import operation
from app.errors import NotFoundError
from app.problem_examples import example_problem
from app.problems import PROBLEMS
from app.web import action_of, render, requires

router = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/api/docs")
def documentation(request: Request) -> Response:
    """Every call of the API, without a script."""
    described = request.app.openapi()
    routes = [route for router in request.app.state.routers for route in router.routes]
    permissions = {
        (method, route.path): str(action_of([*route.dependencies]) or "")
        for route in routes
        for method in route.methods
    }
    schemas = described.get("components", {}).get("schemas", {})
    operations = tuple(
        operation(method.upper(), path, one, permissions.get((method.upper(), path), ""), schemas)
        for path, methods in described["paths"].items()
        for method, one in methods.items()
    )
    problem = json.dumps(example_problem(), indent=2)
    return render(
        request, "api_docs.html", operations=operations, problems=PROBLEMS.values(), example=problem
    )


@router.get("/problems")
def problem_types(request: Request) -> Response:
    """Every problem code with its meaning."""
    return render(request, "problems.html", problems=PROBLEMS.values())


@router.get("/problems/{code}")
def problem_type(request: Request, code: str) -> Response:
    """What a problem code means: the page that the `type` of a problem leads to."""
    if code not in PROBLEMS:
        raise NotFoundError(f"There is no problem code {code!r}")
    return render(request, "problems.html", problems=(PROBLEMS[code],))
