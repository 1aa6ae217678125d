"""HTML pages: login and sessions."""

from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action
from app.core.paging import PageNumber, part_of
from app.core.rate_limits import Limited
from app.people import sessions as people_sessions
from app.people.sessions import KEEP_ENDED, Browser, Login, browser_name
from app.platform import Platform
from app.web.addresses import local_path
from app.web.dependencies import (
    SESSION_COOKIE,
    CurrentActor,
    ThePlatform,
    client_of_request,
    limited,
    needs_passwords,
    render,
    requires,
)
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()

LISTED: Final = 30  # sessions on a page

SessionKey = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]


def logged_in(request: Request, platform: Platform, token: str, address: str) -> Response:
    """Redirect after a login, and set the cookie of the new session."""
    response = RedirectResponse(local_path(address), status_code=303)
    settings = platform.settings
    response.set_cookie(
        SESSION_COOKIE,
        token,
        # outlives the session, so that a form sent after its end is still recognised as this person's
        max_age=round((settings.session_lifetime + KEEP_ENDED).total_seconds()),
        httponly=True,
        samesite="lax",
        secure=settings.secure_cookies or request.url.scheme == "https",
    )
    return response


def browser_of(request: Request) -> Browser:
    """Return the browser and client that a login comes from."""
    name = browser_name(request.headers.get("user-agent", ""))
    return Browser(client_of_request(request), name, request.cookies.get(SESSION_COOKIE))


@router.get("/login", dependencies=[requires(Action.REGISTER)])
def login_form(request: Request, next_page: Annotated[str, Query(alias="next")] = "/") -> Response:
    """Show the login form."""
    return _form_page(request, "sessions/login.html", Form(), next_page)


@router.post("/login", dependencies=[requires(Action.REGISTER), needs_passwords(), limited(Limited.LOGIN)])
def log_in(request: Request, platform: ThePlatform, form: TheForm) -> Response:
    """Start a session."""
    next_page = form.text("next")
    with form.showing_errors():
        try:
            token = people_sessions.log_in(platform, form.read(Login), browser_of(request))
            if people_sessions.awaits_code(platform, token):
                next_page = f"/login/code?next={quote(local_path(next_page))}"
            return logged_in(request, platform, token, next_page)
        except people_sessions.WrongPasswordError:
            form.refuse({"email": "no account has this e-mail address and password"}, 401)
        except people_sessions.SuspendedError:
            form.refuse({"email": "belongs to a suspended account; ask the admins of this server"}, 403)
    return _form_page(request, "sessions/login.html", form, next_page)


@router.get("/login/confirm", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def confirmation_form(request: Request, next_page: Annotated[str, Query(alias="next")] = "/") -> Response:
    """Ask for the password again before an action that needs a recent login."""
    return _form_page(request, "sessions/confirm.html", Form(), next_page)


@router.post(
    "/login/confirm",
    dependencies=[requires(Action.MANAGE_ACCOUNT), needs_passwords(), limited(Limited.LOGIN)],
)
def confirm(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Confirm the password, which makes this session recently authenticated."""
    try:
        token = people_sessions.confirm(platform, actor, form.text("password"), browser_of(request))
    except (ValidationError, people_sessions.WrongPasswordError):
        form.refuse({"password": "is not your password"}, 401)
        return _form_page(request, "sessions/confirm.html", form, form.text("next"))
    return logged_in(request, platform, token, form.text("next"))


def _form_page(request: Request, template: str, form: Form, next_page: str) -> Response:
    return render(request, template, form=form, next=local_path(next_page), is_interrupted=False)


@router.post("/logout", dependencies=[requires(Action.MANAGE_ACCOUNT)])
@marked(in_views=True)
def log_out(request: Request, platform: ThePlatform) -> Response:
    """End this session. The cookie stays, without access, to recognise whose forms are still open in other tabs."""
    people_sessions.log_out(platform, request.cookies.get(SESSION_COOKIE, ""))
    return RedirectResponse("/", status_code=303)


@router.get("/account/sessions", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def sessions(request: Request, platform: ThePlatform, actor: CurrentActor, page: PageNumber = 1) -> Response:
    """List the reader's sessions, the last used first."""
    found = people_sessions.sessions_of(platform, actor, request.cookies.get(SESSION_COOKIE, ""))
    settings = platform.settings
    response = render(
        request,
        "sessions/sessions.html",
        listed=part_of(found, page, LISTED),
        count=len(found),
        lifetime=settings.session_lifetime,
        idle=settings.session_idle,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/sessions/{key}/end", dependencies=[requires(Action.MANAGE_ACCOUNT)])
@marked(done="That browser is logged out.")
def end_session(platform: ThePlatform, actor: CurrentActor, key: SessionKey) -> Response:
    """Log out another browser."""
    people_sessions.end_one(platform, actor, key)
    return RedirectResponse("/account/sessions", status_code=303)


@router.post("/account/sessions/end-all", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def end_all_sessions(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Log out everywhere."""
    people_sessions.end_all(platform, actor)
    return RedirectResponse("/login", status_code=303)
