"""Forwarded headers, which count only when a trusted proxy sent them."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware


class ForwardedHeaders:
    """Takes client, scheme and host of a request from X-Forwarded-For, -Proto and -Host of a trusted proxy."""

    def __init__(self, app: ASGIApp, proxies: list[str]) -> None:
        self.forwarded = ProxyHeadersMiddleware(app, trusted_hosts=proxies)  # type: ignore[arg-type]  # its own names of the same types

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        client = scope.get("client")
        if scope["type"] == "http" and client and client[0] in self.forwarded.trusted_hosts:
            host = Headers(scope=scope).get("x-forwarded-host")
            if host:
                scope = dict(scope, headers=list(scope["headers"]))
                MutableHeaders(scope=scope)["host"] = host
        await self.forwarded(scope, receive, send)  # type: ignore[arg-type]  # its own names of the same types
