"""What everybody sees alike is given to the next reader at once, for a moment and to nobody whose own it might be."""

from weakref import WeakSet

import pytest
from starlette.requests import Request
from starlette.responses import Response

from app import recent_responses
from app.recent_responses import KEPT, MOST, MOST_CHARACTERS, RENEWAL, RecentResponses

START = 100.0  # of every clock


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(recent_responses, "time", clock)
    return clock


def asked(
    path: str = "/board", query: str = "", method: str = "GET", headers: dict[str, str] | None = None
) -> Request:
    sent = [
        (name.encode(), value.encode())
        for name, value in ({"accept-encoding": "gzip"} | (headers or {})).items()
    ]
    return Request(
        {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": sent}
    )


def respond(_: Request) -> Response:
    return Response(b"page")


def keep(recent: RecentResponses, request: Request) -> None:
    recent.keep(request, respond, recent.epoch, START)


def kept(request: Request) -> RecentResponses:
    recent = RecentResponses()
    keep(recent, request)
    return recent


def test_the_next_reader_of_an_address_is_given_the_response(clock: Clock) -> None:
    recent = kept(asked(query="sort=car"))

    found = recent.find(asked(query="sort=car"))

    assert found is not None
    assert found.respond is respond
    assert recent.find(asked(query="sort=cat")) is None
    assert recent.find(asked("/other", query="sort=car")) is None


@pytest.mark.parametrize(
    "request_of_one",
    [
        asked(headers={"cookie": "heldout_session=x"}),
        asked(headers={"authorization": "Bearer x"}),
        asked(headers={"content-length": "3"}),
        asked(headers={"transfer-encoding": "chunked"}),
        asked(headers={"accept-encoding": "identity"}),
        asked(method="HEAD"),
        asked(method="POST"),
    ],
)
def test_a_request_that_may_be_somebodys_own_or_needs_work_neither_gives_nor_takes(
    clock: Clock, request_of_one: Request
) -> None:
    assert kept(asked()).find(request_of_one) is None
    assert kept(request_of_one).find(asked()) is None


def test_when_it_is_too_old_one_reader_has_it_made_anew_and_the_others_do_not_wait(clock: Clock) -> None:
    recent = kept(asked())

    clock.now += KEPT
    first, second = recent.find(asked()), recent.find(asked())
    clock.now += RENEWAL
    late = recent.find(asked())

    assert first is None
    assert second is not None
    assert late is None


def test_after_a_change_nobody_is_given_what_was_before(clock: Clock) -> None:
    recent = kept(asked())
    epoch = recent.epoch

    recent.forget()
    recent.keep(asked("/overtaken"), respond, epoch, clock.now)

    assert recent.find(asked()) is None
    assert recent.find(asked("/overtaken")) is None


def test_as_many_addresses_as_anybody_can_think_of_take_no_more_room(clock: Clock) -> None:
    recent = kept(asked())

    for number in range(MOST):
        keep(recent, asked(query=f"method={number}"))
    keep(recent, asked(query="x" * MOST_CHARACTERS))

    assert recent.find(asked()) is None
    assert recent.find(asked(query="method=0")) is not None
    assert recent.find(asked(query="x" * MOST_CHARACTERS)) is None


def test_a_question_mark_in_a_path_is_not_the_one_before_a_query(clock: Clock) -> None:
    assert kept(asked("/board?sort=car")).find(asked(query="sort=car?")) is None
    assert kept(asked(query="sort=car?")).find(asked("/board?sort=car")) is None


def test_whoever_reads_slowly_makes_a_page_no_older_for_others(clock: Clock) -> None:
    recent, begun = RecentResponses(), clock.now

    clock.now += KEPT / 2
    recent.keep(asked(), respond, recent.epoch, begun)
    clock.now += KEPT / 2
    recent.keep(asked("/slower"), respond, recent.epoch, begun)

    assert recent.find(asked()) is None
    assert recent.find(asked("/slower")) is None


def test_what_is_given_to_nobody_any_more_takes_no_memory(clock: Clock) -> None:
    recent, pages = RecentResponses(), WeakSet[Page]()

    for number in range(3):
        page = Page()
        pages.add(page)
        recent.keep(asked(query=f"sort={number}"), page, recent.epoch, clock.now)
        del page
        clock.now += KEPT + RENEWAL

    assert len(pages) == 1


class Page:
    """A page that says whether somebody still has it."""

    def __call__(self, _: Request) -> Response:
        return Response(b"page")
