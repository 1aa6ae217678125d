"""Pages: changing and resetting a password, and logging in by a mailed link."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action
from app.core.rate_limits import Limited
from app.jobs.mail import mail_location
from app.people import recovery, tokens
from app.people.login_pages import browser_of, logged_in
from app.people.recovery import Forgotten, Passwords, ResetOutcome
from app.people.sessions import WrongPasswordError, awaits_code, renew
from app.platform import Platform
from app.web.dependencies import (
    SESSION_COOKIE,
    CurrentActor,
    ThePlatform,
    limited,
    needs_passwords,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import field_errors

router = APIRouter()

TextField = Annotated[str, Form()]
CODES = {ResetOutcome.DONE: 200, ResetOutcome.GONE: 410, ResetOutcome.TAKEN: 409}
NO_PROBLEMS: Mapping[str, str] = MappingProxyType({})


@router.get("/forgot-password", dependencies=[requires(Action.REGISTER), needs_passwords()])
def forgot(request: Request) -> Response:
    """Show the form to request a reset link."""
    return render(request, "recovery/forgot.html", form={}, problems={})


@router.post(
    "/forgot-password", dependencies=[requires(Action.REGISTER), needs_passwords(), limited(Limited.REGISTER)]
)
def ask_for_link(request: Request, platform: ThePlatform, email: TextField = "") -> Response:
    """Mail a reset link. The response is the same whether or not the account exists."""
    try:
        recovery.ask_for_link(platform, Forgotten(email=email))
    except ValidationError as error:
        form = {"email": email}
        return render(request, "recovery/forgot.html", code=422, form=form, problems=field_errors(error))
    return _asked(request, platform, "24 hours")


def _asked(request: Request, platform: Platform, lifetime: str) -> Response:
    return render(request, "recovery/asked.html", place=mail_location(platform.settings), lifetime=lifetime)


@router.get("/reset-password/{token}", dependencies=[requires(Action.REGISTER), needs_passwords()])
def offer(request: Request, platform: ThePlatform, token: str) -> Response:
    """Show the form for a new password if the link still works."""
    if not recovery.is_usable(platform, token):
        return _outcome(request, ResetOutcome.GONE, code=200)
    return _reset_form(request, token, NO_PROBLEMS, 200)


def _reset_form(request: Request, token: str, problems: Mapping[str, str], code: int) -> Response:
    return _private(render(request, "recovery/reset.html", code=code, token=token, problems=problems))


def _outcome(request: Request, outcome: ResetOutcome, code: int) -> Response:
    return render(request, "recovery/outcome.html", code=code, outcome=outcome.value)


def _private(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post(
    "/reset-password/{token}",
    dependencies=[requires(Action.REGISTER), needs_passwords(), limited(Limited.LOGIN)],
)
def reset(request: Request, platform: ThePlatform, token: str, password: TextField = "") -> Response:
    """Set a new password by a mailed link."""
    try:
        outcome = recovery.reset(platform, token, password)
    except ValueError as error:
        return _reset_form(request, token, {"password": str(error)}, 422)
    if outcome is ResetOutcome.DONE and recovery.may_revoke_tokens(platform, token):
        return RedirectResponse(f"/reset-password/{quote(token)}/tokens", status_code=303)
    return _outcome(request, outcome, CODES[outcome])


@router.get("/reset-password/{token}/tokens", dependencies=[requires(Action.REGISTER), needs_passwords()])
def remaining_tokens(request: Request, platform: ThePlatform, token: str) -> Response:
    """List the API tokens that are still active after a reset by this link."""
    user_id = recovery.may_revoke_tokens(platform, token)
    if user_id is None:
        return _outcome(request, ResetOutcome.GONE, code=200)
    live = [each for each in tokens.tokens(platform, user_id) if each.state == "active"]
    return _private(render(request, "recovery/tokens.html", token=token, tokens=live))


@router.post("/reset-password/{token}/tokens", dependencies=[requires(Action.REGISTER), needs_passwords()])
def revoke_remaining_tokens(
    request: Request, platform: ThePlatform, token: str, token_id: Annotated[int | None, Form()] = None
) -> Response:
    """Revoke one of these tokens, or all of them."""
    user_id = recovery.may_revoke_tokens(platform, token)
    if user_id is None:
        return _outcome(request, ResetOutcome.GONE, code=410)
    if token_id is None:
        tokens.revoke_all(platform, user_id)
    else:
        tokens.revoke_token(platform, user_id, token_id)
    return RedirectResponse(f"/reset-password/{quote(token)}/tokens", status_code=303)


@router.get("/login-link", dependencies=[requires(Action.REGISTER), needs_passwords()])
def login_link_form(request: Request) -> Response:
    """Show the form to request a login link."""
    return render(request, "recovery/ask_login_link.html", form={}, problems={})


@router.post(
    "/login-link", dependencies=[requires(Action.REGISTER), needs_passwords(), limited(Limited.REGISTER)]
)
def ask_for_login_link(request: Request, platform: ThePlatform, email: TextField = "") -> Response:
    """Mail a login link. The response is the same whether or not the account exists."""
    try:
        recovery.ask_for_login_link(platform, Forgotten(email=email))
    except ValidationError as error:
        form, problems = {"email": email}, field_errors(error)
        return render(request, "recovery/ask_login_link.html", code=422, form=form, problems=problems)
    return _asked(request, platform, "15 minutes")


@router.get("/login-link/{token}", dependencies=[requires(Action.REGISTER), needs_passwords()])
def offer_login(request: Request, platform: ThePlatform, token: str) -> Response:
    """Show a button that logs in, because programs that open the links in mail do not press buttons."""
    email = recovery.address_of_login_link(platform, token)
    return _private(render(request, "recovery/login_link.html", token=token, email=email))


@router.post(
    "/login-link/{token}",
    dependencies=[requires(Action.REGISTER), needs_passwords(), limited(Limited.REGISTER)],
)
def log_in_by_link(request: Request, platform: ThePlatform, token: str) -> Response:
    """Log in by a mailed link."""
    started = recovery.log_in_by_link(platform, token, browser_of(request))
    if started is None:
        return _private(render(request, "recovery/login_link.html", code=410, token=token, email=None))
    return logged_in(
        request, platform, started, "/login/code" if awaits_code(platform, started) else "/account"
    )


@router.get("/account/password", dependencies=[requires(Action.MANAGE_ACCOUNT), needs_passwords()])
def password_form(request: Request) -> Response:
    """Show the form to change the password."""
    return _change_form(request, NO_PROBLEMS, 200)


def _change_form(request: Request, problems: Mapping[str, str], code: int) -> Response:
    return _private(render(request, "recovery/change.html", code=code, problems=problems))


@router.post(
    "/account/password",
    dependencies=[requires(Action.MANAGE_ACCOUNT), needs_passwords(), limited(Limited.LOGIN)],
)
def change(
    request: Request,
    actor: CurrentActor,
    present_password: TextField = "",
    password: TextField = "",
) -> Response:
    """Change the password, and log out everywhere else."""
    platform, cookie = platform_of_request(request), request.cookies.get(SESSION_COOKIE, "")
    try:
        count = recovery.change(platform, actor, cookie, Passwords(present_password, password))
    except WrongPasswordError:
        return _change_form(request, {"present_password": "is wrong"}, 403)
    except ValueError as error:
        return _change_form(request, {"password": str(error)}, 422)
    following = "/account/tokens?password_changed=true" if count else "/account"
    return logged_in(request, platform, renew(platform, cookie), following)
