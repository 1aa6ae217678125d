"""HTML pages: teams, and the forms that change them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.boards import team_views
from app.boards.team_views import AfterMember
from app.core.access import Action
from app.core.errors import InTeam, NameFixed, NameTaken, RefusedError
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.people import invitations, teams
from app.people.invitations import NewTeamLink, TeamLink
from app.people.teams import NewTeam, TeamChange
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    limited,
    mark_as_of,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import field_errors

router = APIRouter()

JOIN, CHANGE = requires(Action.JOIN_TEAM), requires(Action.CHANGE_TEAM)
NOTHING: Mapping[str, str] = MappingProxyType({})

TextField = Annotated[str, Form()]
ReasonField = Annotated[str, Form(max_length=1000)]


@router.get("/teams", dependencies=[requires(Action.READ_OWN)])
def mine(
    request: Request,
    challenge: Annotated[str, Query(max_length=100, description="the one to create a team in")] = "",
) -> Response:
    """List your teams, with a form to create one."""
    return _mine(request, {"challenge": challenge}, NOTHING)


def _mine(
    request: Request, form: Mapping[str, str], problems: Mapping[str, str], code: int = 200
) -> Response:
    found = team_views.my_teams(platform_of_request(request), actor_of_request(request))
    return render(request, "teams/mine.html", code=code, mine=found, form=form, problems=problems)


@router.post("/teams", dependencies=[JOIN, limited(Limited.CHANGE)])
def create(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: TextField = "",
    name: TextField = "",
    affiliation: TextField = "",
) -> Response:
    """Create a team."""
    form = {"challenge": challenge, "name": name, "affiliation": affiliation}
    try:
        new = NewTeam(name=name, affiliation=affiliation)
        team_id = teams.create_team(platform, actor, challenge, new)
    except ValidationError as error:
        return _mine(request, form, field_errors(error), 422)
    except RefusedError as error:
        return _mine(request, form, _problems(error), 409)
    return _to(team_id)


def _problems(error: RefusedError) -> dict[str, str]:
    """Return messages by field; those that belong to no field are under the empty name."""
    fields = {NameTaken.code: "name", NameFixed.code: "name", InTeam.code: "challenge"}
    return {fields.get(each.code, ""): each.message for each in error.refusals}


def _to(team_id: int) -> Response:
    return RedirectResponse(f"/teams/{team_id}", status_code=303)


@router.get("/teams/{team_id}", dependencies=[requires(Action.READ_TEAM)])
def team(request: Request, team_id: int, after: AfterMember = None, before: Before = None) -> Response:
    """Show a team."""
    return _team(request, team_id, NOTHING, NOTHING, after=after, before=before)


def _team(
    request: Request,
    team_id: int,
    form: Mapping[str, str],
    problems: Mapping[str, str],
    *,
    code: int = 200,
    new_link: TeamLink | None = None,
    after: int | None = None,
    before: int | None = None,
) -> Response:
    page = team_views.team_page(
        platform_of_request(request), actor_of_request(request), team_id, after, before
    )
    filled = {"name": page.name, "affiliation": page.affiliation, "uses": "1", "days": "7", **form}
    mark_as_of(request, page.challenge)
    response = render(
        request, "teams/team.html", code=code, team=page, form=filled, problems=problems, new_link=new_link
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/teams/{team_id}/edit", dependencies=[CHANGE, limited(Limited.CHANGE)])
def edit(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    team_id: int,
    name: TextField = "",
    affiliation: TextField = "",
    reason: TextField = "",
) -> Response:
    """Change the name and affiliation."""
    form = {"name": name, "affiliation": affiliation, "reason": reason}
    try:
        change = TeamChange(name=name, affiliation=affiliation, reason=reason)
        teams.change(platform, actor, team_id, change)
    except ValidationError as error:
        return _team(request, team_id, form, field_errors(error), code=422)
    except RefusedError as error:
        return _team(request, team_id, form, _problems(error), code=409)
    return _to(team_id)


@router.post("/teams/{team_id}/invitations", dependencies=[CHANGE, limited(Limited.CHANGE)])
def invite(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    team_id: int,
    uses: TextField = "1",
    days: TextField = "7",
) -> Response:
    """Create an invitation link and show it once."""
    form = {"uses": uses, "days": days}
    try:
        new = NewTeamLink.model_validate(form)
    except ValidationError as error:
        return _team(request, team_id, form, field_errors(error), code=422)
    return _team(request, team_id, form, NOTHING, new_link=invitations.invite(platform, actor, team_id, new))


@router.post("/teams/{team_id}/invitations/{invitation_id}/revoke", dependencies=[CHANGE])
def revoke(platform: ThePlatform, actor: CurrentActor, team_id: int, invitation_id: int) -> Response:
    """Revoke an invitation."""
    invitations.revoke(platform, actor, team_id, invitation_id)
    return _to(team_id)


@router.post("/teams/{team_id}/leave", dependencies=[CHANGE])
def leave(platform: ThePlatform, actor: CurrentActor, team_id: int) -> Response:
    """Leave a team."""
    teams.leave(platform, actor, team_id)
    return RedirectResponse("/teams", status_code=303)


@router.post("/teams/{team_id}/named", dependencies=[CHANGE])
def set_named(
    platform: ThePlatform, actor: CurrentActor, team_id: int, named: Annotated[str, Form()] = ""
) -> Response:
    """Choose whether the public page shows your name."""
    teams.set_listed_publicly(platform, actor, team_id, is_named=bool(named))
    return _to(team_id)


@router.post("/teams/{team_id}/members/{person}/owner", dependencies=[CHANGE, limited(Limited.CHANGE)])
def make_owner(
    platform: ThePlatform, actor: CurrentActor, team_id: int, person: int, reason: ReasonField = ""
) -> Response:
    """Make a member an owner."""
    teams.set_owner(platform, actor, team_id, person, is_owner=True, reason=reason)
    return _to(team_id)


@router.post("/teams/{team_id}/members/{person}/remove", dependencies=[CHANGE, limited(Limited.CHANGE)])
def remove(
    platform: ThePlatform, actor: CurrentActor, team_id: int, person: int, reason: ReasonField = ""
) -> Response:
    """Remove a member from a team."""
    teams.remove(platform, actor, team_id, person, reason)
    return _to(team_id)


@router.post("/teams/{team_id}/hand-over", dependencies=[CHANGE, limited(Limited.CHANGE)])
def hand_over(
    platform: ThePlatform, actor: CurrentActor, team_id: int, person: Annotated[int, Form()]
) -> Response:
    """Transfer your ownership to another member."""
    teams.transfer_ownership(platform, actor, team_id, person)
    return _to(team_id)


@router.get("/invitations/{token}", dependencies=[JOIN])
def invitation(request: Request, token: str) -> Response:
    """Ask for confirmation before joining a team."""
    return _invitation(request, token)


def _invitation(request: Request, token: str, code: int = 200) -> Response:
    offer = invitations.offer(platform_of_request(request), actor_of_request(request), token)
    response = render(request, "teams/invitation.html", code=code if offer else 410, offer=offer, token=token)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/invitations/{token}", dependencies=[JOIN, limited(Limited.CHANGE)])
def accept(request: Request, platform: ThePlatform, actor: CurrentActor, token: str) -> Response:
    """Accept an invitation and join its team."""
    try:
        return _to(invitations.accept(platform, actor, token))
    except RefusedError:
        return _invitation(request, token, 409)
