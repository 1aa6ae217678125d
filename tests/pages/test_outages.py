"""Outages are known from what processes saw, and deadlines that they were near can be extended, once, for everybody."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, text
from starlette.testclient import TestClient

import scoring
from app.jobs import heartbeats, outages
from app.models import (
    Announcement,
    AuditRecord,
    Disclosure,
    Event,
    EventKind,
    Outage,
    Phase,
    Service,
    ServicePart,
)
from app.organising.extending import lost_minutes
from app.platform import Platform
from tests.pages.boards import board_of
from tests.pages.conftest import Browser
from tests.pages.test_terms import organiser
from tests.system.rows import Rows
from tests.system.servers import OwnServers

NOON = datetime(2027, 4, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NAMES = iter(range(100))


@pytest.fixture(autouse=True)
def nothing_seen(platform: Platform) -> None:
    with platform.transaction() as session:
        for table in ("heartbeat", "extension", "outage", "event"):
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


@pytest.mark.parametrize(
    ("started", "ended", "minutes"),
    [
        (-50 * HOUR, -49 * HOUR, 0),  # before the last 48 hours
        (-50 * HOUR, -48 * HOUR, 0),
        (-50 * HOUR, -47 * HOUR, 60),  # only what lies within them
        (-2 * HOUR, -2 * HOUR + timedelta(minutes=36, seconds=10), 37),
        (
            -HOUR / 2,
            HOUR / 2,
            60,
        ),  # over the deadline: half an hour was lost, and lasts from the end of the outage
        (-HOUR / 2, 9 * HOUR, 570),
        (HOUR / 4, HOUR / 2, 15),  # in the grace period
        (HOUR, 2 * HOUR, 0),  # after it
        (-99 * HOUR, 99 * HOUR, 147 * 60),
    ],
)
def test_what_an_outage_took_of_the_last_48_hours_and_of_the_grace_period(
    started: timedelta, ended: timedelta, minutes: int
) -> None:
    assert lost_minutes(NOON + started, NOON + ended, NOON, HOUR) == minutes


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
        together.wait(10)
        return note(platform)

    with ThreadPoolExecutor(4) as threads:
        found = [each for each in threads.map(see, range(4)) if each]

    assert len(found) == len(recorded(platform)) == 1


def test_scoring_is_seen_to_work_only_with_a_worker_and_a_broker(
    platform: Platform, own_servers: OwnServers
) -> None:
    def worker_is_seen() -> None:
        with platform.transaction() as session:
            heartbeats.write_heartbeat(session, "one", Service.WORKER, scorer=scoring.SCORER, slots=2)

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


@pytest.fixture
def site(platform: Platform, browser: Browser, tmp_path: Path) -> "Site":
    number = next(NAMES)
    rows = board_of(platform, tmp_path, f"late{number}", Disclosure.FULL)
    return Site(
        platform, rows, organiser(browser, platform, f"olga.late{number}@example.org", f"late{number}")
    )


class Site:
    """A phase with its organiser."""

    def __init__(self, platform: Platform, rows: Rows, olga: TestClient) -> None:
        self.platform, self.rows, self.olga = platform, rows, olga
        self.page = f"/organise/phases/{rows.phase_id}"

    def closes(self, **ahead: int) -> None:
        self.change(closes_at=datetime.now(UTC).replace(microsecond=0) + timedelta(**ahead))

    def change(self, **values: object) -> None:
        with self.platform.transaction() as session:
            phase = session.get_one(Phase, self.rows.phase_id)
            for name, value in values.items():
                setattr(phase, name, value)

    @property
    def closes_at(self) -> datetime:
        with self.platform.transaction() as session:
            moment = session.get_one(Phase, self.rows.phase_id).closes_at
        assert moment is not None
        return moment

    def told(self) -> list[str]:
        with self.platform.transaction() as session:
            of_phase = (Event.kind == EventKind.OUTAGE, Event.phase_id == self.rows.phase_id)
            return [each["title"] for each in session.scalars(select(Event.details).where(*of_phase))]


def outage_of(app: FastAPI, platform: Platform, visitor: TestClient, **length: int) -> int:
    """Let the web process see that uploads work again after so long; returns the id of the outage."""
    note(platform)
    not_seen_for(platform, **length)
    for _ in range(2):  # the page of the second one lists the outage that the first one has found
        app.state.watch.looked_at = -1e9
        visitor.get("/status")
    [outage] = recorded(platform)
    return outage.id


def test_the_organisers_of_a_deadline_that_an_outage_was_near_extend_it_once_for_everybody(
    site: Site, app: FastAPI, platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    other = Site(
        platform, board_of(platform, tmp_path / "other", f"far{next(NAMES)}", Disclosure.FULL), site.olga
    )
    other.closes(days=9)
    site.closes(hours=5)
    before = site.closes_at

    outage = outage_of(app, platform, browser(), minutes=36)
    page, overview = site.olga.get(site.page).text, site.olga.get("/organise").text

    assert "Uploads were unavailable for 37 minutes near the deadline" in page
    assert "Extend for everybody by 37 minutes" in page
    assert overview.count("unavailable in its last 48 hours") == 1
    assert site.told() == ["uploads to test were unavailable for 37 minutes"]
    assert other.told() == []
    assert '<td class="number">37</td>' in browser().get("/status").text

    extended = site.olga.post(f"{site.page}/outages/{outage}/extend")
    again = site.olga.post(f"{site.page}/outages/{outage}/extend")

    assert (extended.headers["location"], again.status_code) == (f"{site.page}?saved=1", 409)
    assert site.closes_at == before + timedelta(minutes=37)
    assert f"{site.closes_at:%a %d %b %Y %H:%M UTC}" in site.olga.get(extended.headers["location"]).text
    assert "The deadline was extended by 37 minutes" in site.olga.get(site.page).text
    assert "unavailable in its last 48 hours" not in site.olga.get("/organise").text
    with platform.transaction() as session:
        news = session.scalars(select(Announcement.text).order_by(Announcement.id.desc())).first()
        extensions = select(AuditRecord.details).where(AuditRecord.action == "phase.extend")
        audited = [each for each in session.scalars(extensions) if each["outage"] == outage]
    assert news is not None
    assert news.endswith("Uploads were unavailable for 37 minutes.")
    assert audited == [{"outage": outage}]


def test_the_api_lists_and_extends(site: Site, app: FastAPI, platform: Platform, browser: Browser) -> None:
    site.closes(hours=5)
    outage = outage_of(app, platform, browser(), minutes=10)

    [found, *_] = site.olga.get(f"/api/v1{site.page}/outages").json()
    extended = site.olga.post(f"/api/v1{site.page}/outages/{outage}/extend")

    assert (found["outage"], found["minutes"], found["refusals"]) == (outage, 11, [])
    assert extended.status_code == 204
    assert site.olga.post(f"/api/v1{site.page}/outages/{outage}/extend").status_code == 409
    assert site.olga.post(f"/api/v1{site.page}/outages/999999/extend").status_code == 404


def test_a_phase_whose_results_were_revealed_cannot_be_extended(
    site: Site, app: FastAPI, platform: Platform, browser: Browser
) -> None:
    site.change(
        opens_at=datetime(2026, 1, 1, tzinfo=UTC),
        disclosure=Disclosure.MEAN,
        stored_quotas=[{"results": 9, "days": 7}],
    )
    site.change(closes_at=datetime.now(UTC) - timedelta(hours=2), grace=timedelta(hours=1))
    outage = outage_of(app, platform, browser(), hours=3)
    before = site.closes_at

    refused = site.olga.post(f"{site.page}/outages/{outage}/extend")

    assert "The deadline cannot be extended: what was hidden became public" in site.olga.get(site.page).text
    assert (refused.status_code, "it cannot reopen" in refused.text) == (409, True)
    assert site.closes_at == before


def test_dates_are_entered_anywhere_on_earth_and_shown_in_utc(site: Site) -> None:
    form = {
        "opens_at": "2026-01-01T00:00", "opens_zone": "UTC", "closes_at": "2037-03-31T23:59", "closes_zone": "AoE",
        "grace_minutes": "60", "quotas": "", "max_boxes": "", "max_total_lines": "", "reason": "A date",
    }  # fmt: skip

    saved = site.olga.post(f"{site.page}/rules", data=form)
    page = site.olga.get(saved.headers["location"]).text
    wrong = site.olga.post(
        f"{site.page}/rules",
        data=form | {"closes_at": "2037-03-29T02:30", "closes_zone": "Europe/Berlin", "reason": ""},
    )

    assert site.closes_at == datetime(2037, 4, 1, 11, 59, tzinfo=UTC)
    assert "<strong>Saved.</strong>" in page
    assert "Wed 01 Apr 2037 11:59 UTC" in page
    assert "Tue 31 Mar 2037 23:59 AoE" in page
    assert 'value="2037-04-01T11:59"' in page
    assert (wrong.status_code, "Fix 2 problems" in wrong.text) == (422, True)
    assert "does not exist in Europe/Berlin" in wrong.text
    assert "<option selected>Europe/Berlin</option>" in wrong.text
