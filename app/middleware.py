"""What happens to every request before and after its route."""

import asyncio
import time
import uuid
from collections.abc import MutableMapping
from contextlib import AsyncExitStack
from typing import Any

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import counters
from app.access import Actor
from app.error_responses import answer_error, answer_interrupted
from app.errors import SecondFactorNeededError
from app.platform import Platform
from app.request_checks import MAX_SMALL_BODY, bounded, check_request
from app.sessions import service as sessions
from app.sessions.schemas import Visit
from app.turns import Turns
from app.uploads.rules import TUS_VERSION
from app.web import SESSION_COOKIE, client_of_request

HEALTH_PATHS = ("/health", "/ready", "/metrics")
ANONYMOUS_PATHS = ("/static/", *HEALTH_PATHS)  # answered without looking up who sends them

# what an admin without a second factor reaches
ENROLMENT_PATHS = ("/account/second-factor", "/login", "/logout", *ANONYMOUS_PATHS)

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class RequestMiddleware:
    """Gives every request a reference and an actor, checks it, and answers every error; adds the security headers."""

    def __init__(self, app: ASGIApp, platform: Platform) -> None:
        self.app = app
        self.platform = platform
        self.turns_of_clients = Turns(platform.settings.requests_at_once, "from your address")
        self.turns_of_accounts = Turns(platform.settings.requests_at_once, "of your account")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["reference"] = uuid.uuid4().hex[:12]
        state["actor"] = Actor()
        state["awaits_code"] = False
        state["is_tus"] = "tus-resumable" in Headers(scope=scope)
        state["started"] = time.monotonic()
        request = Request(scope)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request=state["reference"])
        send = _with_headers(send, scope, state)
        try:
            await self._respond(request, receive, send)
        except ClientDisconnect:
            _count(scope, state)
            return
        except asyncio.CancelledError:  # by the server, which is stopping and has waited long enough
            if "status" in state:
                raise
            await answer_interrupted(request)(scope, receive, send)
        except Exception as error:
            if "status" in state:
                raise
            await answer_error(request, error)(scope, receive, send)

    async def _respond(self, request: Request, receive: Receive, send: Send) -> None:
        """Find out who asks, wait for their turn, and have the route respond."""
        settings, state = self.platform.settings, request.state
        async with AsyncExitStack() as turn:
            if not request.url.path.startswith(HEALTH_PATHS):
                await turn.enter_async_context(self.turns_of_clients.of(client_of_request(request)))
            visit = await self._identify(request)
            if visit.actor.is_logged_in:  # who may come from many addresses
                account = str(visit.actor.user_id)
                await turn.enter_async_context(self.turns_of_accounts.of(account))
            state.actor = visit.actor
            state.awaits_code = visit.awaits_code
            _check_second_factor(request, visit.actor)
            limit = check_request(request, visit.actor, settings.max_upload, settings.host_names)
            if limit > MAX_SMALL_BODY and not _is_small(request):  # it comes slowly and is limited by itself
                await turn.aclose()
            await self.app(request.scope, bounded(receive, limit), send)

    async def _identify(self, request: Request) -> Visit:
        """Who sends this request. A database that is away stops nobody from reading what needs none."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else None
        cookie = request.cookies.get(SESSION_COOKIE)
        if not (bearer or cookie) or request.url.path.startswith(ANONYMOUS_PATHS):
            return Visit(Actor())
        return await run_in_threadpool(sessions.open_visit, self.platform, cookie, bearer)


def _is_small(request: Request) -> bool:
    """Whether a body says that it is no larger than those that are not archives."""
    size = request.headers.get("content-length", "")
    return size.isdecimal() and int(size) <= MAX_SMALL_BODY


def _check_second_factor(request: Request, actor: Actor) -> None:
    """Lead an admin without a second factor to the page that sets one up; raises SecondFactorNeededError.

    Programs of theirs go on with fewer rights (app/access.py).
    """
    if actor.must_enrol and not actor.by_token and not request.url.path.startswith(ENROLMENT_PATHS):
        raise SecondFactorNeededError("Admins need a second factor; set it up first")


def _count(scope: Scope, state: MutableMapping[str, Any], status: int | None = None) -> None:
    """Count a request once: when its response begins, or when nobody is left to read one."""
    if "status" not in state:
        counters.count_request(scope, status, time.monotonic() - state["started"])


def _with_headers(send: Send, scope: Scope, state: MutableMapping[str, Any]) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            if state[
                "actor"
            ].is_logged_in:  # what one person sees stays in no cache, not even after the logout
                headers.setdefault("Cache-Control", "no-store")
            headers["X-Request-Id"] = state["reference"]
            if state["is_tus"]:  # tus asks for it in every response, errors included
                headers["Tus-Resumable"] = TUS_VERSION
            _count(scope, state, message["status"])
            state["status"] = message["status"]
        await send(message)

    return send_with_headers
