"""JSON API: challenges."""

from fastapi import APIRouter

from app.core.access import Action
from app.core.rate_limits import Limited
from app.home import front
from app.home import home as home_views
from app.home.front import ChallengeBoards, ChallengeCard, HomeView
from app.home.home import ChallengeView, CompetitionView, SearchResult
from app.home.pages import Page, Set, State, Task, Words
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["challenges"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/home")
def home(platform: ThePlatform) -> HomeView:
    """Return open phases, the next deadline and the newest public results."""
    return front.home(platform)


@router.get("/find", dependencies=[limited(Limited.VIEW)])
def find(platform: ThePlatform, actor: CurrentActor, q: Words = "") -> SearchResult:
    """Find challenges and public methods by name, best match first."""
    return home_views.find(platform, actor, q)


@router.get("/challenges")
def challenges(platform: ThePlatform, task: Task = None, state: State = None) -> tuple[ChallengeCard, ...]:
    """List all challenges with their phases, the newest first; those with a task or in a state. At most a second old."""
    listed = platform.cache.version(
        ("listed challenges", task, state), lambda: front.all_challenges(platform, task, state)
    )
    return listed.challenges


@router.get("/leaderboards")
def leaderboards(platform: ThePlatform) -> tuple[ChallengeBoards, ...]:
    """List all leaderboards by challenge, with their first public methods. Numbers of methods are at most a minute old."""
    return front.all_boards(platform)


@router.get("/challenges/{challenge}")
def challenge(platform: ThePlatform, challenge: str, image_set: Set = None, page: Page = 1) -> ChallengeView:
    """Return a challenge with its phases, and the public methods of one phase by competition, best first."""
    return home_views.challenge_page(platform, challenge, image_set, page)


@router.get("/challenges/{challenge}/{image_set}/competitions/{competition}")
def competition(platform: ThePlatform, challenge: str, image_set: str, competition: int) -> CompetitionView:
    """Return what a competition expects, how it is scored, and under which versions."""
    return home_views.competition_page(platform, challenge, image_set, competition)
