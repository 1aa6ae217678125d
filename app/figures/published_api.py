"""Published results for programs."""

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
    """The historical challenges that this server shows as published; nothing of them was scored here."""
    return published.lines(platform)


@router.get("/{code}")
def challenge(platform: ThePlatform, code: str) -> PublishedChallengeView:
    """A historical challenge with its boards."""
    return published.challenge(platform, code)


@router.get("/{code}/{competition}")
def board(platform: ThePlatform, code: str, competition: int) -> PublishedBoard:
    """A board as it was published: values in [0, 1] to a thousandth."""
    return published.board(platform, code, competition)
