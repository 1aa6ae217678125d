"""Polling is cheap: a page is rendered again only after a change, and the queue is read once for all pages."""

import re
from dataclasses import dataclass

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import func, update
from starlette.testclient import TestClient

from app.core import caching
from app.models import Result, Upload
from app.platform import Platform
from tests.pages.statements import asked
from tests.second_factors import token_of_admin
from tests.system.rows import Rows, made

HTML = {"Accept": "text/html"}
MOST_QUERIES = 3  # for the token, the person, and the runs


@dataclass(frozen=True, slots=True)
class Waiting:
    """Two submissions with a queued run each, and somebody who may read them."""

    rows: Rows
    results: tuple[int, int]
    addresses: tuple[str, str]
    reader: TestClient

    def ask(self, etag: str = "", which: int = 0) -> httpx2.Response:
        return self.reader.get(self.addresses[which], headers={"If-None-Match": etag} if etag else {})


@pytest.fixture
def waiting(platform: Platform, app: FastAPI) -> Waiting:
    rows = made(platform)
    first, second = rows.result(), rows.result()
    with platform.transaction() as session:
        numbers = [session.get_one(Result, each).submission_id for each in (first, second)]
        session.execute(update(Upload).values(received_at=func.now(), checked_at=func.now()))
    token = token_of_admin(platform, "reader@example.org", "Reader")
    reader = TestClient(app, headers={**HTML, "Authorization": f"Bearer {token}"})
    platform.cache.expire_versions()
    addresses = (f"/submissions/{numbers[0]}/status", f"/submissions/{numbers[1]}/status")
    return Waiting(rows, (first, second), addresses, reader)


def test_a_page_is_not_rendered_again_while_nothing_changes(waiting: Waiting, platform: Platform) -> None:
    first = waiting.ask()

    with asked(platform) as while_rendering:
        waiting.ask()
    with asked(platform) as while_polling:
        again = waiting.ask(first.headers["ETag"])

    assert position_in(first) > 0
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    assert len(while_polling) <= len(while_rendering) / 2, while_polling
    assert len(while_polling) <= MOST_QUERIES, while_polling


def test_a_page_polls_with_the_etag_of_what_it_shows(waiting: Waiting) -> None:
    response = waiting.ask()

    etag = response.headers["ETag"].replace('"', '\\"')
    assert f"""hx-headers='{{"If-None-Match": "{etag}"}}'""" in response.text
    assert 'hx-trigger="every 1s"' in response.text


def test_the_queue_is_read_once_for_all_waiting_pages(
    waiting: Waiting, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching, "FRESH", 60.0)  # on a slow machine a second is over too soon
    with asked(platform) as found:
        places = [position_in(waiting.ask(which=which)) for which in (0, 1, 0, 1)]

    assert places == places[:2] * 2
    assert places[0] < places[1]
    assert len([each for each in found if "ORDER BY job.priority" in each]) == 1


def position_in(response: httpx2.Response) -> int:
    [place] = re.findall(r"Number (\d+) in the queue", response.text)
    return int(place)


def test_a_changed_state_is_rendered(waiting: Waiting) -> None:
    etag = waiting.ask().headers["ETag"]

    waiting.rows.claim(waiting.results[0])
    running = waiting.ask(etag)
    waiting.rows.score(waiting.results[0], 0.5)
    scored = waiting.ask(running.headers["ETag"])

    assert "Being scored" in running.text
    assert "50.0" in scored.text
    assert "ETag" not in scored.headers  # the whole page is shown now
    assert re.findall('hx-trigger="([^"]*)"', scored.text) == [
        "every 5s"
    ]  # until the error analysis is there


def test_a_stranger_cannot_learn_that_a_submission_is_queued(waiting: Waiting, app: FastAPI) -> None:
    etag = waiting.ask().headers["ETag"]

    stranger = TestClient(app, headers={**HTML, "If-None-Match": etag})

    assert stranger.get(waiting.addresses[0]).status_code == 404
