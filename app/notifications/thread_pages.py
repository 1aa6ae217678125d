"""HTML pages: asking the organisers, questions of the reader's teams, and questions of teams for organisers."""

import re
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.challenges import asking
from app.challenges.asking import NewAsking
from app.core.access import Action, Actor
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.models import ThreadState
from app.notifications import threads
from app.notifications.threads import About, NewMessage, NewThread
from app.platform import Platform
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    limited,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import Form, OrBlank, TheForm
from app.web.route_marks import marked

router = APIRouter()

CHANGE: Final = limited(Limited.CHANGE)
READING, ORGANISING = [requires(Action.READ_THREAD)], [requires(Action.ORGANISE)]

State = Annotated[OrBlank[ThreadState], Query(description="only questions in this state; all by default")]


@router.get("/challenges/{challenge}/ask", dependencies=[requires(Action.ASK)])
def ask_form(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    about: Annotated[About, Query()],
) -> Response:
    """Show the form in which a team asks the organisers, perhaps about an upload, a submission or an image set."""
    return _ask(request, platform, actor, challenge, about, Form(about.model_dump(exclude_none=True)))


@router.post("/challenges/{challenge}/ask", dependencies=[requires(Action.ASK), CHANGE])
@marked(done="Your question is sent. You are notified of the answer.")
def ask(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Ask the organisers."""
    with form.showing_errors(refusal=None):
        thread = threads.ask(platform, actor, challenge, form.read(NewThread)).thread.id
        return RedirectResponse(f"/threads/{thread}", status_code=303)
    known = {name: form.values[name] for name in About.model_fields if name not in form.problems}
    return _ask(request, platform, actor, challenge, About.model_validate(known), form)


def _ask(
    request: Request, platform: Platform, actor: Actor, challenge: str, about: About, form: Form
) -> Response:
    page = threads.ask_page(platform, actor, challenge, about)
    return render(request, "threads/ask.html", page=page, form=form)


@router.get("/threads", dependencies=[requires(Action.READ_OWN)])
def mine(request: Request, platform: ThePlatform, actor: CurrentActor, before: Before = None) -> Response:
    """List the questions of the reader's teams."""
    page = threads.own_threads(platform, actor, before)
    return render(request, "threads/mine.html", page=page, is_first=before is None)


@router.get("/threads/{thread_id}", dependencies=READING)
def thread(request: Request, thread_id: int, before: Before = None) -> Response:
    """Show a question with its answers, and the forms that continue it."""
    return _thread(request, thread_id, Form(), before=before)


def _thread(request: Request, thread_id: int, form: Form, *, before: int | None = None) -> Response:
    """Show a thread. A refused form carries the newest message: it can be sent once that was read."""
    view = threads.thread_page(platform_of_request(request), actor_of_request(request), thread_id, before)
    form.values["seen"] = view.thread.last_message
    return render(request, "threads/thread.html", view=view, form=form)


@router.post("/threads/{thread_id}/messages", dependencies=[requires(Action.REPLY), CHANGE])
@marked(done="Your message is sent.")
def reply(
    request: Request, platform: ThePlatform, actor: CurrentActor, thread_id: int, form: TheForm
) -> Response:
    """Continue a question as its team."""
    return _write(request, platform, actor, thread_id, form, is_answer=False)


@router.post("/organise/threads/{thread_id}/messages", dependencies=[*ORGANISING, CHANGE])
@marked(done="Your answer is sent.")
def answer(
    request: Request, platform: ThePlatform, actor: CurrentActor, thread_id: int, form: TheForm
) -> Response:
    """Answer a question as an organiser."""
    return _write(request, platform, actor, thread_id, form, is_answer=True)


def _write(
    request: Request, platform: Platform, actor: Actor, thread_id: int, form: Form, *, is_answer: bool
) -> Response:
    with form.showing_errors(refusal=None):
        write = threads.answer if is_answer else threads.reply
        write(platform, actor, thread_id, form.read(NewMessage))
        return RedirectResponse(f"/threads/{thread_id}#last", status_code=303)
    return _thread(request, thread_id, form)


@router.post("/organise/threads/{thread_id}/close", dependencies=ORGANISING)
@marked(done="The question is closed.")
def close(
    request: Request, platform: ThePlatform, actor: CurrentActor, thread_id: int, form: TheForm
) -> Response:
    """Close a question, unless somebody has written since it was opened."""
    with form.showing_errors():
        seen = form.text("seen")
        threads.close(platform, actor, thread_id, int(seen) if re.fullmatch("[0-9]{1,18}", seen) else None)
        return RedirectResponse(f"/threads/{thread_id}", status_code=303)
    return _thread(request, thread_id, form)


@router.post("/organise/threads/{thread_id}/reopen", dependencies=ORGANISING)
@marked(done="The question is open again.")
def reopen(platform: ThePlatform, actor: CurrentActor, thread_id: int) -> Response:
    """Open a closed question again."""
    threads.reopen(platform, actor, thread_id)
    return RedirectResponse(f"/threads/{thread_id}", status_code=303)


@router.get("/organise/challenges/{challenge}/threads", dependencies=ORGANISING)
def organised(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    state: State = None,
    before: Before = None,
) -> Response:
    """List the questions of teams, and where they are asked."""
    return _organised(request, platform, actor, challenge, Form(), state, before)


def _organised(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    form: Form,
    state: ThreadState | None = None,
    before: int | None = None,
) -> Response:
    page = threads.organised_threads(platform, actor, challenge, state, before)
    return render(
        request,
        "threads/organised.html",
        page=page,
        state=state,
        states=tuple(ThreadState),
        is_first=before is None,
        form=form.fill({"place": page.asking.place, "forum": page.asking.forum}),
    )


@router.post("/organise/challenges/{challenge}/asking", dependencies=ORGANISING)
@marked(done="Saved: where you are asked.")
def set_asking(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Choose where the organisers are asked."""
    with form.showing_errors():
        asking.set_asking(platform, actor, challenge, form.read(NewAsking))
        return RedirectResponse(f"/organise/challenges/{quote(challenge)}/threads", status_code=303)
    return _organised(request, platform, actor, challenge, form)
