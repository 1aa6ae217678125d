"""HTML pages: API tokens."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor, Scope, scopes_for
from app.core.errors import FieldsError
from app.core.rate_limits import Limited
from app.people import tokens as people_tokens
from app.people.tokens import DEFAULT_LIFETIME, LIFETIMES, NewToken
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, recently_logged_in, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()


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
    return _page(request, platform, actor, Form(), is_password_changed=password_changed)


def _page(
    request: Request,
    platform: Platform,
    actor: Actor,
    form: Form,
    *,
    new_token: str | None = None,
    is_password_changed: bool = False,
) -> Response:
    response = render(
        request,
        "tokens/tokens.html",
        tokens=people_tokens.tokens(platform, actor.user_id),
        new_token=new_token,
        is_password_changed=is_password_changed,
        form=form.fill(EMPTY),
        scopes=scopes_for(actor),
        lifetimes=LIFETIMES,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post(
    "/account/tokens",
    dependencies=[requires(Action.MANAGE_ACCOUNT), recently_logged_in(), limited(Limited.CHANGE)],
)
def create_token(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Create a token and show it once."""
    with form.showing_errors():
        days = form.text("days") or str(DEFAULT_LIFETIME)
        new = form.read(NewToken, days=int(days) if re.fullmatch("[0-9]{1,3}", days) else days)
        excessive = [each for each in MADE_FOR if each in new.scope and each not in scopes_for(actor)]
        if excessive:
            raise FieldsError({"scope": f"{excessive[0]} is only for {MADE_FOR[excessive[0]]}"})
        token = people_tokens.create_token(platform, actor.user_id, new)
        return _page(request, platform, actor, Form(), new_token=token)
    return _page(request, platform, actor, form)


@router.post("/account/tokens/revoke-all", dependencies=[requires(Action.MANAGE_ACCOUNT)])
@marked(done="All tokens are revoked.")
def revoke_all_tokens(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Revoke every token."""
    people_tokens.revoke_all(platform, actor.user_id)
    return RedirectResponse("/account/tokens", status_code=303)


@router.post("/account/tokens/{token_id}/revoke", dependencies=[requires(Action.MANAGE_ACCOUNT)])
@marked(done="The token is revoked. What was submitted with it stays.")
def revoke_token(platform: ThePlatform, actor: CurrentActor, token_id: int) -> Response:
    """Revoke a token."""
    people_tokens.revoke_token(platform, actor.user_id, token_id)
    return RedirectResponse("/account/tokens", status_code=303)
