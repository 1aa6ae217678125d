"""HTML pages: messages of organisers to teams, and those that a team received."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action, Actor
from app.core.errors import ConflictError, MalformedError, RefusedError
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.models import MessageAudience
from app.notifications import team_messages
from app.notifications.team_messages import NewTeamMessage
from app.platform import Platform
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    limited,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import SentForm, field_errors, values_of

router = APIRouter()

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
ORGANISING: Final = [requires(Action.ORGANISE)]
CHANGING: Final = [*ORGANISING, limited(Limited.CHANGE)]
EMPTY: Final = {
    "title": "", "text": "", "audience": MessageAudience.ALL, "image_set": "", "competition": "", "team": "", "version": 0,
}  # fmt: skip

ToTeam = Annotated[str, Query(max_length=40, description="the name of the only team to write to")]


@router.get("/organise/challenges/{challenge}/messages", dependencies=ORGANISING)
def messages(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    team: ToTeam = "",
    before: Before = None,
) -> Response:
    """List the messages to teams, with a form for a new one."""
    form = EMPTY | ({"audience": MessageAudience.TEAM, "team": team} if team else {})
    return _list(request, platform, actor, challenge, form, before=before)


@router.post("/organise/challenges/{challenge}/messages", dependencies=CHANGING)
def write(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Write a draft, and show it with who would receive it."""
    form = values_of(sent, NewTeamMessage) | {"version": 0}
    try:
        new = NewTeamMessage.model_validate(form)
        message = team_messages.write(platform, actor, challenge, new)
    except ValidationError as error:
        return _list(request, platform, actor, challenge, form, problems=field_errors(error))
    except MalformedError as error:
        return _list(request, platform, actor, challenge, form, problems=error.by_field)
    return _to(message)


def _to(message_id: int) -> Response:
    return RedirectResponse(f"/organise/messages/{message_id}", status_code=303)


def _list(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    form: Mapping[str, Any],
    *,
    problems: Mapping[str, str] = NOTHING,
    before: int | None = None,
) -> Response:
    return render(
        request,
        "team_messages/organise.html",
        code=422 if problems else 200,
        page=team_messages.team_messages(platform, actor, challenge, before, str(form["team"] or "")),
        form=form,
        problems=problems,
    )


@router.get("/organise/messages/{team_message_id}", dependencies=ORGANISING)
def message(
    request: Request,
    team_message_id: int,
    *,
    tested: Annotated[bool, Query(description="a test was just sent")] = False,
) -> Response:
    """Show a message as teams read it, with who would receive it, or has."""
    return _message(request, team_message_id, tested=tested)


def _message(
    request: Request,
    message_id: int,
    form: Mapping[str, Any] | None = None,
    *,
    problems: Mapping[str, str] = NOTHING,
    refused: str = "",
    tested: bool = False,
    code: int = 200,
) -> Response:
    """Show a message. A refused form carries the newest version, so that it can be sent again once that was read."""
    platform, actor = platform_of_request(request), actor_of_request(request)
    sheet = team_messages.message_sheet(platform, actor, message_id)
    now = {name: getattr(sheet.message, name) for name in EMPTY}
    typed = {**now, **(form or {}), **({"version": sheet.message.version} if refused else {})}
    return render(
        request,
        "team_messages/message.html",
        code=code,
        sheet=sheet,
        choices=team_messages.audience_choices(
            platform, actor, sheet.message.challenge, str(typed["team"] or "")
        ),
        form={name: "" if value is None else value for name, value in typed.items()},
        is_edited=form is not None,
        problems=problems,
        refused=refused,
        tested=tested,
    )


@router.post("/organise/messages/{team_message_id}", dependencies=CHANGING)
def change(
    request: Request, platform: ThePlatform, actor: CurrentActor, team_message_id: int, sent: SentForm
) -> Response:
    """Change a draft."""
    form = values_of(sent, NewTeamMessage)
    try:
        team_messages.change(platform, actor, team_message_id, NewTeamMessage.model_validate(form))
    except ValidationError as error:
        return _message(request, team_message_id, form, problems=field_errors(error), code=422)
    except MalformedError as error:
        return _message(request, team_message_id, form, problems=error.by_field, code=422)
    except ConflictError as error:
        return _message(request, team_message_id, form, refused=str(error), code=409)
    return _to(team_message_id)


@router.post("/organise/messages/{team_message_id}/test", dependencies=CHANGING)
def test(platform: ThePlatform, actor: CurrentActor, team_message_id: int) -> Response:
    """Send a message to the organiser alone."""
    team_messages.test(platform, actor, team_message_id)
    return RedirectResponse(f"/organise/messages/{team_message_id}?tested=true", status_code=303)


@router.post("/organise/messages/{team_message_id}/send", dependencies=CHANGING)
def send(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    team_message_id: int,
    version: Annotated[int, Form(ge=1, le=2**31 - 1)],
) -> Response:
    """Send a message to its teams."""
    try:
        team_messages.send(platform, actor, team_message_id, version)
    except (ConflictError, RefusedError) as error:
        return _message(request, team_message_id, refused=str(error), code=409)
    return _to(team_message_id)


@router.post("/organise/messages/{team_message_id}/discard", dependencies=ORGANISING)
def discard(platform: ThePlatform, actor: CurrentActor, team_message_id: int) -> Response:
    """Delete a draft."""
    challenge = team_messages.discard(platform, actor, team_message_id)
    return RedirectResponse(f"/organise/challenges/{quote(challenge)}/messages", status_code=303)


@router.get("/teams/{team_id}/messages", dependencies=[requires(Action.READ_OWN)])
def received(
    request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int, before: Before = None
) -> Response:
    """List the messages of organisers that a team received."""
    page = team_messages.received_messages(platform, actor, team_id, before)
    return render(request, "team_messages/received.html", page=page)
