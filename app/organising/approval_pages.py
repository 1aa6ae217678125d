"""HTML pages: approval and suspension of teams."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action
from app.core.errors import MalformedError
from app.organising import approvals
from app.organising.approvals import ApprovalRule, Suspension, TeamRefusal, TeamSearch, TeamState
from app.web.dependencies import CurrentActor, ThePlatform, render, requires

reading = APIRouter(prefix="/organise", dependencies=[requires(Action.READ_ORGANISING)])
router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])

TextField = Annotated[str, Form()]


@reading.get("/challenges/{challenge}/teams")
def teams(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    search: Annotated[TeamSearch, Query()],
) -> Response:
    """List the teams of a challenge."""
    found = approvals.teams(platform, actor, challenge, search)
    words = {"text": search.text, "state": search.state.value, "after": found.next}
    older = f"/organise/challenges/{challenge}/teams?{urlencode(words)}" if found.next else None
    form = {"text": search.text, "state": search.state.value}
    return render(request, "approvals/teams.html", list=found, form=form, older=older, states=list(TeamState))


@reading.get("/teams/{team_id}")
def team(request: Request, platform: ThePlatform, actor: CurrentActor, team_id: int) -> Response:
    """Show a team with its members, its use of quotas, and its extra slots."""
    sheet = approvals.team_sheet(platform, actor, team_id)
    return render(request, "approvals/team.html", sheet=sheet, list=sheet)


@router.post("/challenges/{challenge}/approvals")
def set_rule(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    approves_teams: TextField = "",
    most_members: TextField = "",
) -> Response:
    """Turn approvals on or off, and limit the size of teams."""
    form = {"approves_teams": bool(approves_teams), "most_members": most_members}
    try:
        rule = ApprovalRule.model_validate(form)
    except ValidationError as error:
        raise MalformedError(
            "A team has from 1 to 1,000 members; leave the field empty for any number"
        ) from error
    approvals.set_approval_rule(platform, actor, challenge, rule)
    return _to(challenge)


def _to(challenge: str) -> Response:
    return RedirectResponse(f"/organise/challenges/{challenge}/teams", status_code=303)


@router.post("/teams/{team_id}/approve")
def approve(platform: ThePlatform, actor: CurrentActor, team_id: int) -> Response:
    """Approve a team."""
    return _to(approvals.approve(platform, actor, team_id))


@router.post("/teams/{team_id}/refuse")
def refuse(platform: ThePlatform, actor: CurrentActor, team_id: int, reason: TextField = "") -> Response:
    """Refuse to approve a team."""
    return _to(approvals.refuse(platform, actor, team_id, _with_reason(reason)))


def _with_reason(reason: str) -> TeamRefusal:
    try:
        return TeamRefusal(reason=reason)
    except ValidationError as error:
        raise MalformedError("Give a reason of at most 1000 characters; the team will see it") from error


@router.post("/teams/{team_id}/suspend")
def suspend(
    platform: ThePlatform,
    actor: CurrentActor,
    team_id: int,
    reason: TextField = "",
    hides_results: TextField = "",
) -> Response:
    """Suspend a team."""
    suspension = Suspension(reason=_with_reason(reason).reason, hides_results=bool(hides_results))
    return _to(approvals.suspend(platform, actor, team_id, suspension))


@router.post("/teams/{team_id}/lift-suspension")
def lift(platform: ThePlatform, actor: CurrentActor, team_id: int, reason: TextField = "") -> Response:
    """End the suspension of a team."""
    return _to(approvals.lift(platform, actor, team_id, _with_reason(reason)))
