"""How many requests of one client or account are handled at the same time, so that nobody waits behind another's hundred."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

import anyio
from starlette.requests import ClientDisconnect

from app import counters
from app.errors import RateLimitedError

MOST_WAITING = 25  # requests of one client or account that wait for each that is handled
PAUSE = 0.5  # seconds before somebody is told that there were too many requests
REFUSED_AT_ONCE = 5  # requests of one client that are told so after the same pause; others wait for theirs


@dataclass(slots=True, weakref_slot=True)
class _Client:
    """Who is handled, and who is refused, at the moment."""

    places: anyio.Semaphore
    refusals: anyio.Semaphore


class Turns:
    """So many requests of each client at a time, in the order in which they came; for one event loop.

    `whose` ends the sentence that refuses more: "from your address".
    """

    def __init__(self, at_once: int, whose: str) -> None:
        self.at_once = at_once
        self.whose = whose
        self._clients: WeakValueDictionary[str, _Client] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, client: str, has_left: Callable[[], Awaitable[bool]]) -> AsyncIterator[None]:
        """Wait for a turn and hold it; raises RateLimitedError where too many of this client wait, ClientDisconnect after it has left.

        A refusal takes a pause, and only so many at a time: it costs a millisecond, and those who do not wait come back at once.
        So does leaving a page that was begun, which kept the server busy for nobody.
        """
        here = self._clients.get(client)
        if here is None:
            here = _Client(anyio.Semaphore(self.at_once), anyio.Semaphore(REFUSED_AT_ONCE))
            self._clients[client] = here
        if here.places.statistics().tasks_waiting >= MOST_WAITING * self.at_once:
            counters.count_refusal("turns")
            async with here.refusals:
                await _go_on_with(has_left)  # so that they do not wait here in thousands
                await anyio.sleep(PAUSE)
            raise RateLimitedError(f"requests at the same time {self.whose}", 1)
        async with here.places:
            await _go_on_with(has_left)
            try:
                yield
            except ClientDisconnect:
                await anyio.sleep(PAUSE)
                raise


async def _go_on_with(has_left: Callable[[], Awaitable[bool]]) -> None:
    if await has_left():
        raise ClientDisconnect
