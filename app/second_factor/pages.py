"""The second half of a login, and the page where it is set up."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.access import Action, Actor
from app.addresses import local_path
from app.platform import Platform
from app.rate_limits import Limited
from app.second_factor import service
from app.sessions.pages import browser_of, logged_in
from app.sessions.service import WrongPasswordError, renew
from app.web import (
    SESSION_COOKIE,
    CurrentActor,
    ThePlatform,
    limited,
    recently_logged_in,
    render,
    requires,
)

router = APIRouter()

ACCOUNT = requires(Action.MANAGE_ACCOUNT)
Code = Annotated[str, Form(max_length=40)]
NO_PROBLEMS: Mapping[str, str] = MappingProxyType({})


@router.get("/login/code", dependencies=[requires(Action.REGISTER)])
def code_form(request: Request, next_page: Annotated[str, Query(alias="next")] = "/") -> Response:
    """Ask for the code, after the password."""
    return _code_page(request, next_page, {}, 200)


@router.post("/login/code", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
def log_in(
    request: Request,
    platform: ThePlatform,
    code: Code = "",
    next_page: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    """Finish a login."""
    try:
        token = service.log_in(platform, browser_of(request), code)
    except WrongPasswordError:
        wrong = {"code": "is not the present code, or was used before"}
        return _code_page(request, next_page, wrong, 401)
    return logged_in(request, platform, token, next_page)


def _code_page(request: Request, next_page: str, problems: Mapping[str, str], code: int) -> Response:
    return render(
        request, "second_factor/code.html", code=code, form={}, problems=problems, next=local_path(next_page)
    )


@router.get("/account/second-factor", dependencies=[ACCOUNT])
def second_factor(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Whether one has a second factor, and how to set one up."""
    return _page(request, platform, actor, NO_PROBLEMS)


def _page(
    request: Request,
    platform: Platform,
    actor: Actor,
    problems: Mapping[str, str],
    codes: tuple[str, ...] = (),
) -> Response:
    response = render(
        request,
        "second_factor/second_factor.html",
        code=422 if problems else 200,
        factor=service.view(platform, actor),
        codes=codes,
        form={},
        problems=problems,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/second-factor/start", dependencies=[ACCOUNT, recently_logged_in()])
def start(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Begin to set up a second factor."""
    service.start(platform, actor)
    return RedirectResponse("/account/second-factor", status_code=303)


@router.post("/account/second-factor/confirm", dependencies=[ACCOUNT, recently_logged_in()])
def confirm(request: Request, platform: ThePlatform, actor: CurrentActor, code: Code = "") -> Response:
    """Use the second factor from now on, and show the recovery codes, once."""
    cookie = request.cookies.get(SESSION_COOKIE, "")
    codes = service.confirm(platform, actor, code, cookie)
    if codes is None:
        wrong = {"code": "is not the present code; is the clock of your device right?"}
        return _page(request, platform, actor, wrong)
    token = renew(platform, cookie)
    response = _page(request, platform, actor, NO_PROBLEMS, codes)
    response.headers["Set-Cookie"] = logged_in(request, platform, token, "/").headers["set-cookie"]
    return response


@router.post("/account/second-factor/codes", dependencies=[ACCOUNT, recently_logged_in()])
def renew_codes(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Make new recovery codes and show them, once."""
    return _page(request, platform, actor, NO_PROBLEMS, service.renew_codes(platform, actor))


@router.post("/account/second-factor/remove", dependencies=[ACCOUNT, recently_logged_in()])
def remove(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Do without a second factor from now on."""
    cookie = request.cookies.get(SESSION_COOKIE, "")
    service.remove(platform, actor, cookie)
    return logged_in(request, platform, renew(platform, cookie), "/account/second-factor")
