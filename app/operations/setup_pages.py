"""HTML pages: setting up an empty server."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.core.errors import ConflictError
from app.core.rate_limits import Limited
from app.operations import setup, trial_mail
from app.operations.setup import SAMPLE_CHALLENGE, Basics, TakenError, WrongCodeError
from app.people import sessions
from app.people.accounts import RegistrationForm, is_set_up
from app.people.login_pages import browser_of, logged_in
from app.platform import Platform
from app.web.dependencies import (
    SESSION_COOKIE,
    SETUP_COOKIE,
    CurrentActor,
    ThePlatform,
    limited,
    needs_passwords,
    render,
    requires,
)
from app.web.forms import Form, TheForm

router = APIRouter(prefix="/setup")
READ, MANAGE = requires(Action.READ_PUBLIC), requires(Action.MANAGE_SITE)
COOKIE_SECONDS: Final = 24 * 3600
FACTOR: Final = "/account/second-factor"


@router.get("", dependencies=[READ, limited(Limited.CODE)])
def begin(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    code: Annotated[str, Query(max_length=100, description="the code that the server has printed")] = "",
) -> Response:
    """Ask for the code, or for the account of the first admin; a code in the address moves into a cookie."""
    if is_set_up(platform):
        return _over(request, actor)
    if code:
        return _take_code(request, platform, code)
    if not setup.is_code(platform, request.cookies.get(SETUP_COOKIE, "")):
        return _page(request, "setup/code.html")
    return _page(request, "setup/account.html")


@router.post("", dependencies=[READ, limited(Limited.CODE)])
def enter_code(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Take the code that the server has printed."""
    code = form.text("code").strip()
    return _over(request, actor) if is_set_up(platform) else _take_code(request, platform, code)


def _take_code(request: Request, platform: Platform, code: str) -> Response:
    if not setup.is_code(platform, code):
        form = Form()
        form.refuse({"code": "is mistyped or has expired; the server prints a new one when it starts"})
        return _page(request, "setup/code.html", form=form)
    response = RedirectResponse("/setup", status_code=303, headers={"Referrer-Policy": "no-referrer"})
    response.set_cookie(
        SETUP_COOKIE,
        code,
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="lax",
        secure=platform.settings.secure_cookies or request.url.scheme == "https",
    )
    return response


def _over(request: Request, actor: Actor, status: int = 410) -> Response:
    if actor.is_admin:
        return RedirectResponse("/setup/server", status_code=303)
    return _page(request, "setup/over.html", code=status)


def _page(request: Request, template: str, **context: Any) -> Response:
    response = render(request, template, **context)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account", dependencies=[READ, needs_passwords(), limited(Limited.CODE)])
def register_admin(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Create the account of the first admin."""
    code = request.cookies.get(SETUP_COOKIE, "")
    if not setup.is_code(platform, code):  # before a password is hashed, which takes its time
        return _over(request, actor) if is_set_up(platform) else _take_code(request, platform, code)
    with form.showing_errors():
        try:
            token = setup.register_admin(platform, code, form.read(RegistrationForm), browser_of(request))
            return _without_code(logged_in(request, platform, token, FACTOR))
        except TakenError:
            form.refuse({"email": "belongs to another account; log in to it first"}, 409)
        except WrongCodeError:
            return _take_code(request, platform, "")
        except ConflictError:
            return _over(request, actor, 409)
    return _page(request, "setup/account.html", form=form)


def _without_code(response: Response) -> Response:
    response.delete_cookie(SETUP_COOKIE)
    return response


@router.post("/promote", dependencies=[requires(Action.MANAGE_ACCOUNT), limited(Limited.CODE)])
def promote(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Make the reader, who has an account, the first admin."""
    try:
        setup.promote(platform, request.cookies.get(SETUP_COOKIE, ""), actor)
    except WrongCodeError:
        return _take_code(request, platform, "")
    except ConflictError:
        return _over(request, actor, 409)
    token = sessions.renew(platform, request.cookies.get(SESSION_COOKIE, ""))
    return _without_code(logged_in(request, platform, token, FACTOR))


@router.get("/server", dependencies=[MANAGE])
def server(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Ask what this server is called, and show whether mail works."""
    return _server(request, platform, actor, Form(setup.basics(platform).model_dump()))


def _server(request: Request, platform: Platform, actor: Actor, form: Form) -> Response:
    return _page(request, "setup/server.html", form=form, trial=trial_mail.view(platform, actor))


@router.post("/server", dependencies=[MANAGE])
def set_basics(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Set what this server is called."""
    with form.showing_errors(conflict="name"):
        setup.set_basics(platform, actor, form.read(Basics))
        return RedirectResponse("/setup/done", status_code=303)
    return _server(request, platform, actor, form)


@router.post("/mail", dependencies=[MANAGE])
def try_mail(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Send the reader a message."""
    trial_mail.send(platform, actor)
    return RedirectResponse("/setup/server#mail", status_code=303)


@router.get("/done", dependencies=[MANAGE])
def done(request: Request, platform: ThePlatform) -> Response:
    """Lead to what comes next."""
    return _page(request, "setup/done.html", sample=SAMPLE_CHALLENGE if setup.has_sample(platform) else None)
