"""HTML pages: registration, and the account's e-mail address."""

from datetime import datetime, timedelta
from typing import Annotated, Final
from urllib.parse import quote, unquote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.core.errors import RegistrationClosedError
from app.core.rate_limits import Limited
from app.jobs.mail import mail_location
from app.people import accounts
from app.people.accounts import LinkOutcome, NewAddress, RegistrationForm
from app.people.login_pages import browser_of, logged_in
from app.people.sessions import WrongPasswordError
from app.platform import Platform
from app.web.addresses import local_path
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    limited,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()


def _registration(request: Request, form: Form, next_page: str) -> Response:
    return render(
        request, "accounts/register.html", form=form, next=local_path(next_page), is_interrupted=False
    )


@router.get("/register", dependencies=[requires(Action.REGISTER)])
def registration(
    request: Request,
    next_page: Annotated[str, Query(alias="next")] = "/",
    email: Annotated[str, Query(max_length=254, description="proposed, such as that of an invitation")] = "",
) -> Response:
    """Show the registration form."""
    return _registration(request, Form({"email": email}), next_page)


@router.post("/register", dependencies=[requires(Action.REGISTER), limited(Limited.REGISTER)])
def register(request: Request, platform: ThePlatform, form: TheForm) -> Response:
    """Create an account and log in."""
    if not platform.current_settings().may_register_with_password:
        raise RegistrationClosedError("Registration with a password is closed on this server")
    next_page = form.text("next")
    with form.showing_errors():
        token = accounts.register(platform, form.read(RegistrationForm), browser_of(request))
        return _remembering(request, logged_in(request, platform, token, next_page), next_page)
    return _registration(request, form, next_page)


RETURN_COOKIE: Final = "heldout_return"  # where a browser goes on once its address is confirmed


def _remembering(request: Request, response: Response, page: str) -> Response:
    """Remember where to go on once the address is confirmed, for as long as a mailed link lasts."""
    if (local := local_path(page)) not in ("/", "/account"):
        response.set_cookie(
            RETURN_COOKIE,
            quote(local),
            max_age=round(timedelta(days=7).total_seconds()),
            path="/",
            httponly=True,
            samesite="lax",
            secure=platform_of_request(request).settings.secure_cookies or request.url.scheme == "https",
        )
    return response


CODES = {LinkOutcome.GONE: 410, LinkOutcome.WRONG_PASSWORD: 401, LinkOutcome.TAKEN: 409}


@router.get("/confirm-address/{token}", dependencies=[requires(Action.REGISTER)])
def offer(request: Request, token: str) -> Response:
    """Ask before confirming an address, because programs open the links in mail, too."""
    return _offer(request, token, Form())


def _offer(request: Request, token: str, form: Form) -> Response:
    found = accounts.offer(platform_of_request(request), actor_of_request(request), token)
    response = render(request, "confirmation/offer.html", offer=found, token=token, form=form)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/confirm-address/{token}", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
@marked(done="Your e-mail address is confirmed. You can enter hidden test sets and log in again.")
def confirm(
    request: Request, platform: ThePlatform, actor: CurrentActor, token: str, form: TheForm
) -> Response:
    """Confirm an address, and log in if the password was given."""
    used = accounts.confirm(platform, actor, token, form.text("password"), browser_of(request))
    if used.outcome is LinkOutcome.WRONG_PASSWORD:
        form.refuse({"password": "is not the password of this account"}, CODES[used.outcome])
        return _offer(request, token, form)
    if used.outcome is not LinkOutcome.CONFIRMED:
        return render(
            request, "confirmation/unusable.html", code=CODES[used.outcome], outcome=used.outcome.value
        )
    back = local_path(unquote(request.cookies.get(RETURN_COOKIE, "/account")))
    response: Response = RedirectResponse(back, status_code=303)
    if used.session_token is not None:
        response = logged_in(request, platform, used.session_token, back)
    response.delete_cookie(RETURN_COOKIE, path="/")
    return response


@router.get("/account/address", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def address(
    request: Request,
    platform: ThePlatform,
    next_page: Annotated[str, Query(alias="next", description="where to go on")] = "/account",
) -> Response:
    """Show the account's address, whether it is confirmed, and the form to change it."""
    return _remembering(request, _address(request, platform, Form()), local_path(next_page))


def _address(request: Request, platform: Platform, form: Form, wait: datetime | None = None) -> Response:
    response = render(
        request,
        "confirmation/address.html",
        code=200 if wait is None else 429,
        pending=accounts.pending_address(platform, actor_of_request(request)),
        place=mail_location(platform.settings),
        form=form,
        wait=wait,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/address/resend", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def resend(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Mail the confirmation link again."""
    return _sent(request, platform, accounts.resend(platform, actor))


@router.post("/account/address", dependencies=[requires(Action.MANAGE_ACCOUNT), limited(Limited.LOGIN)])
def change(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Mail a confirmation link to a new address."""
    with form.showing_errors():
        try:
            return _sent(request, platform, accounts.change(platform, actor, form.read(NewAddress)))
        except WrongPasswordError:
            form.refuse({"password": "wrong password"}, 403)
    return _address(request, platform, form)


def _sent(request: Request, platform: Platform, wait: datetime | None) -> Response:
    if wait is not None:
        return _address(request, platform, Form(), wait)
    return RedirectResponse("/account/address", status_code=303)
