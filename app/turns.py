"""How many requests of one client are handled at the same time, so that nobody waits behind another's hundred."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio

from app import counters
from app.errors import RateLimitedError

MOST_WAITING = 25  # requests of one client that wait for each that is handled


class Turns:
    """So many requests of each client at a time, in the order in which they came; for one event loop."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._clients: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn and hold it; raises RateLimitedError where too many of this client wait."""
        places = self._clients.get(client)
        if places is None:
            places = self._clients[client] = anyio.Semaphore(self.at_once)
        if places.statistics().tasks_waiting >= MOST_WAITING * self.at_once:
            counters.count_refusal("turns")
            raise RateLimitedError("requests at the same time from your address", 1)
        async with places:
            yield
