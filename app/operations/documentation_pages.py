"""The documentation of the API, written from what the routes say of themselves, and of its problem codes."""

import json

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.challenges.challenges import HELD_OUT_QUOTAS
from app.challenges.disclosure import LEAKS
from app.challenges.examples import protocols
from app.core.access import Action
from app.core.errors import NotFoundError
from app.core.problems import PROBLEMS, example_problem
from app.operations import documentation as operations_documentation
from app.operations.documentation import operation
from app.submissions.methods import SHORTEST_DESCRIPTION
from app.web.dependencies import ThePlatform, action_of, render, requires

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


@router.get("/help")
def help_index(request: Request) -> Response:
    """Where to read what."""
    return render(request, "help/index.html")


@router.get("/help/scoring")
def scoring_protocols(request: Request) -> Response:
    """Every protocol."""
    return render(request, "help/protocols.html", protocols=protocols())


@router.get("/help/scoring/{code}")
def scoring_protocol(request: Request, code: str) -> Response:
    """How a protocol scores each task."""
    return render(request, "help/protocol.html", protocol=operations_documentation.known_protocol(code))


@router.get("/help/formats")
def formats(request: Request, platform: ThePlatform) -> Response:
    """What result files hold, with examples to download."""
    phases = operations_documentation.phases_with_examples(platform)
    return render(request, "help/formats.html", formats=operations_documentation.formats(), phases=phases)


@router.get("/help/rules")
def rules(request: Request) -> Response:
    """The rules of all competitions."""
    shortest = SHORTEST_DESCRIPTION
    return render(request, "help/rules.html", leaks=LEAKS, quotas=HELD_OUT_QUOTAS, shortest=shortest)


@router.get("/help/first-submission")
def first_submission(request: Request) -> Response:
    """From an account to a score."""
    return render(request, "help/first_submission.html")


@router.get("/help/api")
def api_by_example(request: Request, platform: ThePlatform) -> Response:
    """The way of a result by curl and by Python, through a phase of this server."""
    return render(request, "help/api.html", tried=operations_documentation.board_to_try(platform))
