"""Register, log in, log out, tokens, and the organiser's first link."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.access import Action
from app.accounts import service
from app.accounts.rules import sentences
from app.accounts.schemas import Login, NewToken, Registration
from app.platform import Platform
from app.web import SESSION_COOKIE, CurrentActor, ThePlatform, render, requires

router = APIRouter()

Text = Annotated[str, Form()]
After = Annotated[str, Form(alias="next")]


def _inside(address: str) -> str:
    """Where to go next: only ever a path of ours."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def _logged_in(platform: Platform, token: str, address: str) -> Response:
    response = RedirectResponse(_inside(address), status_code=303)
    settings = platform.settings
    response.set_cookie(
        SESSION_COOKIE,
        token,
        max_age=settings.session_days * 24 * 3600,
        httponly=True,
        samesite="lax",
        secure=settings.secure_cookies,
    )
    return response


def _again(
    request: Request, template: str, form: Mapping[str, str], problems: Mapping[str, str], code: int = 422
) -> Response:
    shown = {name: value for name, value in form.items() if name != "password"}
    return render(
        request, template, code=code, form=shown, problems=problems, next=_inside(form.get("next", "/"))
    )


@router.get("/register", dependencies=[requires(Action.REGISTER)])
def registration(request: Request, after: Annotated[str, Query(alias="next")] = "/") -> Response:
    """The form for a new account."""
    return render(request, "accounts/register.html", form={}, problems={}, next=_inside(after))


@router.post("/register", dependencies=[requires(Action.REGISTER)])
def register(
    request: Request,
    platform: ThePlatform,
    email: Text = "",
    name: Text = "",
    password: Text = "",
    after: After = "/",
) -> Response:
    """Create an account and log in."""
    form = {"email": email, "name": name, "password": password, "next": after}
    try:
        token = service.register(platform, Registration.model_validate(form))
    except ValidationError as error:
        return _again(request, "accounts/register.html", form, sentences(error))
    except service.EmailTakenError:
        taken = {"email": "already has an account here; log in instead"}
        return _again(request, "accounts/register.html", form, taken, 409)
    return _logged_in(platform, token, after)


@router.get("/login", dependencies=[requires(Action.REGISTER)])
def login_form(request: Request, after: Annotated[str, Query(alias="next")] = "/") -> Response:
    """The form for who comes back."""
    return render(request, "accounts/login.html", form={}, problems={}, next=_inside(after))


@router.post("/login", dependencies=[requires(Action.REGISTER)])
def log_in(
    request: Request, platform: ThePlatform, email: Text = "", password: Text = "", after: After = "/"
) -> Response:
    """Begin a session."""
    form = {"email": email, "password": password, "next": after}
    try:
        token = service.log_in(platform, Login.model_validate(form))
    except ValidationError as error:
        return _again(request, "accounts/login.html", form, sentences(error))
    except service.WrongPasswordError:
        wrong = {"email": "no account has this address and password"}
        return _again(request, "accounts/login.html", form, wrong, 401)
    return _logged_in(platform, token, after)


@router.post("/logout", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def log_out(request: Request, platform: ThePlatform) -> Response:
    """End this session."""
    service.log_out(platform, request.cookies.get(SESSION_COOKIE, ""))
    response = RedirectResponse("/", status_code=303)
    response.delete_cookie(SESSION_COOKIE)
    return response


@router.get("/account", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def account(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """The person's tokens."""
    return _account(request, platform, actor.user_id, None)


def _account(request: Request, platform: Platform, user_id: int | None, new_token: str | None) -> Response:
    tokens = service.tokens(platform, user_id)
    response = render(request, "accounts/account.html", tokens=tokens, new_token=new_token, problems={})
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/tokens", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def create_token(request: Request, platform: ThePlatform, actor: CurrentActor, name: Text = "") -> Response:
    """Create a token, and show it this once."""
    try:
        token = service.create_token(platform, actor.user_id, NewToken.model_validate({"name": name}))
    except ValidationError as error:
        problems = sentences(error)
        tokens = service.tokens(platform, actor.user_id)
        return render(
            request, "accounts/account.html", code=422, tokens=tokens, new_token=None, problems=problems
        )
    return _account(request, platform, actor.user_id, token)


@router.post("/account/tokens/{token_id}/revoke", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def revoke_token(platform: ThePlatform, actor: CurrentActor, token_id: int) -> Response:
    """Let a token be refused from now on."""
    service.revoke_token(platform, actor.user_id, token_id)
    return RedirectResponse("/account", status_code=303)


@router.get("/first-organiser/{token}", dependencies=[requires(Action.REGISTER)])
def organiser_link(request: Request, platform: ThePlatform, token: str) -> Response:
    """Ask before the link is used up."""
    usable = service.is_link_usable(platform, token)
    return render(request, "accounts/organiser_link.html", token=token, usable=usable)


@router.post("/first-organiser/{token}", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def become_organiser(request: Request, platform: ThePlatform, actor: CurrentActor, token: str) -> Response:
    """Use the link up."""
    if actor.user_id is None or not service.use_link(platform, token, actor.user_id):
        return render(request, "accounts/organiser_link.html", code=410, token=token, usable=False)
    return RedirectResponse("/organise", status_code=303)
