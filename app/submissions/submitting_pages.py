"""Pages: the one on which an archive is uploaded, checked and submitted."""

import re
import uuid
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

import heldout_scoring
from app.core.access import Action, Actor
from app.core.rate_limits import Limited
from app.platform import Platform
from app.submissions import checking, submit_page, submitting, uploads
from app.submissions.methods import NewMethod, Training, TrainingAnnotation
from app.submissions.questions import FIELD, answers_sent
from app.submissions.quotas import quota_text
from app.submissions.submit_page import LONGEST_NAME, MOST_COMPETITIONS, SubmitChoice, SubmitPage, call_of
from app.submissions.submitting import NewSubmission
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    limited,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()

NAMES: Final = {"name": "method", "competitions": "competition"}  # of fields in the form
LONGEST_KEY: Final = 64


@router.get("/challenges/{challenge}/{image_set}/submit", dependencies=[requires(Action.UPLOAD)])
def empty(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, image_set: str
) -> Response:
    """Show where to drop an archive, what it holds, and the remaining quota."""
    return _render(request, submit_page.empty_page(platform, actor, challenge, image_set), SubmitChoice())


@router.get("/uploads/{upload_id}", dependencies=[requires(Action.READ_UPLOAD)])
def upload(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    upload_id: uuid.UUID,
    choice: Annotated[SubmitChoice, Query()],
) -> Response:
    """Show an upload with its validation report, and the form to submit it with what follows from that."""
    page = submit_page.page_of_upload(platform, actor, upload_id, choice)
    return _render(request, page, choice)


@router.post("/uploads/{upload_id}", dependencies=[requires(Action.SUBMIT), limited(Limited.UPLOAD)])
@marked(done="It is submitted.")
async def submit(
    request: Request, platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID, form: TheForm
) -> Response:
    """Submit an upload as a method's results. Sending the same form twice has no further effect."""

    def confirm() -> int:
        requested = _to_submission(upload_id, form)
        return submitting.confirm(platform, actor, requested, _key(form, requested))[0]

    with form.showing_errors(names=NAMES):
        submission_id = await checking.with_current_check(platform, upload_id, confirm)
        return RedirectResponse(f"/submissions/{submission_id}", status_code=303)
    return await run_in_threadpool(_form, request, platform, actor, upload_id, form)


def _to_submission(upload_id: uuid.UUID, form: Form) -> NewSubmission:
    """Convert the form to an API request. Raises FieldsError."""
    answers = answers_sent(form.sent.items())
    form.fill({f"{FIELD}{number}": text for number, text in answers.items()})
    return form.validated(
        NewSubmission,
        {
            "upload": upload_id,
            "method": form.fields(NewMethod, answers=answers),
            "training": form.fields(Training),
            "competitions": form.texts("competitions"),
            "make_public": bool(form.text("make_public")),
        },
    )


def _key(form: Form, requested: NewSubmission) -> str | None:
    """Return the idempotency key of a form: what was rendered into it, and its content, so that an edited form is another one."""
    rendered = form.text("key")[:LONGEST_KEY]
    digest = sha256(requested.model_dump_json().encode()).hexdigest()
    return f"form {rendered} {digest}" if rendered else None


def _form(request: Request, platform: Platform, actor: Actor, upload_id: uuid.UUID, form: Form) -> Response:
    """Show the form again with what was sent. Raises NotFoundError for an upload of another team."""
    choice = SubmitChoice(
        method=form.text("name")[:LONGEST_NAME],
        competition=_numbers(form.texts("competitions")),
        is_chosen=True,
        make_public=bool(form.text("make_public")),
        again=True,
    )
    uploads.get_upload(platform, actor, upload_id, Action.CHANGE_UPLOAD)
    page = submit_page.page_of_upload(platform, actor, upload_id, choice)
    return _render(request, page, choice, form)


def _numbers(sent: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(number) for number in sent[:MOST_COMPETITIONS] if re.fullmatch("[0-9]{1,4}", number))


def _render(request: Request, page: SubmitPage, choice: SubmitChoice, form: Form | None = None) -> Response:
    form = form or Form()
    context: dict[str, Any] = {}
    if page.upload is not None and page.confirmation is not None:
        chosen = choice.competitions_of(page.upload)
        found = page.upload.competitions
        infos = [each for each in heldout_scoring.competitions(page.phase.dataset) if each.number in found]
        stated = {
            **_statement(infos),
            **{name: form.values[name] for name in Training.model_fields if form.values.get(name)},
        }
        answers = answers_sent((name, text) for name, text in form.values.items() if text)
        form.values |= {"method": choice.method, "competition": chosen, "make_public": choice.make_public}
        context = {
            "given_data": [each for each in infos if not each.own_data],
            "other_data": [each for each in infos if each.own_data],
            "rules": {each.number: each.own_data_rule for each in infos},
            "annotations": [each.value for each in TrainingAnnotation],
            "key": uuid.uuid4().hex,
            "call": call_of(
                platform_of_request(request).settings.address, page.upload, choice, stated, answers
            ),
        }
    quota = page.confirmation.quota if page.confirmation else ()
    return render(
        request, "submissions/submit.html", page=page, quota_text=quota_text(quota), form=form, **context
    )


def _statement(competitions: Iterable[heldout_scoring.CompetitionInfo]) -> dict[str, Any]:
    """Return a statement on training data to be completed, as the competitions ask for it."""
    asked: dict[str, Any] = {}
    for each in competitions:
        if each.own_data:
            asked |= {"other_data": "NAMES_OF_DATA_SETS", "no_excluded_data": True}
        else:
            asked |= {"given_data_only": True}
            asked |= {"annotation": TrainingAnnotation.BOXES.value} if each.task == "segmentation" else {}
    return asked
