"""Outages are known from what processes saw."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, text

import heldout_scoring
from app.jobs import heartbeats, outages
from app.models import Outage, Service, ServicePart
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.patience import LIMIT
from tests.system.servers import OwnServers


@pytest.fixture(autouse=True)
def nothing_seen(platform: Platform) -> None:
    with platform.transaction() as session:
        for table in ("heartbeat", "outage"):
            session.execute(text(f"DELETE FROM {table}"))


def note(platform: Platform, part: ServicePart = ServicePart.UPLOADS) -> Outage | None:
    with platform.transaction() as session:
        return outages.note_available(session, part)


def not_seen_for(platform: Platform, **length: int) -> None:
    """Let the last time at which anything was seen to work be so long ago."""
    with platform.transaction() as session:
        seen_at = func.clock_timestamp() - timedelta(**length)
        session.execute(text("UPDATE heartbeat SET seen_at = :at"), {"at": session.scalar(select(seen_at))})


def recorded(platform: Platform) -> list[Outage]:
    with platform.transaction() as session:
        return list(session.scalars(select(Outage).order_by(Outage.id)))


def test_an_outage_is_known_once_something_works_again(platform: Platform) -> None:
    assert note(platform) is None
    not_seen_for(platform, seconds=50)
    assert note(platform) is None, "less than a minute"
    not_seen_for(platform, minutes=37)
    first = note(platform)
    assert note(platform) is None

    assert first is not None
    assert timedelta(minutes=37) <= first.ended_at - first.started_at < timedelta(minutes=38)
    assert [each.id for each in recorded(platform)] == [first.id]


def test_a_clock_that_was_set_back_is_no_outage(platform: Platform) -> None:
    note(platform)
    not_seen_for(platform, hours=-2)

    assert note(platform) is None
    assert note(platform) is None


def test_of_several_processes_one_records_an_outage(platform: Platform) -> None:
    note(platform)
    not_seen_for(platform, minutes=5)
    together = Barrier(4)

    def see(_: int) -> Outage | None:
        together.wait(LIMIT)
        return note(platform)

    with ThreadPoolExecutor(4) as threads:
        found = [each for each in threads.map(see, range(4)) if each]

    assert len(found) == len(recorded(platform)) == 1


def test_scoring_is_seen_to_work_only_with_a_worker_and_a_broker(
    platform: Platform, own_servers: OwnServers
) -> None:
    def worker_is_seen() -> None:
        with platform.transaction() as session:
            heartbeats.write_heartbeat(session, "one", Service.WORKER, scorer=heldout_scoring.SCORER, slots=2)

    worker_is_seen()
    outages.note_scoring(platform)
    not_seen_for(platform, minutes=9)
    outages.note_scoring(platform)
    with own_servers.broker_down():
        worker_is_seen()
        outages.note_scoring(platform)
    assert recorded(platform) == []

    outages.note_scoring(platform)

    [outage] = recorded(platform)
    assert outage.part is ServicePart.SCORING


def test_the_status_page_says_for_how_many_minutes_uploads_were_away(
    app: FastAPI, platform: Platform, browser: Browser
) -> None:
    note(platform)
    not_seen_for(platform, minutes=36)
    for _ in range(2):  # the page of the second look lists the outage that the first one has found
        app.state.watch.looked_at = -1e9
        page = browser().get("/status").text

    assert "37 minutes</td>" in page
