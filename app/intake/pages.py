"""HTML pages: the data sets that organisers send."""

import uuid
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Request
from fastapi.responses import RedirectResponse, Response

import heldout_scoring
from app.core.access import Action, Actor
from app.core.errors import FieldsError
from app.core.paging import Before
from app.intake import annotated_pictures, applying, intakes, trials
from app.intake.applying import Application, ApplicationError
from app.intake.drawing import MOST
from app.intake.reports import PUBLIC, Audience
from app.intake.table_choices import TableRequest
from app.models import Disclosure, IntakeRole
from app.platform import Platform
from app.web.addresses import page_of_form
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])

PictureNumber = Annotated[int, Path(ge=1, le=MOST)]


@router.get("/challenges/{challenge}/data-sets")
def data_sets(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, before: Before = None
) -> Response:
    """List the data sets that were sent for a challenge."""
    page = intakes.intakes_of(platform, actor, challenge, before)
    return render(request, "data_sets/data_sets.html", page=page, is_first=before is None)


@router.post("/challenges/{challenge}/data-sets")
def start(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Start a data set."""
    return _to(intakes.start(platform, actor, challenge).id)


def _to(intake_id: uuid.UUID) -> Response:
    return RedirectResponse(f"/organise/data-sets/{intake_id}", status_code=303)


def _back(request: Request, intake_id: uuid.UUID, part: str = "") -> Response:
    """Return to the step of a new challenge whose page has sent the form, or to the data set."""
    page = page_of_form(request)
    address = page if page.startswith("/organise/new/") else f"/organise/data-sets/{intake_id}"
    return RedirectResponse(f"{address}{part}", status_code=303)


@router.get("/data-sets/{intake_id}")
def data_set(request: Request, platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID) -> Response:
    """Show a data set: its drop zones, files and report, and the form that applies it."""
    return _page(request, platform, actor, intake_id, Form())


def _page(request: Request, platform: Platform, actor: Actor, intake_id: uuid.UUID, form: Form) -> Response:
    intake = intakes.get_intake(platform, actor, intake_id)
    return render(
        request,
        "data_sets/data_set.html",
        intake=intake,
        shown=annotated_pictures.shown(platform, actor, intake_id),
        trials=trials.trials_of(platform, actor, intake.phase_id) if intake.phase_id else None,
        phases=applying.phases_to_replace(platform, intake.challenge),
        form=form,
        disclosures=tuple(each for each in Disclosure if each is not Disclosure.FULL),
        protocols={each.name: each.title for each in heldout_scoring.PROTOCOLS.values()},
    )


@router.get("/data-sets/{intake_id}/status")
def status(request: Request, platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID) -> Response:
    """Return the state of a data set, which its page polls while a worker processes it; then the page is loaded again."""
    intake = intakes.get_intake(platform, actor, intake_id)
    response = render(request, "data_sets/status.html", intake=intake)
    if not intake.is_with_worker:
        response.headers["HX-Refresh"] = "true"
    return response


@router.post("/data-sets/{intake_id}/read")
def read(platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID) -> Response:
    """Have a worker read a data set."""
    intakes.read(platform, actor, intake_id)
    return _to(intake_id)


@router.post("/data-sets/{intake_id}/audiences")
def answer_audiences(
    platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID, form: TheForm
) -> Response:
    """Answer who may see the annotation of an image set that was sent as public."""
    answer = Audience(form.text("set"), is_hidden=form.text("seen") != PUBLIC)
    intakes.answer_audiences(platform, actor, intake_id, [answer])
    return _to(intake_id)


@router.post("/data-sets/{intake_id}/cancel")
def cancel(request: Request, platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID) -> Response:
    """Stop the worker that reads a data set."""
    intakes.cancel(platform, actor, intake_id)
    return _back(request, intake_id)


@router.post("/data-sets/{intake_id}/apply")
def apply(
    request: Request, platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID, form: TheForm
) -> Response:
    """Make an image set of a data set a phase, or the next version of a phase's ground truth."""
    with form.showing_errors():
        application = form.read(
            Application, quotas=form.text("quotas"), disclosure=form.text("disclosure") or None
        )
        try:
            applying.request_application(platform, actor, intake_id, application)
        except ApplicationError as error:
            raise FieldsError(error.problems) from error
        return _to(intake_id)
    return _page(request, platform, actor, intake_id, form)


@router.post("/data-sets/{intake_id}/folder")
def add_from_folder(
    request: Request, platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID, form: TheForm
) -> Response:
    """Add an archive or a folder of the workers' import folder; for admins."""
    with form.showing_errors():
        path, role = form.text("path"), form.text("role")
        if role not in tuple(IntakeRole):
            raise FieldsError({"": "choose what the files contain"})
        intakes.add_from_folder(platform, actor, intake_id, IntakeRole(role), path)
        return _back(request, intake_id)
    return _page(request, platform, actor, intake_id, form)


@router.post("/data-sets/{intake_id}/tables")
def choose_tables(
    request: Request, platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID, form: TheForm
) -> Response:
    """Say what the columns of tables hold or how they are encoded, and have a worker read the data set again."""
    with form.showing_errors():
        intakes.choose_tables(platform, actor, intake_id, form.read(TableRequest))
        return _to(intake_id)
    return _page(request, platform, actor, intake_id, form)


@router.post("/data-sets/{intake_id}/delete")
@marked(done="The data set is deleted.")
def delete(platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID) -> Response:
    """Delete a data set and its bytes."""
    code = intakes.delete_intake(platform, actor, intake_id)
    return RedirectResponse(f"/organise/challenges/{quote(code)}/data-sets", status_code=303)


@router.post("/data-set-files/{intake_file_id}/delete")
@marked(done="The file is removed.")
def remove(
    request: Request, platform: ThePlatform, actor: CurrentActor, intake_file_id: uuid.UUID
) -> Response:
    """Remove a file of a data set and its bytes."""
    return _back(request, intakes.remove_file(platform, actor, intake_file_id))


@router.post("/data-sets/{intake_id}/pictures")
def draw_pictures(
    request: Request, platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID
) -> Response:
    """Have a worker draw hidden annotation over some pictures, for you alone."""
    annotated_pictures.request(platform, actor, intake_id)
    return _back(request, intake_id, "#pictures")


@router.get("/data-sets/{intake_id}/pictures/{role}/{number}")
def drawn_picture(
    platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID, role: IntakeRole, number: PictureNumber
) -> Response:
    """Return a picture with its annotation drawn, while it is there."""
    content = annotated_pictures.picture(platform, actor, intake_id, role, number)
    return Response(content, media_type="image/jpeg", headers={"Cache-Control": "no-store"})


@router.get("/phases/{phase_id}/trials")
def trial_results(request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Show the scores of made-up results, as participants will see theirs."""
    return render(request, "data_sets/trials_page.html", trials=trials.trials_of(platform, actor, phase_id))


@router.post("/phases/{phase_id}/trials")
def score_trial_results(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Have a worker make up results and score them."""
    trials.request(platform, actor, phase_id)
    return RedirectResponse(f"/organise/phases/{phase_id}/trials", status_code=303)
