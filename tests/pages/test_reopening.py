"""A later deadline after closing early: everything is as it was set before, however it is asked for, and never half done."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import func, select

from app.challenges.phase_rules import PhaseRules, store
from app.core.access import Actor
from app.intake.importing import TreeImport, import_tree
from app.jobs import queue
from app.models import (
    Announcement,
    AuditRecord,
    Challenge,
    Disclosure,
    Event,
    EventKind,
    JobKind,
    Phase,
    Quota,
    Role,
)
from app.organising import closing, phases
from app.organising.closing import EarlyClose
from app.organising.phases import NewQuota, NewRules
from app.platform import Platform
from tests.kills import assert_all_or_nothing
from tests.pages.test_closing import Place, place
from tests.system.kits import DATASET

__all__ = ["place"]

DAY: Final = timedelta(days=1)
NOW: Final = datetime.now(UTC).replace(second=0, microsecond=0)
CLOSES, EARLY, LATER = NOW + 30 * DAY, NOW + 2 * DAY, NOW + 40 * DAY
TOTAL, WINDOW = (Quota(2, 7), Quota(30, None)), (Quota(3, 7), Quota(30, 50))
NUMBERS = count(1)


def rules_now(place: Place) -> PhaseRules:
    return PhaseRules.of(place.phase())


def as_set(rules: PhaseRules) -> tuple[object, ...]:
    """Everything that organisers set, but the deadline itself."""
    days = rules.frozen_days
    return replace(rules, closes_at=None, frozen_from=None, planned=None), days


def set_up(place: Place, **changes: Any) -> PhaseRules:
    frozen_days = changes.pop("frozen_days", None)
    with place.platform.transaction() as session:
        row = session.get_one(Phase, place.phase().id)
        before = replace(
            PhaseRules.of(row), opens_at=NOW - 9 * DAY, grace=timedelta(minutes=60), quotas=TOTAL
        )
        rules = replace(before.changed(NOW, closes_at=CLOSES, frozen_days=frozen_days), **changes)
        store(rules, row)
    place.platform.cache.expire_versions()
    return rules_now(place)


def close(place: Place, at: datetime | None) -> None:
    api = f"/api/v1{place.page}/close"
    asked = {"closes_at": at and at.isoformat(), "reason": "A label leaked"}
    assert place.organiser.post(api, json=asked).status_code == 204


def by_page(place: Place, closes_at: datetime, _: Path) -> int:
    """Send the form as the page has it, with another deadline."""
    moved = {"closes_at": f"{closes_at:%Y-%m-%dT%H:%M}", "reason": "There was no leak"}
    return place.organiser.post(f"{place.page}/rules", data=form_of(place) | moved).status_code


def form_of(place: Place) -> dict[str, Any]:
    """The fields of the form of rules as the page has them."""
    page = place.organiser.get(place.page).text
    form = page[page.index(f'action="{place.page}/rules"') :]
    form = form[: form.index("</form>")]
    sent: dict[str, Any] = {"quota_results": [], "quota_days": []}
    for tag in form.split("<input")[1:]:
        name, value = (attribute(tag, each) for each in ("name", "value"))
        if name in ("quota_results", "quota_days"):
            sent[name].append(value)
        elif name and ('type="checkbox"' not in tag or "checked" in tag.split(">")[0]):
            sent[name] = value
    return sent


def attribute(tag: str, name: str) -> str:
    _, found, rest = tag.partition(f'{name}="')
    return unescape(rest.partition('"')[0]) if found else ""


def by_api(place: Place, closes_at: datetime, _: Path) -> int:
    """Send the rules as the API returns them, with another deadline."""
    phase = place.organiser.get(f"/api/v1{place.page}/rules").json()["phase"]
    hours = phase["grace"]
    assert hours == "PT1H"
    body = {
        "opens_at": phase["opens_at"], "closes_at": closes_at.isoformat(), "grace_minutes": 60, "quotas": phase["own_quotas"],
        "embargo": phase["embargo"], "reason": "There was no leak",
    }  # fmt: skip
    return place.organiser.put(f"/api/v1{place.page}/rules", json=body).status_code


def by_command(place: Place, closes_at: datetime, folder: Path) -> int:
    import_tree(place.platform, TreeImport(folder / DATASET, place.code, "test", closes_at=closes_at))
    return 200


WAYS: Final = {"page": (by_page, 303), "api": (by_api, 200), "command": (by_command, 200)}
Way = tuple[Callable[[Place, datetime, Path], int], int]


@pytest.mark.sampled
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"quotas": WINDOW},
        {"frozen_days": 3},
        {"embargo": True},
        {"disclosure": Disclosure.AT_CLOSE},
        {"disclosure": Disclosure.MEAN, "details_at_close": True, "frozen_days": 5, "quotas": WINDOW},
    ],
    ids=["total", "windows", "freeze", "embargo", "at-close", "mean"],
)
def test_a_later_deadline_brings_back_all_that_was_set(
    place: Place, tmp_path: Path, changes: dict[str, Any], way: Way
) -> None:
    before = set_up(place, **changes)
    change, expected = way

    close(place, EARLY)
    early = rules_now(place)
    status = change(place, LATER, tmp_path)
    after = rules_now(place)

    assert (early.closes_at, early.over_at, early.closes_early) == (EARLY, EARLY, True)
    assert as_set(early) == as_set(before)
    assert status == expected
    assert (after.closes_at, after.over_at, after.closes_early) == (LATER, LATER + timedelta(hours=1), False)
    assert as_set(after) == as_set(before)
    assert after.frozen_from == (before.frozen_from and before.frozen_from + (LATER - CLOSES))


@pytest.mark.sampled
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_phase_that_is_closed_now_reopens_as_it_was(place: Place, tmp_path: Path, way: Way) -> None:
    before = set_up(place)
    under_way = place.upload()
    change, expected = way

    close(place, None)
    refused = place.confirm(under_way, "Acorn")
    status = change(place, LATER, tmp_path)
    page = place.organiser.get(place.page).text
    submit = place.ash.get(f"/challenges/{place.code}/test/submit").text
    news = " ".join(unescape(place.ash.get(f"/challenges/{place.code}/news").text).split())

    assert (refused.status_code, status) == (403, expected)
    assert as_set(rules_now(place)) == as_set(before)
    assert place.confirm(under_way, "Acorn").status_code == 201
    assert "early, without a grace period" not in page
    assert "may be submitted up to 1 hour later" in submit
    assert "may be submitted up to 1 hour later." in news
    assert "The quota of" not in news


def test_a_phase_whose_secrets_came_out_when_it_was_closed_early_stays_closed(
    place: Place, tmp_path: Path
) -> None:
    set_up(place, disclosure=Disclosure.MEAN)
    close(place, None)
    closed = rules_now(place)

    assert by_page(place, LATER, tmp_path) == 409
    assert by_api(place, LATER, tmp_path) == 409
    assert rules_now(place) == closed


def test_pages_say_that_a_phase_closes_early_and_other_rules_may_change(place: Place, tmp_path: Path) -> None:
    set_up(place, frozen_days=3)
    close(place, EARLY)
    closed = rules_now(place)

    page = place.organiser.get(place.page).text
    submit = place.ash.get(f"/challenges/{place.code}/test/submit").text
    rules = place.ash.get(f"/challenges/{place.code}/rules").text
    saved = by_page(place, EARLY, tmp_path)

    assert "closes early, without a grace period" in page
    assert 'name="grace_minutes"' in page
    assert "may be submitted up to" not in submit
    assert "An upload has to be submitted before the close." in rules
    assert saved == 303
    assert rules_now(place) == closed


def test_a_quota_without_its_days_is_refused_wherever_it_stands(place: Place) -> None:
    before = set_up(place)
    sent = form_of(place) | {"quota_results": ["2", "9", "30"], "quota_days": ["7", "14"], "reason": "More"}

    answered = place.organiser.post(f"{place.page}/rules", data=sent)

    assert answered.status_code == 422
    assert "give both the results and the days, or leave both empty" in answered.text
    assert rules_now(place) == before


def test_an_earlier_deadline_of_a_phase_that_closes_early_still_has_no_grace(
    place: Place, tmp_path: Path
) -> None:
    before = set_up(place)
    close(place, NOW + 20 * DAY)

    assert by_page(place, NOW + 10 * DAY, tmp_path) == 303
    earlier = rules_now(place)
    assert (earlier.over_at, earlier.closes_early) == (NOW + 10 * DAY, True)
    assert by_page(place, LATER, tmp_path) == 303
    assert as_set(rules_now(place)) == as_set(before)


@pytest.fixture
def admin(place: Place) -> Actor:
    with place.platform.reading() as session:
        by = session.scalar(select(func.min(AuditRecord.user_id)))
    return Actor(user_id=by, role=Role.ADMIN, has_second_factor=True)


def told(platform: Platform, phase: int) -> object:
    """All that changing the dates of a phase leaves behind."""
    with platform.transaction() as session:
        row = session.get_one(Phase, phase)
        of_challenge = AuditRecord.challenge_id == row.challenge_id
        return (
            PhaseRules.of(row),
            session.scalars(
                select(Announcement.text).where(Announcement.challenge_id == row.challenge_id)
            ).all(),
            session.scalars(
                select(AuditRecord.action).where(of_challenge, AuditRecord.user_id.is_not(None))
            ).all(),
            session.scalars(
                select(Event.kind).where(
                    Event.challenge_id == row.challenge_id, Event.kind == EventKind.EXTENDED
                )
            ).all(),
            session.scalar(select(queue.is_pending(JobKind.BOARD, func.concat(phase, "/1")))),
        )


def scene_of(platform: Platform, tree: Path, *, closes_early: bool) -> Callable[[], int]:
    def scene() -> int:
        code = f"half{next(NUMBERS)}x{NOW:%H%M}"
        phase = import_tree(platform, TreeImport(tree, code, "test")).phase_id
        with platform.transaction() as session:
            row = session.get_one(Phase, phase)
            rules = replace(PhaseRules.of(row), opens_at=NOW - 9 * DAY, quotas=TOTAL)
            rules = rules.changed(NOW, closes_at=CLOSES, frozen_days=1)
            store(rules.closed_early(EARLY, NOW) if closes_early else rules, row)
            assert session.get(Challenge, row.challenge_id) is not None
        return phase

    return scene


@pytest.mark.sampled
def test_closing_early_is_never_half_done(place: Place, admin: Actor, tmp_path: Path) -> None:
    asked = EarlyClose(closes_at=EARLY, reason="A label leaked")

    moments = assert_all_or_nothing(
        place.platform,
        scene_of(place.platform, tmp_path / DATASET, closes_early=False),
        lambda phase: closing.close_early(place.platform, admin, phase, asked),
        lambda phase: told(place.platform, phase),
    )

    assert moments > 5


@pytest.mark.sampled
def test_a_later_deadline_is_never_half_set(place: Place, admin: Actor, tmp_path: Path) -> None:
    rules = NewRules(
        opens_at=NOW - 9 * DAY, closes_at=LATER, grace_minutes=60, embargo=False, reason="There was no leak", max_boxes=77,
        quotas=(NewQuota(results=2, days=7), NewQuota(results=30, days=None)),
    )  # fmt: skip

    moments = assert_all_or_nothing(
        place.platform,
        scene_of(place.platform, tmp_path / DATASET, closes_early=True),
        lambda phase: phases.change_rules(place.platform, admin, phase, rules),
        lambda phase: told(place.platform, phase),
    )

    assert moments > 5
