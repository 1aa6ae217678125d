"""Dependencies of routes: platform, actor, permission, limits; and rendering pages."""

from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.core.access import Action, Actor, allowed, in_scope, only_for_admins
from app.core.caching import Rendered, Splice, conditional_response
from app.core.errors import (
    ForbiddenError,
    LoginNeededError,
    PasswordsOffError,
    RecentLoginNeededError,
    SecondFactorNeededError,
)
from app.core.rate_limits import Limited, client_of
from app.platform import Platform
from app.web import formats
from app.web.addresses import address_of

ROOT = Path(__file__).parents[2]

SESSION_COOKIE = "heldout_session"


def platform_of_request(request: Request) -> Platform:
    """The platform that this process was started with."""
    platform: Platform = request.app.state.platform
    return platform


def actor_of_request(request: Request) -> Actor:
    """Who this request comes from, as the middleware found out."""
    actor: Actor = request.state.actor
    return actor


async def _platform(request: Request) -> Platform:  # FastAPI would call a plain function in a thread
    return platform_of_request(request)


async def _actor(request: Request) -> Actor:
    return actor_of_request(request)


ThePlatform = Annotated[Platform, Depends(_platform)]
CurrentActor = Annotated[Actor, Depends(_actor)]


def requires(action: Action) -> Dependency:
    """The permission of a route; named once, on the route."""

    async def check(actor: CurrentActor) -> None:
        if not allowed(actor, action):
            if not actor.is_logged_in:
                raise LoginNeededError("Log in first, or send an API token")
            if not in_scope(actor, action):
                scopes = " and ".join(sorted(actor.scopes or ()))
                raise ForbiddenError(f"This token may not do this; its scope is {scopes}")
            if actor.must_enrol:
                raise SecondFactorNeededError("Admins need a second factor; set it up first")
            whose = "admins" if only_for_admins(action) else "organisers"
            raise ForbiddenError(f"Only {whose} may do this")

    check.action = action  # type: ignore[attr-defined]  # read by the API page and by tests/architecture
    permission: Dependency = Depends(check)
    return permission


def recently_logged_in() -> Dependency:
    """What a route needs that changes who can log in: a login, or the password once more, within the last minutes."""

    async def check(actor: CurrentActor) -> None:
        if not actor.is_recent:
            raise RecentLoginNeededError("Confirm your password first")

    permission: Dependency = Depends(check)
    return permission


def needs_passwords() -> Dependency:
    """What a route needs that takes a password, or replaces one."""

    async def check(platform: ThePlatform) -> None:
        if not platform.settings.passwords:
            raise PasswordsOffError("This server takes no passwords; log in by a provider")

    permission: Dependency = Depends(check)
    return permission


def client_of_request(request: Request) -> str:
    """The client that is counted for this request: an address, behind trusted proxies that of their client."""
    return client_of(request.client.host if request.client else "")


def who_is_counted(request: Request) -> str:
    """Whose requests a limit counts together: a person's, or those of a client address where nobody is logged in."""
    actor = actor_of_request(request)
    return f"person {actor.user_id}" if actor.is_logged_in else client_of_request(request)


def limited(what: Limited) -> Dependency:
    """The limit of a route, by person, or by client address for who is not logged in."""

    def count(request: Request, platform: ThePlatform) -> None:  # in a thread: it asks the broker
        platform.limiter.hit(what, who_is_counted(request))

    permission: Dependency = Depends(count)
    return permission


def action_of(dependencies: list[Dependency]) -> Action | None:
    """The permission that a route names."""
    found = (getattr(dependency.dependency, "action", None) for dependency in dependencies)
    return next((action for action in found if action is not None), None)


def wants_json(request: Request) -> bool:
    """Whether an error is answered to a program: in the API, and where HTML is not accepted."""
    return request.url.path.startswith("/api/v1/") or "text/html" not in request.headers.get("accept", "")


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


def draw(template: str, **context: Any) -> str:
    """A page, or a part of one, that depends on nothing but its context."""
    everywhere = {"actor": Actor(), "settings": None}
    return _templates.get_template(template).render(everywhere | context)


Render = Callable[..., HTMLResponse]
ACCOUNT: Final = "<!-- account -->"  # where pages that are shared have the links of their reader


def render(request: Request, template: str, *, code: int = 200, **context: Any) -> HTMLResponse:
    """A page, with what every page shows."""
    platform = platform_of_request(request)
    path = address_of(request)
    everywhere = {
        "actor": getattr(request.state, "actor", Actor()),
        "now": datetime.now(UTC),
        "path": path,
        "address": platform.settings.address,
        "settings": platform.settings,
    }
    return HTMLResponse(_templates.get_template(template).render(everywhere | context), status_code=code)


def render_shared(
    request: Request, template: str, key: Hashable, read: Callable[[], dict[str, Any]]
) -> Response:
    """A page that says the same to everybody, drawn once a second at most; the account of its reader is put into it.

    key: what of the address the page depends on; read: what it is drawn with. Raises what `read` raises.
    """
    actor = actor_of_request(request)
    account = draw("account.html", actor=actor, path=request.url.path)
    if actor.is_logged_in and not actor.is_verified:
        own = render(request, template, **read())  # which says what this person has to do
        return HTMLResponse(bytes(own.body).decode().replace(ACCOUNT, account, 1))

    def drawn() -> Rendered:
        platform = platform_of_request(request)
        here = {"now": datetime.now(UTC), "path": request.url.path, "address": platform.settings.address}
        page = draw(template, **here, **read())
        return Rendered.of((page if actor.is_logged_in else page.replace(ACCOUNT, account, 1)).encode())

    page = platform_of_request(request).cache.version((template, key, actor.is_logged_in), drawn)
    splice = Splice(ACCOUNT.encode(), account.encode()) if actor.is_logged_in else None
    return conditional_response(request, page, "text/html", is_private=actor.is_logged_in, splice=splice)
