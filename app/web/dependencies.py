"""Route dependencies (platform, actor, permissions, limits), and rendering of pages."""

from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

from app.core.access import (
    Action,
    Actor,
    allowed,
    can_see,
    in_scope,
    no_challenge,
    only_for_admins,
    visibility_of,
)
from app.core.caching import Rendered, Splice, conditional_response
from app.core.errors import (
    ForbiddenError,
    LoginRequiredError,
    PasswordsOffError,
    RecentLoginRequiredError,
    SecondFactorRequiredError,
)
from app.core.rate_limits import Limited, client_of
from app.core.site import ServiceLine, SiteView
from app.models import ChallengeVisibility
from app.platform import Platform
from app.web import formats
from app.web.addresses import address_of
from app.web.done import splices_of_done
from app.web.forms import Form
from app.web.markdown import foreign_images, markdown
from app.web.theme import Theme, splices_of_theme, theme_of

ROOT = Path(__file__).parents[2]

SESSION_COOKIE = "heldout_session"
SETUP_COOKIE = "heldout_setup"  # the code of whoever is setting up this server


def platform_of_request(request: Request) -> Platform:
    """Return the platform of this process."""
    platform: Platform = request.app.state.platform
    return platform


def actor_of_request(request: Request) -> Actor:
    """Return the actor that the middleware has identified."""
    actor: Actor = request.state.actor
    return actor


async def _platform(request: Request) -> Platform:  # FastAPI would call a plain function in a thread
    return platform_of_request(request)


async def _actor(request: Request) -> Actor:
    return actor_of_request(request)


ThePlatform = Annotated[Platform, Depends(_platform)]
CurrentActor = Annotated[Actor, Depends(_actor)]


def requires(action: Action) -> Dependency:
    """Require the permission for `action` on a route, and that the challenge in its address is one that the actor may see."""

    async def check(request: Request) -> None:
        actor, platform = actor_of_request(request), platform_of_request(request)
        if not allowed(actor, action):
            if not actor.is_logged_in:
                raise LoginRequiredError("Log in first, or send an API token")
            if not in_scope(actor, action):
                scopes = " and ".join(sorted(actor.scopes or ()))
                raise ForbiddenError(f"This token may not do this; its scope is {scopes}")
            if actor.must_enrol:
                raise SecondFactorRequiredError("Admins need a second factor; set it up first")
            allowed_role = "admins" if only_for_admins(action) else "organisers"
            raise ForbiddenError(f"Only {allowed_role} may do this")
        if (code := request.path_params.get("challenge")) is not None:
            await _check_visibility(request, platform, actor, code)

    check.action = action  # type: ignore[attr-defined]  # read by the API page and by tests/architecture
    permission: Dependency = Depends(check)
    return permission


async def _check_visibility(request: Request, platform: Platform, actor: Actor, code: str) -> None:
    """Check this before any cached page is served: rendered pages are the same for everybody.

    Raises NotFoundError with the same message for a challenge that the actor may not see and for one that does not exist.
    """
    key = _visibility_key(code)
    visibility = platform.cache.known_version(key)
    if visibility is None:
        visibility = await run_in_threadpool(platform.cache.version, key, lambda: _visibility(platform, code))
    if visibility in (ChallengeVisibility.DRAFT, ChallengeVisibility.INVITED) and not actor.is_admin:
        await run_in_threadpool(_check_actor, platform, actor, code)
    _mark(request, visibility)


def _visibility_key(code: str) -> Hashable:
    return ("visibility", code)


def _visibility(platform: Platform, code: str) -> ChallengeVisibility:
    with platform.reading() as session:
        visibility = visibility_of(session, code)
    if visibility is None:
        raise no_challenge(code)
    return visibility


def _check_actor(platform: Platform, actor: Actor, code: str) -> None:
    with platform.reading() as session:
        if not can_see(session, actor, code):
            raise no_challenge(code)


def _mark(request: Request, visibility: ChallengeVisibility) -> None:
    """Tell the middleware to keep a response out of search engines, and out of shared caches if not everybody may read it."""
    request.state.is_unlisted = visibility is not ChallengeVisibility.LISTED
    request.state.is_restricted = visibility in (ChallengeVisibility.DRAFT, ChallengeVisibility.INVITED)


def mark_as_of(request: Request, code: str) -> None:
    """Mark the response to a page of a challenge whose address does not name it, such as that of a method."""
    platform = platform_of_request(request)
    _mark(request, platform.cache.version(_visibility_key(code), lambda: _visibility(platform, code)))


def recently_logged_in() -> Dependency:
    """Require a login or a confirmed password within the last minutes, for routes that change who can log in."""

    async def check(request: Request) -> None:
        if not actor_of_request(request).is_recent:
            raise RecentLoginRequiredError("Confirm your password first")

    permission: Dependency = Depends(check)
    return permission


def needs_passwords() -> Dependency:
    """Require that this server uses passwords, for routes that accept or replace one."""

    async def check(request: Request) -> None:
        if not platform_of_request(request).settings.passwords:
            raise PasswordsOffError("This server does not use passwords; log in with a provider")

    permission: Dependency = Depends(check)
    return permission


def client_of_request(request: Request) -> str:
    """Return the client to count for this request: its IP address; behind a trusted proxy, that of the proxy's client."""
    return client_of(request.client.host if request.client else "")


def rate_limit_key(request: Request) -> str:
    """Return the key of rate limits: the user, or the client address if no one is logged in."""
    actor: Actor = getattr(request.state, "organiser", None) or actor_of_request(request)
    return f"person {actor.user_id}" if actor.is_logged_in else client_of_request(request)


def limited(what: Limited) -> Dependency:
    """Apply a rate limit to a route, per user, or per client address if no one is logged in."""

    def count(request: Request) -> None:  # in a thread: it queries the broker
        platform_of_request(request).limiter.hit(what, rate_limit_key(request))

    permission: Dependency = Depends(count)
    return permission


def action_of(dependencies: list[Dependency]) -> Action | None:
    """Return the action that a route requires."""
    found = (getattr(dependency.dependency, "action", None) for dependency in dependencies)
    return next((action for action in found if action is not None), None)


def wants_json(request: Request) -> bool:
    """Whether to answer errors with JSON: in the API, and if the client does not accept HTML."""
    return request.url.path.startswith("/api/v1/") or "text/html" not in request.headers.get("accept", "")


def templates() -> Environment:
    """Return the Jinja2 environment with our filters; undefined variables are errors."""
    environment = Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"form": {}, "problems": {}, "refused": ()}  # of a page that takes no form
    environment.filters |= formats.FILTERS
    environment.filters |= {"markdown": markdown, "foreign_images": foreign_images}
    return environment


_templates = templates()


def service_line(request: Request) -> ServiceLine | None:
    """Return what pages say of the state of the service, without waiting; None if it is not known."""
    line: ServiceLine | None = request.app.state.service_line()
    return line


def render_template(template: str, **context: Any) -> str:
    """Render a template that depends only on its context.

    A page for many readers is rendered with `is_shared` and has a marker where the links of the account belong.
    """
    everywhere = {
        "actor": Actor(),
        "settings": None,
        "theme": "",
        "site": SiteView(),
        "service": None,
        "preparing": "",
        "is_shared": False,
    }
    return _templates.get_template(template).render(everywhere | context)


Render = Callable[..., HTMLResponse]
ACCOUNT: Final = "<!-- account -->"  # marks where shared pages show the links of the logged-in user


def render(request: Request, template: str, *, code: int = 200, **context: Any) -> HTMLResponse:
    """Render a page with the variables that all pages use; those in its context are not read.

    A form gives its values, its problems and its status.
    """
    platform = platform_of_request(request)
    if isinstance(form := context.get("form"), Form):
        context |= {"form": form.values, "problems": form.problems, "refused": form.refused}
        code = max(code, form.status)
    path = address_of(request)
    everywhere = {
        "actor": getattr(request.state, "actor", Actor()),
        "now": datetime.now(UTC),
        "path": path,
        "address": platform.settings.address,
        "settings": platform.current_settings() if code < 400 else platform.settings,
        # the page of an error waits for nothing
        "site": context.get("site") or (platform.site() if code < 400 else platform.last_site[0]),
        "service": service_line(request),
        "preparing": platform.preparing if code < 400 else "",
        "theme": "" if (theme := theme_of(request)) is Theme.SYSTEM else theme,
        "is_shared": False,
    }
    page = _templates.get_template(template).render(everywhere | context)
    for splice in (*splices_of_view(request), *splices_of_done(request)):
        page = page.replace(splice.marker.decode(), splice.content.decode(), 1)
    return HTMLResponse(page, status_code=code)


VIEW: Final = b"<!-- view -->"  # marks where pages say whose eyes an organiser has


def splices_of_view(request: Request) -> tuple[Splice, ...]:
    """Return what makes a page say that an organiser views it as somebody else; nothing for everybody else."""
    view = getattr(request.state, "view", None)
    return (Splice(VIEW, render_template("view.html", view=view).encode()),) if view is not None else ()


Parts = Mapping[str, str]  # what replaces a marker of a shared page for one reader


def render_shared(
    request: Request,
    template: str,
    key: Hashable,
    read: Callable[[], dict[str, Any]],
    own: Callable[[Actor], Parts] | None = None,
) -> Response:
    """Render a page that is the same for everyone, at most once a second, and insert the parts for one reader.

    key: what the page depends on; read: returns its context; own: returns the parts that depend on the reader, beside the
    links of the account. Raises what they raise.
    """
    actor = actor_of_request(request)

    def parts() -> Parts:
        account = render_template("account.html", actor=actor, path=request.url.path)
        return {ACCOUNT: account, **(own(actor) if own else {})}

    if actor.is_logged_in and not actor.is_verified:
        page = render(request, template, **read())  # tells the user to confirm their address
        return HTMLResponse(_with_parts(bytes(page.body).decode(), parts()))

    def render_once() -> Rendered:
        platform = platform_of_request(request)
        here = {
            "now": datetime.now(UTC),
            "path": request.url.path,
            "address": platform.settings.address,
            "site": platform.site(),
            "service": service_line(request),
            "preparing": platform.preparing,
            "is_shared": True,
        }
        page = render_template(template, **here, **read())
        return Rendered.of((page if actor.is_logged_in else _with_parts(page, parts())).encode())

    shared = platform_of_request(request).cache.version((template, key, actor.is_logged_in), render_once)
    of_reader = parts().items() if actor.is_logged_in else ()
    splices = (
        *splices_of_theme(request),
        *splices_of_view(request),
        *splices_of_done(request),
        *(Splice(marker.encode(), part.encode()) for marker, part in of_reader),
    )
    return conditional_response(request, shared, "text/html", is_private=actor.is_logged_in, splices=splices)


def _with_parts(page: str, parts: Parts) -> str:
    for marker, part in parts.items():
        page = page.replace(marker, part, 1)
    return page
