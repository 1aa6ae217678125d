"""The form that confirms an upload, and the pages of submissions."""

import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

import scoring
from app.access import Action
from app.errors import (
    DescriptionTooShort,
    NameRetired,
    NameTaken,
    NotInArchive,
    OneResult,
    Refusal,
    RefusedError,
    TrainingStatement,
)
from app.exhibits.schemas import ExhibitView
from app.forms import SentForm, field_errors, values_of
from app.jobs.places import pause_between_questions
from app.methods.schemas import Annotation, NewMethod, Training
from app.models import RunState
from app.quotas.rules import quota_text
from app.rate_limits import Limited
from app.results.schemas import Asked, ResultDetail
from app.row_pages import Before
from app.submissions import service
from app.submissions.schemas import NewSubmission, RunView, SubmissionView
from app.uploads import views as uploads
from app.uploads.views import UploadView
from app.web import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    limited,
    platform_of_request,
    render,
    requires,
)

router = APIRouter()

Competition = Annotated[int | None, Query(description="the entry that is shown in detail")]
Classes = Annotated[
    Sequence[Annotated[str, Query(max_length=200)]],
    Query(alias="class", max_length=20, description="one or two, to draw their curves"),
]

FIELDS = {
    "name": "method",
    "competitions": "competition",
}  # of `NewSubmission`, where the form says otherwise
FIELD_OF_REFUSAL = {
    OneResult.code: "method",
    NameRetired.code: "method",
    NameTaken.code: "method",
    TrainingStatement.code: "training",
    DescriptionTooShort.code: "description",
    NotInArchive.code: "competition",
}


def _to_submission(upload_id: uuid.UUID, sent: FormData) -> NewSubmission:
    """The form as a request of the API; raises ValidationError."""
    return NewSubmission.model_validate(
        {
            "upload": upload_id,
            "method": values_of(sent, NewMethod) | {"name": sent.get("method", "")},
            "training": values_of(sent, Training),
            "competitions": sent.getlist("competition"),
            "make_public": bool(sent.get("make_public")),
        }
    )


def _shown(sent: FormData) -> dict[str, Any]:
    """The form again, as it was filled in."""
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
    """The form that has a checked upload scored as a method's result."""
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
    sheet = service.confirmation(platform_of_request(request), actor_of_request(request), upload)
    infos = [each for each in scoring.competitions(sheet.phase.dataset) if each.number in upload.competitions]
    return render(
        request,
        "submissions/new.html",
        code=code,
        upload=upload,
        competitions=(upload.report or {}).get("competitions", ()),
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
    """Have an upload scored as a method's result."""
    try:
        submission_id, _ = service.confirm(platform, actor, _to_submission(upload, sent))
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
            tuple(each.message for each in error.refusals if each.code not in FIELD_OF_REFUSAL),
        )
    return RedirectResponse(f"/submissions/{submission_id}", status_code=303)


def _messages_by_field(refusals: Iterable[Refusal]) -> dict[str, str]:
    """Messages by the field that they are about, where they are about one."""
    messages: dict[str, list[str]] = {}
    for refusal in refusals:
        if refusal.code in FIELD_OF_REFUSAL:
            messages.setdefault(FIELD_OF_REFUSAL[refusal.code], []).append(refusal.message)
    return {field: "; ".join(found) for field, found in messages.items()}


@router.get("/submissions", dependencies=[requires(Action.READ_OWN)])
def mine(request: Request, platform: ThePlatform, actor: CurrentActor, before: Before = None) -> Response:
    """What the reader's team has entered."""
    page, quotas = service.own_page(platform, actor, before)
    older = f"/submissions?before={page.next}" if page.next else None
    return render(
        request, "submissions/mine.html", rows=page.rows, older=older, quota=quotas, is_first=before is None
    )


@router.get(
    "/submissions/{submission_id}", dependencies=[requires(Action.READ_SUBMISSION), limited(Limited.VIEW)]
)
def submission(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    submission_id: int,
    competition: Competition = None,
    class_name: Classes = (),
) -> Response:
    """A submission: its progress and scores, and one result in detail."""
    asked = Asked(competition, tuple(class_name))
    view, detail = service.detailed_page(platform, actor, submission_id, asked)
    return render(request, "submissions/submission.html", **context(view, detail, asked))


def context(
    view: SubmissionView, detail: ResultDetail | None, asked: Asked, etag: str | None = None
) -> dict[str, Any]:
    """What the page is drawn with, and the part of it that changes; etag: names that part while it waits."""
    shown = view.entry_in_detail(asked.competition)
    query = urlencode(
        [
            *((("competition", asked.competition),) if asked.competition else ()),
            *(("class", name) for name in asked.classes),
        ]
    )
    return {
        "submission": view,
        "table": None if shown is None else _table(shown.shown),
        "detail": detail,
        "chosen": shown and shown.id,
        "query": query,
        "pause": pause_of(view, datetime.now(UTC)),
        "etag": etag,
    }


def pause_of(view: SubmissionView, now: datetime) -> int:
    """Seconds until a page asks again how the first of these runs to end comes along."""
    runs = [entry.shown for entry in view.entries if entry.shown.state in (RunState.QUEUED, RunState.RUNNING)]
    return min((pause_between_questions(now - run.queued_at, run.position) for run in runs), default=1)


def _table(run: RunView) -> ExhibitView:
    """The values of a run's classes with their mean."""
    return ExhibitView("score_table", run.measure or "Score", run.classes, run.headline, run.low, run.high)
