"""HTML pages: home, search, challenges, competitions and the upload form."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.challenges.rules import rules_of
from app.challenges.tabs import organise_tab
from app.core.access import Action, Actor
from app.core.errors import NotFoundError
from app.core.paging import PageNumber, part_of
from app.core.rate_limits import Limited
from app.home import front, trying
from app.home import home as home_views
from app.home.front import ChallengeState
from app.home.home import ChallengeView, timeline_of
from app.home.overview import own_view
from app.people.accounts import is_set_up
from app.results.standings import MOST_PAGES
from app.web.dependencies import (
    SETUP_COOKIE,
    CurrentActor,
    ThePlatform,
    limited,
    render,
    render_shared,
    render_template,
    requires,
)
from app.web.tables import bibtex
from app.web.theme import Theme, choose_theme

router = APIRouter()
STEPS: Final = "<!-- steps -->"  # marks of a challenge's page: where its reader's steps stand
QUOTAS: Final = "<!-- quotas -->"  # what is left of their quotas
OWN: Final = "<!-- own -->"  # and whom they can ask
CARDS: Final = 24  # challenges on a page of their list
TABLES: Final = 10  # the same of the list of leaderboards

Set = Annotated[
    str | None,
    Query(
        max_length=100,
        description="the image set whose methods are shown; by default, a phase that has opened",
    ),
]
Kind = Annotated[Literal["html", "bib"], Query(alias="format")]
Words = Annotated[
    str, Query(max_length=100, description="the name of a challenge, or the beginning of a method's name")
]
Task = Annotated[str | None, Query(max_length=40, description="only challenges with this task")]
State = Annotated[ChallengeState | None, Query(description="only challenges in this state")]
Page = Annotated[int, Query(ge=1, le=MOST_PAGES, description="page of methods, best first")]
PageIfShown = Annotated[int | None, Query(ge=1, le=MOST_PAGES)]


@router.get("/", dependencies=[requires(Action.READ_PUBLIC)])
def home(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show what this site is, what is open and what is new."""
    if SETUP_COOKIE in request.cookies and not is_set_up(platform):
        return RedirectResponse("/setup", status_code=303)
    is_admin = actor.is_admin  # an empty server tells them what to do

    def read() -> dict[str, Any]:
        return {"home": front.home(platform), "is_admin": is_admin, "can_try": trying.is_offered(platform)}

    return render_shared(request, "home/home.html", is_admin, read)


@router.get("/challenges", dependencies=[requires(Action.READ_PUBLIC)])
def challenges(
    request: Request, platform: ThePlatform, task: Task = None, state: State = None, page: PageNumber = 1
) -> Response:
    """List all challenges, or those with a task or in a state, by state and then the newest first."""
    query = {"task": task, "state": state}

    def read() -> dict[str, Any]:
        found = front.all_challenges(platform, task, state)
        by_state = sorted(found.challenges, key=lambda each: [*ChallengeState].index(each.state))
        return {"found": found, "query": query, "listed": part_of(by_state, page, CARDS)}

    return render_shared(request, "home/challenges.html", (task, state, page), read)


@router.get("/leaderboards", dependencies=[requires(Action.READ_PUBLIC)])
def leaderboards(
    request: Request, platform: ThePlatform, image_set: Set = None, page: PageNumber = 1
) -> Response:
    """List the leaderboards of one image set of each challenge, with their leaders."""

    def read() -> dict[str, Any]:
        having_boards = [each for each in front.all_boards(platform) if each.boards]
        known = {board.phase.image_set for each in having_boards for board in each.boards}
        if image_set not in {None, *known}:
            raise NotFoundError(f"no leaderboard is of the image set {image_set!r}")
        return {"listed": part_of(having_boards, page, TABLES), "image_set": image_set}

    return render_shared(request, "home/leaderboards.html", (image_set, page), read)


@router.get("/challenges/{challenge}/leaderboards", dependencies=[requires(Action.READ_PUBLIC)])
def boards_of_challenge(platform: ThePlatform, challenge: str) -> Response:
    """Lead to the main leaderboard of a challenge."""
    return RedirectResponse(quote(front.board_of_challenge(platform, challenge)), status_code=303)


@router.get("/challenges/{challenge}/figures", dependencies=[requires(Action.READ_PUBLIC)])
def figures_of_challenge(platform: ThePlatform, challenge: str) -> Response:
    """Lead to the figures of the main leaderboard of a challenge."""
    return RedirectResponse(
        f"{quote(front.board_of_challenge(platform, challenge))}/figures", status_code=303
    )


@router.post("/theme", dependencies=[requires(Action.READ_PUBLIC)])
def theme(request: Request, platform: ThePlatform, theme: Annotated[Theme, Form()]) -> Response:
    """Remember in this browser whether pages are light or dark."""
    secure = platform.settings.secure_cookies or request.url.scheme == "https"
    return choose_theme(request, theme, secure=secure)


@router.get("/try", dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)])
def tried(
    request: Request, platform: ThePlatform, newest: Annotated[str, Query(max_length=10)] = ""
) -> Response:
    """Offer *Try it now*; or show its newest test run on its way to a score, as to those who have started one."""
    run = trying.newest(platform)
    return render(
        request,
        "home/try.html",
        tried=run if newest else None,
        has_newest=run is not None,
        drawn=platform.cache.version(("tried", "drawn"), lambda: trying.illustration(platform)),
        archive_name=trying.ARCHIVE,
        archive_size=trying.archive_of(platform).stat().st_size,
        most=trying.MOST_A_MINUTE,
    )


@router.post("/try", dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)])
def try_now(platform: ThePlatform) -> Response:
    """Submit the server's own archive to a copy of the sample, unless others did so a moment ago."""
    trying.submit(platform)
    return RedirectResponse("/try?newest=1", status_code=303)


@router.get("/find", dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)])
def find(request: Request, platform: ThePlatform, actor: CurrentActor, q: Words = "") -> Response:
    """Find challenges and public methods by name."""
    return render(request, "home/find.html", found=home_views.find(platform, actor, q))


@router.get("/challenges/{challenge}", dependencies=[requires(Action.READ_PUBLIC)])
def challenge(
    request: Request,
    platform: ThePlatform,
    challenge: str,
    image_set: Set = None,
    page: PageIfShown = None,
    kind: Kind = "html",
) -> Response:
    """Show a challenge with its timeline and, if a page of them is asked for, its methods by competition; or its BibTeX entry."""
    if kind == "bib":
        view = home_views.challenge_page(platform, challenge, image_set, 1)
        result = view.overview.texts.citation or citation(
            view, f"{platform.settings.address}/challenges/{quote(challenge)}"
        )
        return Response(result, media_type="application/x-bibtex")

    def read() -> dict[str, Any]:
        view = home_views.challenge_page(platform, challenge, image_set, page or 1)
        timeline = timeline_of([card.phase for card in view.phases], datetime.now(UTC))
        shows_methods = page is not None  # they take more space than all the rest
        return {
            "challenge": view,
            "timeline": timeline,
            "shows_methods": shows_methods,
            "can_try": trying.is_offered(platform, challenge),
            "rules_of": rules_of,
        }

    def own(actor: Actor) -> dict[str, str]:
        mine = own_view(platform, actor, challenge)
        return {
            STEPS: render_template("home/own_steps.html", own=mine),
            QUOTAS: render_template("home/own_quotas.html", own=mine),
            OWN: render_template("home/own_aside.html", own=mine),
            **organise_tab(platform, actor, challenge),
        }

    return render_shared(request, "home/challenge.html", (challenge, image_set, page), read, own)


def citation(challenge: ChallengeView, address: str) -> str:
    """Write the BibTeX entry of a challenge, with the year in which it opened."""
    opened = min((card.phase.opens_at for card in challenge.phases), default=None)
    fields = {
        "title": challenge.title,
        "key": challenge.title,  # styles sort entries without an author by this key
        "year": f"{opened:%Y}" if opened else "",
        "howpublished": address,
    }
    return bibtex(challenge.code, fields)


@router.get(
    "/challenges/{challenge}/{image_set}/competitions/{competition}",
    dependencies=[requires(Action.READ_PUBLIC)],
)
def competition(
    request: Request, platform: ThePlatform, challenge: str, image_set: str, competition: int
) -> Response:
    """Show what a competition expects and how it is scored."""
    view = home_views.competition_page(platform, challenge, image_set, competition)
    phases = home_views.phases_of(platform, challenge)
    return render(request, "home/competition.html", view=view, phases_of_all=phases, rules_of=rules_of)
