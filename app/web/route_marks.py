"""What routes say of themselves beside their permission: the files they take and send, and their part in views."""

import enum
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from re import Pattern
from typing import Final, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute

from app.core.access import Actor
from app.core.settings import Settings
from app.web.transfers import LARGEST_PICTURE

MAX_SMALL_BODY: Final = 1 << 20  # of a request to every other route
FORM_OVERHEAD: Final = 1 << 16  # bytes that a form may add to its file


class Body(enum.Enum):
    """A file that a route takes."""

    ARCHIVE = "archive"
    DATA_FILE = "data file"
    DATA_SET_FILE = "data set file"
    PICTURE = "picture"


_LARGEST: Final[Mapping[Body, Callable[[Settings], int]]] = {
    Body.ARCHIVE: lambda settings: settings.max_upload + FORM_OVERHEAD,
    Body.DATA_FILE: lambda settings: settings.max_data + FORM_OVERHEAD,
    Body.DATA_SET_FILE: lambda settings: settings.max_intake,
    Body.PICTURE: lambda settings: LARGEST_PICTURE + FORM_OVERHEAD,  # noqa: ARG005 - no setting
}


def largest_body(body: Body | None, actor: Actor, settings: Settings) -> int:
    """Return how many bytes this actor may send to a route that takes this."""
    may_send = actor.is_logged_in if body is Body.ARCHIVE else actor.is_organiser
    return _LARGEST[body](settings) if body is not None and may_send else MAX_SMALL_BODY


Endpoint = TypeVar("Endpoint", bound=Callable[..., object])


def takes(body: Body) -> Callable[[Endpoint], Endpoint]:
    """Mark a route as one that takes a file; every other route takes `MAX_SMALL_BODY`. Write it below the route's decorator."""

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.takes = body  # type: ignore[attr-defined]
        return endpoint

    return mark


def sends_file(endpoint: Endpoint) -> Endpoint:
    """Mark a route as one that sends a large file, which may take long to leave."""
    endpoint.sends_file = True  # type: ignore[attr-defined]
    return endpoint


def in_views(*, shown: bool) -> Callable[[Endpoint], Endpoint]:
    """Mark a route as part of what organisers can do while they see a challenge with other eyes, or as no part of it.

    Pages for participants that are about that challenge are a part without a mark.
    """

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.in_views = shown  # type: ignore[attr-defined]
        return endpoint

    return mark


def part_of_views(route: APIRoute) -> bool | None:
    """Return the mark that `in_views` has made; None if there is none."""
    return getattr(route.endpoint, "in_views", None)


class FileRoutes:
    """The routes that take or send files, found by the method and the path of a request before it is routed."""

    def __init__(self, routers: Iterable[APIRouter]) -> None:
        self._bodies: dict[str, list[tuple[Pattern[str], Body]]] = defaultdict(list)
        self._senders: list[Pattern[str]] = []
        for route in (route for router in routers for route in router.routes):
            if not isinstance(route, APIRoute):
                continue
            if body := getattr(route.endpoint, "takes", None):
                for method in route.methods or ():
                    self._bodies[method].append((route.path_regex, body))
            if getattr(route.endpoint, "sends_file", False):
                self._senders.append(route.path_regex)

    def body_of(self, method: str, path: str) -> Body | None:
        """Return what the route takes."""
        found: Sequence[tuple[Pattern[str], Body]] = self._bodies.get(method, ())
        return next((body for pattern, body in found if pattern.match(path)), None)

    def sends_file(self, method: str, path: str) -> bool:
        """Whether the route sends a large file."""
        return method == "GET" and any(pattern.match(path) for pattern in self._senders)
