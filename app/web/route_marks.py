"""What routes say of themselves beside their permission: the files they take and send, and their part in views."""

import enum
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from re import Pattern
from typing import Final, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute

from app.core.access import Actor
from app.core.settings import Settings
from app.core.units import MiB
from app.web.done import register
from app.web.transfers import LARGEST_PICTURE

MAX_SMALL_BODY: Final = MiB  # of a request to a route that takes no file
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
    Body.PICTURE: lambda _settings: LARGEST_PICTURE + FORM_OVERHEAD,
}


def largest_body(body: Body | None, actor: Actor, settings: Settings) -> int:
    """Return how many bytes this actor may send to a route that takes this."""
    may_send = actor.is_logged_in if body is Body.ARCHIVE else actor.is_organiser
    return _LARGEST[body](settings) if body is not None and may_send else MAX_SMALL_BODY


@dataclass(frozen=True, slots=True)
class Marks:
    """What a route says of itself.

    sends_file: a large one, which may take long to leave. in_views: whether it is part of what organisers can do while they view
    a challenge as somebody else; None if its action and address tell. done: what the next page says once it has succeeded.
    """

    takes: Body | None = None
    sends_file: bool = False
    in_views: bool | None = None
    done: str = ""


UNMARKED: Final = Marks()
Endpoint = TypeVar("Endpoint", bound=Callable[..., object])


def marked(
    *, takes: Body | None = None, sends_file: bool = False, in_views: bool | None = None, done: str = ""
) -> Callable[[Endpoint], Endpoint]:
    """Mark a route; stands below its decorator."""
    register(done)

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.marks = Marks(takes, sends_file, in_views, done)  # type: ignore[attr-defined]
        return endpoint

    return mark


def marks_of(route: APIRoute) -> Marks:
    """Return the marks of a route."""
    return getattr(route.endpoint, "marks", UNMARKED)


class MarkedRoutes:
    """The routes with marks, which are few, by the method and the path of a request that is not routed yet."""

    def __init__(self, routers: Iterable[APIRouter]) -> None:
        self._by_method: dict[str, list[tuple[Pattern[str], Marks]]] = defaultdict(list)
        for route in (route for router in routers for route in router.routes):
            if isinstance(route, APIRoute) and (marks := marks_of(route)) is not UNMARKED:
                for method in route.methods or ():
                    self._by_method[method].append((route.path_regex, marks))

    def of(self, method: str, path: str) -> Marks:
        """Return the marks of the route that will answer."""
        found = self._by_method.get(method, ())
        return next((marks for pattern, marks in found if pattern.match(path)), UNMARKED)
