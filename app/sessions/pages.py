"""Logging in and out."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.access import Action
from app.addresses import local_path
from app.drafts import Draft, DraftText
from app.form_errors import field_errors
from app.platform import Platform
from app.rate_limits import Limited
from app.sessions import service
from app.sessions.rules import KEEP_ENDED
from app.sessions.schemas import Browser, Login
from app.web import SESSION_COOKIE, ThePlatform, client_of_request, limited, render, requires

router = APIRouter()

TextField = Annotated[str, Form()]
NextPage = Annotated[str, Form(alias="next")]


def logged_in(request: Request, platform: Platform, token: str, address: str) -> Response:
    """The way on after a login, with the cookie of the new session."""
    response = RedirectResponse(local_path(address), status_code=303)
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


@router.get("/login", dependencies=[requires(Action.REGISTER)])
def login_form(request: Request, next_page: Annotated[str, Query(alias="next")] = "/") -> Response:
    """The login form."""
    return _login_page(request, {"next": next_page}, {}, 200)


@router.post("/login", dependencies=[requires(Action.REGISTER), limited(Limited.LOGIN)])
def log_in(
    request: Request,
    platform: ThePlatform,
    email: TextField = "",
    password: TextField = "",
    next_page: NextPage = "/",
    draft: Annotated[DraftText, Form()] = "",
) -> Response:
    """Start a session."""
    form = {"email": email, "next": next_page, "draft": draft}
    try:
        token = service.log_in(
            platform, Login(email=email, password=password), _browser(request), Draft.carried(draft)
        )
    except ValidationError as error:
        return _login_page(request, form, field_errors(error))
    except service.WrongPasswordError:
        wrong = {"email": "no account has this e-mail address and password"}
        return _login_page(request, form, wrong, 401)
    except service.SuspendedError:
        return _login_page(
            request, form, {"email": "is of an account that is suspended; ask the admins"}, 403
        )
    return logged_in(request, platform, token, next_page)


def _browser(request: Request) -> Browser:
    return Browser(client_of_request(request), request.cookies.get(SESSION_COOKIE))


def _login_page(
    request: Request, form: Mapping[str, str], problems: Mapping[str, str], code: int = 422
) -> Response:
    """The form once more, with what was typed and what is wrong with it."""
    return render(
        request,
        "sessions/login.html",
        code=code,
        form=form,
        problems=problems,
        next=local_path(form["next"]),
        carried=form.get("draft", ""),
        is_interrupted=False,
    )


@router.post("/logout", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def log_out(request: Request, platform: ThePlatform) -> Response:
    """End this session. The cookie stays and opens nothing; it says whose forms are still open in other tabs."""
    service.log_out(platform, request.cookies.get(SESSION_COOKIE, ""))
    return RedirectResponse("/", status_code=303)
