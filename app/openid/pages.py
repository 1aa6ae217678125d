"""The pages of logins by the provider."""

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote

import structlog
from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.access import Action
from app.addresses import local_path
from app.errors import DomainError
from app.form_errors import field_errors
from app.openid import service
from app.openid.rules import LIFETIME, suggested_name
from app.openid.schemas import Arrival, NewAccount, Newcomer, Outcome, ProviderError, Purpose, StaleError
from app.rate_limits import Limited
from app.sessions.pages import browser_of, logged_in
from app.sessions.service import awaits_code
from app.web import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    limited,
    platform_of_request,
    recently_logged_in,
    render,
    requires,
)


async def _configured(platform: ThePlatform) -> None:
    service.provider_of(platform.settings)


router = APIRouter(dependencies=[Depends(_configured)])  # 404 where no provider is configured
log = structlog.get_logger()

COOKIE = "heldout_provider"
COOKIE_PATH = "/login/provider"
ACCOUNT_PAGE = "/account/provider"
LONGEST = 4096  # characters of what the provider sends back

NextPage = Annotated[str, Form(alias="next")]
Returned = Annotated[str, Query(max_length=LONGEST)]

AWAY, CANCELLED, STALE = "away", "cancelled", "stale"
STATUS: Mapping[str, int] = {
    AWAY: 503,
    CANCELLED: 403,
    STALE: 400,
    Outcome.NO_ADDRESS: 403,
    Outcome.HAS_ACCOUNT: 409,
    Outcome.OF_ANOTHER: 409,
    Outcome.HAS_ANOTHER: 409,
    Outcome.NOT_YOURS: 403,
    Outcome.SESSION_OVER: 403,
    Outcome.NOT_FRESH: 403,
    Outcome.SUSPENDED: 403,
}


@router.post("/login/provider", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
def log_in(request: Request, next_page: NextPage = "/") -> Response:
    """Send a browser to the provider to log in."""
    return _depart(request, Purpose.LOG_IN, next_page)


@router.post(
    "/login/confirm/provider", dependencies=[requires(Action.MANAGE_ACCOUNT), limited(Limited.LOGIN)]
)
def confirm(request: Request, next_page: NextPage = "/") -> Response:
    """Send a browser to the provider to show that it is still the same person."""
    return _depart(request, Purpose.CONFIRM, next_page)


@router.post(
    "/account/provider/link",
    dependencies=[requires(Action.MANAGE_ACCOUNT), recently_logged_in(), limited(Limited.LOGIN)],
)
def link(request: Request) -> Response:
    """Send a browser to the provider to link a login there to this account."""
    return _depart(request, Purpose.LINK, ACCOUNT_PAGE)


def _depart(request: Request, purpose: Purpose, next_page: str) -> Response:
    """A page that goes on to the provider; a redirect after a form would break `form-action` of the content policy."""
    platform, actor = platform_of_request(request), actor_of_request(request)
    try:
        way = service.depart(platform, actor, purpose, local_path(next_page))
    except ProviderError as error:
        return _failed(request, error)
    response = render(request, "openid/leave.html", provider_address=way.address)
    response.headers["Cache-Control"] = "no-store"
    response.set_cookie(
        COOKIE,
        way.cookie,
        max_age=round(LIFETIME.total_seconds()),
        path=COOKIE_PATH,
        httponly=True,
        samesite="lax",
        secure=platform.settings.secure_cookies or request.url.scheme == "https",
    )
    return response


def _failed(request: Request, error: DomainError) -> Response:
    if isinstance(error, ProviderError):
        log.warning("login by the provider failed", error=str(error))
    return _outcome(request, AWAY if isinstance(error, ProviderError) else STALE)


def _outcome(request: Request, outcome: str) -> Response:
    """Why nobody was logged in or linked."""
    response = render(request, "openid/outcome.html", code=STATUS[outcome], outcome=str(outcome))
    response.headers["Cache-Control"] = "no-store"
    return response


@router.get("/login/provider/callback", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
def arrive(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    state: Returned = "",
    code: Returned = "",
    iss: Annotated[str | None, Query(max_length=LONGEST)] = None,
) -> Response:
    """Take back a browser from the provider."""
    cookie = request.cookies.get(COOKIE, "")
    if not code:
        service.cancel(platform, cookie, state)
        return _outcome(request, CANCELLED)
    try:
        returned = service.arrive(platform, actor, Arrival(cookie, state, code, iss), browser_of(request))
    except (ProviderError, StaleError) as error:
        return _failed(request, error)
    match returned.outcome:
        case Outcome.NEW:
            return RedirectResponse("/login/provider/new", status_code=303)
        case Outcome.LINKED:
            return RedirectResponse(ACCOUNT_PAGE, status_code=303)
        case Outcome.LOGGED_IN | Outcome.CONFIRMED:
            return _logged_in(request, returned.session_token or "", returned.next_page)
    return _outcome(request, returned.outcome)


def _logged_in(request: Request, token: str, next_page: str) -> Response:
    platform = platform_of_request(request)
    if awaits_code(platform, token):
        next_page = f"/login/code?next={quote(local_path(next_page))}"
    return logged_in(request, platform, token, next_page)


@router.get("/login/provider/new", dependencies=[requires(Action.REGISTER)])
def new_account(request: Request, platform: ThePlatform) -> Response:
    """The form for an account of somebody whom the provider knows."""
    try:
        found = service.newcomer(platform, request.cookies.get(COOKIE, ""))
    except StaleError as error:
        return _failed(request, error)
    return _new(request, found, suggested_name(found.name, found.email), {}, 200)


def _new(request: Request, found: Newcomer, name: str, problems: Mapping[str, str], code: int) -> Response:
    page = {"newcomer": found, "form": {"name": name}, "problems": problems}
    response = render(request, "openid/new.html", code=code, **page)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/login/provider/new", dependencies=[requires(Action.REGISTER), limited(Limited.REGISTER)])
def register(request: Request, platform: ThePlatform, name: Annotated[str, Form()] = "") -> Response:
    """Make the account and log in."""
    cookie = request.cookies.get(COOKIE, "")
    try:
        found = service.newcomer(platform, cookie)
        returned = service.register(platform, cookie, NewAccount(name=name), browser_of(request))
    except StaleError as error:
        return _failed(request, error)
    except ValidationError as error:
        return _new(request, found, name, field_errors(error), 422)
    if returned.session_token is None:
        return _outcome(request, returned.outcome)
    return _logged_in(request, returned.session_token, returned.next_page)


@router.get("/account/provider", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def linked(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Whether a login by the provider is linked to one's account."""
    response = render(request, "openid/link.html", link=service.link_of(platform, actor))
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/provider/unlink", dependencies=[requires(Action.MANAGE_ACCOUNT), recently_logged_in()])
def unlink(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Let the login by the provider open this account no more."""
    service.unlink(platform, actor)
    return RedirectResponse(ACCOUNT_PAGE, status_code=303)
