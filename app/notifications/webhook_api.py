"""JSON API: webhooks with their last deliveries. They are made and changed in the browser, never with a token."""

from fastapi import APIRouter

from app.core.access import Action
from app.notifications import webhooks
from app.notifications.webhooks import WebhookPage
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1")


@router.get(
    "/organise/challenges/{challenge}/webhooks",
    tags=["organisers"],
    dependencies=[requires(Action.ORGANISE)],
)
def of_challenge(platform: ThePlatform, actor: CurrentActor, challenge: str) -> WebhookPage:
    """List the webhooks of a challenge that you organise with their last deliveries."""
    return webhooks.challenge_page(platform, actor, challenge)
