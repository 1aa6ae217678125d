"""HTML pages: the second factor, at login and in the account."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
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
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()


ACCOUNT = requires(Action.MANAGE_ACCOUNT)


@router.get("/login/code", dependencies=[requires(Action.REGISTER)])
def code_form(request: Request, next_page: Annotated[str, Query(alias="next")] = "/") -> Response:
    """Ask for the code after the password."""
    return _code_page(request, Form(), next_page)


@router.post("/login/code", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
def enter_code(request: Request, platform: ThePlatform, form: TheForm) -> Response:
    """Complete a login with a code."""
    try:
        token = people_second_factor.log_in(platform, browser_of(request), form.text("code"))
    except WrongPasswordError:
        form.refuse({"code": "is wrong or has already been used"}, 401)
        return _code_page(request, form, form.text("next"))
    return logged_in(request, platform, token, form.text("next"))


def _code_page(request: Request, form: Form, next_page: str) -> Response:
    return render(request, "second_factor/code.html", form=form, next=local_path(next_page))


@router.get("/account/second-factor", dependencies=[ACCOUNT])
def second_factor(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show whether the reader has a second factor, and how to set one up."""
    return _page(request, platform, actor, Form())


def _page(
    request: Request, platform: Platform, actor: Actor, form: Form, codes: tuple[str, ...] = ()
) -> Response:
    factor = people_second_factor.view(platform, actor)
    response = render(request, "second_factor/second_factor.html", factor=factor, codes=codes, form=form)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/second-factor/start", dependencies=[ACCOUNT, recently_logged_in()])
def start(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Start setting up a second factor."""
    people_second_factor.start(platform, actor)
    return RedirectResponse("/account/second-factor", status_code=303)


@router.post("/account/second-factor/confirm", dependencies=[ACCOUNT, recently_logged_in()])
def confirm_second_factor(
    request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm
) -> Response:
    """Enable the second factor, and show the recovery codes once."""
    cookie = request.cookies.get(SESSION_COOKIE, "")
    codes = people_second_factor.confirm(platform, actor, form.text("code"), cookie)
    if codes is None:
        form.refuse({"code": "is wrong; check that the clock of your device is right"})
        return _page(request, platform, actor, form)
    token = renew(platform, cookie)
    response = _page(request, platform, actor, Form(), codes)
    response.headers["Set-Cookie"] = logged_in(request, platform, token, "/").headers["set-cookie"]
    return response


@router.post("/account/second-factor/codes", dependencies=[ACCOUNT, recently_logged_in()])
def renew_codes(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Create new recovery codes and show them once."""
    return _page(request, platform, actor, Form(), people_second_factor.renew_codes(platform, actor))


@router.post("/account/second-factor/remove", dependencies=[ACCOUNT, recently_logged_in()])
@marked(done="Your logins ask for the password alone now.")
def remove(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Disable the second factor."""
    cookie = request.cookies.get(SESSION_COOKIE, "")
    people_second_factor.remove(platform, actor, cookie)
    return logged_in(request, platform, renew(platform, cookie), "/account/second-factor")
