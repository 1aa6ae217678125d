"""HTML pages: disclosure and exposure of a phase."""

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.core.access import Action
from app.core.errors import ConflictError, MalformedError
from app.organising import disclosing
from app.organising.disclosing import DisclosureView, NewDisclosure
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import SentForm, field_errors, values_of

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])


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
    view = disclosing.disclosure_page(platform_of_request(request), actor_of_request(request), phase_id)
    return render(
        request,
        "organisers/disclosure.html",
        code=409 if refused else 422 if problems else 200,
        view=view,
        leaks=DISCLOSURE_LEVELS,
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
        disclosing.change_disclosure(platform, actor, phase_id, NewDisclosure.model_validate(form))
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
    phase, teams = disclosing.exposure_page(platform, actor, phase_id, after)
    following = teams[-1].team_id if len(teams) == disclosing.TEAMS else None
    return render(request, "organisers/exposure.html", phase=phase, teams=teams, following=following)
