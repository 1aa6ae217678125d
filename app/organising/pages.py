"""HTML pages: overview, disclosure and re-scoring, for organisers."""

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import FormData

from app.challenges.disclosure import LEAKS
from app.core.access import Action
from app.core.errors import ConflictError, MalformedError
from app.evaluation import rescoring
from app.evaluation.rescoring import Choice, Following
from app.organising import overview as organising_overview
from app.organising.overview import DisclosureView, NewDisclosure
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import SentForm, field_errors, values_of

RunNumber = Annotated[
    int | None,
    Query(ge=1, le=2**63 - 1, description="the last undecided run of the previous page; requires `rescore`"),
]
RescoreNumber = Annotated[
    int | None, Query(ge=1, le=2**63 - 1, description="the re-scoring whose undecided runs `after` refers to")
]


def following_of(rescore: RescoreNumber = None, after: RunNumber = None) -> Following | None:
    """Return the requested page of a re-scoring's undecided runs; None for the first page of each."""
    return Following(rescore, after) if rescore and after else None


TheFollowing = Annotated[Following | None, Depends(following_of)]

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
    )


@router.post("/phases/{phase_id}/rescore")
def rescore_phase(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Score every result on a phase's boards again."""
    rescoring.request(platform, actor, phase_id)
    return RedirectResponse("/organise", status_code=303)


@router.post("/results/{result_id}/rescore")
def rescore_result(platform: ThePlatform, actor: CurrentActor, result_id: int) -> Response:
    """Score one result again."""
    rescoring.request_entry(platform, actor, result_id)
    return RedirectResponse("/organise", status_code=303)


class DecisionForm(BaseModel):
    """A decision, and the page of undecided runs that it was made on."""

    choice: Choice
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


@router.get("/phases/{phase_id}/disclosure")
def disclosure(request: Request, phase_id: int) -> Response:
    """Show the five disclosure options, what attackers can recover under each, and the form to choose one."""
    return _disclosure(request, phase_id)


def _form_of(view: DisclosureView) -> dict[str, Any]:
    """Fill the form with the current settings of the phase."""
    now = asdict(view.terms) | {"shows_exposure": view.phase.shows_exposure}
    return values_of(FormData(), NewDisclosure) | now


def _disclosure(
    request: Request,
    phase_id: int,
    form: Mapping[str, Any] | None = None,
    *,
    problems: Mapping[str, str] = MappingProxyType({}),
    refused: tuple[str, ...] = (),
) -> Response:
    view = organising_overview.disclosure_page(
        platform_of_request(request), actor_of_request(request), phase_id
    )
    return render(
        request,
        "organisers/disclosure.html",
        code=409 if refused else 422 if problems else 200,
        view=view,
        leaks=LEAKS,
        form=form or _form_of(view),
        problems=problems,
        refused=refused,
    )


@router.post("/phases/{phase_id}/disclosure")
def change_disclosure(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    sent: SentForm,
) -> Response:
    """Change what a phase discloses."""
    form = values_of(sent, NewDisclosure)
    try:
        organising_overview.change_disclosure(platform, actor, phase_id, NewDisclosure.model_validate(form))
    except ValidationError as error:
        return _disclosure(request, phase_id, form, problems=field_errors(error))
    except MalformedError as error:
        return _disclosure(request, phase_id, form, problems={"annotation_is_public": str(error)})
    except ConflictError as error:
        return _disclosure(request, phase_id, form, refused=(str(error),))
    return RedirectResponse(f"/organise/phases/{phase_id}/disclosure", status_code=303)


@router.get("/phases/{phase_id}/exposure")
def exposure(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, after: int = 0
) -> Response:
    """Show how much each team can have learnt about the hidden labels of a phase."""
    phase, teams = organising_overview.exposure_page(platform, actor, phase_id, after)
    following = teams[-1].team_id if len(teams) == organising_overview.TEAMS else None
    return render(request, "organisers/exposure.html", phase=phase, teams=teams, following=following)
