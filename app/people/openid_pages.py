"""Pages: login with providers."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

import structlog
from fastapi import APIRouter, Query, Request
from fastapi import Form as FormField
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from app.core.access import Action
from app.core.errors import DomainError
from app.core.rate_limits import Limited
from app.core.settings import LoginProvider
from app.people import openid
from app.people.login_pages import browser_of, logged_in
from app.people.openid import (
    LIFETIME,
    LoginOutcome,
    NewAccount,
    Newcomer,
    Returned,
    suggested_name,
)
from app.people.provider_claims import ProviderError, Purpose, StaleError
from app.people.sessions import awaits_code
from app.platform import rolls_back
from app.web.addresses import local_path
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    limited,
    platform_of_request,
    recently_logged_in,
    render,
    requires,
)
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()
log = structlog.get_logger()

COOKIE = "heldout_provider"
COOKIE_PATH = "/login"
ACCOUNT_PAGE = "/account/logins"
NEW_ACCOUNT = "/login/new-account"
LONGEST = 4096  # characters of a parameter that the provider sends back

NextPage = Annotated[str, FormField(alias="next")]
Sent = Annotated[str, Query(max_length=LONGEST)]

AWAY, CANCELLED, STALE = "away", "cancelled", "stale"
STATUS: Mapping[str, int] = {
    AWAY: 503,
    CANCELLED: 403,
    STALE: 400,
    LoginOutcome.NO_ADDRESS: 403,
    LoginOutcome.HAS_ACCOUNT: 409,
    LoginOutcome.OF_ANOTHER: 409,
    LoginOutcome.HAS_ANOTHER: 409,
    LoginOutcome.NOT_YOURS: 403,
    LoginOutcome.SESSION_OVER: 403,
    LoginOutcome.NOT_FRESH: 403,
    LoginOutcome.SUSPENDED: 403,
    LoginOutcome.CLOSED: 403,
}


@router.post("/login/providers/{provider}", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
async def log_in(request: Request, provider: str, next_page: NextPage = "/") -> Response:
    """Send a browser to a provider to log in."""
    return await _depart(request, provider, Purpose.LOG_IN, next_page)


@router.post(
    "/login/providers/{provider}/confirm",
    dependencies=[requires(Action.MANAGE_ACCOUNT), limited(Limited.LOGIN)],
)
async def confirm(request: Request, provider: str, next_page: NextPage = "/") -> Response:
    """Send a browser to a provider to confirm the person's identity."""
    return await _depart(request, provider, Purpose.CONFIRM, next_page)


@router.post(
    "/account/logins/{provider}/link",
    dependencies=[requires(Action.MANAGE_ACCOUNT), recently_logged_in(), limited(Limited.LOGIN)],
)
async def link(request: Request, provider: str) -> Response:
    """Send a browser to a provider to link a login there to this account."""
    return await _depart(request, provider, Purpose.LINK, ACCOUNT_PAGE)


async def _depart(request: Request, id_: str, purpose: Purpose, next_page: str) -> Response:
    """Continue to a provider by a page: after a form, a redirect would violate `form-action` of the content policy."""
    platform, actor = platform_of_request(request), actor_of_request(request)
    provider = openid.provider_of(platform, id_)
    started = openid.started_now(id_, purpose, local_path(next_page))
    try:
        way = await openid.start_login(request, platform, actor, started)
    except ProviderError as error:
        return _page_of_failure(request, provider, error)
    response = render(request, "openid/leave.html", provider=provider, provider_address=way.address)
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


def _page_of_failure(request: Request, provider: LoginProvider | None, error: DomainError) -> Response:
    if isinstance(error, ProviderError):
        log.warning("login with a provider failed", provider=provider and provider.id, error=str(error))
    return _outcome(request, provider, AWAY if isinstance(error, ProviderError) else STALE)


def _outcome(request: Request, provider: LoginProvider | None, outcome: str) -> Response:
    """Explain why nobody was logged in and nothing was linked."""
    response = render(
        request, "openid/outcome.html", code=STATUS[outcome], provider=provider, outcome=str(outcome)
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.get(
    "/login/providers/{provider}/callback",
    dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)],
)
async def arrive(
    request: Request, platform: ThePlatform, actor: CurrentActor, provider: str, code: Sent = ""
) -> Response:
    """Handle a browser that returns from a provider."""
    if rolls_back.get():  # a HEAD; the code works once, and the provider cannot roll that back
        return Response(status_code=HTTPStatus.NO_CONTENT)
    known, cookie = openid.provider_of(platform, provider), request.cookies.get(COOKIE, "")
    if not code:
        await run_in_threadpool(openid.pop_login_state, platform, cookie)
        return _outcome(request, known, CANCELLED)
    try:
        returned = await openid.handle_callback(
            request, platform, actor, provider, cookie, browser_of(request)
        )
    except (ProviderError, StaleError) as error:
        return _page_of_failure(request, known, error)
    return await run_in_threadpool(_after, request, known, returned)


def _after(request: Request, provider: LoginProvider, returned: Returned) -> Response:
    match returned.outcome:
        case LoginOutcome.NEW:
            return RedirectResponse(NEW_ACCOUNT, status_code=303)
        case LoginOutcome.LINKED:
            return RedirectResponse(ACCOUNT_PAGE, status_code=303)
        case LoginOutcome.LOGGED_IN | LoginOutcome.CONFIRMED:
            return _logged_in(request, returned.session_token or "", returned.next_page)
    return _outcome(request, provider, returned.outcome)


def _logged_in(request: Request, token: str, next_page: str) -> Response:
    platform = platform_of_request(request)
    if awaits_code(platform, token):
        next_page = f"/login/code?next={quote(local_path(next_page))}"
    return logged_in(request, platform, token, next_page)


@router.get(NEW_ACCOUNT, dependencies=[requires(Action.REGISTER)])
def new_account(request: Request, platform: ThePlatform) -> Response:
    """Show the form for a new account of a person whom a provider has authenticated."""
    try:
        found = openid.newcomer(platform, request.cookies.get(COOKIE, ""))
    except StaleError as error:
        return _page_of_failure(request, None, error)
    return _new(request, found, Form({"name": suggested_name(found.name, found.email)}))


def _new(request: Request, found: Newcomer, form: Form) -> Response:
    response = render(request, "openid/new.html", newcomer=found, form=form)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post(NEW_ACCOUNT, dependencies=[requires(Action.REGISTER), limited(Limited.REGISTER)])
def register(request: Request, platform: ThePlatform, form: TheForm) -> Response:
    """Create the account and log in."""
    cookie = request.cookies.get(COOKIE, "")
    try:
        found = openid.newcomer(platform, cookie)
        with form.showing_errors():
            returned = openid.register(platform, cookie, form.read(NewAccount), browser_of(request))
            if returned.session_token is None:
                return _outcome(request, found.provider, returned.outcome)
            return _logged_in(request, returned.session_token, returned.next_page)
    except StaleError as error:
        return _page_of_failure(request, None, error)
    return _new(request, found, form)


@router.get(ACCOUNT_PAGE, dependencies=[requires(Action.MANAGE_ACCOUNT)])
def linked(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """List the providers' logins that are linked to the reader's account."""
    response = render(request, "openid/links.html", links=openid.links_of(platform, actor))
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post(
    "/account/logins/{provider}/unlink",
    dependencies=[requires(Action.MANAGE_ACCOUNT), recently_logged_in()],
)
@marked(done="The account of the login provider is no longer linked.")
def unlink(platform: ThePlatform, actor: CurrentActor, provider: str) -> Response:
    """Unlink a provider's login from this account."""
    openid.unlink(platform, actor, provider)
    return RedirectResponse(ACCOUNT_PAGE, status_code=303)
