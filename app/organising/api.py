"""JSON API: overview, disclosure and re-scoring, for organisers."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app.challenges import challenges
from app.challenges.disclosure import Exposure
from app.core.access import Action
from app.evaluation import rescoring
from app.evaluation.rescoring import RescoreChoice
from app.organising import disclosing
from app.organising import overview as organising_overview
from app.organising.disclosing import DisclosureView, NewDisclosure
from app.organising.overview import OrganiserPhase
from app.organising.pages import TheFollowing
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/organise", tags=["organisers"], dependencies=[requires(Action.ORGANISE)])


class NewDecision(BaseModel):
    """A decision about a result that a re-scoring could not score."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    choice: Annotated[
        RescoreChoice, Field(description="keep its old score on the board, marked; withdraw it; or retry")
    ]
    reason: Annotated[str, Field(max_length=1000, description="required to withdraw")] = ""


@router.get("")
def overview(
    platform: ThePlatform, actor: CurrentActor, following: TheFollowing
) -> tuple[OrganiserPhase, ...]:
    """List every phase of your challenges with its queue, ground truth and running re-scoring, if any."""
    return organising_overview.overview(platform, actor, following).phases


@router.post("/results/{result_id}/rescore", status_code=202)
def rescore_result(platform: ThePlatform, actor: CurrentActor, result_id: int) -> dict[str, int | None]:
    """Score one result again. A refused or failed result is just queued again, and `rescore` is null."""
    return {"rescore": rescoring.rescore_one_result(platform, actor, result_id)}


@router.post("/{challenge}/{image_set}/rescore", status_code=202)
def rescore(platform: ThePlatform, actor: CurrentActor, challenge: str, image_set: str) -> dict[str, int]:
    """Score every result on a phase's boards again; the boards switch at once when each is scored or decided."""
    phase = challenges.phase_page(platform, challenge, image_set)
    return {"rescore": rescoring.rescore_phase(platform, actor, phase.id)}


@router.get("/phases/{phase_id}/disclosure")
def disclosure(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> DisclosureView:
    """Get what a phase discloses, and why other options are not allowed."""
    return disclosing.disclosure_page(platform, actor, phase_id)


@router.get("/phases/{phase_id}/exposure")
def exposure(
    platform: ThePlatform, actor: CurrentActor, phase_id: int, after: int = 0
) -> tuple[Exposure, ...]:
    """Estimate how much each team can have learnt about the hidden labels: 20 teams by id, after team `after`."""
    return disclosing.exposure_page(platform, actor, phase_id, after)[1]


@router.put("/phases/{phase_id}/disclosure")
def change_disclosure(
    platform: ThePlatform, actor: CurrentActor, phase_id: int, wanted: NewDisclosure
) -> DisclosureView:
    """Change what a phase discloses; once it has results, this can only become stricter until it is over."""
    return disclosing.change_disclosure(platform, actor, phase_id, wanted)


@router.post("/runs/{run_id}/decision", status_code=204)
def decide(platform: ThePlatform, actor: CurrentActor, run_id: int, decision: NewDecision) -> None:
    """Decide about a result that a re-scoring could not score; the boards switch after the last decision."""
    rescoring.decide(platform, actor, run_id, decision.choice, decision.reason)


@router.post("/rescores/{rescore_id}/retry")
def retry(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> dict[str, int]:
    """Queue again all undecided runs that a re-scoring could not score; returns how many."""
    return {"runs": rescoring.retry(platform, actor, rescore_id)}


@router.post("/rescores/{rescore_id}/abandon", status_code=204)
def abandon(platform: ThePlatform, actor: CurrentActor, rescore_id: int) -> None:
    """Abandon a re-scoring; the boards do not change."""
    rescoring.abandon(platform, actor, rescore_id)
