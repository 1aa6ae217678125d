"""What a route needs of its request: the platform, the person, the permission; and how it answers with a page."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app import formats
from app.access import Action, Actor, allowed
from app.errors import ForbiddenError, LoginNeededError
from app.platform import Platform

ROOT = Path(__file__).parents[1]

SESSION_COOKIE = "heldout_session"


def platform_of_request(request: Request) -> Platform:
    """The platform that this process was started with."""
    platform: Platform = request.app.state.platform
    return platform


def actor_of_request(request: Request) -> Actor:
    """Who this request comes from, as the middleware found out."""
    actor: Actor = request.state.actor
    return actor


ThePlatform = Annotated[Platform, Depends(platform_of_request)]
CurrentActor = Annotated[Actor, Depends(actor_of_request)]


def requires(action: Action) -> Dependency:
    """The permission of a route; named once, on the route."""

    def check(actor: CurrentActor) -> None:
        if not allowed(actor, action):
            if not actor.is_known:
                raise LoginNeededError("log in first, or send an API token")
            raise ForbiddenError("this is for organisers")

    check.action = action  # type: ignore[attr-defined]  # read by the API page and by tests/architecture
    permission: Dependency = Depends(check)
    return permission


def action_of(dependencies: list[Dependency]) -> Action | None:
    """The permission that a route names."""
    found = (getattr(dependency.dependency, "action", None) for dependency in dependencies)
    return next((action for action in found if action is not None), None)


def templates() -> Environment:
    """Jinja2 with our filters; a variable that is missing is an error."""
    environment = Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= formats.FILTERS
    return environment


_templates = templates()

Render = Callable[..., HTMLResponse]


def render(request: Request, template: str, *, code: int = 200, **context: Any) -> HTMLResponse:
    """A page, with what every page shows."""
    platform = platform_of_request(request)
    everywhere = {
        "actor": getattr(request.state, "actor", Actor()),
        "now": datetime.now(UTC),
        "path": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "address": platform.settings.address,
    }
    return HTMLResponse(_templates.get_template(template).render(everywhere | context), status_code=code)
