"""HTML pages: the second factor, at login and in the account."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.core.rate_limits import Limited
from app.people import second_factor as people_second_factor
from app.people.login_pages import browser_of, logged_in
from app.people.sessions import WrongPasswordError, renew
from app.platform import Platform
from app.web.addresses import local_path
from app.web.dependencies import (
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
    """Ask for the code after the password."""
    return _code_page(request, next_page, {}, 200)


@router.post("/login/code", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
def enter_code(
    request: Request,
    platform: ThePlatform,
    code: Code = "",
    next_page: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    """Complete a login with a code."""
    try:
        token = people_second_factor.log_in(platform, browser_of(request), code)
    except WrongPasswordError:
        wrong = {"code": "is wrong or has already been used"}
        return _code_page(request, next_page, wrong, 401)
    return logged_in(request, platform, token, next_page)


def _code_page(request: Request, next_page: str, problems: Mapping[str, str], code: int) -> Response:
    return render(
        request, "second_factor/code.html", code=code, form={}, problems=problems, next=local_path(next_page)
    )


@router.get("/account/second-factor", dependencies=[ACCOUNT])
def second_factor(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show whether the reader has a second factor, and how to set one up."""
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
        factor=people_second_factor.view(platform, actor),
        codes=codes,
        form={},
        problems=problems,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/second-factor/start", dependencies=[ACCOUNT, recently_logged_in()])
def start(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Start setting up a second factor."""
    people_second_factor.start(platform, actor)
    return RedirectResponse("/account/second-factor", status_code=303)


@router.post("/account/second-factor/confirm", dependencies=[ACCOUNT, recently_logged_in()])
def confirm_second_factor(
    request: Request, platform: ThePlatform, actor: CurrentActor, code: Code = ""
) -> Response:
    """Enable the second factor, and show the recovery codes once."""
    cookie = request.cookies.get(SESSION_COOKIE, "")
    codes = people_second_factor.confirm(platform, actor, code, cookie)
    if codes is None:
        wrong = {"code": "is wrong; check that the clock of your device is right"}
        return _page(request, platform, actor, wrong)
    token = renew(platform, cookie)
    response = _page(request, platform, actor, NO_PROBLEMS, codes)
    response.headers["Set-Cookie"] = logged_in(request, platform, token, "/").headers["set-cookie"]
    return response


@router.post("/account/second-factor/codes", dependencies=[ACCOUNT, recently_logged_in()])
def renew_codes(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Create new recovery codes and show them once."""
    return _page(request, platform, actor, NO_PROBLEMS, people_second_factor.renew_codes(platform, actor))


@router.post("/account/second-factor/remove", dependencies=[ACCOUNT, recently_logged_in()])
def remove(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Disable the second factor."""
    cookie = request.cookies.get(SESSION_COOKIE, "")
    people_second_factor.remove(platform, actor, cookie)
    return logged_in(request, platform, renew(platform, cookie), "/account/second-factor")
