"""HTML pages: teams, and the forms that change them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi import Form as FormField
from fastapi.responses import RedirectResponse, Response

from app.boards import team_views
from app.boards.team_views import AfterMember, Ownership
from app.core.access import Action
from app.core.errors import RefusedError
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
from app.web.forms import LONGEST_REASON, Form, TheForm
from app.web.route_marks import marked

router = APIRouter()

JOIN, CHANGE = requires(Action.JOIN_TEAM), requires(Action.CHANGE_TEAM)


@router.get("/teams", dependencies=[requires(Action.READ_OWN)])
def mine(
    request: Request,
    challenge: Annotated[str, Query(max_length=100, description="the one to create a team in")] = "",
) -> Response:
    """List your teams, with a form to create one."""
    return _mine(request, Form({"challenge": challenge}))


def _mine(request: Request, form: Form) -> Response:
    found = team_views.my_teams(platform_of_request(request), actor_of_request(request))
    return render(request, "teams/mine.html", mine=found, form=form)


@router.post("/teams", dependencies=[JOIN, limited(Limited.CHANGE)])
@marked(done="The team is created. Invite the others below.")
def create(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Create a team."""
    with form.showing_errors():
        challenge = form.text("challenge")
        return _to(team_views.create_team(platform, actor, challenge, form.read(NewTeam)).id)
    return _mine(request, form)


def _to(team_id: int) -> Response:
    return RedirectResponse(f"/teams/{team_id}", status_code=303)


@router.get("/teams/{team_id}", dependencies=[requires(Action.READ_TEAM)])
def team(request: Request, team_id: int, after: AfterMember = None) -> Response:
    """Show a team."""
    return _team(request, team_id, Form(), after=after)


def _team(
    request: Request,
    team_id: int,
    form: Form,
    *,
    new_link: TeamLink | None = None,
    after: int | None = None,
) -> Response:
    page = team_views.shown_team(platform_of_request(request), actor_of_request(request), team_id, after)
    form.fill({"name": page.name, "affiliation": page.affiliation, "uses": "1", "days": "7"})
    mark_as_of(request, page.challenge)
    response = render(request, "teams/team.html", team=page, form=form, new_link=new_link)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/teams/{team_id}/edit", dependencies=[CHANGE, limited(Limited.CHANGE)])
@marked(done="Name and affiliation are saved.")
def edit(
    request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int, form: TheForm
) -> Response:
    """Change the name and affiliation."""
    with form.showing_errors():
        teams.change(platform, actor, team_id, form.read(TeamChange))
        return _to(team_id)
    return _team(request, team_id, form)


@router.post("/teams/{team_id}/invitations", dependencies=[CHANGE, limited(Limited.CHANGE)])
def invite(
    request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int, form: TheForm
) -> Response:
    """Create an invitation link and show it once."""
    with form.showing_errors():
        link = invitations.invite(platform, actor, team_id, form.read(NewTeamLink))
        return _team(request, team_id, form, new_link=link)
    return _team(request, team_id, form)


@router.post("/teams/{team_id}/invitations/{invitation_id}/revoke", dependencies=[CHANGE])
@marked(done="The invitation is revoked.")
def revoke(platform: ThePlatform, actor: CurrentActor, team_id: int, invitation_id: int) -> Response:
    """Revoke an invitation."""
    invitations.revoke(platform, actor, team_id, invitation_id)
    return _to(team_id)


@router.post("/teams/{team_id}/leave", dependencies=[CHANGE])
@marked(done="You have left the team.")
def leave(platform: ThePlatform, actor: CurrentActor, team_id: int) -> Response:
    """Leave a team."""
    teams.leave(platform, actor, team_id)
    return RedirectResponse("/teams", status_code=303)


@router.post("/teams/{team_id}/named", dependencies=[CHANGE])
@marked(done="Your choice is saved.")
def set_named(platform: ThePlatform, actor: CurrentActor, team_id: int, form: TheForm) -> Response:
    """Choose whether the public page shows your name."""
    teams.set_listed_publicly(platform, actor, team_id, is_named=bool(form.text("named")))
    return _to(team_id)


@router.post("/teams/{team_id}/members/{person}/owner", dependencies=[CHANGE, limited(Limited.CHANGE)])
@marked(done="The member is an owner now.")
def make_owner(
    request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int, person: int, form: TheForm
) -> Response:
    """Make a member an owner."""
    with form.showing_errors(names={"reason": f"reason-owner-{person}"}):
        new = form.read(Ownership, is_owner=True)
        teams.set_owner(platform, actor, team_id, person, is_owner=new.is_owner, reason=new.reason)
        return _to(team_id)
    return _team(request, team_id, form)


@router.post("/teams/{team_id}/members/{person}/remove", dependencies=[CHANGE, limited(Limited.CHANGE)])
@marked(done="The member is removed.")
def remove(
    request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int, person: int, form: TheForm
) -> Response:
    """Remove a member from a team."""
    with form.showing_errors(names={"reason": f"reason-{person}"}):
        teams.remove(platform, actor, team_id, person, form.text("reason", LONGEST_REASON))
        return _to(team_id)
    return _team(request, team_id, form)


@router.post("/teams/{team_id}/hand-over", dependencies=[CHANGE, limited(Limited.CHANGE)])
@marked(done="The team has its new owner.")
def hand_over(
    platform: ThePlatform, actor: CurrentActor, team_id: int, person: Annotated[int, FormField()]
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
@marked(done="You are a member of this team now.")
def accept(request: Request, platform: ThePlatform, actor: CurrentActor, token: str) -> Response:
    """Accept an invitation and join its team."""
    try:
        return _to(team_views.accept_invitation(platform, actor, token).id)
    except RefusedError:
        return _invitation(request, token, 409)
