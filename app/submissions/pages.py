"""From a checked upload to a submission, and what became of it."""

import uuid
from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ValidationError

import scoring
from app.access import Action
from app.accounts.rules import sentences
from app.exhibits.schemas import ExhibitView
from app.models import RunState
from app.submissions import service
from app.submissions.rules import Refusal, RefusalCode, RefusedError
from app.submissions.schemas import NewSubmission, SubmissionView
from app.uploads import service as uploads
from app.uploads.schemas import UploadView
from app.web import CurrentActor, ThePlatform, actor_of_request, platform_of_request, render, requires

router = APIRouter()

FIELDS = {
    "name": "method",
    "competitions": "competition",
}  # of `NewSubmission`, where the form says otherwise
BESIDE = {
    RefusalCode.ONE_RESULT: "method",
    RefusalCode.NAME_BURNT: "method",
    RefusalCode.NOT_IN_ARCHIVE: "competition",
}


class ConfirmForm(BaseModel):
    """The fields as the browser sends them; `NewSubmission` says which are good."""

    method: str = ""
    title: str = ""
    contributors: str = ""
    affiliation: str = ""
    description: str = ""
    competition: list[str] = []

    def shown(self) -> dict[str, object]:
        """The form again, as it was filled in."""
        return self.model_dump() | {"competition": [int(n) for n in self.competition if n.isdecimal()]}

    def wanted(self, upload_id: uuid.UUID) -> NewSubmission:
        """What the form asks for; raises ValidationError."""
        method = self.model_dump(exclude={"method", "competition"}) | {"name": self.method}
        return NewSubmission.model_validate(
            {"upload": upload_id, "method": method, "competitions": self.competition}
        )


@router.get("/uploads/{upload_id}", dependencies=[requires(Action.UPLOAD)])
def report(request: Request, platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> Response:
    """What the check found, and the form that has it scored."""
    upload = uploads.find(platform, actor, upload_id)
    return _report(request, upload, ConfirmForm(competition=[str(n) for n in upload.competitions]), {})


def _report(
    request: Request, upload: UploadView, form: ConfirmForm, problems: dict[str, str], code: int = 200
) -> Response:
    sheet = service.confirmation(platform_of_request(request), actor_of_request(request), upload)
    return render(
        request,
        "submissions/upload.html",
        code=code,
        upload=upload,
        phase=sheet.phase,
        methods=sheet.methods,
        quota=sheet.quota,
        refusals=sheet.refusals,
        rules={one.number: one.own_data_rule for one in scoring.competitions(sheet.phase.dataset)},
        form=form.shown(),
        problems=problems,
    )


@router.post("/uploads/{upload_id}/confirm", dependencies=[requires(Action.SUBMIT)])
def confirm(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    upload_id: uuid.UUID,
    form: Annotated[ConfirmForm, Form()],
) -> Response:
    """Have an upload scored as a method's result."""
    try:
        number, _ = service.confirm(platform, actor, form.wanted(upload_id))
    except ValidationError as error:
        problems = {FIELDS.get(field, field): told for field, told in sentences(error).items()}
        return _report(request, uploads.find(platform, actor, upload_id), form, problems, 422)
    except RefusedError as error:
        return _report(request, uploads.find(platform, actor, upload_id), form, _beside(error.refusals), 409)
    return RedirectResponse(f"/submissions/{number}", status_code=303)


def _beside(refusals: Iterable[Refusal]) -> dict[str, str]:
    """The sentences by the field that can mend them; under "" what no field can."""
    told: dict[str, list[str]] = {}
    for refusal in refusals:
        told.setdefault(BESIDE.get(refusal.code, ""), []).append(refusal.sentence)
    return {field: "; ".join(sentences) for field, sentences in told.items()}


@router.get("/submissions", dependencies=[requires(Action.SUBMIT)])
def mine(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """What the reader's team has entered."""
    return render(request, "submissions/mine.html", rows=service.my_rows(platform, actor))


@router.get("/submissions/{number}", dependencies=[requires(Action.READ_SUBMISSION)])
def submission(request: Request, platform: ThePlatform, actor: CurrentActor, number: int) -> Response:
    """A submission: its way, its scores, its curves."""
    view, exhibits = _submission(platform, actor, number)
    return render(request, "submissions/submission.html", submission=view, exhibits=exhibits)


@router.get("/submissions/{number}/status", dependencies=[requires(Action.READ_SUBMISSION)])
def status(request: Request, platform: ThePlatform, actor: CurrentActor, number: int) -> Response:
    """The part of the page that changes; it asks for itself again until it is final."""
    view, exhibits = _submission(platform, actor, number)
    return render(request, "submissions/status.html", submission=view, exhibits=exhibits)


def _submission(
    platform: ThePlatform, actor: CurrentActor, number: int
) -> tuple[SubmissionView, dict[int, tuple[ExhibitView, ...]]]:
    view = service.submission_page(platform, actor, number)
    exhibits = {
        entry.id: service.exhibits(platform, actor, entry.shown)
        for entry in view.entries
        if entry.shown.state is RunState.SCORED
    }
    return view, exhibits
