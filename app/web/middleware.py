"""Request middleware: identifies the caller, applies limits and checks, adds headers, answers errors."""

import asyncio
import math
import time
import uuid
from collections.abc import AsyncIterator, Callable, MutableMapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core import counters
from app.core.access import Actor, Caller, View
from app.core.errors import (
    BadRequestError,
    CrossSiteError,
    LoginRequiredError,
    RateLimitedError,
    SecondFactorRequiredError,
    TooLargeError,
)
from app.core.settings import Settings
from app.platform import Platform, rolls_back
from app.web.addresses import parts_of
from app.web.dependencies import SESSION_COOKIE, client_of_request, service_line
from app.web.done import forget, saying
from app.web.error_responses import TUS_VERSION, answer_error, answer_interrupted
from app.web.route_marks import FORM_OVERHEAD, MAX_SMALL_BODY, Body, MarkedRoutes, largest_body

MOST_WAITING = 25  # requests of one client or account that may wait for each one being handled


class ConcurrencyLimiter:
    """Limits the concurrent requests of each client; others wait in order. Use it in one event loop only.

    whose: the end of the error message about too many requests, such as "from your address"; most_waiting: for each one being
    handled, by default without a limit.
    """

    def __init__(self, at_once: int, whose: str, most_waiting: float = math.inf) -> None:
        self.at_once = at_once
        self.whose = whose
        self.most_waiting = most_waiting
        self._semaphores: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it. Raises RateLimitedError if too many requests of this client are waiting."""
        semaphore = self._semaphores.get(client)
        if semaphore is None:
            semaphore = self._semaphores[client] = anyio.Semaphore(self.at_once)
        if semaphore.statistics().tasks_waiting >= self.most_waiting * self.at_once:
            counters.count_refusal("turns")
            raise RateLimitedError(f"requests at the same time {self.whose}", 1)
        async with semaphore:
            yield


BODY_SECONDS = 60  # timeout for the next chunk of a body
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

HEALTH_PATHS = ("/health", "/ready", "/metrics")
# served without identifying the caller, which needs the database
ANONYMOUS_PATHS = ("/static/", *HEALTH_PATHS, "/api/v1/status")
STATUS_PATH = (
    "/status"  # served while the database is away; until then, its header shows the reader's account
)
STATUS_PATIENCE = 1.0  # seconds that this page waits for its reader's account

# the paths that an admin without a second factor can reach
ENROLMENT_PATHS = ("/account/second-factor", "/login", "/logout", "/theme", STATUS_PATH, *ANONYMOUS_PATHS)

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

FindCaller = Callable[[str | None, str | None], Caller]  # by session cookie or token
CheckView = Callable[[View, Request], None]  # whether a request is part of a view


class _HeadAnsweredError(Exception):
    """The headers of a HEAD have been sent; the body is not wanted."""


def _wants_only_headers(scope: Scope) -> bool:
    """Whether this is a HEAD for an address that answers GET and has no route for HEAD of its own."""
    if scope["method"] != "HEAD":
        return False
    routes: Sequence[BaseRoute] = scope["app"].routes
    return all(route.matches(scope)[0] is not Match.FULL for route in routes)


class RequestMiddleware:
    """Gives every request a reference and an actor, checks it, answers all errors, and adds the security headers."""

    def __init__(
        self,
        app: ASGIApp,
        platform: Platform,
        find_caller: FindCaller,
        check_view: CheckView,
        marked_routes: MarkedRoutes,
    ) -> None:
        self.app = app
        self.platform = platform
        self.find_caller = find_caller
        self.check_view = check_view
        self.marked_routes = marked_routes
        at_once = platform.settings.requests_at_once
        self.turns_of_clients = ConcurrencyLimiter(at_once, "from your address", MOST_WAITING)
        self.turns_of_accounts = ConcurrencyLimiter(at_once, "of your account", MOST_WAITING)
        # While their pages are made, all visitors together have the turns of one client, so that people who are logged in find a
        # thread free, however many addresses somebody has. None is refused, because each address has few requests that wait, and
        # connections are limited. What they send and how slowly they read takes no thread, and so no such turn.
        self.turns_of_visitors = ConcurrencyLimiter(at_once, "of visitors")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["reference"] = uuid.uuid4().hex[:12]
        state["actor"] = Actor()
        state["awaits_code"] = False
        state["is_unlisted"] = state["is_restricted"] = False
        state["view"] = state["organiser"] = None
        state["has_said"] = False
        state["is_tus"] = "tus-resumable" in Headers(scope=scope)
        state["started"] = time.monotonic()
        if _wants_only_headers(scope):
            await self._answer_head(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer_head(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a HEAD as a GET whose body is not read and whose changes are rolled back."""
        has_begun = False

        async def send_head(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.body":
                await send({"type": "http.response.body", "body": b""})
                raise _HeadAnsweredError
            has_begun = True
            await send(message)

        as_get = {**scope, "method": "GET"}
        token = rolls_back.set(True)
        try:
            await self._answer(as_get, receive, send_head)
        except _HeadAnsweredError:
            pass
        except BaseExceptionGroup as group:  # of a response that streams
            if not has_begun or group.split(_HeadAnsweredError)[1] is not None:
                raise
        finally:
            rolls_back.reset(token)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        state = scope["state"]
        request = Request(scope)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request=state["reference"])
        send = _with_headers(send, scope, state)
        try:
            await self._respond(request, receive, send)
        except ClientDisconnect:
            _count_request(scope, state)
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
        """Identify the caller, wait for a slot, and call the route."""
        settings, state = self.platform.settings, request.state
        async with AsyncExitStack() as turn, AsyncExitStack() as turn_of_visitors:
            if not request.url.path.startswith(HEALTH_PATHS):
                await turn.enter_async_context(self.turns_of_clients.of(client_of_request(request)))
            caller = await self._identify(request)
            person = caller.organiser or caller.actor
            if person.is_logged_in:  # possibly from many addresses
                await turn.enter_async_context(self.turns_of_accounts.of(str(person.user_id)))
            elif request.method in SAFE_METHODS and not request.url.path.startswith(ANONYMOUS_PATHS):
                await turn_of_visitors.enter_async_context(self.turns_of_visitors.of("everybody"))
                send = _ending(turn_of_visitors, send)
            state.actor = caller.actor
            state.awaits_code = caller.awaits_code
            state.view, state.organiser = caller.view, caller.organiser
            if caller.view is not None:
                await run_in_threadpool(self.check_view, caller.view, request)
            _check_second_factor(request, caller.actor)
            marks = self.marked_routes.of(request.method, request.scope["path"])
            limit = check_request(request, caller.actor, settings, marks.takes)
            is_large = limit > MAX_SMALL_BODY and not _is_small(request)
            if is_large or marks.sends_file:  # slow to arrive or to leave
                await turn.aclose()
            if marks.done:
                secure = settings.secure_cookies or request.url.scheme == "https"
                send = saying(marks.done, send, secure=secure)
            await self.app(request.scope, bounded(receive, limit), send)

    async def _identify(self, request: Request) -> Caller:
        """Identify the caller. Requests without credentials do not need the database."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else None
        cookie = request.cookies.get(SESSION_COOKIE)
        if not (bearer or cookie) or request.url.path.startswith(ANONYMOUS_PATHS):
            return Caller(Actor())
        if request.url.path == STATUS_PATH:
            return await self._identify_if_possible(request, cookie, bearer)
        return await run_in_threadpool(self.find_caller, cookie, bearer)

    async def _identify_if_possible(self, request: Request, cookie: str | None, bearer: str | None) -> Caller:
        """Identify the caller unless the database does not answer, now or when this process last looked."""
        line = service_line(request)
        if line is not None and line.look == "fault":
            return Caller(Actor())
        with anyio.move_on_after(STATUS_PATIENCE), suppress(SQLAlchemyError):
            find = partial(self.find_caller, cookie, bearer)
            return await anyio.to_thread.run_sync(find, abandon_on_cancel=True)
        return Caller(Actor())


def _is_small(request: Request) -> bool:
    """Whether the declared size of the body is within the limit for requests other than archives."""
    size = request.headers.get("content-length", "")
    return size.isdecimal() and int(size) <= MAX_SMALL_BODY


def _check_second_factor(request: Request, actor: Actor) -> None:
    """Raise SecondFactorRequiredError for an admin without a second factor, unless they are setting one up.

    Their API tokens keep working with fewer rights (app/core/access.py).
    """
    if actor.must_enrol and not actor.by_token and not request.url.path.startswith(ENROLMENT_PATHS):
        raise SecondFactorRequiredError("Admins need a second factor; set it up first")


def _ending(turn: AsyncExitStack, send: Send) -> Send:
    """Give a turn back when the response begins: its page has been made, and may take long to be read."""

    async def send_after_turn(message: Message) -> None:
        await turn.aclose()
        await send(message)

    return send_after_turn


def _count_request(scope: Scope, state: MutableMapping[str, Any], status: int | None = None) -> None:
    """Count a request once: when its response starts, or when the client has disconnected."""
    if "status" not in state:
        counters.count_request(scope, status, time.monotonic() - state["started"])


def _with_headers(send: Send, scope: Scope, state: MutableMapping[str, Any]) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            # pages for one user must not stay in any cache, not even after logout
            if state["actor"].is_logged_in:
                headers.setdefault("Cache-Control", "no-store")
            if state["is_unlisted"]:
                headers["X-Robots-Tag"] = "noindex, nofollow"
            if state["is_restricted"] and headers.get("Cache-Control") != "no-store":
                headers["Cache-Control"] = "private, no-cache"
            if state["has_said"]:
                forget(message)
            if state["view"] is not None:  # nobody else's page, whatever the route takes it for
                headers["Cache-Control"] = "no-store"
            headers["X-Request-Id"] = state["reference"]
            if state["is_tus"]:  # tus requires it in every response, including errors
                headers["Tus-Resumable"] = TUS_VERSION
            _count_request(scope, state, message["status"])
            state["status"] = message["status"]
        await send(message)

    return send_with_headers


def check_request(request: Request, actor: Actor, settings: Settings, body: Body | None) -> int:
    """Check the headers of a request and return the largest body, in bytes, that it may have. body: the file that its route takes.

    Raises CrossSiteError, BadRequestError, TooLargeError, and LoginRequiredError for an archive from an anonymous client.
    """
    _refuse_other_host(request.headers.get("host", ""), settings.host_names)
    if request.method not in SAFE_METHODS and not actor.by_token and _is_cross_site(request.headers):
        raise CrossSiteError(
            "This request was sent from another website; open the form on this site and send it from there"
        )
    _refuse_ambiguous_length(request.headers)
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise BadRequestError("Content-Length is not a number")
    limit = largest_body(body, actor, settings)
    if int(length) > limit:
        if body is Body.ARCHIVE and not actor.is_logged_in:
            raise LoginRequiredError("Log in before you send an archive, or send an API token")
        raise TooLargeError(_limit_message(limit))
    return limit


def _refuse_ambiguous_length(headers: Headers) -> None:
    """Raise BadRequestError if two servers could disagree on where the request ends (request smuggling)."""
    if "content-length" in headers and "transfer-encoding" in headers:
        raise BadRequestError("Content-Length together with Transfer-Encoding")


def _refuse_other_host(host: str, known: frozenset[str]) -> None:
    """Raise BadRequestError unless the host is a known name of this server or an IP address.

    Another site can point its own name to our IP address, so that its pages have the same origin as ours (DNS rebinding).
    """
    name = parts_of(f"//{host}").hostname or ""
    if host and name not in known and not _is_address(name):
        raise BadRequestError("The Host header does not name this server")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def bounded(receive: Receive, limit: int) -> Receive:
    """Limit the size of a body as it arrives, whatever length was declared, and the time to wait for each chunk.

    The returned function raises TooLargeError and HTTPException.
    """
    received, is_complete = 0, False

    async def counted() -> Message:
        nonlocal received, is_complete
        if is_complete:  # the next message only says that the client has disconnected
            return await receive()
        try:
            with anyio.fail_after(BODY_SECONDS):
                message = await receive()
        except TimeoutError as error:
            detail = f"No data received for {BODY_SECONDS} seconds"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail) from error
        is_complete = not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > limit:
            raise TooLargeError(_limit_message(limit))
        return message

    return counted


def _limit_message(limit: int) -> str:
    """The message about the limit, without the overhead of a form."""
    subject, size = ("A request to this address", limit)
    if limit != MAX_SMALL_BODY:
        subject, size = ("A file", limit - FORM_OVERHEAD)
    return f"{subject} may have at most {size} bytes ({size >> 20} MiB)"


def _is_cross_site(headers: Headers) -> bool:
    """Whether the headers show that a browser sent this from another site.

    Every browser sends one of the two headers with a request that changes something; programs send neither.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and parts_of(origin).netloc != headers.get("host")
