"""How many requests of one client or account are handled at the same time, so that nobody waits behind another's hundred."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio

from app import counters
from app.errors import RateLimitedError

MOST_WAITING = 25  # requests of one client or account that wait for each that is handled


class Turns:
    """So many requests of each client at a time, in the order in which they came; for one event loop.

    `whose` ends the sentence that refuses more: "from your address".
    """

    def __init__(self, at_once: int, whose: str) -> None:
        self.at_once = at_once
        self.whose = whose
        self._places: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn and hold it; raises RateLimitedError where too many of this client wait."""
        places = self._places.get(client)
        if places is None:
            places = self._places[client] = anyio.Semaphore(self.at_once)
        if places.statistics().tasks_waiting >= MOST_WAITING * self.at_once:
            counters.count_refusal("turns")
            raise RateLimitedError(f"requests at the same time {self.whose}", 1)
        async with places:
            yield
