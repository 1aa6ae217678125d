"""The page that a mailed link leads to, and the page of one's address."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.access import Action
from app.confirmation import service
from app.confirmation.schemas import NewAddress, Outcome
from app.forms import field_errors
from app.mail.service import place_of_mail
from app.platform import Platform
from app.rate_limits import Limited
from app.sessions.pages import browser_of, logged_in
from app.sessions.service import WrongPasswordError
from app.web import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    limited,
    platform_of_request,
    render,
    requires,
)

router = APIRouter()

TextField = Annotated[str, Form()]
CODES = {Outcome.GONE: 410, Outcome.WRONG_PASSWORD: 401, Outcome.TAKEN: 409}


@router.get("/confirm-address/{token}", dependencies=[requires(Action.REGISTER)])
def offer(request: Request, token: str) -> Response:
    """Ask before an address is confirmed: programs open the links of mail, too."""
    return _offer(request, token, {}, 200)


def _offer(request: Request, token: str, problems: Mapping[str, str], code: int) -> Response:
    found = service.offer(platform_of_request(request), actor_of_request(request), token)
    response = render(
        request, "confirmation/offer.html", code=code, offer=found, token=token, problems=problems
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/confirm-address/{token}", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
def confirm(
    request: Request, platform: ThePlatform, actor: CurrentActor, token: str, password: TextField = ""
) -> Response:
    """Confirm an address; whoever gave the password is logged in."""
    used = service.confirm(platform, actor, token, password, browser_of(request))
    if used.outcome is Outcome.WRONG_PASSWORD:
        return _offer(request, token, {"password": "is not the one of this account"}, CODES[used.outcome])
    if used.outcome is not Outcome.CONFIRMED:
        return render(
            request, "confirmation/unusable.html", code=CODES[used.outcome], outcome=used.outcome.value
        )
    if used.session_token is not None:
        return logged_in(request, platform, used.session_token, "/account")
    return RedirectResponse("/account", status_code=303)


@router.get("/account/address", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def address(request: Request, platform: ThePlatform) -> Response:
    """One's address, whether it is confirmed, and the form for another one."""
    return _address(request, platform)


def _address(
    request: Request,
    platform: Platform,
    *,
    code: int = 200,
    form: Mapping[str, str] = MappingProxyType({}),
    problems: Mapping[str, str] = MappingProxyType({}),
    wait: datetime | None = None,
) -> Response:
    response = render(
        request,
        "confirmation/address.html",
        code=code,
        pending=service.pending_address(platform, actor_of_request(request)),
        place=place_of_mail(platform.settings),
        form=form,
        problems=problems,
        wait=wait,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/address/resend", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def resend(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Have the link mailed once more."""
    return _sent(request, platform, service.resend(platform, actor))


@router.post("/account/address", dependencies=[requires(Action.MANAGE_ACCOUNT), limited(Limited.LOGIN)])
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    email: TextField = "",
    password: TextField = "",
) -> Response:
    """Have a link mailed to another address."""
    form = {"email": email}
    try:
        wait = service.change(platform, actor, NewAddress(email=email, password=password))
    except ValidationError as error:
        return _address(request, platform, code=422, form=form, problems=field_errors(error))
    except WrongPasswordError:
        return _address(request, platform, code=403, form=form, problems={"password": "is wrong"})
    return _sent(request, platform, wait)


def _sent(request: Request, platform: Platform, wait: datetime | None) -> Response:
    if wait is not None:
        return _address(request, platform, code=429, wait=wait)
    return RedirectResponse("/account/address", status_code=303)
