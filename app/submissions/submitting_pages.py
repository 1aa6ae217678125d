"""Pages: submitting a checked upload."""

import uuid
from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

import scoring
from app.core.access import Action
from app.core.errors import (
    Refusal,
    RefusedError,
)
from app.core.rate_limits import Limited
from app.submissions import submitting, uploads
from app.submissions.consequences import consequences
from app.submissions.methods import Annotation, NewMethod, Training
from app.submissions.questions import answers_sent
from app.submissions.quotas import quota_text
from app.submissions.submitting import NewSubmission
from app.submissions.uploads import UploadView
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


FIELDS = {
    "name": "method",
    "competitions": "competition",
}  # of `NewSubmission` and of refusals, by their names in the form


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


def _shown(sent: FormData) -> dict[str, Any]:
    """Return the form's values to show it again."""
    numbers = [str(number) for number in sent.getlist("competition")]
    return {
        **values_of(sent, NewMethod),
        **values_of(sent, Training),
        "method": sent.get("method", ""),
        "competition": [int(number) for number in numbers if number.isdecimal()],
        "make_public": bool(sent.get("make_public")),
    }


@router.get("/submissions/new", dependencies=[requires(Action.SUBMIT)])
def form(request: Request, platform: ThePlatform, actor: CurrentActor, upload: uuid.UUID) -> Response:
    """Show the form to submit a checked upload."""
    found = uploads.get_upload(platform, actor, upload, Action.CHANGE_UPLOAD)
    return _form(request, found, FormData([("competition", str(n)) for n in found.competitions]), {})


def _form(
    request: Request,
    upload: UploadView,
    sent: FormData,
    problems: dict[str, str],
    code: int = 200,
    refused: tuple[str, ...] = (),
) -> Response:
    sheet = submitting.confirmation(platform_of_request(request), actor_of_request(request), upload)
    report = upload.report or {}
    found = report.get("competitions", ())
    infos = [each for each in scoring.competitions(sheet.phase.dataset) if each.number in upload.competitions]
    return render(
        request,
        "submissions/new.html",
        code=code,
        upload=upload,
        competitions=found,
        warnings=report.get("warnings", ()),
        consequences=consequences(sheet.phase, found, sheet.quota),
        phase=sheet.phase,
        methods=sheet.methods,
        quota=sheet.quota,
        quota_text=quota_text(sheet.quota),
        is_blocked=bool(sheet.refusals),
        refusals=tuple(dict.fromkeys((*sheet.refusals, *refused))),
        given_data=[one for one in infos if not one.own_data],
        other_data=[one for one in infos if one.own_data],
        rules={one.number: one.own_data_rule for one in infos},
        annotations=[one.value for one in Annotation],
        form=_shown(sent),
        problems=problems,
    )


@router.post("/submissions/new", dependencies=[requires(Action.SUBMIT), limited(Limited.UPLOAD)])
def confirm(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    upload: uuid.UUID,
    sent: SentForm,
) -> Response:
    """Submit an upload as a method's results."""
    try:
        submission_id, _ = submitting.confirm(platform, actor, _to_submission(upload, sent))
    except ValidationError as error:
        problems = {FIELDS.get(field, field): message for field, message in field_errors(error).items()}
        found = uploads.get_upload(platform, actor, upload, Action.CHANGE_UPLOAD)
        return _form(request, found, sent, problems, 422)
    except RefusedError as error:
        return _form(
            request,
            uploads.get_upload(platform, actor, upload, Action.CHANGE_UPLOAD),
            sent,
            _messages_by_field(error.refusals),
            409,
            tuple(each.message for each in error.refusals if not each.field),
        )
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)


def _messages_by_field(refusals: Iterable[Refusal]) -> dict[str, str]:
    """Return the messages of refusals about a single field, by field."""
    messages: dict[str, list[str]] = {}
    for refusal in refusals:
        if refusal.field:
            messages.setdefault(FIELDS.get(refusal.field, refusal.field), []).append(refusal.message)
    return {field: "; ".join(found) for field, found in messages.items()}
