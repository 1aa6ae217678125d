"""HTML pages: publishing a question with its answer, edited from a thread."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.challenges import answers
from app.challenges.answers import NewAnswer
from app.core.access import Action
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
from app.web.forms import Form, TheForm
from app.web.markdown import foreign_images
from app.web.route_marks import marked

router = APIRouter(prefix="/organise/threads/{thread_id}", dependencies=[requires(Action.ORGANISE)])


@router.get("/publish")
def answer_form(request: Request, thread_id: int) -> Response:
    """Show the form that publishes a question with its answer, or changes what is published."""
    return _form(request, thread_id)


@router.post("/publish", dependencies=[limited(Limited.CHANGE)])
@marked(done="The answer is published.")
def publish(
    request: Request, platform: ThePlatform, actor: CurrentActor, thread_id: int, form: TheForm
) -> Response:
    """Publish a question with its answer, or show a preview of it."""
    with form.showing_errors():
        new = form.read(NewAnswer)
        if form.text("preview"):
            return _form(request, thread_id, form, preview=new)
        answers.publish(platform, actor, thread_id, new)
        challenge = answers.answer_sheet(platform, actor, thread_id).challenge
        # the form says which images are not shown
        page = (
            f"/organise/threads/{thread_id}/publish"
            if foreign_images(new.texts, challenge)
            else f"/threads/{thread_id}"
        )
        return RedirectResponse(page, status_code=303)
    return _form(request, thread_id, form)


@router.post("/unpublish")
@marked(done="The published answer is deleted.")
def unpublish(platform: ThePlatform, actor: CurrentActor, thread_id: int) -> Response:
    """Delete what is published of a question."""
    answers.unpublish(platform, actor, thread_id)
    return RedirectResponse(f"/threads/{thread_id}", status_code=303)


def _form(
    request: Request, thread_id: int, form: Form | None = None, *, preview: NewAnswer | None = None
) -> Response:
    """Show what was typed, by default what is published or could be.

    A refused form carries the newest version: its next submission replaces the text of the other organiser, which it shows.
    """
    sheet = answers.answer_sheet(platform_of_request(request), actor_of_request(request), thread_id)
    version = {"version": sheet.published.version if sheet.published else 0}
    stored = {"title": sheet.title, "question": sheet.question, "answer": sheet.answer}
    form = form or Form(stored | version | {"names_may_stay": False})
    if form.refused:
        form.values |= version
    theirs = stored if form.refused else {}
    return render(request, "threads/publish.html", sheet=sheet, form=form, preview=preview, theirs=theirs)
