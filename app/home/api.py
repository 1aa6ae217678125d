"""Editions for programs."""

from fastapi import APIRouter

from app.core.access import Action
from app.core.rate_limits import Limited
from app.home import home as home_home
from app.home.home import CompetitionView, EditionSummary, EditionView, Found, HomeView
from app.home.pages import Page, Set, Words
from app.web.dependencies import ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["editions"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/home")
def home(platform: ThePlatform) -> HomeView:
    """What is open, the next deadline, the newest public results."""
    return home_home.home(platform)


@router.get("/find", dependencies=[limited(Limited.VIEW)])
def find(platform: ThePlatform, q: Words = "") -> Found:
    """Editions and public methods by their names, the most likely first."""
    return home_home.find(platform, q)


@router.get("/editions")
def editions(platform: ThePlatform) -> tuple[EditionSummary, ...]:
    """Every edition with its phases."""
    return home_home.all_editions(platform)


@router.get("/editions/{edition}")
def edition(platform: ThePlatform, edition: str, image_set: Set = None, page: Page = 1) -> EditionView:
    """An edition with its phases, and the public methods of one of them by competition, best first."""
    return home_home.edition_page(platform, edition, image_set, page)


@router.get("/editions/{edition}/{image_set}/competitions/{competition}")
def competition(platform: ThePlatform, edition: str, image_set: str, competition: int) -> CompetitionView:
    """What a competition asks for, how it is scored, and under which versions."""
    return home_home.competition_page(platform, edition, image_set, competition)
