"""HTML pages: the overview and re-scoring, for organisers."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from app.core.access import Action
from app.evaluation import rescoring
from app.evaluation.rescoring import RescoreChoice, UndecidedCursor
from app.organising import overview as organising_overview
from app.web.dependencies import CurrentActor, ThePlatform, render, requires

RunNumber = Annotated[
    int | None,
    Query(ge=1, le=2**63 - 1, description="the last undecided run of the previous page; requires `rescore`"),
]
RescoreNumber = Annotated[
    int | None, Query(ge=1, le=2**63 - 1, description="the re-scoring whose undecided runs `after` refers to")
]


def following_of(rescore: RescoreNumber = None, after: RunNumber = None) -> UndecidedCursor | None:
    """Return the requested page of a re-scoring's undecided runs; None for the first page of each."""
    return UndecidedCursor(rescore, after) if rescore and after else None


TheFollowing = Annotated[UndecidedCursor | None, Depends(following_of)]

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])


@router.get("")
def overview(
    request: Request, platform: ThePlatform, actor: CurrentActor, following: TheFollowing
) -> Response:
    """List every phase of your challenges with its queue."""
    found = organising_overview.overview(platform, actor, following)
    return render(
        request,
        "organisers/overview.html",
        phases=found.phases,
        following=following,
        lacks_worker=found.lacks_worker,
        lacks_mail=found.lacks_mail,
        undelivered=found.undelivered,
    )


@router.post("/phases/{phase_id}/rescore")
def rescore_phase(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Score every result on a phase's boards again."""
    rescoring.rescore_phase(platform, actor, phase_id)
    return RedirectResponse("/organise", status_code=303)


@router.post("/results/{result_id}/rescore")
def rescore_result(platform: ThePlatform, actor: CurrentActor, result_id: int) -> Response:
    """Score one result again."""
    rescoring.rescore_one_result(platform, actor, result_id)
    return RedirectResponse("/organise", status_code=303)


class DecisionForm(BaseModel):
    """A decision, and the page of undecided runs that it was made on."""

    choice: RescoreChoice
    reason: Annotated[str, Field(max_length=1000)] = ""
    phase: int | None = None
    rescore: int | None = None
    after: int | None = None

    def page(self) -> str:
        """Return the URL of that page."""
        query = f"?rescore={self.rescore}&after={self.after}" if self.rescore and self.after else ""
        return f"/organise{query}" + (f"#phase-{self.phase}" if self.phase else "")


@router.post("/runs/{run_id}/decision")
def decide(
    platform: ThePlatform, actor: CurrentActor, run_id: int, form: Annotated[DecisionForm, Form()]
) -> Response:
    """Decide about a result that a re-scoring could not score."""
    rescoring.decide(platform, actor, run_id, form.choice, form.reason)
    return RedirectResponse(form.page(), status_code=303)


@router.post("/rescores/{rescore_id}/retry")
def retry(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> Response:
    """Retry the failed runs of a re-scoring."""
    rescoring.retry(platform, actor, rescore_id)
    return RedirectResponse("/organise", status_code=303)


@router.post("/rescores/{rescore_id}/abandon")
def abandon(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> Response:
    """Abandon a re-scoring; the boards do not change."""
    rescoring.abandon(platform, actor, rescore_id)
    return RedirectResponse("/organise", status_code=303)
