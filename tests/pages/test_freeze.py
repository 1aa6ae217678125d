"""While the rows of others are frozen, nobody but organisers sees anything of later results of others, at any address."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count, product
from pathlib import Path
from typing import Any, Final

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from sqlalchemy import func, select, text, update
from starlette.testclient import TestClient

from app.challenges.challenges import PhaseView, is_withheld
from app.challenges.phase_rules import moved_freeze
from app.core.errors import Refusal
from app.intake.importing import NONE, TreeImport, changed_rules
from app.main import API, PAGES
from app.models import (
    Challenge,
    ChallengeVisibility,
    Disclosure,
    Member,
    Method,
    Phase,
    Result,
    Run,
    Submission,
    Upload,
    User,
)
from app.organising.phases import NewRules, change_refusals
from app.platform import Platform
from tests.pages.boards import ScoredMethod, add_scored, board_of
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.pages.test_front import forget
from tests.pages.test_terms import organiser
from tests.pages.views import PHASE
from tests.system.rows import Rows
from tests.working import do_all

DAY: Final = timedelta(days=1)
NUMBERS: Final = count(1)
NOW: Final = datetime(2027, 1, 10, tzinfo=UTC)
LATE: Final = ScoredMethod("Juniperus", 0.9131, 0.7317)
SECRETS: Final = (
    "Juniperus", "Latecomers", "82.2", "91.3", "73.2", "0.822", "0.913", "0.732", "82.24", "91.31", "73.17",
)  # fmt: skip
GET: Final = sorted(
    {
        route.path
        for room in (*API, *PAGES)
        for route in room.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    }
)
FORMATS: Final = ("", "?format=csv", "?format=json", "?format=tex", "?format=bib", "?order=cat")


@dataclass(frozen=True)
class Scene:
    """A held-out phase with public methods, whose rows are frozen since yesterday. code: of its challenge."""

    code: str
    rows: Rows
    visitor: TestClient
    rival: TestClient
    member: TestClient
    organiser: TestClient

    @property
    def platform(self) -> Platform:
        return self.rows.platform

    def phase(self, **columns: Any) -> None:
        with self.platform.transaction() as session:
            session.execute(update(Phase).where(Phase.id == self.rows.phase_id).values(columns))
        forget(self.platform)

    def add_late(self) -> int:
        """Have another team submit a public method now; return its result."""
        result = add_scored(self.rows, LATE)
        team = self.rows.other_team()
        with self.platform.transaction() as session:
            submission = session.get_one(Submission, session.get_one(Result, result).submission_id)
            for table, condition in (
                (Method, Method.id == submission.method_id),
                (Upload, Upload.id == submission.upload_id),
                (Run, Run.result_id == result),
            ):
                session.execute(update(table).where(condition).values(team_id=team))
            session.execute(text("UPDATE upload SET received_at = now(), checked_at = now()"))
            session.execute(text("UPDATE team SET name = 'Latecomers' WHERE id = :team"), {"team": team})
            challenge = session.get_one(Phase, self.rows.phase_id).challenge_id
            user = session.scalars(select(User.id).where(User.email == f"elm.{self.code}@example.org")).one()
            session.add(Member(team_id=team, user_id=user, challenge_id=challenge))
        do_all(self.platform)
        forget(self.platform)
        return result

    def addresses(self, result_id: int) -> Iterator[str]:
        """Every address of a route that can be about the phase, or about this result."""
        with self.platform.transaction() as session:
            result = session.get_one(Result, result_id)
            submission = session.get_one(Submission, result.submission_id)
            method = session.get_one(Method, result.method_id)
            known = {
                "challenge": self.code, "code": self.code, "image_set": "test", "competition": self.rows.competition,
                "phase_id": self.rows.phase_id, "result_id": result_id, "submission_id": submission.id,
                "method_id": method.id, "team_id": method.team_id, "upload_id": submission.upload_id,
                "run_id": self.rows.run_of(result_id), "user_id": submission.user_id, "name": "means", "receipt": "none",
            }  # fmt: skip
            early = session.scalars(select(Method.id).where(Method.team_id == self.rows.team_id)).first()
        for path in GET:
            if set(re.findall(r"{(\w+)", path)) <= known.keys() and not path.startswith("/docs"):
                yield re.sub(r"{(\w+)[^}]*}", lambda found: str(known[found[1]]), path)
        board = f"/leaderboards/{self.code}/test/{self.rows.competition}"
        yield from (f"{prefix}{board}{form}" for prefix, form in product(("", "/api/v1"), FORMATS))
        yield f"{board}/embed"
        yield f"/compare/{self.code}/test/{self.rows.competition}?methods={early}&methods={method.id}"
        yield from (f"{prefix}/find?q=Juniperus" for prefix in ("", "/api/v1"))


@pytest.fixture
def scene(platform: Platform, browser: Browser, tmp_path: Path) -> Iterator[Scene]:
    code = f"frozen{next(NUMBERS)}"
    rows = board_of(platform, tmp_path, code, Disclosure.CLASSES)
    people = [registered(browser(), f"{name}.{code}@example.org") for name in ("fir", "elm")]
    found = Scene(
        code,
        rows,
        browser(),
        people[0],
        people[1],
        organiser(browser, platform, f"olga.{code}@example.org", code),
    )
    now = datetime.now(UTC)
    with platform.transaction() as session:
        before = update(Submission).where(Submission.phase_id == rows.phase_id)
        session.execute(before.values(created_at=func.now() - 3 * DAY))
        session.execute(
            text("UPDATE user_account SET verified_at = now() WHERE email LIKE :these"),
            {"these": f"%.{code}@example.org"},
        )
    found.phase(opens_at=now - 9 * DAY, closes_at=now + DAY, frozen_from=now - DAY, shows_exposure=True)
    yield found
    with platform.transaction() as session:  # pages of the site show nothing of it to the next test
        ours = update(Challenge).where(Challenge.code == code)
        session.execute(ours.values(visibility=ChallengeVisibility.DRAFT))
    forget(platform)


def told(page: Any) -> list[str]:
    """The secrets that a response tells, other than as parts of longer numbers and words of its own address."""
    found = [each for each in SECRETS if each in page.text]  # a hundred times as fast as an expression
    return [each for each in found if re.search(rf"(?<![\d.]){re.escape(each)}(?!\d)", page.text)]


def told_to_others(scene: Scene, addresses: Iterable[str]) -> set[tuple[str, ...]]:
    """Addresses with the secrets that they tell to a visitor and to another team. A search repeats what was searched for."""
    return {
        (address, *found)
        for client in (scene.visitor, scene.rival)
        for address in addresses
        if (found := told(client.get(address))) and "/find?" not in address
    }


@pytest.mark.sampled
def test_others_see_nothing_of_a_frozen_result_until_the_phase_is_over(scene: Scene, app: FastAPI) -> None:
    board = f"/leaderboards/{scene.code}/test/{scene.rows.competition}"
    counted = [f"/api/v1{board}", f"{board}?format=csv", f"{board}/embed", f"/api/v1/challenges/{scene.code}"]
    before = {each: scene.visitor.get(each).text for each in counted}
    result = scene.add_late()
    addresses = [*dict.fromkeys(scene.addresses(result))]

    told_early = told_to_others(scene, addresses)
    found_early = scene.visitor.get("/api/v1/find?q=Juniperus").json()["methods"]
    after = {each: scene.visitor.get(each).text for each in counted}
    with scene.platform.transaction() as session:
        submission = session.get_one(Result, result).submission_id
        method = session.get_one(Result, result).method_id
    own, organised = scene.member.get(f"/submissions/{submission}"), scene.organiser.get(board)
    notice = scene.visitor.get(board)
    scene.phase(closes_at=datetime.now(UTC), grace=timedelta(0))
    told_late = {each for each in addresses if told(scene.visitor.get(each))}

    assert len(addresses) > 100
    assert told_early == set()
    assert found_early == []
    assert after == before
    assert ("82.2" in own.text, "Juniperus" in organised.text) == (True, True)
    assert "This leaderboard is frozen" in notice.text
    assert told_late >= {
        "/", f"/challenges/{scene.code}", "/leaderboards", board, f"{board}/embed", f"{board}?format=csv", f"{board}?format=tex",
        f"/api/v1{board}", f"/methods/{method}", f"/submissions/{submission}", "/api/v1/find?q=Juniperus",
    }, told_late  # fmt: skip


@pytest.mark.sampled
def test_others_learn_of_no_method_under_an_embargo_at_any_address(scene: Scene) -> None:
    scene.phase(embargo=True, frozen_from=None)
    result = scene.add_late()

    addresses = [*dict.fromkeys(scene.addresses(result))]
    told_early = told_to_others(scene, addresses)
    [method] = [each for each in addresses if re.fullmatch(r"/methods/\d+", each)]
    own, organised = (client.get(method).status_code for client in (scene.member, scene.organiser))
    scene.phase(closes_at=datetime.now(UTC), grace=timedelta(0))

    assert told_early == set()
    assert (own, organised) == (200, 200)
    assert scene.visitor.get(method).status_code == 200


def rules(**changes: Any) -> NewRules:
    now = {
        "opens_at": NOW - 9 * DAY, "closes_at": NOW + 9 * DAY, "grace_minutes": 60, "quotas": [{"results": 2, "days": 7}],
        "embargo": False, "reason": "because",
    }  # fmt: skip
    return NewRules.model_validate(now | changes)


def refusals(phase: PhaseView, wanted: NewRules, *, has_results: bool) -> tuple[Refusal, ...]:
    return change_refusals(NOW, phase.rules, wanted.applied_to(phase.rules, NOW), has_results=has_results)


@pytest.mark.parametrize(
    ("frozen_from", "asked", "refused"),
    [
        (None, 3, ""),
        (None, 9, "would disappear"),
        (NOW + DAY, 8, ""),
        (NOW + DAY, 3, ""),
        (NOW - DAY, 10, ""),  # as it is
        (NOW - DAY, 3, "frozen already"),
        (NOW - DAY, 0, "frozen already"),
        (NOW - DAY, None, ""),
    ],
)
def test_a_freeze_changes_only_while_nothing_is_frozen(
    frozen_from: datetime | None, asked: int | None, refused: str
) -> None:
    is_frozen = frozen_from is not None and frozen_from <= NOW
    phase = replace(
        PHASE, opens_at=NOW - 9 * DAY, closes_at=NOW + 9 * DAY, frozen_from=frozen_from, is_frozen=is_frozen, is_over=False, embargo=False
    )  # fmt: skip

    found = " ".join(each.message for each in refusals(phase, rules(frozen_days=asked), has_results=True))

    assert (refused in found) if refused else not found


def test_a_freeze_needs_a_deadline_and_hidden_annotation() -> None:
    never = refusals(replace(PHASE, closes_at=None), rules(closes_at=None, frozen_days=3), has_results=False)
    public = refusals(replace(PHASE, disclosure=Disclosure.FULL), rules(frozen_days=3), has_results=False)

    assert any("needs a closing date" in each.message for each in never)
    assert any("held-out phases only" in each.message for each in public)


def test_a_frozen_phase_keeps_a_deadline_or_what_is_frozen_would_be_shown() -> None:
    phase = replace(PHASE, closes_at=NOW + 9 * DAY, frozen_from=NOW - DAY, is_frozen=True, is_over=False)
    frozen = replace(phase.rules, opens_at=NOW - 9 * DAY)

    found = refusals(phase, rules(closes_at=None), has_results=True)

    assert any("needs a closing date" in each.message for each in found)
    with pytest.raises(ValueError, match="needs a closing date"):
        changed_rules(frozen, TreeImport(Path(), "oak", "test", closes_at=NONE), NOW)


@pytest.mark.parametrize(
    ("frozen_from", "after", "moved"),
    [
        (None, NOW + 20 * DAY, None),
        (NOW + DAY, NOW + 20 * DAY, NOW + 12 * DAY),
        (NOW + DAY, NOW + 5 * DAY, NOW),  # as early as now: what others have seen does not disappear
        (NOW - DAY, NOW + 20 * DAY, NOW - DAY),  # it has begun
        (NOW + DAY, None, NOW + DAY),  # which is refused elsewhere
    ],
)
def test_a_freeze_moves_with_the_deadline_until_it_has_begun(
    frozen_from: datetime | None, after: datetime | None, moved: datetime | None
) -> None:
    assert moved_freeze(frozen_from, NOW + 9 * DAY, after, NOW) == moved


@pytest.mark.parametrize(
    ("changes", "withheld"),
    [
        ({}, False),
        ({"frozen_from": NOW}, True),
        ({"frozen_from": NOW + DAY}, False),
        ({"frozen_from": NOW, "is_over": True}, False),
        ({"embargo": True}, True),
    ],
)
def test_a_result_is_withheld_from_others_while_it_is_frozen(
    changes: dict[str, Any], *, withheld: bool
) -> None:
    phase = replace(PHASE, **{"embargo": False, "is_over": False, **changes})

    assert is_withheld(phase, NOW) is withheld
