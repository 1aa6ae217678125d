"""HTML pages: approval and suspension of teams."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.organising import approvals
from app.organising.approvals import ApprovalRule, Suspension, TeamRefusal, TeamSearch, TeamState
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

reading = APIRouter(prefix="/organise", dependencies=[requires(Action.READ_ORGANISING)])
router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])


@reading.get("/challenges/{challenge}/teams")
def teams(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    search: Annotated[TeamSearch, Query()],
) -> Response:
    """List the teams of a challenge."""
    return _teams(request, platform, actor, challenge, search, Form())


def _teams(
    request: Request, platform: Platform, actor: Actor, challenge: str, search: TeamSearch, form: Form
) -> Response:
    found = approvals.teams(platform, actor, challenge, search)
    words = {"text": search.text, "state": search.state.value, "after": found.next}
    return render(
        request,
        "approvals/teams.html",
        list=found,
        search=search.model_dump(mode="json"),
        form=form.fill({"approves_teams": found.approves_teams, "most_members": found.most_members or ""}),
        older=f"/organise/challenges/{challenge}/teams?{urlencode(words)}" if found.next else None,
        states=list(TeamState),
    )


@reading.get("/teams/{team_id}")
def team(request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int) -> Response:
    """Show a team with its members, its use of quotas, and its extra slots."""
    return _team(request, platform, actor, team_id, Form())


def _team(request: Request, platform: Platform, actor: Actor, team_id: int, form: Form) -> Response:
    sheet = approvals.team_sheet(platform, actor, team_id)
    return render(request, "approvals/team.html", sheet=sheet, list=sheet, form=form)


@router.post("/challenges/{challenge}/approvals")
@marked(done="The rule for teams is saved.")
def set_rule(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Turn approvals on or off, and limit the size of teams."""
    with form.showing_errors():
        approvals.set_approval_rule(platform, actor, challenge, form.read(ApprovalRule))
        return _to(challenge)
    return _teams(request, platform, actor, challenge, TeamSearch(), form)


def _to(challenge: str) -> Response:
    return RedirectResponse(f"/organise/challenges/{challenge}/teams", status_code=303)


@router.post("/teams/{team_id}/approve")
@marked(done="The team is approved.")
def approve(platform: ThePlatform, actor: CurrentActor, team_id: int) -> Response:
    """Approve a team."""
    return _to(approvals.approve(platform, actor, team_id))


@router.post("/teams/{team_id}/refuse")
@marked(done="The team is not approved. It reads your reason.")
def refuse(
    request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int, form: TheForm
) -> Response:
    """Refuse to approve a team."""
    with form.showing_errors(names={"reason": f"reason-refuse-{team_id}"}):
        return _to(approvals.refuse(platform, actor, team_id, form.read(TeamRefusal)))
    return _team(request, platform, actor, team_id, form)


@router.post("/teams/{team_id}/suspend")
@marked(done="The team is suspended.")
def suspend(
    request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int, form: TheForm
) -> Response:
    """Suspend a team."""
    with form.showing_errors(names={"reason": f"reason-suspend-{team_id}"}):
        return _to(approvals.suspend(platform, actor, team_id, form.read(Suspension)))
    return _team(request, platform, actor, team_id, form)


@router.post("/teams/{team_id}/lift-suspension")
@marked(done="The suspension has ended.")
def lift(
    request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int, form: TheForm
) -> Response:
    """End the suspension of a team."""
    with form.showing_errors(names={"reason": f"reason-suspend-{team_id}"}):
        return _to(approvals.lift(platform, actor, team_id, form.read(TeamRefusal)))
    return _team(request, platform, actor, team_id, form)
