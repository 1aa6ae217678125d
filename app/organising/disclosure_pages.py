"""HTML pages: disclosure and exposure of a phase."""

from dataclasses import asdict

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.core.access import Action
from app.organising import disclosing
from app.organising.disclosing import NewDisclosure
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])


@router.get("/phases/{phase_id}/disclosure")
def disclosure(request: Request, phase_id: int) -> Response:
    """Show the five disclosure options, what attackers can recover under each, and the form to choose one."""
    return _disclosure(request, phase_id, Form())


def _disclosure(request: Request, phase_id: int, form: Form) -> Response:
    view = disclosing.disclosure_page(platform_of_request(request), actor_of_request(request), phase_id)
    now = asdict(view.terms) | {"shows_exposure": view.phase.shows_exposure}
    return render(
        request, "organisers/disclosure.html", view=view, leaks=DISCLOSURE_LEVELS, form=form.fill(now)
    )


@router.post("/phases/{phase_id}/disclosure")
@marked(done="The disclosure is changed.")
def change_disclosure(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, form: TheForm
) -> Response:
    """Change what a phase discloses."""
    with form.showing_errors():
        disclosing.change_disclosure(platform, actor, phase_id, form.read(NewDisclosure))
        return RedirectResponse(f"/organise/phases/{phase_id}/disclosure", status_code=303)
    return _disclosure(request, phase_id, form)


@router.get("/phases/{phase_id}/exposure")
def exposure(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, after: int = 0
) -> Response:
    """Show how much each team can have learnt about the hidden labels of a phase."""
    phase, teams = disclosing.exposure_page(platform, actor, phase_id, after)
    following = teams[-1].team_id if len(teams) == disclosing.TEAMS else None
    return render(request, "organisers/exposure.html", phase=phase, teams=teams, following=following)
