"""What happens to every request before and after its route."""

import uuid
from collections.abc import Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

import structlog
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.access import Actor
from app.accounts import service as accounts
from app.errors import TooLargeError
from app.platform import Platform
from app.web import SESSION_COOKIE

SMALL = 1 << 20  # largest body that is not an archive, in bytes
OVERHEAD = 1 << 16  # what a form adds to its file
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

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


class Envelope:
    """What wraps every request: names it, finds out who it comes from, refuses what other sites send in their name, bounds its body,
    and adds the headers that keep browsers strict.
    """

    def __init__(
        self, app: ASGIApp, platform: Platform, unforeseen: Callable[[Request, Exception], Response]
    ) -> None:
        self.app = app
        self.platform = platform
        self.unforeseen = unforeseen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["reference"] = uuid.uuid4().hex[:12]
        request = Request(scope)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request=state["reference"])
        state["actor"] = await self._identify(request)
        refusal = self._refusal(request, state["actor"])
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send, state))
            return
        limit = self._limit(request, state["actor"])
        sending = _with_headers(send, state)
        try:
            await self.app(scope, _bounded(receive, limit), sending)
        except ClientDisconnect:
            return
        except Exception as error:
            if state.get("answered"):
                raise
            await self.unforeseen(request, error)(scope, receive, sending)

    async def _identify(self, request: Request) -> Actor:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else None
        cookie = request.cookies.get(SESSION_COOKIE)
        if not bearer and not cookie:
            return Actor()
        return await run_in_threadpool(accounts.identify, self.platform, cookie, bearer)

    def _refusal(self, request: Request, actor: Actor) -> JSONResponse | None:
        if (
            request.method not in SAFE_METHODS
            and not actor.by_token
            and _comes_from_elsewhere(request.headers)
        ):
            return _plain(403, "this request was sent by a page of another site")
        announced = request.headers.get("content-length", "0")
        if not announced.isascii() or not announced.isdigit():
            return _plain(400, "Content-Length is not a number")
        limit = self._limit(request, actor)
        if int(announced) > limit:
            return _plain(413, _most(limit))
        return None

    def _limit(self, request: Request, actor: Actor) -> int:
        """Only who may upload, and where archives go, may send much."""
        path = request.url.path
        takes_archives = path.endswith(("/uploads", "/submit")) or path.startswith("/api/uploads/")
        return self.platform.settings.max_upload + OVERHEAD if takes_archives and actor.is_known else SMALL


def _most(limit: int) -> str:
    """What to say of a body beyond its limit; an archive's is told without what a form adds to it."""
    what, most = ("a request to this address", limit) if limit == SMALL else ("an archive", limit - OVERHEAD)
    return f"{what} may have at most {most} bytes ({most >> 20} MiB)"


def _comes_from_elsewhere(headers: Headers) -> bool:
    """Whether a browser says that a page of another site sent this: the check of forged requests.

    Every browser sends one of the two headers with a request that changes something; programs send neither.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")


def _plain(status: int, sentence: str) -> JSONResponse:
    body = {"title": sentence, "status": status, "problems": []}
    return JSONResponse(body, status, headers={"Connection": "close"}, media_type="application/problem+json")


def _bounded(receive: Receive, limit: int) -> Receive:
    """Count what really comes, whatever was announced."""
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > limit:
            raise TooLargeError(_most(limit))
        return message

    return counted


def _with_headers(send: Send, state: MutableMapping[str, Any]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = state["reference"]
            state["answered"] = True
        await send(message)

    return sending
