"""HTML pages: asking the organisers, questions of the reader's teams, and questions of teams for organisers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.challenges import asking
from app.challenges.asking import NewAsking
from app.core.access import Action, Actor
from app.core.errors import ConflictError, RefusedError
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
from app.web.forms import OrBlank, SentForm, field_errors, values_of

router = APIRouter()

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
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
    form = {"title": "", "text": ""} | about.model_dump(exclude_none=True)
    return _ask(request, platform, actor, challenge, about, form)


@router.post("/challenges/{challenge}/ask", dependencies=[requires(Action.ASK), CHANGE])
def ask(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Ask the organisers."""
    form = values_of(sent, NewThread)
    try:
        new = NewThread.model_validate(form)
    except ValidationError as error:
        problems = field_errors(error)
        known = About.model_validate(
            {name: form[name] for name in About.model_fields if name not in problems}
        )
        return _ask(request, platform, actor, challenge, known, form, problems=problems, code=422)
    try:
        thread = threads.ask(platform, actor, challenge, new).thread.id
    except RefusedError as error:
        return _ask(request, platform, actor, challenge, new.about, form, code=error.refusals[0].status)
    return RedirectResponse(f"/threads/{thread}", status_code=303)


def _ask(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    about: About,
    form: Mapping[str, Any],
    *,
    problems: Mapping[str, str] = NOTHING,
    code: int = 200,
) -> Response:
    page = threads.ask_page(platform, actor, challenge, about)
    return render(request, "threads/ask.html", code=code, page=page, form=form, problems=problems)


@router.get("/threads", dependencies=[requires(Action.READ_OWN)])
def mine(request: Request, platform: ThePlatform, actor: CurrentActor, before: Before = None) -> Response:
    """List the questions of the reader's teams."""
    page = threads.own_threads(platform, actor, before)
    return render(request, "threads/mine.html", page=page, is_first=before is None)


@router.get("/threads/{thread_id}", dependencies=READING)
def thread(request: Request, thread_id: int, before: Before = None) -> Response:
    """Show a question with its answers, and the forms that continue it."""
    return _thread(request, thread_id, before=before)


def _thread(
    request: Request,
    thread_id: int,
    form: Mapping[str, Any] = NOTHING,
    *,
    before: int | None = None,
    problems: Mapping[str, str] = NOTHING,
    refused: tuple[str, ...] = (),
    code: int = 200,
) -> Response:
    """Show a thread. A refused form carries the newest message: it can be sent once that was read."""
    view = threads.thread_page(platform_of_request(request), actor_of_request(request), thread_id, before)
    return render(
        request,
        "threads/thread.html",
        code=code,
        view=view,
        form={**form, "seen": view.thread.last_message},
        problems=problems,
        refused=refused,
    )


@router.post("/threads/{thread_id}/messages", dependencies=[requires(Action.REPLY), CHANGE])
def reply(
    request: Request, platform: ThePlatform, actor: CurrentActor, thread_id: int, sent: SentForm
) -> Response:
    """Continue a question as its team."""
    return _write(request, platform, actor, thread_id, sent, is_answer=False)


@router.post("/organise/threads/{thread_id}/messages", dependencies=[*ORGANISING, CHANGE])
def answer(
    request: Request, platform: ThePlatform, actor: CurrentActor, thread_id: int, sent: SentForm
) -> Response:
    """Answer a question as an organiser."""
    return _write(request, platform, actor, thread_id, sent, is_answer=True)


def _write(
    request: Request, platform: Platform, actor: Actor, thread_id: int, sent: SentForm, *, is_answer: bool
) -> Response:
    form = values_of(sent, NewMessage)
    try:
        write = threads.answer if is_answer else threads.reply
        write(platform, actor, thread_id, NewMessage.model_validate(form))
    except ValidationError as error:
        return _thread(request, thread_id, form, problems=field_errors(error), code=422)
    except ConflictError as error:
        return _thread(request, thread_id, form, refused=(str(error),), code=409)
    except RefusedError as error:
        messages = tuple(each.message for each in error.refusals)
        return _thread(request, thread_id, form, refused=messages, code=error.refusals[0].status)
    return RedirectResponse(f"/threads/{thread_id}#last", status_code=303)


@router.post("/organise/threads/{thread_id}/close", dependencies=ORGANISING)
def close(
    request: Request, platform: ThePlatform, actor: CurrentActor, thread_id: int, sent: SentForm
) -> Response:
    """Close a question, unless somebody has written since it was opened."""
    seen = str(sent.get("seen", ""))
    try:
        threads.close(platform, actor, thread_id, int(seen) if seen.isdecimal() else None)
    except ConflictError as error:
        return _thread(request, thread_id, refused=(str(error),), code=409)
    return RedirectResponse(f"/threads/{thread_id}", status_code=303)


@router.post("/organise/threads/{thread_id}/reopen", dependencies=ORGANISING)
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
    return _organised(request, platform, actor, challenge, state, before)


def _organised(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    state: ThreadState | None = None,
    before: int | None = None,
    *,
    form: Mapping[str, Any] | None = None,
    problems: Mapping[str, str] = NOTHING,
) -> Response:
    page = threads.organised_threads(platform, actor, challenge, state, before)
    return render(
        request,
        "threads/organised.html",
        code=422 if problems else 200,
        page=page,
        state=state,
        states=tuple(ThreadState),
        is_first=before is None,
        form=form or {"place": page.asking.place, "forum": page.asking.forum},
        problems=problems,
    )


@router.post("/organise/challenges/{challenge}/asking", dependencies=ORGANISING)
def set_asking(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Choose where the organisers are asked."""
    form = values_of(sent, NewAsking)
    try:
        asking.set_asking(platform, actor, challenge, NewAsking.model_validate(form))
    except ValidationError as error:
        return _organised(request, platform, actor, challenge, form=form, problems=field_errors(error))
    return RedirectResponse(f"/organise/challenges/{quote(challenge)}/threads", status_code=303)
