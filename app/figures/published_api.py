"""JSON API: published results of historical challenges."""

from fastapi import APIRouter

from app.core.access import Action
from app.figures import published
from app.figures.published import PublishedBoard, PublishedChallengeView, PublishedLine
from app.web.dependencies import ThePlatform, requires

router = APIRouter(
    prefix="/api/v1/published", tags=["leaderboards"], dependencies=[requires(Action.READ_PUBLIC)]
)


@router.get("")
def challenges(platform: ThePlatform) -> tuple[PublishedLine, ...]:
    """List the historical challenges on this server. Their results are shown as published, not scored here."""
    return published.lines(platform)


@router.get("/{code}")
def challenge(platform: ThePlatform, code: str) -> PublishedChallengeView:
    """Return a historical challenge with its boards."""
    return published.challenge(platform, code)


@router.get("/{code}/{competition}")
def board(platform: ThePlatform, code: str, competition: int) -> PublishedBoard:
    """Return a board as it was published. Values are in [0, 1] with three decimals."""
    return published.board(platform, code, competition)
