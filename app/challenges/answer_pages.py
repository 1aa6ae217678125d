"""HTML pages: publishing a question with its answer, edited from a thread."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.challenges import answers
from app.challenges.answers import NewAnswer
from app.core.access import Action
from app.core.errors import ConflictError, RefusedError
from app.core.rate_limits import Limited
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
from app.web.markdown import foreign_images

router = APIRouter(prefix="/organise/threads/{thread_id}", dependencies=[requires(Action.ORGANISE)])


@router.get("/publish")
def answer_form(request: Request, thread_id: int) -> Response:
    """Show the form that publishes a question with its answer, or changes what is published."""
    return _form(request, thread_id)


@router.post("/publish", dependencies=[limited(Limited.CHANGE)])
def publish(
    request: Request, platform: ThePlatform, actor: CurrentActor, thread_id: int, sent: SentForm
) -> Response:
    """Publish a question with its answer, or show a preview of it."""
    form = values_of(sent, NewAnswer)
    try:
        new = NewAnswer.model_validate(form)
        if sent.get("preview"):
            return _form(request, thread_id, form, preview=new)
        answers.publish(platform, actor, thread_id, new)
    except ValidationError as error:
        return _form(request, thread_id, form, problems=field_errors(error), code=422)
    except RefusedError as error:
        problems = {each.field: each.message for each in error.refusals}
        return _form(request, thread_id, form, problems=problems, code=409)
    except ConflictError as error:
        return _form(request, thread_id, form, refused=str(error), code=409)
    challenge = answers.answer_sheet(platform, actor, thread_id).challenge
    if foreign_images(new.texts, challenge):
        return RedirectResponse(f"/organise/threads/{thread_id}/publish", status_code=303)  # which says so
    return RedirectResponse(f"/threads/{thread_id}", status_code=303)


@router.post("/unpublish")
def unpublish(platform: ThePlatform, actor: CurrentActor, thread_id: int) -> Response:
    """Delete what is published of a question."""
    answers.unpublish(platform, actor, thread_id)
    return RedirectResponse(f"/threads/{thread_id}", status_code=303)


def _form(
    request: Request,
    thread_id: int,
    form: Mapping[str, Any] | None = None,
    *,
    problems: Mapping[str, str] | None = None,
    preview: NewAnswer | None = None,
    refused: str = "",
    code: int = 200,
) -> Response:
    """Show what was typed, by default what is published or could be.

    A refused form carries the newest version: its next submission replaces the text of the other organiser, which it shows.
    """
    sheet = answers.answer_sheet(platform_of_request(request), actor_of_request(request), thread_id)
    version = sheet.published.version if sheet.published else 0
    stored = {"title": sheet.title, "question": sheet.question, "answer": sheet.answer}
    typed = dict(form) if form is not None else stored | {"version": version, "names_may_stay": False}
    if refused:
        typed["version"] = version
    return render(
        request,
        "threads/publish.html",
        code=code,
        sheet=sheet,
        form=typed,
        problems=problems or {},
        preview=preview,
        refused=refused,
        theirs=stored if refused else {},
    )
