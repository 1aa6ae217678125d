"""Pages: the one on which an archive is uploaded, checked and submitted."""

import re
import uuid
from collections.abc import Iterable, Mapping
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

import scoring
from app.core.access import Action, Actor
from app.core.errors import Refusal, RefusedError
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
    actor_of_request,
    limited,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import SentForm, field_errors, values_of

router = APIRouter()

FIELDS: Final = {
    "name": "method",
    "competitions": "competition",
}  # of `NewSubmission` and of refusals, by their names in the form
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
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
async def submit(
    request: Request, platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID, sent: SentForm
) -> Response:
    """Submit an upload as a method's results. Sending the same form twice has no further effect."""
    confirm = partial(_submit, request, platform, actor, upload_id, sent)
    return await checking.with_current_check(platform, upload_id, confirm)


def _submit(
    request: Request, platform: Platform, actor: Actor, upload_id: uuid.UUID, sent: FormData
) -> Response:
    try:
        requested = _to_submission(upload_id, sent)
        submission_id, _ = submitting.confirm(platform, actor, requested, _key(sent, requested))
    except ValidationError as error:
        problems = {FIELDS.get(field, field): message for field, message in field_errors(error).items()}
        return _form(request, upload_id, sent, problems, 422)
    except RefusedError as error:
        others = tuple(each.message for each in error.refusals if not each.field)
        return _form(request, upload_id, sent, _messages_by_field(error.refusals), 409, others)
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)


def _to_submission(upload_id: uuid.UUID, sent: FormData) -> NewSubmission:
    """Convert the form to an API request. Raises ValidationError."""
    return NewSubmission.model_validate(
        {
            "upload": upload_id,
            "method": values_of(sent, NewMethod)
            | {"name": sent.get("method", ""), "answers": answers_sent(sent.items())},
            "training": values_of(sent, Training),
            "competitions": sent.getlist("competition"),
            "make_public": bool(sent.get("make_public")),
        }
    )


def _key(sent: FormData, requested: NewSubmission) -> str | None:
    """Return the idempotency key of a form: what was rendered into it, and its content, so that an edited form is another one."""
    rendered = str(sent.get("key", ""))[:LONGEST_KEY]
    digest = sha256(requested.model_dump_json().encode()).hexdigest()
    return f"form {rendered} {digest}" if rendered else None


def _form(
    request: Request,
    upload_id: uuid.UUID,
    sent: FormData,
    problems: Mapping[str, str],
    code: int,
    refused: tuple[str, ...] = (),
) -> Response:
    """Show the form again with what was sent. Raises NotFoundError for an upload of another team."""
    choice = SubmitChoice(
        method=str(sent.get("method", ""))[:LONGEST_NAME],
        competition=_numbers(sent),
        is_chosen=True,
        make_public=bool(sent.get("make_public")),
        again=True,
    )
    platform, actor = platform_of_request(request), actor_of_request(request)
    uploads.get_upload(platform, actor, upload_id, Action.CHANGE_UPLOAD)
    page = submit_page.page_of_upload(platform, actor, upload_id, choice)
    answers = {f"{FIELD}{number}": text for number, text in answers_sent(sent.items()).items()}
    form = {**values_of(sent, NewMethod), **values_of(sent, Training), **answers}
    return _render(request, page, choice, form, problems, code, refused)


def _numbers(sent: FormData) -> tuple[int, ...]:
    numbers = [str(number) for number in sent.getlist("competition")][:MOST_COMPETITIONS]
    return tuple(int(number) for number in numbers if re.fullmatch("[0-9]{1,4}", number))


def _render(
    request: Request,
    page: SubmitPage,
    choice: SubmitChoice,
    form: Mapping[str, Any] = NOTHING,
    problems: Mapping[str, str] = NOTHING,
    code: int = 200,
    refused: tuple[str, ...] = (),
) -> Response:
    context: dict[str, Any] = {}
    if page.upload is not None and page.confirmation is not None:
        chosen = choice.competitions_of(page.upload)
        found = page.upload.competitions
        infos = [each for each in scoring.competitions(page.phase.dataset) if each.number in found]
        stated = {
            **_statement(infos),
            **{name: form[name] for name in Training.model_fields if form.get(name)},
        }
        answers = answers_sent((name, text) for name, text in form.items() if text)
        context = {
            "given_data": [each for each in infos if not each.own_data],
            "other_data": [each for each in infos if each.own_data],
            "rules": {each.number: each.own_data_rule for each in infos},
            "annotations": [each.value for each in TrainingAnnotation],
            "key": uuid.uuid4().hex,
            "call": call_of(
                platform_of_request(request).settings.address, page.upload, choice, stated, answers
            ),
            "form": {
                **form,
                "method": choice.method,
                "competition": chosen,
                "make_public": choice.make_public,
            },
        }
    quota = page.confirmation.quota if page.confirmation else ()
    return render(
        request,
        "submissions/submit.html",
        code=code,
        page=page,
        quota_text=quota_text(quota),
        problems=problems,
        refused=refused,
        **context,
    )


def _statement(competitions: Iterable[scoring.CompetitionInfo]) -> dict[str, Any]:
    """Return a statement on training data to be completed, as the competitions ask for it."""
    asked: dict[str, Any] = {}
    for each in competitions:
        if each.own_data:
            asked |= {"other_data": "NAMES_OF_DATA_SETS", "no_excluded_data": True}
        else:
            asked |= {"given_data_only": True}
            asked |= {"annotation": TrainingAnnotation.BOXES.value} if each.task == "segmentation" else {}
    return asked


def _messages_by_field(refusals: Iterable[Refusal]) -> dict[str, str]:
    """Return the messages of refusals about a single field, by field."""
    messages: dict[str, list[str]] = {}
    for refusal in refusals:
        if refusal.field:
            messages.setdefault(FIELDS.get(refusal.field, refusal.field), []).append(refusal.message)
    return {field: "; ".join(found) for field, found in messages.items()}
