"""Responses that somebody who is not logged in was given a moment ago, for everybody else who is not."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

KEPT = 0.5  # seconds
RENEWAL = 0.25  # seconds for which others are still given it while one of them has it made anew
MOST = 256  # addresses; what was kept first goes first
MOST_CHARACTERS = 512  # of an address
# whose requests are looked at one by one: people's, and those with a body
OWN = ("cookie", "authorization", "content-length", "transfer-encoding")

SharedResponse = Callable[[Request], Response]  # the same content, as each request takes it


@dataclass(slots=True)
class Recent:
    """A response, the route that gave it, and until when others are given it."""

    respond: SharedResponse
    route: Any
    until: float
    is_being_renewed: bool = False


@dataclass(slots=True)
class RecentResponses:
    """Responses by address. A reader who finds one here costs neither routing nor a thread, so that crowds hold up nobody.

    Their age is added to that of the version that they were made for: together less than two seconds. Used by the event loop;
    any thread may forget them.
    """

    _epoch: int = 0
    _kept: OrderedDict[tuple[str, bytes], Recent] = field(default_factory=OrderedDict)

    @property
    def epoch(self) -> int:
        """What `keep` needs to know: how often everything was forgotten before the response was made."""
        return self._epoch

    def find(self, request: Request) -> Recent | None:
        """The response to this request, if one is young enough; none for the first who asks when it no longer is."""
        address = _address(request)
        recent = self._kept.get(address) if address else None
        if recent is None:
            return None
        late = time.monotonic() - recent.until
        if late < 0 or (recent.is_being_renewed and late < RENEWAL):
            return recent
        recent.is_being_renewed = True
        return None

    def keep(self, request: Request, respond: SharedResponse, epoch: int, begun: float) -> None:
        """Keep what was given to this request, unless a change may have overtaken it.

        begun: when the response began, by the monotonic clock; whoever reads it slowly must not make it older for others.
        """
        kept, address, now = self._kept, _address(request), time.monotonic()
        if address is None or epoch != self._epoch or begun + KEPT <= now:
            return
        kept.pop(address, None)
        kept[address] = Recent(respond, request.scope.get("route"), begun + KEPT)
        while len(kept) > MOST or next(iter(kept.values())).until + RENEWAL <= now:
            kept.popitem(last=False)  # nobody is given it any more, and it may be a large page

    def forget(self) -> None:
        """Give what was kept to nobody any more."""
        self._epoch += 1
        self._kept = OrderedDict()


def _address(request: Request) -> tuple[str, bytes] | None:
    """The address of a page as everybody sees it who is not logged in; none for a request that may be somebody's.

    None either for a client that takes no gzip: unpacking the JSON of 5,000 methods takes 13 ms, in which the event loop would answer
    nobody. Path and query stay apart: a path may have a question mark in it.
    """
    headers, path, query = request.headers, request.scope["path"], request.scope["query_string"]
    if request.method != "GET" or any(name in headers for name in OWN):
        return None
    if "gzip" not in headers.get("accept-encoding", ""):
        return None
    return (path, query) if len(path) + len(query) <= MOST_CHARACTERS else None
