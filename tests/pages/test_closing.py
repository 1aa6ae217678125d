"""Closing a phase early: what organisers read before, what participants are told, and what is refused after."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import select, text, update
from starlette.testclient import TestClient

from app.challenges.phase_rules import PhaseState
from app.intake.importing import TreeImport, import_tree
from app.models import (
    AuditRecord,
    ChallengeOrganiser,
    ChallengeRole,
    Disclosure,
    Event,
    EventKind,
    Phase,
    Result,
    ResultState,
)
from app.organising import closing
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.pages.test_terms import organiser
from tests.pages.views import PHASE
from tests.patience import LIMIT
from tests.system.installations import STATEMENT
from tests.system.kits import results, small_kit
from tests.system.servers import eventually

NOW = datetime(2027, 1, 1, tzinfo=UTC)
OPEN = replace(
    PHASE,
    state=PhaseState.OPEN,
    closes_at=NOW + timedelta(days=9),
    is_over=False,
    details_at_close=False,
    embargo=False,
)


@dataclass(frozen=True)
class Place:
    """A challenge of its own with one open phase, its organiser and a participant."""

    platform: Platform
    code: str
    organiser: TestClient
    ash: TestClient

    def phase(self) -> Phase:
        with self.platform.transaction() as session:
            return session.scalars(select(Phase).where(Phase.challenge_id == self.challenge)).one()

    @property
    def challenge(self) -> int:
        with self.platform.reading() as session:
            statement = text("SELECT id FROM challenge WHERE code = :code")
            return int(session.execute(statement, {"code": self.code}).scalar_one())

    def change(self, **columns: Any) -> None:
        with self.platform.transaction() as session:
            session.execute(update(Phase).where(Phase.challenge_id == self.challenge).values(**columns))
        self.platform.cache.expire_versions()

    @property
    def page(self) -> str:
        return f"/organise/phases/{self.phase().id}"

    def upload(self) -> str:
        path = f"/api/v1/challenges/{self.code}/test/uploads?filename=results.tar.gz"
        return str(self.ash.put(path, content=results(cat=5, dog=5)).json()["id"])

    def confirm(self, upload: str, method: str) -> httpx2.Response:
        body = {"upload": upload, "method": {"name": method}, "training": STATEMENT}
        answer = self.ash.post("/api/v1/submissions", json=body)
        assert isinstance(answer, httpx2.Response)
        return answer


@pytest.fixture
def place(platform: Platform, browser: Browser, tmp_path: Path) -> Place:
    code = f"shut{uuid.uuid4().hex[:8]}"
    import_tree(platform, TreeImport(small_kit(tmp_path), code, "test"))
    people = (f"{name}@{code}.example.org" for name in ("olga", "ash"))
    return Place(
        platform,
        code,
        organiser(browser, platform, next(people), code),
        registered(browser(), next(people)),
    )


def test_a_phase_that_closes_now_refuses_what_is_under_way_and_scores_what_was_submitted(
    place: Place,
) -> None:
    before, under_way = place.upload(), place.upload()
    assert place.confirm(before, "Acorn").status_code == 201
    told = unescape(place.organiser.get(place.page).text)
    reason = "A label of the test set leaked."

    closed = place.organiser.post(f"{place.page}/close", data={"early": "now", "early_reason": reason})

    assert "What was submitted until then is scored and counts." in told
    assert "there is no grace period" in told
    assert (closed.status_code, closed.headers["location"]) == (303, f"{place.page}?saved=1")
    late = place.confirm(under_way, "Beech")
    assert (late.status_code, late.json()["code"]) == (403, "closed")
    assert "Close early" not in place.organiser.get(place.page).text
    assert (
        place.organiser.post(f"{place.page}/close", data={"early": "now", "early_reason": reason}).status_code
        == 409
    )
    news = place.ash.get(f"/challenges/{place.code}/news").text
    feed = place.ash.get(f"/challenges/{place.code}/news.atom").text
    assert reason in news
    assert "there is no grace period any more" in news
    assert reason in feed
    with place.platform.transaction() as session:
        assert session.scalars(select(Result.state).where(Result.phase_id == place.phase().id)).all() == [
            ResultState.PENDING
        ]
        assert (
            session.scalar(
                select(AuditRecord.reason).where(
                    AuditRecord.action == "phase.close", AuditRecord.challenge_id == place.challenge
                )
            )
            == reason
        )
        events = select(Event.kind).where(
            Event.challenge_id == place.challenge, Event.kind == EventKind.EXTENDED
        )
        assert session.scalars(events).all() == [EventKind.EXTENDED]


def test_a_phase_closes_early_at_a_time_and_only_before_its_deadline(place: Place) -> None:
    deadline = datetime.now(UTC) + timedelta(days=9)
    place.change(closes_at=deadline)
    api, soon = f"/api/v1{place.page}/close", datetime.now(UTC) + timedelta(hours=2)

    def ask(moment: datetime) -> httpx2.Response:
        answer = place.organiser.post(api, json={"closes_at": moment.isoformat(), "reason": "A workshop"})
        assert isinstance(answer, httpx2.Response)
        return answer

    refused = [ask(moment) for moment in (soon - timedelta(days=1), deadline, deadline + timedelta(days=1))]
    wrong = place.organiser.post(f"{place.page}/close", data={"early": "at", "early_reason": ""})
    neither = place.organiser.post(f"{place.page}/close", data={"early_reason": "A workshop"})
    done = ask(soon)

    assert [each.status_code for each in refused] == [409, 422, 422]
    assert (wrong.status_code, "Fix 2 problems" in wrong.text) == (422, True)
    assert (neither.status_code, "choose one" in neither.text) == (422, True)
    assert done.status_code == 204
    assert (place.phase().closes_at, place.phase().grace) == (soon, timedelta(0))
    assert place.confirm(place.upload(), "Acorn").status_code == 201


def test_only_owners_close_a_phase_early_that_then_shows_everything(place: Place) -> None:
    place.change(details_at_close=True)
    asked = {"closes_at": None, "reason": "It is done"}

    def role(role: ChallengeRole) -> None:
        with place.platform.transaction() as session:
            session.execute(
                update(ChallengeOrganiser)
                .where(ChallengeOrganiser.challenge_id == place.challenge)
                .values(role=role)
            )

    role(ChallengeRole.ORGANISER)
    page = place.organiser.get(place.page).text
    refused = place.organiser.post(f"/api/v1{place.page}/close", json=asked)
    role(ChallengeRole.OWNER)
    done = place.organiser.post(f"/api/v1{place.page}/close", json=asked)

    assert "only an owner of the challenge closes it early" in page
    assert (refused.status_code, done.status_code) == (403, 204)


def test_whoever_confirms_while_the_phase_is_closed_finds_it_closed(place: Place) -> None:
    upload = place.upload()
    waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as late:
        with place.platform.transaction() as session:
            row = session.get_one(Phase, place.phase().id, with_for_update={"key_share": True})
            row.closes_at, row.grace = datetime.now(UTC), timedelta(0)
            session.flush()
            answer = late.submit(place.confirm, upload, "Acorn")
            assert eventually(lambda: bool(session.scalar(waits)))
        refused = answer.result(LIMIT)

    assert (refused.status_code, refused.json()["code"]) == (403, "closed")


@pytest.mark.parametrize(
    ("changes", "shown", "is_final"),
    [
        ({"disclosure": Disclosure.CLASSES}, "", False),
        ({"disclosure": Disclosure.CLASSES, "embargo": True}, "all public methods", True),
        ({"disclosure": Disclosure.MEAN}, "score of each class", True),
        ({"disclosure": Disclosure.AT_CLOSE, "details_at_close": True}, "every digit", True),
        ({"disclosure": Disclosure.FULL}, "", False),
    ],
)
def test_organisers_read_what_becomes_visible(changes: dict[str, Any], shown: str, *, is_final: bool) -> None:
    told = " ".join(closing.consequences(replace(OPEN, **changes)))

    assert shown in told
    assert ("at that time" in told) is bool(shown)
    assert ("cannot reopen" in told) is is_final


def test_dates_are_entered_anywhere_on_earth_and_shown_in_utc(place: Place) -> None:
    place.change(disclosure=Disclosure.FULL)
    form = {
        "opens_at": "2026-01-01T00:00", "opens_zone": "UTC", "closes_at": "2037-03-31T23:59", "closes_zone": "AoE",
        "grace_minutes": "60", "quotas": "", "max_boxes": "", "max_total_lines": "", "reason": "A date",
    }  # fmt: skip

    saved = place.organiser.post(f"{place.page}/rules", data=form)
    page = place.organiser.get(saved.headers["location"]).text
    wrong = place.organiser.post(
        f"{place.page}/rules",
        data=form | {"closes_at": "2037-03-29T02:30", "closes_zone": "Europe/Berlin", "reason": ""},
    )

    assert place.phase().closes_at == datetime(2037, 4, 1, 11, 59, tzinfo=UTC)
    assert "<strong>Saved.</strong>" in page
    assert "Wed 1 Apr 2037 11:59 UTC" in page
    assert "Tue 31 Mar 2037 23:59 AoE" in page
    assert 'value="2037-04-01T11:59"' in page
    assert (wrong.status_code, "Fix 2 problems" in wrong.text) == (422, True)
    assert "does not exist in Europe/Berlin" in wrong.text
    assert "<option selected>Europe/Berlin</option>" in wrong.text
