"""The page of one's API tokens."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.access import Action
from app.form_errors import field_errors
from app.platform import Platform
from app.tokens import service
from app.tokens.schemas import NewToken
from app.web import CurrentActor, ThePlatform, recently_logged_in, render, requires

router = APIRouter()


@router.get("/account/tokens", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def tokens(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """One's tokens."""
    return _page(request, platform, actor.user_id)


def _page(
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
        "tokens/tokens.html",
        code=422 if problems else 200,
        tokens=service.tokens(platform, user_id),
        new_token=new_token,
        form=form,
        problems=problems,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/tokens", dependencies=[requires(Action.MANAGE_ACCOUNT), recently_logged_in()])
def create_token(
    request: Request, platform: ThePlatform, actor: CurrentActor, name: Annotated[str, Form()] = ""
) -> Response:
    """Create a token and show it, once."""
    try:
        token = service.create_token(platform, actor.user_id, NewToken(name=name))
    except ValidationError as error:
        return _page(request, platform, actor.user_id, form={"name": name}, problems=field_errors(error))
    return _page(request, platform, actor.user_id, new_token=token)


@router.post("/account/tokens/{token_id}/revoke", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def revoke_token(platform: ThePlatform, actor: CurrentActor, token_id: int) -> Response:
    """Revoke a token."""
    service.revoke_token(platform, actor.user_id, token_id)
    return RedirectResponse("/account/tokens", status_code=303)
