"""Opening what a notification is about marks it as read: each page that does so, and the events that are about it."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import structlog
from fastapi import Request
from sqlalchemy import ColumnElement, and_, exists, func, select, update
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.access import Actor
from app.core.audit import LARGEST_ID
from app.models import Challenge, Event, EventKind, Notification
from app.notifications import dispatch
from app.people.sessions import MOST_UNREAD
from app.platform import Platform
from app.web.dependencies import actor_of_request, platform_of_request

log = structlog.get_logger()

MOST_MARKED: Final = 1000  # unread notifications of a person that are looked at, the newest

About = Callable[[str], ColumnElement[bool]]  # of the only parameter of an address; empty without one


def _number(value: str) -> int:
    """Parse an id. Raises ValueError."""
    if (number := int(value)) > LARGEST_ID:
        raise ValueError(value)
    return number


def _by_number(name: str) -> About:
    """Events with this number in their details."""
    return lambda value: Event.details.contains({name: _number(value)})


def _by_id(name: str) -> About:
    return lambda value: Event.details.contains({name: str(uuid.UUID(value))})


def _of_kinds(*kinds: EventKind) -> About:
    return lambda _: Event.kind.in_(kinds)


def _of_team(*kinds: EventKind) -> About:
    return lambda value: and_(Event.team_id == _number(value), Event.kind.in_(kinds))


def _of_phase(*kinds: EventKind) -> About:
    return lambda value: and_(Event.phase_id == _number(value), Event.kind.in_(kinds))


def _of_preview(value: str) -> ColumnElement[bool]:
    return and_(Event.details.contains({"rescore": _number(value)}), Event.kind == EventKind.PREVIEW)


def _of_challenge(*kinds: EventKind) -> About:
    challenge = Challenge.id == Event.challenge_id
    return lambda code: and_(Event.kind.in_(kinds), exists().where(challenge, Challenge.code == code))


_SUBMISSION, _DATA_SET = _by_number("submission"), _by_id("intake")
_DRAFT = _of_challenge(EventKind.DATA_SET_READ, EventKind.TRUTH_READY)
PAGES: Final[Mapping[str, About]] = {
    "/submissions/{submission_id}": _SUBMISSION,
    "/submissions/{submission_id}/status": _SUBMISSION,  # which the page polls
    "/submissions": _of_kinds(EventKind.RESCORED, EventKind.QUOTA),
    "/uploads/{upload_id}": _by_id("upload"),
    "/uploads": _of_kinds(EventKind.DEADLINE, EventKind.UPLOAD_OUTDATED),
    "/methods/{method_id}": _by_number("method"),
    "/threads/{thread_id}": _by_number("thread"),
    "/teams": _of_kinds(
        EventKind.INVITATION, EventKind.TEAM_APPROVED, EventKind.TEAM_REFUSED, EventKind.TEAM_SUSPENDED
    ),
    "/teams/{team_id}": _of_team(EventKind.HOOK_OFF),
    "/challenges/{challenge}": _of_challenge(EventKind.OPENED, EventKind.CLOSED, EventKind.EXTENDED),
    "/challenges/{challenge}/news": _of_challenge(EventKind.ANNOUNCEMENT, EventKind.MESSAGE),
    "/challenges/{challenge}/terms": _of_challenge(EventKind.TERMS_CHANGED),
    "/organise/data-sets/{intake_id}": _DATA_SET,
    "/organise/data-sets/{intake_id}/status": _DATA_SET,
    "/organise/new/{challenge}/data": _DRAFT,
    "/organise/new/{challenge}/check": _DRAFT,
    "/organise/new/{challenge}/scoring": _DRAFT,
    "/organise/phases/{phase_id}": _of_phase(EventKind.OUTAGE),
    "/organise/challenges/{challenge}/ground-truth": _of_challenge(EventKind.TRUTH_READY),
    "/organise/rescores/{rescore_id}": _of_preview,
    "/organise/challenges/{challenge}/submissions": _of_challenge(EventKind.RUNS_FAILED),
    "/organise/challenges/{challenge}/teams": _of_challenge(EventKind.TEAM_WAITS),
    "/organise/challenges/{challenge}/label-reports": _of_challenge(EventKind.LABELS_REPORTED),
    "/organise/challenges/{challenge}/webhooks": _of_challenge(EventKind.HOOK_OFF),
}
"""By the path of a route, with one parameter at most: the events that its page shows."""


_PATTERNS = [(compile_path(path)[0], about) for path, about in PAGES.items()]


class MarkOpened:
    """Middleware that marks as read what a person is told of the page that they open: before it is made, for the number in its
    header; of a part that a page follows after it is made, because it shows what has just happened.

    Programs and prefetching browsers have not read it, nor has somebody who views it as another person.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        about = _about(Request(scope)) if scope["type"] == "http" else None
        if about is None:
            await self.app(scope, receive, send)
            return

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < HTTPStatus.BAD_REQUEST:
                await _mark_safely(Request(scope), about)
            await send(message)

        is_followed = scope["path"].endswith("/status")
        if not is_followed:
            await _mark_safely(Request(scope), about)
        await self.app(scope, receive, send_marked if is_followed else send)


def _about(request: Request) -> ColumnElement[bool] | None:
    """Return which events are read by a request; None if it reads none."""
    actor = actor_of_request(request)
    is_person = actor.is_logged_in and not actor.by_token and request.state.view is None
    is_opened = request.method == "GET" and "prefetch" not in request.headers.get("sec-purpose", "")
    if not is_person or not is_opened:
        return None
    for pattern, about in _PATTERNS:
        if match := pattern.match(request.scope["path"]):
            with suppress(ValueError):  # the route refuses it
                return about(*match.groups() or [""])
    return None


async def _mark_safely(request: Request, about: ColumnElement[bool]) -> None:
    actor = actor_of_request(request)
    try:
        count = await run_in_threadpool(_mark, platform_of_request(request), actor, about)
    except SQLAlchemyError:  # the page itself may still be readable
        log.warning("notifications not marked as read", exc_info=True)
        return
    if count and actor.unread < MOST_UNREAD:
        request.state.actor = replace(actor, unread=actor.unread - count)


def _mark(platform: Platform, actor: Actor, about: ColumnElement[bool]) -> int:
    """Mark the reader's notifications of these events as read, also of those that nobody was told of yet; return how many."""
    assert actor.user_id is not None
    theirs = (Notification.user_id == actor.user_id, Notification.read_at.is_(None))
    newest = select(Notification.id).where(*theirs).order_by(Notification.id.desc()).limit(MOST_MARKED)
    marked = (
        update(Notification)
        .where(Notification.id.in_(newest.scalar_subquery()), Notification.event_id == Event.id, about)
        .values(read_at=func.clock_timestamp())
        .returning(Notification.id)
    )
    is_unread = exists().where(*theirs, Notification.event_id == Event.id, about)
    is_waiting = exists().where(Event.dispatched_at.is_(None), about)
    rows: Sequence[int] = ()
    with platform.transaction() as session:
        unread, waiting = session.execute(select(is_unread, is_waiting)).one()
        if unread:
            rows = session.scalars(marked, execution_options={"synchronize_session": False}).all()
        if waiting:
            dispatch.tell_as_read(session, actor.user_id, about)
    return len(rows)
