"""HTML pages: who may create challenges, for admins, and the request of a person."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action, Actor
from app.core.errors import ConflictError, MalformedError
from app.core.rate_limits import Limited
from app.organising import creating
from app.organising.creating import NewRequest, RequestRefusal
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import field_errors
from app.web.route_marks import marked

router = APIRouter()
ADMIN, PERSON = requires(Action.MANAGE_ROLES), requires(Action.MANAGE_ACCOUNT)
TextField = Annotated[str, Form()]


@router.get("/admin/creators", dependencies=[ADMIN])
def creators(request: Request, platform: ThePlatform) -> Response:
    """List the people who may create challenges, and the requests."""
    return _page(request, platform, {}, {})


def _page(
    request: Request,
    platform: Platform,
    form: Mapping[str, str],
    problems: Mapping[str, str],
    code: int = 200,
) -> Response:
    page = creating.creators_page(platform)
    return render(request, "creating/creators.html", code=code, page=page, form=form, problems=problems)


@router.post("/admin/creators", dependencies=[ADMIN])
@marked(done="They may create challenges now.")
def add(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    email: Annotated[str, Form(max_length=254)] = "",
) -> Response:
    """Let a person create challenges."""
    try:
        creating.add_creator(platform, actor, email)
    except MalformedError:
        return _page(request, platform, {"email": email}, {"email": "no account has this address"}, 422)
    return _back()


@router.post("/admin/creators/{user_id}/remove", dependencies=[ADMIN])
@marked(done="They may not create challenges any more.")
def remove(platform: ThePlatform, actor: CurrentActor, user_id: int) -> Response:
    """Stop a person from creating more challenges."""
    creating.remove_creator(platform, actor, user_id)
    return _back()


@router.post("/admin/creators/requests/{request_id}/approve", dependencies=[ADMIN])
@marked(done="The request is approved.")
def approve(platform: ThePlatform, actor: CurrentActor, request_id: int) -> Response:
    """Approve a request."""
    creating.approve(platform, actor, request_id)
    return _back()


@router.post("/admin/creators/requests/{request_id}/refuse", dependencies=[ADMIN])
@marked(done="The request is refused.")
def refuse(
    request: Request, platform: ThePlatform, actor: CurrentActor, request_id: int, reason: TextField = ""
) -> Response:
    """Refuse a request."""
    try:
        creating.refuse(platform, actor, request_id, RequestRefusal(reason=reason))
    except ValidationError as error:
        form = {f"reason-{request_id}": reason}
        problems = {f"reason-{request_id}": field_errors(error)["reason"]}
        return _page(request, platform, form, problems, 422)
    return _back()


def _back() -> Response:
    return RedirectResponse("/admin/creators", status_code=303)


@router.get("/account/creating", dependencies=[PERSON])
def own(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show whether the reader may create challenges, and how to ask."""
    return _own(request, platform, actor, {}, {})


def _own(
    request: Request,
    platform: Platform,
    actor: Actor,
    form: Mapping[str, str],
    problems: Mapping[str, str],
    code: int = 200,
) -> Response:
    found = creating.own_request(platform, actor)
    return render(request, "creating/own.html", code=code, own=found, form=form, problems=problems)


@router.post("/account/creating", dependencies=[PERSON, limited(Limited.CHANGE)])
@marked(done="Your request is sent.")
def ask(request: Request, platform: ThePlatform, actor: CurrentActor, sentence: TextField = "") -> Response:
    """Ask to be allowed to create challenges."""
    form = {"sentence": sentence}
    try:
        creating.ask(platform, actor, NewRequest(sentence=sentence))
    except ValidationError as error:
        return _own(request, platform, actor, form, field_errors(error), 422)
    except ConflictError as error:
        return _own(request, platform, actor, form, {"sentence": str(error)}, 409)
    return RedirectResponse("/account/creating", status_code=303)
