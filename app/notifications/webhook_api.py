"""JSON API: webhooks with their last deliveries. They are made and changed in the browser, never with a token."""

from fastapi import APIRouter

from app.core.access import Action
from app.notifications import webhooks
from app.notifications.webhooks import WebhookPage
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1")


@router.get("/teams/{team_id}/webhooks", tags=["teams"], dependencies=[requires(Action.READ_OWN)])
def of_team(platform: ThePlatform, actor: CurrentActor, team_id: int) -> WebhookPage:
    """List the webhooks of your team with their last deliveries."""
    return webhooks.team_page(platform, actor, team_id)


@router.get(
    "/organise/challenges/{challenge}/webhooks",
    tags=["organisers"],
    dependencies=[requires(Action.ORGANISE)],
)
def of_challenge(platform: ThePlatform, actor: CurrentActor, challenge: str) -> WebhookPage:
    """List the webhooks of a challenge that you organise with their last deliveries."""
    return webhooks.challenge_page(platform, actor, challenge)
