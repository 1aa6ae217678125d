"""Pages: registration, the account's e-mail address, and API tokens."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action, Actor, Scope, scopes_for
from app.core.errors import ConflictError, RegistrationClosedError
from app.core.rate_limits import Limited
from app.jobs.mail import place_of_mail
from app.people import accounts
from app.people import tokens as people_tokens
from app.people.accounts import NewAddress, Outcome, Registration
from app.people.login_pages import browser_of, logged_in
from app.people.sessions import WrongPasswordError
from app.people.tokens import DEFAULT_LIFETIME, LIFETIMES, NewToken
from app.platform import Platform
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
from app.web.forms import field_errors

router = APIRouter()

TextField = Annotated[str, Form()]
NextPage = Annotated[str, Form(alias="next")]


def _form_page(
    request: Request, template: str, form: Mapping[str, str], problems: Mapping[str, str], code: int = 422
) -> Response:
    """Show the form with what was typed and the problems found."""
    shown = {name: value for name, value in form.items() if name != "password"}
    return render(
        request,
        template,
        code=code,
        form=shown,
        problems=problems,
        next=local_path(form.get("next", "/")),
        is_interrupted=False,
    )


@router.get("/register", dependencies=[requires(Action.REGISTER)])
def registration(request: Request, next_page: Annotated[str, Query(alias="next")] = "/") -> Response:
    """Show the registration form."""
    return _form_page(request, "accounts/register.html", {"next": next_page}, {}, 200)


@router.post("/register", dependencies=[requires(Action.REGISTER), limited(Limited.REGISTER)])
def register(
    request: Request,
    platform: ThePlatform,
    email: TextField = "",
    name: TextField = "",
    password: TextField = "",
    next_page: NextPage = "/",
) -> Response:
    """Create an account and log in."""
    if not platform.settings.may_register_with_password:
        raise RegistrationClosedError("Registration with a password is closed on this server")
    form = {"email": email, "name": name, "password": password, "next": next_page}
    try:
        token = accounts.register(platform, Registration.model_validate(form), browser_of(request))
    except ValidationError as error:
        return _form_page(request, "accounts/register.html", form, field_errors(error))
    return logged_in(request, platform, token, next_page)


CODES = {Outcome.GONE: 410, Outcome.WRONG_PASSWORD: 401, Outcome.TAKEN: 409}


@router.get("/confirm-address/{token}", dependencies=[requires(Action.REGISTER)])
def offer(request: Request, token: str) -> Response:
    """Ask before confirming an address, because programs open the links in mail, too."""
    return _offer(request, token, {}, 200)


def _offer(request: Request, token: str, problems: Mapping[str, str], code: int) -> Response:
    found = accounts.offer(platform_of_request(request), actor_of_request(request), token)
    response = render(
        request, "confirmation/offer.html", code=code, offer=found, token=token, problems=problems
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/confirm-address/{token}", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
def confirm(
    request: Request, platform: ThePlatform, actor: CurrentActor, token: str, password: TextField = ""
) -> Response:
    """Confirm an address, and log in if the password was given."""
    used = accounts.confirm(platform, actor, token, password, browser_of(request))
    if used.outcome is Outcome.WRONG_PASSWORD:
        return _offer(
            request, token, {"password": "is not the password of this account"}, CODES[used.outcome]
        )
    if used.outcome is not Outcome.CONFIRMED:
        return render(
            request, "confirmation/unusable.html", code=CODES[used.outcome], outcome=used.outcome.value
        )
    if used.session_token is not None:
        return logged_in(request, platform, used.session_token, "/account")
    return RedirectResponse("/account", status_code=303)


@router.get("/account/address", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def address(request: Request, platform: ThePlatform) -> Response:
    """Show the account's address, whether it is confirmed, and the form to change it."""
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
        pending=accounts.pending_address(platform, actor_of_request(request)),
        place=place_of_mail(platform.settings),
        form=form,
        problems=problems,
        wait=wait,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/address/resend", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def resend(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Mail the confirmation link again."""
    return _sent(request, platform, accounts.resend(platform, actor))


@router.post("/account/address", dependencies=[requires(Action.MANAGE_ACCOUNT), limited(Limited.LOGIN)])
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    email: TextField = "",
    password: TextField = "",
) -> Response:
    """Mail a confirmation link to a new address."""
    form = {"email": email}
    try:
        wait = accounts.change(platform, actor, NewAddress(email=email, password=password))
    except ValidationError as error:
        return _address(request, platform, code=422, form=form, problems=field_errors(error))
    except WrongPasswordError:
        return _address(request, platform, code=403, form=form, problems={"password": "is wrong"})
    return _sent(request, platform, wait)


def _sent(request: Request, platform: Platform, wait: datetime | None) -> Response:
    if wait is not None:
        return _address(request, platform, code=429, wait=wait)
    return RedirectResponse("/account/address", status_code=303)


EMPTY: Mapping[str, Any] = {
    "name": "",
    "scope": [Scope.READ.value, Scope.SUBMIT.value],
    "days": DEFAULT_LIFETIME,
}
MADE_FOR: Mapping[Scope, str] = {Scope.ORGANISE: "organisers", Scope.ADMIN: "admins"}


@router.get("/account/tokens", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def tokens(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    password_changed: Annotated[bool, Query()] = False,  # noqa: FBT002 - a query parameter
) -> Response:
    """List the reader's tokens. A password change leads here if tokens are still active."""
    return _page(request, platform, actor, EMPTY, {}, is_password_changed=password_changed)


def _page(
    request: Request,
    platform: Platform,
    actor: Actor,
    form: Mapping[str, Any],
    problems: Mapping[str, str],
    *,
    new_token: str | None = None,
    is_password_changed: bool = False,
) -> Response:
    response = render(
        request,
        "tokens/tokens.html",
        code=422 if problems else 200,
        tokens=people_tokens.tokens(platform, actor.user_id),
        new_token=new_token,
        is_password_changed=is_password_changed,
        form=form,
        problems=problems,
        scopes=scopes_for(actor),
        lifetimes=LIFETIMES,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post(
    "/account/tokens",
    dependencies=[requires(Action.MANAGE_ACCOUNT), recently_logged_in(), limited(Limited.CHANGE)],
)
def create_token(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    name: Annotated[str, Form()] = "",
    scope: Annotated[tuple[str, ...], Form()] = (),
    days: Annotated[int, Form()] = DEFAULT_LIFETIME,
) -> Response:
    """Create a token and show it once."""
    form = {"name": name, "scope": list(scope), "days": days}
    excessive = next((each for each in MADE_FOR if each in scope and each not in scopes_for(actor)), None)
    if excessive:
        problem = f"{excessive} is only for {MADE_FOR[excessive]}"
        return _page(request, platform, actor, form, {"scope": problem})
    try:
        token = people_tokens.create_token(platform, actor.user_id, NewToken.model_validate(form))
    except ValidationError as error:
        return _page(request, platform, actor, form, field_errors(error))
    except ConflictError as error:
        return _page(request, platform, actor, form, {"": str(error)})
    return _page(request, platform, actor, EMPTY, {}, new_token=token)


@router.post("/account/tokens/revoke-all", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def revoke_all_tokens(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Revoke every token."""
    people_tokens.revoke_all(platform, actor.user_id)
    return RedirectResponse("/account/tokens", status_code=303)


@router.post("/account/tokens/{token_id}/revoke", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def revoke_token(platform: ThePlatform, actor: CurrentActor, token_id: int) -> Response:
    """Revoke a token."""
    people_tokens.revoke_token(platform, actor.user_id, token_id)
    return RedirectResponse("/account/tokens", status_code=303)
