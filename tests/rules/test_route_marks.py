"""Routes say themselves which files they take; a route that does not takes no large body."""

import inspect
from collections.abc import Iterator

from fastapi.routing import APIRoute

from app.core.access import Actor
from app.core.settings import Settings
from app.main import API, PAGES
from app.web.route_marks import MAX_SMALL_BODY, Body, MarkedRoutes, largest_body

TAKES = {
    "POST /api/v1/challenges/{challenge}/{image_set}/uploads": Body.ARCHIVE,
    "PUT /api/v1/challenges/{challenge}/{image_set}/uploads": Body.ARCHIVE,
    "PATCH /api/v1/uploads/{upload_id}": Body.ARCHIVE,
    "POST /challenges/{challenge}/{image_set}/submit": Body.ARCHIVE,
    "PUT /api/v1/organise/challenges/{challenge}/data/{file_id}/content": Body.DATA_FILE,
    "PATCH /api/v1/organise/data-uploads/{data_upload_id}": Body.DATA_FILE,
    "POST /organise/challenges/{challenge}/data": Body.DATA_FILE,
    "POST /organise/challenges/{challenge}/data/{file_id}/content": Body.DATA_FILE,
    "PUT /api/v1/organise/data-sets/{intake_id}/files/{role}/{name}": Body.DATA_SET_FILE,
    "POST /api/v1/organise/data-sets/{intake_id}/files": Body.DATA_SET_FILE,
    "PATCH /api/v1/organise/data-set-files/{intake_file_id}": Body.DATA_SET_FILE,
    "POST /organise/challenges/{challenge}/picture": Body.PICTURE,
    "POST /organise/challenges/{challenge}/text-images": Body.PICTURE,
}
SMALL = {"POST /admin/site/logo", "POST /organise/new/file"}  # take a file that is no larger than a form
MARKED = MarkedRoutes((*API, *PAGES))


def routes() -> Iterator[tuple[str, APIRoute]]:
    """Return all routes with their method and address."""
    for router in (*API, *PAGES):
        for route in router.routes:
            if isinstance(route, APIRoute):
                yield from ((f"{method} {route.path}", route) for method in route.methods or ())


def test_each_address_takes_what_its_route_says() -> None:
    found = {name: MARKED.of(name.partition(" ")[0], route.path).takes for name, route in routes()}

    assert {name: body for name, body in found.items() if body is not None} == TAKES


def test_whatever_reads_a_file_says_so() -> None:
    readers = ("request.stream()", "FormWithFile", "UploadFile", ": Sent =")
    reading = {
        name
        for name, route in routes()
        if not name.startswith("GET") and any(each in inspect.getsource(route.endpoint) for each in readers)
    }

    assert reading == set(TAKES) | SMALL


def test_who_may_send_how_much() -> None:
    settings = Settings(max_upload=5 << 20, max_data=6 << 20, max_intake=7 << 20)
    somebody, organiser = Actor(user_id=1), Actor(user_id=2, organises=frozenset({1}))

    def limits(actor: Actor) -> dict[Body, int]:
        return {body: largest_body(body, actor, settings) >> 20 for body in Body}

    assert limits(Actor()) == dict.fromkeys(Body, 1)
    assert limits(somebody) == dict.fromkeys(Body, 1) | {Body.ARCHIVE: 5}
    assert limits(organiser) == {
        Body.ARCHIVE: 5, Body.DATA_FILE: 6, Body.DATA_SET_FILE: 7, Body.PICTURE: 16,
    }  # fmt: skip
    assert largest_body(None, organiser, settings) == MAX_SMALL_BODY
