"""Registration, login and API tokens."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.access import Action
from app.accounts import service
from app.accounts.rules import KEEP_ENDED, field_errors
from app.accounts.schemas import Login, NewToken, Registration
from app.drafts import Draft, DraftText
from app.platform import Platform
from app.web import SESSION_COOKIE, CurrentActor, ThePlatform, render, requires

router = APIRouter()

TextField = Annotated[str, Form()]
NextPage = Annotated[str, Form(alias="next")]


def _local_path(address: str) -> str:
    """Where to go next: always a path of this site."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def _logged_in(request: Request, platform: Platform, token: str, address: str) -> Response:
    response = RedirectResponse(_local_path(address), status_code=303)
    settings = platform.settings
    response.set_cookie(
        SESSION_COOKIE,
        token,
        # longer than the session, so that a form that is sent after its end is known to be this person's
        max_age=settings.session_days * 24 * 3600 + round(KEEP_ENDED.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=settings.secure_cookies or request.url.scheme == "https",
    )
    return response


def _form_page(
    request: Request, template: str, form: Mapping[str, str], problems: Mapping[str, str], code: int = 422
) -> Response:
    """The form once more, with what was typed and what is wrong with it."""
    shown = {name: value for name, value in form.items() if name != "password"}
    return render(
        request,
        template,
        code=code,
        form=shown,
        problems=problems,
        next=_local_path(form.get("next", "/")),
        carried=form.get("draft", ""),
        is_interrupted=False,
    )


@router.get("/register", dependencies=[requires(Action.REGISTER)])
def registration(request: Request, next_page: Annotated[str, Query(alias="next")] = "/") -> Response:
    """The form for a new account."""
    return _form_page(request, "accounts/register.html", {"next": next_page}, {}, 200)


@router.post("/register/continue", dependencies=[requires(Action.REGISTER)])
def continue_with_registration(
    request: Request, next_page: NextPage = "/", draft: Annotated[DraftText, Form()] = ""
) -> Response:
    """The form for a new account in place of a login; it carries a form that was sent without a session, too."""
    return _form_page(request, "accounts/register.html", {"next": next_page, "draft": draft}, {}, 200)


@router.post("/register", dependencies=[requires(Action.REGISTER)])
def register(
    request: Request,
    platform: ThePlatform,
    email: TextField = "",
    name: TextField = "",
    password: TextField = "",
    next_page: NextPage = "/",
    draft: Annotated[DraftText, Form()] = "",
) -> Response:
    """Create an account and log in."""
    form = {"email": email, "name": name, "password": password, "next": next_page, "draft": draft}
    try:
        token = service.register(platform, Registration.model_validate(form), _draft(draft))
    except ValidationError as error:
        return _form_page(request, "accounts/register.html", form, field_errors(error))
    except service.EmailTakenError:
        taken = {"email": "has an account already; log in instead"}
        return _form_page(request, "accounts/register.html", form, taken, 409)
    return _logged_in(request, platform, token, next_page)


@router.get("/login", dependencies=[requires(Action.REGISTER)])
def login_form(request: Request, next_page: Annotated[str, Query(alias="next")] = "/") -> Response:
    """The login form."""
    return _form_page(request, "accounts/login.html", {"next": next_page}, {}, 200)


@router.post("/login", dependencies=[requires(Action.REGISTER)])
def log_in(
    request: Request,
    platform: ThePlatform,
    email: TextField = "",
    password: TextField = "",
    next_page: NextPage = "/",
    draft: Annotated[DraftText, Form()] = "",
) -> Response:
    """Start a session."""
    form = {"email": email, "password": password, "next": next_page, "draft": draft}
    try:
        token = service.log_in(platform, Login.model_validate(form), _draft(draft))
    except ValidationError as error:
        return _form_page(request, "accounts/login.html", form, field_errors(error))
    except service.WrongPasswordError:
        wrong = {"email": "no account has this e-mail address and password"}
        return _form_page(request, "accounts/login.html", form, wrong, 401)
    return _logged_in(request, platform, token, next_page)


def _draft(text: str) -> Draft | None:
    try:
        return Draft.model_validate_json(text) if text else None
    except ValidationError:  # nothing that our page has written
        return None


@router.post("/logout", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def log_out(request: Request, platform: ThePlatform) -> Response:
    """End this session. The cookie stays and opens nothing; it says whose forms are still open in other tabs."""
    service.log_out(platform, request.cookies.get(SESSION_COOKIE, ""))
    return RedirectResponse("/", status_code=303)


@router.get("/account", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def account(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """The account with its tokens."""
    return _account(request, platform, actor.user_id)


def _account(
    request: Request,
    platform: Platform,
    user_id: int | None,
    *,
    new_token: str | None = None,
    form: Mapping[str, str] = MappingProxyType({}),
    problems: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    response = render(
        request,
        "accounts/account.html",
        code=422 if problems else 200,
        tokens=service.tokens(platform, user_id),
        new_token=new_token,
        form=form,
        problems=problems,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/tokens", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def create_token(
    request: Request, platform: ThePlatform, actor: CurrentActor, name: TextField = ""
) -> Response:
    """Create a token and show it, once."""
    try:
        token = service.create_token(platform, actor.user_id, NewToken.model_validate({"name": name}))
    except ValidationError as error:
        return _account(request, platform, actor.user_id, form={"name": name}, problems=field_errors(error))
    return _account(request, platform, actor.user_id, new_token=token)


@router.post("/account/tokens/{token_id}/revoke", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def revoke_token(platform: ThePlatform, actor: CurrentActor, token_id: int) -> Response:
    """Revoke a token."""
    service.revoke_token(platform, actor.user_id, token_id)
    return RedirectResponse("/account", status_code=303)
