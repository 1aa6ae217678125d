"""Published results for programs."""

from fastapi import APIRouter

from app.access import Action
from app.published import service
from app.published.schemas import PublishedBoard, PublishedEditionView, PublishedLine
from app.web import ThePlatform, requires

router = APIRouter(
    prefix="/api/v1/published", tags=["leaderboards"], dependencies=[requires(Action.READ_PUBLIC)]
)


@router.get("")
def editions(platform: ThePlatform) -> tuple[PublishedLine, ...]:
    """The historical editions that this server shows as published; nothing of them was scored here."""
    return service.lines(platform)


@router.get("/{code}")
def edition(platform: ThePlatform, code: str) -> PublishedEditionView:
    """A historical edition with its boards."""
    return service.edition(platform, code)


@router.get("/{code}/{competition}")
def board(platform: ThePlatform, code: str, competition: int) -> PublishedBoard:
    """A board as it was published: values in [0, 1] to a thousandth."""
    return service.board(platform, code, competition)
