"""HTML pages: one's challenges, the overview of each, its phases, and re-scoring, for organisers."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Form as FormField
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from app.challenges.challenges import organised_phase
from app.challenges.rules import shown_of_scores
from app.core.access import Action, Actor
from app.evaluation import rescoring
from app.evaluation.rescoring import RescoreChoice, UndecidedCursor
from app.images import covers
from app.intake import diff_pictures, going_back, version_diffs
from app.intake.diff_pictures import PictureNumber
from app.intake.going_back import GoingBack
from app.organising import applied_versions, drafts
from app.organising import overview as organising_overview
from app.organising.applied_versions import Note, VersionNumber
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import LONGEST_REASON, Form, OrBlank, TheForm
from app.web.route_marks import marked

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

reading = APIRouter(prefix="/organise", dependencies=[requires(Action.READ_ORGANISING)])
router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])


@reading.get("")
def challenges(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """List your challenges with what needs you."""
    cards = organising_overview.cards(platform, actor)
    may_create = drafts.may_create(platform, actor)
    return render(request, "organisers/challenges.html", cards=cards, may_create=may_create)


@reading.get("/challenges/{challenge}")
def overview(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Show what needs you in a challenge, how far uploads came, and what arrived last."""
    view = organising_overview.challenge_overview(platform, actor, challenge)
    draft = drafts.unfinished(platform, actor, challenge)
    return render(request, "organisers/overview.html", view=view, draft=draft)


@reading.get("/challenges/{challenge}/phases")
def phases(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """List the phases of a challenge with their dates, quotas and queues."""
    return _phases(request, platform, actor, challenge, "organisers/phases.html")


@router.get("/challenges/{challenge}/ground-truth")
def ground_truth(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, following: TheFollowing
) -> Response:
    """Show the ground truth of each phase of a challenge, what it lacks, and re-scorings."""
    return _phases(request, platform, actor, challenge, "organisers/ground_truth.html", following)


def _phases(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    template: str,
    following: UndecidedCursor | None = None,
    form: Form | None = None,
) -> Response:
    view = organising_overview.phases_of(platform, actor, challenge, following)
    strips = {row.phase.id: covers.first_thumbnails(platform, row.phase) for row in view.phases}
    return render(
        request,
        template,
        view=view,
        strips=strips,
        following=following,
        form=form or Form(),
        shown_of_scores=shown_of_scores,
    )


@router.get("/phases/{phase_id}/ground-truth")
def ground_truth_of_phase(
    platform: ThePlatform, actor: CurrentActor, phase_id: int, following: TheFollowing
) -> Response:
    """Redirect to the page with the ground truth of a phase."""
    phase = organised_phase(platform, actor, phase_id)
    address = (
        f"/organise/challenges/{quote(phase.challenge)}/ground-truth{_query(following)}#phase-{phase_id}"
    )
    return RedirectResponse(address, status_code=303)


@router.get("/phases/{phase_id}/ground-truth/{version}")
def version_of_phase(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, version: VersionNumber
) -> Response:
    """Show a version of the annotation of a phase, what was counted in it, and what can be done with it."""
    return _version(request, platform, actor, phase_id, version)


def _version(
    request: Request,
    platform: Platform,
    actor: Actor,
    phase_id: int,
    version: int,
    form: Form | None = None,
) -> Response:
    view = applied_versions.version_of_phase(platform, actor, phase_id, version)
    return render(request, "organisers/version.html", view=view, form=form or Form())


@router.post("/phases/{phase_id}/ground-truth/{version}/note")
@marked(done="The note is saved.")
def write_note(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    form: TheForm,
) -> Response:
    """Say what is new in a version, for the organisers of the challenge alone."""
    with form.showing_errors():
        applied_versions.write_note(platform, actor, phase_id, version, form.read(Note))
        return RedirectResponse(f"/organise/phases/{phase_id}/ground-truth/{version}", status_code=303)
    return _version(request, platform, actor, phase_id, version, form)


@router.post("/phases/{phase_id}/ground-truth/{version}/use")
def go_back(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    form: TheForm,
) -> Response:
    """Go back to an earlier version: a worker stores it again as the next one."""
    with form.showing_errors(names={"note": "copy-note"}):
        going_back.request(platform, actor, phase_id, version, form.read(GoingBack))
        return _to_phase(phase_id)
    return _version(request, platform, actor, phase_id, version, form)


@router.get("/phases/{phase_id}/ground-truth/{version}/changes/{before}")
def changes(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    before: VersionNumber,
) -> Response:
    """Show what changed in a version since another one, once a worker has compared them for you."""
    view = version_diffs.view(platform, actor, phase_id, before, version)
    shown = diff_pictures.shown(platform, actor, phase_id, before, version)
    return render(request, "organisers/changes.html", view=view, shown=shown)


@router.post("/phases/{phase_id}/ground-truth/{version}/changes/{before}")
def compare(
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    before: VersionNumber,
) -> Response:
    """Have a worker find what changed in a version since another one, for you alone."""
    version_diffs.request(platform, actor, phase_id, before, version)
    address = f"/organise/phases/{phase_id}/ground-truth/{version}/changes/{before}"
    return RedirectResponse(address, status_code=303)


@router.post("/phases/{phase_id}/ground-truth/{version}/changes/{before}/drawn")
def draw_changes(
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    before: VersionNumber,
) -> Response:
    """Have a worker draw some images that differ, for you alone."""
    diff_pictures.request(platform, actor, phase_id, before, version)
    address = f"/organise/phases/{phase_id}/ground-truth/{version}/changes/{before}#pictures"
    return RedirectResponse(address, status_code=303)


@router.get("/phases/{phase_id}/ground-truth/{version}/changes/{before}/drawn/{number}")
def drawn_change(
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    version: VersionNumber,
    before: VersionNumber,
    number: PictureNumber,
) -> Response:
    """Return a picture of what changed, while it is there."""
    content = diff_pictures.picture(platform, actor, phase_id, before, version, number)
    return Response(content, media_type="image/jpeg", headers={"Cache-Control": "no-store"})


def _query(following: UndecidedCursor | None) -> str:
    return f"?rescore={following.rescore}&after={following.run}" if following else ""


def _to_phase(phase_id: int | None, following: UndecidedCursor | None = None) -> Response:
    address = f"/organise/phases/{phase_id}/ground-truth{_query(following)}" if phase_id else "/organise"
    return RedirectResponse(address, status_code=303)


PhaseField = Annotated[int | None, FormField(description="to return to")]


@router.post("/phases/{phase_id}/rescore")
@marked(done="Scoring everything again has begun.")
def rescore_phase(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Score every result on a phase's boards again."""
    rescoring.rescore_phase(platform, actor, phase_id)
    return _to_phase(phase_id)


@router.post("/results/{result_id}/rescore")
@marked(done="The result is queued to be scored again.")
def rescore_result(
    platform: ThePlatform,
    actor: CurrentActor,
    result_id: int,
    submission: Annotated[int | None, FormField(description="to return to")] = None,
) -> Response:
    """Score one result again."""
    rescoring.rescore_one_result(platform, actor, result_id)
    return RedirectResponse(f"/submissions/{submission}" if submission else "/organise", status_code=303)


class Decision(BaseModel):
    """A decision about a result that a re-scoring could not score."""

    choice: RescoreChoice
    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""


class Place(BaseModel):
    """The page of undecided runs that a decision is made on."""

    phase: OrBlank[int] = None
    rescore: OrBlank[int] = None
    after: OrBlank[int] = None


@router.post("/runs/{run_id}/decision")
@marked(done="Your decision is recorded.")
def decide(
    request: Request, platform: ThePlatform, actor: CurrentActor, run_id: int, form: TheForm
) -> Response:
    """Decide about a result that a re-scoring could not score."""
    place = form.read(Place)
    following = following_of(place.rescore, place.after)
    with form.showing_errors(names={"reason": f"reason-{run_id}"}):
        made = form.read(Decision)
        rescoring.decide(platform, actor, run_id, made.choice, made.reason)
        return _to_phase(place.phase, following)
    challenge = organised_phase(platform, actor, place.phase or 0).challenge
    return _phases(request, platform, actor, challenge, "organisers/ground_truth.html", following, form)


@router.post("/rescores/{rescore_id}/retry")
@marked(done="The failed runs are queued again.")
def retry(platform: ThePlatform, actor: CurrentActor, rescore_id: int, phase: PhaseField = None) -> Response:
    """Retry the failed runs of a re-scoring."""
    rescoring.retry(platform, actor, rescore_id)
    return _to_phase(phase)


@router.post("/rescores/{rescore_id}/abandon")
@marked(done="The new scores are discarded.")
def abandon(
    platform: ThePlatform, actor: CurrentActor, rescore_id: int, phase: PhaseField = None
) -> Response:
    """Abandon a re-scoring; the boards do not change."""
    rescoring.abandon(platform, actor, rescore_id)
    return _to_phase(phase)
