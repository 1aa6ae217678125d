"""Pages: changing and resetting a password, and logging in by a mailed link."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi import Form as FormField
from fastapi.responses import RedirectResponse, Response

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
    render,
    requires,
)
from app.web.forms import Form, TheForm

router = APIRouter()

CODES = {ResetOutcome.DONE: 200, ResetOutcome.GONE: 410, ResetOutcome.TAKEN: 409}


@router.get("/forgot-password", dependencies=[requires(Action.REGISTER), needs_passwords()])
def forgot(request: Request) -> Response:
    """Show the form to request a reset link."""
    return render(request, "recovery/forgot.html")


@router.post(
    "/forgot-password", dependencies=[requires(Action.REGISTER), needs_passwords(), limited(Limited.REGISTER)]
)
def ask_for_link(request: Request, platform: ThePlatform, form: TheForm) -> Response:
    """Mail a reset link. The response is the same whether or not the account exists."""
    with form.showing_errors():
        recovery.ask_for_link(platform, form.read(Forgotten))
        return _asked(request, platform, "24 hours")
    return render(request, "recovery/forgot.html", form=form)


def _asked(request: Request, platform: Platform, lifetime: str) -> Response:
    return render(request, "recovery/asked.html", place=mail_location(platform.settings), lifetime=lifetime)


@router.get("/reset-password/{token}", dependencies=[requires(Action.REGISTER), needs_passwords()])
def offer(request: Request, platform: ThePlatform, token: str) -> Response:
    """Show the form for a new password if the link still works."""
    if not recovery.is_usable(platform, token):
        return _outcome(request, ResetOutcome.GONE, code=200)
    return _reset_form(request, token, Form())


def _reset_form(request: Request, token: str, form: Form) -> Response:
    return _private(render(request, "recovery/reset.html", token=token, form=form))


def _outcome(request: Request, outcome: ResetOutcome, code: int) -> Response:
    return render(request, "recovery/outcome.html", code=code, outcome=outcome.value)


def _private(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post(
    "/reset-password/{token}",
    dependencies=[requires(Action.REGISTER), needs_passwords(), limited(Limited.LOGIN)],
)
def reset(request: Request, platform: ThePlatform, token: str, form: TheForm) -> Response:
    """Set a new password by a mailed link."""
    try:
        outcome = recovery.reset(platform, token, form.text("password"))
    except ValueError as error:
        form.refuse({"password": str(error)})
        return _reset_form(request, token, form)
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
    request: Request, platform: ThePlatform, token: str, token_id: Annotated[int | None, FormField()] = None
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
    return render(request, "recovery/ask_login_link.html")


@router.post(
    "/login-link", dependencies=[requires(Action.REGISTER), needs_passwords(), limited(Limited.REGISTER)]
)
def ask_for_login_link(request: Request, platform: ThePlatform, form: TheForm) -> Response:
    """Mail a login link. The response is the same whether or not the account exists."""
    with form.showing_errors():
        recovery.ask_for_login_link(platform, form.read(Forgotten))
        return _asked(request, platform, "15 minutes")
    return render(request, "recovery/ask_login_link.html", form=form)


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
    return _change_form(request, Form())


def _change_form(request: Request, form: Form) -> Response:
    return _private(render(request, "recovery/change.html", form=form))


@router.post(
    "/account/password",
    dependencies=[requires(Action.MANAGE_ACCOUNT), needs_passwords(), limited(Limited.LOGIN)],
)
def change(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Change the password, and log out everywhere else."""
    cookie = request.cookies.get(SESSION_COOKIE, "")
    passwords = Passwords(form.text("present_password"), form.text("password"))
    try:
        count = recovery.change(platform, actor, cookie, passwords)
    except WrongPasswordError:
        form.refuse({"present_password": "wrong password"}, 403)
        return _change_form(request, form)
    except ValueError as error:
        form.refuse({"password": str(error)})
        return _change_form(request, form)
    following = "/account/tokens?password_changed=true" if count else "/account"
    return logged_in(request, platform, renew(platform, cookie), following)
