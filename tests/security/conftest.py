"""Fixtures of the security tests: the application in this process, on real servers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio.to_thread
import pytest
from anyio.from_thread import BlockingPortal
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient, Response
from starlette.testclient import TestClient

from app.main import create_app
from app.platform import Platform
from tests.login_settings import EXAMPLE_ID
from tests.pages.conftest import browser, cheap_hashes, one_event_loop, platform
from tests.security.undoing import UndonePlatform, undone_platform

__all__ = ["app", "browser", "cheap_hashes", "one_event_loop", "platform"]


@pytest.fixture(scope="module")
def undone(platform: Platform) -> UndonePlatform:
    """The platform with changes that can be undone, and with an unreachable OpenID Connect provider."""
    known = {"login_providers": (EXAMPLE_ID,)}
    return undone_platform(replace(platform, settings=platform.settings.model_copy(update=known)))


@pytest.fixture(scope="module")
def app(undone: UndonePlatform) -> FastAPI:
    """The application on it."""
    return create_app(undone)


@dataclass(frozen=True, slots=True)
class Walker:
    """Sends ten thousand requests, one after the other: each is answered at once by an event loop that needs no other thread."""

    portal: BlockingPortal
    client: AsyncClient

    def request(self, method: str, url: str, **sent: Any) -> Response:
        """Send a request; no cookie is kept."""
        self.client.cookies.clear()
        return self.portal.call(partial(self.client.request, method, url, **sent))

    def get(self, url: str, **sent: Any) -> Response:
        """Send a GET request."""
        return self.request("GET", url, **sent)


async def _at_once(function: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
    """Call a function where the application would call it in a thread."""
    return function(*arguments)


@pytest.fixture(scope="module")
def walker(app: FastAPI) -> Iterator[Walker]:
    """A client of the application."""
    headers = {"Accept": "application/json"}
    with TestClient(app) as started, pytest.MonkeyPatch.context() as patch:
        patch.setattr(anyio.to_thread, "run_sync", _at_once)
        assert started.portal is not None
        client = AsyncClient(transport=ASGITransport(app), base_url="http://testserver", headers=headers)
        yield Walker(started.portal, client)
