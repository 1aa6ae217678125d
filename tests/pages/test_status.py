"""The status page says whether uploads and scoring work, also while database, broker or storage is away, and no secrets."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, text
from starlette.testclient import TestClient

import heldout_scoring
from app.jobs import heartbeats
from app.main import create_app
from app.models import AuditRecord, Challenge, Phase, Service, ServicePart
from app.operations import health
from app.operations.status import OutageView, days_of
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.statements import asked
from tests.pages.test_accounts import registered
from tests.pages.test_site import admin
from tests.system.rows import described, made
from tests.system.servers import OwnServers

__all__ = ["admin"]


@pytest.fixture(autouse=True)
def worker(platform: Platform) -> None:
    """One live worker, whose runs take 90 seconds."""
    with platform.transaction() as session:
        session.execute(text("DELETE FROM heartbeat"))
        heartbeats.write_heartbeat(session, "one", Service.WORKER, scorer=heldout_scoring.SCORER, slots=2)


@pytest.fixture
def visitor(browser: Browser, app: FastAPI) -> Iterator[TestClient]:
    """A browser of somebody who is not logged in, for whom the next page is as of now."""
    look_again(app)
    yield browser()
    look_again(app)


def look_again(app: FastAPI) -> None:
    """Let the next request look at the service."""
    app.state.watch.looked_at = -1e9


def seen(visitor: TestClient, code: int = 200) -> Any:
    response = visitor.get("/api/v1/status")
    assert response.status_code == code, response.text
    return response.json()


def test_everybody_sees_that_all_is_well_and_how_long_a_submission_waits(
    visitor: TestClient, app: FastAPI, platform: Platform, browser: Browser
) -> None:
    rows = made(platform)
    scored = rows.result(mean=0.5)
    for _ in range(3):
        rows.result()
    held = rows.other_team()
    rows.result(team_id=held)
    with platform.transaction() as session:
        session.execute(text("UPDATE team SET suspended_at = now() WHERE id = :id"), {"id": held})
        times = "claimed_at = '2026-11-25 10:00:00Z', finished_at = '2026-11-25 10:01:30Z'"
        session.execute(text(f"UPDATE run SET {times} WHERE id = :id"), {"id": rows.run_of(scored)})
    platform.cache.expire_versions()

    found = seen(visitor)
    page = visitor.get("/status").text

    assert found["uploads"] == found["scoring"] == {"works": True, "problem": "", "since": None}
    numbers = found["numbers"]
    assert (numbers["workers"], numbers["waiting"]) == (1, 3)
    assert numbers["wait_minutes"] == 3, "the fourth on two slots, 90 seconds each"
    assert numbers["last_scored_at"] == "2026-11-25T10:01:00Z", "to the minute"
    assert "3 submissions waiting" in page
    assert "A new submission is scored in about 3 minutes" in page
    assert "Uploads and scoring work" in page
    assert set(numbers) == {
        "read_at", "workers", "waiting", "wait_minutes", "last_scored_at", "notices", "outages", "senders", "days"
    }, "nothing of a challenge or a team"  # fmt: skip
    login = visitor.get("/login").text
    assert '<a href="/status" >Status</a>' in login.split("</header>")[0]
    assert "Uploads and scoring work" in login.split("<footer")[1]


def test_the_status_costs_the_database_nothing_between_two_looks(
    visitor: TestClient, platform: Platform
) -> None:
    visitor.get("/status")

    with asked(platform, of_site=True) as statements:
        pages = [visitor.get("/status") for _ in range(5)]
        seen(visitor)

    assert {page.status_code for page in pages} == {200}
    assert statements == []


def test_without_a_worker_uploads_are_accepted_and_scoring_waits(
    visitor: TestClient, platform: Platform
) -> None:
    with platform.transaction() as session:
        session.execute(text("DELETE FROM heartbeat"))

    found = seen(visitor)

    assert found["uploads"]["works"]
    assert found["scoring"]["problem"] == "no worker is alive"
    assert "Uploads are accepted, scoring waits" in visitor.get("/login").text


def test_while_the_database_is_away_the_page_shows_what_is_known(
    visitor: TestClient, app: FastAPI, own_servers: OwnServers, platform: Platform
) -> None:
    before = seen(visitor)
    visitor.cookies.set("heldout_session", "a session that nobody can look up")
    platform.engine.dispose()
    with own_servers.database_down():
        platform.cache.expire_versions("storage")
        look_again(app)
        away = seen(visitor)
        page = visitor.get("/status")
        look_again(app)
        again = seen(visitor)
        error = visitor.get("/account")
    platform.engine.dispose()
    look_again(app)
    back = seen(visitor)

    assert (page.status_code, "Uploads are unavailable" in page.text) == (200, True)
    assert "The database does not answer" in page.text
    assert away["numbers"] == before["numbers"]
    assert away["uploads"]["since"] == f"{before['checked_at'][:16]}:00Z"
    assert again["uploads"]["since"] == away["uploads"]["since"]
    assert not away["scoring"]["works"]
    assert (error.status_code, "Uploads are unavailable" in error.text) == (503, True)
    assert back["uploads"] == {"works": True, "problem": "", "since": None}


def test_a_process_that_has_never_reached_the_database_answers_503(
    own_servers: OwnServers, platform: Platform
) -> None:
    platform.engine.dispose()
    with (
        own_servers.database_down(),
        TestClient(create_app(platform), headers={"Accept": "text/html"}) as visitor,
    ):
        found, page = seen(visitor, 503), visitor.get("/status")
    platform.engine.dispose()

    assert (found["numbers"], found["uploads"]["works"]) == (None, False)
    assert (page.status_code, "Uploads are unavailable" in page.text) == (503, True)


def test_without_the_broker_uploads_are_accepted_and_scoring_waits(
    visitor: TestClient, own_servers: OwnServers
) -> None:
    with own_servers.broker_down():
        found = seen(visitor)

    assert found["uploads"]["works"]
    assert found["scoring"]["problem"] == "the queue that wakes workers does not answer"


def test_without_storage_uploads_are_unavailable(
    visitor: TestClient, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Platform) -> str:
        return "the storage cannot be written"

    monkeypatch.setitem(health.CHECKS, "storage", broken)

    found = seen(visitor)

    assert found["uploads"]["problem"] == "the storage cannot be written"
    assert found["numbers"]["workers"] == 1


def test_an_admin_schedules_and_ends_notices(
    admin: TestClient, visitor: TestClient, app: FastAPI, platform: Platform
) -> None:
    now = {"title": "Scores are late", "text": "A disk is *full*. <script>alert(1)</script>"}
    later = {
        "title": "Maintenance",
        "starts_at": "2026-12-24T23:59",
        "starts_zone": "AoE",
        "ends_at": "2026-12-25T18:00",
        "ends_zone": "Europe/Berlin",
    }
    with platform.transaction() as session:
        latest = session.scalar(select(func.coalesce(func.max(AuditRecord.id), 0)))
    preview = admin.post("/admin/notices", data=now | {"preview": "1"})
    wrong = admin.post(
        "/admin/notices", data=later | {"title": "x", "ends_zone": "Mars", "starts_at": "soon"}
    )
    reverse = admin.post("/admin/notices", data=later | {"ends_at": "2026-12-24T18:00"})
    far = admin.post(
        "/admin/notices", data=later | {"title": "Far", "starts_at": "2099-01-01T00:00", "ends_at": ""}
    )
    sent = [admin.post("/admin/notices", data=form).status_code for form in (now, later)]
    look_again(app)
    page = visitor.get("/status").text
    shown = {each["title"]: each for each in seen(visitor)["numbers"]["notices"]}

    assert "<em>full</em>" in preview.text
    assert (wrong.status_code, "Fix 3 problems" in wrong.text) == (422, True)
    assert "<option selected>Mars</option>" in wrong.text
    assert (reverse.status_code, "would end before it starts" in reverse.text) == (422, True)
    assert (far.status_code, sent) == (303, [303, 303])
    assert list(shown) == ["Scores are late", "Maintenance"], "not yet the one that is far away"
    assert shown["Maintenance"]["starts_at"] == "2026-12-25T11:59:00Z"
    assert shown["Maintenance"]["ends_at"] == "2026-12-25T17:00:00Z"
    assert "<em>full</em>" in page
    assert "<script>alert" not in page
    assert "Scheduled from" in page
    assert "Scores are late" in visitor.get("/login").text.split("<footer")[1]
    for each in shown.values():
        assert admin.post(f"/admin/notices/{each['id']}/end").status_code == 303
        assert admin.post(f"/api/v1/admin/notices/{each['id']}/end").status_code == 204
    look_again(app)
    assert seen(visitor)["numbers"]["notices"] == []
    assert "Scores are late" not in visitor.get("/login").text
    assert admin.post("/admin/notices/999999/end").status_code == 404
    with platform.transaction() as session:
        is_notice = AuditRecord.action.startswith("notice.") & (AuditRecord.id > latest)
        actions = session.scalars(select(AuditRecord.action).where(is_notice)).all()
    assert sorted(actions) == ["notice.end"] * 2 + ["notice.publish"] * 3


def test_images_in_a_notice_are_said_to_be_not_shown(admin: TestClient) -> None:
    form = {"title": "Look at this", "text": "![a cat](https://pictures.example.org/cat.png)"}
    said = "Images are not shown; their words stand in their place"

    preview = admin.post("/admin/notices", data=form | {"preview": "1"}).text
    before = admin.get("/admin/notices").text
    published = admin.post("/admin/notices", data=form)
    after = admin.get(published.headers["location"]).text
    end, *_ = re.findall('action="(/admin/notices/[0-9]+/end)"', after.partition("Look at this")[2])
    admin.post(end)

    assert [page.count(said) for page in (preview, before, after)] == [1, 0, 1]
    assert "<code>https://pictures.example.org/cat.png</code>" in after
    assert said not in admin.get("/admin/notices").text


def test_only_admins_write_notices(browser: Browser) -> None:
    ash = registered(browser(), "ash.status@example.org")

    assert ash.get("/admin/notices").status_code == 403
    assert ash.post("/admin/notices", data={"title": "Down"}).status_code == 403
    assert ash.post("/api/v1/admin/notices", json={"title": "Down"}).status_code == 403


def test_the_page_for_uploads_says_how_the_service_is(
    visitor: TestClient, browser: Browser, platform: Platform, tmp_path: Path
) -> None:
    visitor.get("/status")
    rows = described(platform, tmp_path)
    with platform.transaction() as session:
        code = session.get_one(Challenge, session.get_one(Phase, rows.phase_id).challenge_id).code
    ash = registered(browser(), "ash.upload@example.org")

    page = ash.get(f"/challenges/{code}/test/submit").text

    assert re.search(r"Uploads and scoring work</span>\s+(Nothing waits|\d+ results? waits?)", page)


def test_the_days_have_the_minutes_of_their_outages_and_those_before_the_server_are_unknown() -> None:
    def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
        return datetime(2026, 11, day, hour, minute, tzinfo=UTC)

    outages = (
        OutageView(ServicePart.UPLOADS, at(27, 23, 30), at(28, 0, 10)),  # over midnight
        OutageView(ServicePart.SCORING, at(28, 12), at(28, 12, 1)),
    )

    days = days_of(outages, today=date(2026, 11, 29), since=date(2026, 11, 28))

    assert [(day.day.day, day.uploads, day.scoring, day.is_known) for day in days[-3:]] == [
        (27, 30, 0, False), (28, 10, 1, True), (29, 0, 0, True),
    ]  # fmt: skip
    assert (len(days), days[0].day) == (30, date(2026, 10, 31))
