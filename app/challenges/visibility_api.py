"""JSON API: who can see a challenge."""

from fastapi import APIRouter

from app.challenges import visibility
from app.challenges.visibility import CreatedCode, NewCode, NewInvitations, NewVisibility, VisibilityView
from app.core.access import Action
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(
    prefix="/api/v1/organise/challenges/{challenge}",
    tags=["challenges"],
    dependencies=[requires(Action.ORGANISE)],
)


@router.get("/visibility")
def organised_visibility(platform: ThePlatform, actor: CurrentActor, challenge: str) -> VisibilityView:
    """Return who can see a challenge, its invitations, and the people who have redeemed a code."""
    return visibility.visibility_page(platform, actor, challenge)


@router.put("/visibility", status_code=204)
def change(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewVisibility) -> None:
    """Change who can see a challenge that was opened. A draft answers with 409."""
    visibility.change(platform, actor, challenge, new)


@router.post("/invitations", status_code=204)
def invite(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewInvitations) -> None:
    """Invite addresses and domains; they count once the challenge is visible to invited people, and send no mail."""
    visibility.invite(platform, actor, challenge, new)


@router.post("/invitations/codes", status_code=201)
def create_code(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewCode) -> CreatedCode:
    """Create a code with which people invite themselves. It is in this response only."""
    return visibility.create_code(platform, actor, challenge, new)


@router.delete("/invitations/{invitation_id}", status_code=204)
def revoke(platform: ThePlatform, actor: CurrentActor, challenge: str, invitation_id: int) -> None:
    """Revoke an invitation. People who have redeemed a code stay invited."""
    visibility.revoke(platform, actor, challenge, invitation_id)


@router.delete("/invited/{user_id}", status_code=204)
def remove_person(platform: ThePlatform, actor: CurrentActor, challenge: str, user_id: int) -> None:
    """Remove a person who has redeemed a code. Their `team` stays with its results and uploads, and may go on: see it, or suspend it."""
    visibility.remove_person(platform, actor, challenge, user_id)
