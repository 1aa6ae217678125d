"""What organisers can do in the browser."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.access import Action
from app.disclosure.schemas import LEAKS
from app.models import Disclosure
from app.organisers import service
from app.organisers.schemas import NewDisclosure
from app.rescoring import service as rescoring
from app.rescoring.schemas import Choice, Following
from app.web import CurrentActor, ThePlatform, render, requires

RunNumber = Annotated[
    int | None,
    Query(ge=1, le=2**63 - 1, description="the last undecided run of the page before; with `rescore`"),
]
RescoreNumber = Annotated[
    int | None, Query(ge=1, le=2**63 - 1, description="the re-scoring whose undecided runs are paged")
]


def following_of(rescore: RescoreNumber = None, after: RunNumber = None) -> Following | None:
    """Which page of a re-scoring's undecided runs is asked for; none for the first of each."""
    return Following(rescore, after) if rescore and after else None


TheFollowing = Annotated[Following | None, Depends(following_of)]

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])


@router.get("")
def overview(
    request: Request, platform: ThePlatform, actor: CurrentActor, following: TheFollowing
) -> Response:
    """Every phase of your editions with its queue."""
    return render(request, "organisers/overview.html", phases=service.overview(platform, actor, following))


@router.post("/phases/{phase_id}/rescore")
def rescore_phase(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Score everything on a phase's boards again."""
    rescoring.request(platform, actor, phase_id)
    return RedirectResponse("/organise", status_code=303)


@router.post("/entries/{entry_id}/rescore")
def rescore_entry(platform: ThePlatform, actor: CurrentActor, entry_id: int) -> Response:
    """Score one entry again."""
    rescoring.request_entry(platform, actor, entry_id)
    return RedirectResponse("/organise", status_code=303)


@router.post("/runs/{run_id}/decision")
def decide(
    platform: ThePlatform,
    actor: CurrentActor,
    run_id: int,
    choice: Annotated[Choice, Form()],
    reason: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Decide about an entry that a re-scoring could not score."""
    rescoring.decide(platform, actor, run_id, choice, reason)
    return RedirectResponse("/organise", status_code=303)


@router.post("/rescores/{rescore_id}/retry")
def retry(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> Response:
    """Try what failed in a re-scoring again."""
    rescoring.retry(platform, actor, rescore_id)
    return RedirectResponse("/organise", status_code=303)


@router.post("/rescores/{rescore_id}/abandon")
def abandon(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> Response:
    """Drop a re-scoring; the boards stay as they are."""
    rescoring.abandon(platform, actor, rescore_id)
    return RedirectResponse("/organise", status_code=303)


@router.get("/phases/{phase_id}/disclosure")
def disclosure(request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """The five ways to disclose scores, with what attackers recover under each, and the form to choose one."""
    view = service.disclosure_page(platform, actor, phase_id)
    return render(request, "organisers/disclosure.html", view=view, leaks=LEAKS)


@router.get("/phases/{phase_id}/exposure")
def exposure(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, after: int = 0
) -> Response:
    """How much each team can have learnt of the hidden labels of a phase."""
    phase, teams = service.exposure_page(platform, actor, phase_id, after)
    following = teams[-1].team_id if len(teams) == service.TEAMS else None
    return render(request, "organisers/exposure.html", phase=phase, teams=teams, following=following)


@router.post("/phases/{phase_id}/disclosure")
def change_disclosure(
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    disclosure: Annotated[Disclosure, Form()],
    reason: Annotated[str, Form(min_length=1, max_length=1000)],
    *,
    details_at_close: Annotated[bool, Form()] = False,
    only_complete: Annotated[bool, Form()] = False,
    shows_exposure: Annotated[bool, Form()] = False,
    annotation_is_public: Annotated[bool, Form()] = False,
) -> Response:
    """Change what a phase discloses."""
    wanted = NewDisclosure(
        disclosure=disclosure,
        details_at_close=details_at_close,
        only_complete=only_complete,
        shows_exposure=shows_exposure,
        annotation_is_public=annotation_is_public,
        reason=reason,
    )
    service.change_disclosure(platform, actor, phase_id, wanted)
    return RedirectResponse(f"/organise/phases/{phase_id}/disclosure", status_code=303)
