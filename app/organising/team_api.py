"""What organisers' programs decide about teams."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.core.access import Action
from app.organising import teams as organising_teams
from app.organising.teams import ApprovalRule, Suspension, TeamList, TeamRefusal, TeamSearch
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/organise", tags=["organisers"], dependencies=[requires(Action.ORGANISE)])


@router.get("/challenges/{challenge}/teams")
def teams(
    platform: ThePlatform, actor: CurrentActor, challenge: str, search: Annotated[TeamSearch, Query()]
) -> TeamList:
    """The teams of a challenge that you organise, newest first, fifty a page."""
    return organising_teams.teams(platform, actor, challenge, search)


@router.put("/challenges/{challenge}/approvals", status_code=204)
def set_rule(platform: ThePlatform, actor: CurrentActor, challenge: str, rule: ApprovalRule) -> None:
    """Score only approved teams on held-out annotation; existing teams count as approved."""
    organising_teams.set_rule(platform, actor, challenge, rule)


@router.post("/teams/{team_id}/approve", status_code=204)
def approve(platform: ThePlatform, actor: CurrentActor, team_id: int) -> None:
    """Let a team be scored on held-out annotation."""
    organising_teams.approve(platform, actor, team_id)


@router.post("/teams/{team_id}/refuse", status_code=204)
def refuse(platform: ThePlatform, actor: CurrentActor, team_id: int, refusal: TeamRefusal) -> None:
    """Do not approve a team; it can be approved later."""
    organising_teams.refuse(platform, actor, team_id, refusal)


@router.post("/teams/{team_id}/suspend", status_code=204)
def suspend(platform: ThePlatform, actor: CurrentActor, team_id: int, suspension: Suspension) -> None:
    """Let a team neither upload nor be scored, and mark or hide its public results."""
    organising_teams.suspend(platform, actor, team_id, suspension)


@router.post("/teams/{team_id}/lift-suspension", status_code=204)
def lift(platform: ThePlatform, actor: CurrentActor, team_id: int, change: TeamRefusal) -> None:
    """End the suspension of a team."""
    organising_teams.lift(platform, actor, team_id, change)
