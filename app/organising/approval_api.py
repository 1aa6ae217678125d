"""JSON API: approval and suspension of teams."""

from enum import Enum
from typing import Annotated, Final

from fastapi import APIRouter, Query

from app.core.access import Action
from app.organising import approvals
from app.organising.approvals import ApprovalRule, Suspension, TeamList, TeamRefusal, TeamSearch, TeamSheet
from app.web.dependencies import CurrentActor, ThePlatform, requires

TAGS: Final[list[str | Enum]] = ["organisers"]
reading = APIRouter(prefix="/api/v1/organise", tags=TAGS, dependencies=[requires(Action.READ_ORGANISING)])
router = APIRouter(prefix="/api/v1/organise", tags=TAGS, dependencies=[requires(Action.ORGANISE)])


@reading.get("/challenges/{challenge}/teams")
def teams(
    platform: ThePlatform, actor: CurrentActor, challenge: str, search: Annotated[TeamSearch, Query()]
) -> TeamList:
    """List the teams of a challenge that you organise, newest first, 50 per page."""
    return approvals.teams(platform, actor, challenge, search)


@reading.get("/teams/{team_id}")
def team(platform: ThePlatform, actor: CurrentActor, team_id: int) -> TeamSheet:
    """Get a team with its members, its use of quotas, and its extra slots."""
    return approvals.team_sheet(platform, actor, team_id)


@router.put("/challenges/{challenge}/approvals", status_code=204)
def set_rule(platform: ThePlatform, actor: CurrentActor, challenge: str, rule: ApprovalRule) -> None:
    """Set whether only approved teams are scored on held-out annotation, and how many members a team may have."""
    approvals.set_approval_rule(platform, actor, challenge, rule)


@router.post("/teams/{team_id}/approve", status_code=204)
def approve(platform: ThePlatform, actor: CurrentActor, team_id: int) -> None:
    """Approve a team, so that it is scored on held-out annotation."""
    approvals.approve(platform, actor, team_id)


@router.post("/teams/{team_id}/refuse", status_code=204)
def refuse(platform: ThePlatform, actor: CurrentActor, team_id: int, refusal: TeamRefusal) -> None:
    """Refuse to approve a team; it can be approved later."""
    approvals.refuse(platform, actor, team_id, refusal)


@router.post("/teams/{team_id}/suspend", status_code=204)
def suspend(platform: ThePlatform, actor: CurrentActor, team_id: int, suspension: Suspension) -> None:
    """Suspend a team: it can neither upload nor be scored, and its public results are marked or hidden."""
    approvals.suspend(platform, actor, team_id, suspension)


@router.post("/teams/{team_id}/lift-suspension", status_code=204)
def lift(platform: ThePlatform, actor: CurrentActor, team_id: int, change: TeamRefusal) -> None:
    """End the suspension of a team."""
    approvals.lift(platform, actor, team_id, change)
