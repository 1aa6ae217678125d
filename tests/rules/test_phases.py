"""Which changes to a phase are refused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from icalendar import Calendar
from pydantic import ValidationError

from app.challenges.challenges import PhaseView
from app.core.errors import PhaseBroken, PhaseUnfair
from app.models import Disclosure, Quota
from app.organising.phases import NewRules, SizeBounds, calendar_of, change_refusals, limit_refusals
from app.web.forms import field_errors
from heldout_scoring import Limits
from tests.pages.views import PHASE

NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
DAY = timedelta(days=1)
MIB = 1 << 20
BROKEN, UNFAIR = PhaseBroken.code, PhaseUnfair.code


def phase(opens: timedelta = -30 * DAY, closes: timedelta | None = 30 * DAY, **changes: Any) -> PhaseView:
    """A held-out phase with these dates, relative to now."""
    dates: dict[str, Any] = {"opens_at": NOW + opens, "closes_at": None if closes is None else NOW + closes}
    view = replace(PHASE, disclosure=Disclosure.CLASSES, details_at_close=False, **dates, **changes)
    return replace(view, state=view.state_at(NOW), is_over=view.is_over_at(NOW))


def rules_of(phase: PhaseView, **changes: Any) -> NewRules:
    now = {
        "opens_at": phase.opens_at,
        "closes_at": phase.closes_at,
        "grace_minutes": 60,
        "quotas": [{"results": 2, "days": 7}],
        "embargo": phase.embargo,
        "reason": "because of the workshop",
    }
    return NewRules.model_validate(now | changes)


def codes(phase: PhaseView, *, has_results: bool = True, **changes: Any) -> list[str]:
    after = rules_of(phase, **changes).applied_to(phase.rules, NOW)
    found = change_refusals(NOW, phase.rules, after, has_results=has_results)
    return [refusal.code for refusal in found]


def test_a_later_deadline_and_other_quotas_are_allowed_while_a_phase_is_open() -> None:
    assert codes(phase(), closes_at=NOW + 60 * DAY, quotas=[{"results": 1, "days": 30}]) == []
    assert codes(phase(), closes_at=None) == []


@pytest.mark.parametrize(
    ("until", "expected"), [(3 * DAY, []), (2.9 * DAY, [UNFAIR]), (-DAY, [UNFAIR]), (timedelta(0), [UNFAIR])]
)
def test_an_earlier_deadline_must_be_at_least_three_days_away(until: timedelta, expected: list[str]) -> None:
    assert codes(phase(), closes_at=NOW + until) == expected
    assert codes(phase(closes=None), closes_at=NOW + until) == expected


def test_tomorrows_deadline_may_be_postponed_by_an_hour() -> None:
    assert codes(phase(closes=DAY), closes_at=NOW + DAY + DAY / 24) == []


def test_every_date_may_change_before_a_phase_opens() -> None:
    upcoming = phase(opens=DAY)

    assert codes(upcoming, has_results=False, opens_at=NOW + 2 * DAY, closes_at=NOW + 2.5 * DAY) == []
    assert codes(upcoming, has_results=False, opens_at=NOW - DAY) == []


def test_the_opening_cannot_move_into_the_future_once_results_are_recorded() -> None:
    assert codes(phase(), opens_at=NOW + DAY) == [UNFAIR]
    assert codes(phase(), has_results=False, opens_at=NOW + DAY) == []


def test_a_phase_cannot_close_before_it_opens() -> None:
    assert codes(phase(opens=DAY), has_results=False, closes_at=NOW) == [BROKEN]


def test_a_held_out_phase_needs_a_quota_and_a_public_one_does_not() -> None:
    assert codes(phase(), quotas=[]) == [BROKEN]
    assert codes(replace(phase(), disclosure=Disclosure.FULL), quotas=[]) == []


def test_scores_that_are_shown_at_close_need_a_closing_date() -> None:
    assert codes(replace(phase(), disclosure=Disclosure.AT_CLOSE), closes_at=None) == [BROKEN]


@pytest.mark.parametrize(
    "revealing",
    [
        {"details_at_close": True},
        {"embargo": True},
        {"only_complete": True},
        *({"disclosure": row} for row in (Disclosure.AT_CLOSE, Disclosure.MEAN, Disclosure.LADDER)),
    ],
)
def test_a_phase_that_revealed_something_at_its_close_cannot_reopen(revealing: dict[str, Any]) -> None:
    closed = replace(phase(closes=-DAY), **revealing)

    assert codes(closed, closes_at=NOW + 7 * DAY) == [UNFAIR]
    assert codes(closed, closes_at=NOW - 2 * DAY) == []


def test_a_phase_that_revealed_nothing_may_reopen() -> None:
    assert codes(phase(closes=-DAY), closes_at=NOW + 7 * DAY) == []


def test_the_grace_period_cannot_become_shorter_once_a_phase_is_closed() -> None:
    assert codes(phase(closes=-DAY / 48), grace_minutes=0) == [UNFAIR]
    assert codes(phase(closes=-DAY / 48), grace_minutes=120) == []
    assert codes(phase(), grace_minutes=0) == []


def test_an_embargo_needs_a_closing_date_and_cannot_change_once_there_are_results() -> None:
    assert codes(phase(closes=None), has_results=False, embargo=True) == [BROKEN]
    assert codes(phase(), has_results=False, embargo=True) == []
    assert codes(phase(), embargo=True) == [UNFAIR]
    assert codes(phase(embargo=True), embargo=False) == [UNFAIR]


def test_all_reasons_are_given_at_once() -> None:
    assert codes(phase(), opens_at=NOW + DAY, closes_at=NOW, quotas=[]) == [BROKEN, BROKEN, UNFAIR, UNFAIR]


def test_rules_keep_the_smaller_of_two_quotas_with_the_same_window() -> None:
    sent = [{"results": results, "days": days} for results, days in ((9, 7), (2, 7), (30, None), (40, None))]

    rules = rules_of(phase(), quotas=sent).applied_to(phase().rules, NOW)

    assert rules.quotas == (Quota(2, 7), Quota(30, None))
    assert rules.grace == timedelta(hours=1)


@pytest.mark.parametrize("days", [7, 60, 365, None])
def test_a_later_deadline_leaves_every_quota_as_it_is(days: int | None) -> None:
    before = phase(own_quotas=(Quota(2, days),))

    rules = rules_of(before, closes_at=NOW + 400 * DAY, quotas=[{"results": 2, "days": days}])

    assert rules.applied_to(before.rules, NOW).quotas == (Quota(2, days),)


def test_a_calendar_has_the_opening_and_the_deadline_of_each_phase() -> None:
    calendar = Calendar.from_ical(calendar_of([phase(), phase(closes=None)], "https://voc.example.org", NOW))

    events = calendar.walk("VEVENT")
    assert [(str(event["uid"]), event.decoded("dtstart")) for event in events] == [
        ("phase-1-opens@voc.example.org", NOW - 30 * DAY),
        ("phase-1-closes@voc.example.org", NOW + 30 * DAY),
        ("phase-1-opens@voc.example.org", NOW - 30 * DAY),
    ]
    assert str(events[1]["summary"]) == "PASCAL VOC 2007, test closes"
    assert "60 minutes" in str(events[1]["description"])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"max_upload": 1, "max_boxes": 1, "max_total_lines": 1}, []),
        ({"max_upload": 2048 * MIB, "max_unpacked_bytes": 8192 * MIB, "max_file_bytes": 2730 * MIB}, []),
        (
            {"max_upload": 2049 * MIB},
            ["size of an archive: this server allows at most 2 GiB (2147483648 bytes)"],
        ),
        ({"max_unpacked_bytes": 8193 * MIB}, ["size of all files: this server allows at most 8 GiB"]),
        (
            {"max_unpacked_bytes": 8192 * MIB, "max_file_bytes": 2731 * MIB},
            ["size of a file: this server allows at most 2.7 GiB"],
        ),
        ({"max_file_bytes": 1025 * MIB}, ["a file cannot be larger than all files of its archive together"]),
        (
            {"max_lines": 2_999_999, "max_file_bytes": 127 * MIB},
            ["lines of a file: this can only be raised", "size of a file: this can only be raised"],
        ),
    ],
)
def test_limits_are_raised_as_far_as_the_operator_allows(
    changes: dict[str, int], expected: list[str]
) -> None:
    bounds = SizeBounds(2048 * MIB, 8192 * MIB, 8192 * MIB // 3)

    refused = [each.message for each in limit_refusals(Limits(), rules_of(phase(), **changes), bounds)]

    assert len(refused) == len(expected)
    assert all(message.startswith(start) for message, start in zip(refused, expected, strict=True))


def test_invalid_numbers_and_dates_are_explained_in_words() -> None:
    sent: dict[str, object] = {
        "opens_at": "soon",
        "closes_at": None,
        "quotas": [],
        "embargo": False,
        "reason": "a workshop",
    }
    numbers: dict[str, object] = {"grace_minutes": "99999", "max_boxes": "0", "max_total_lines": "many"}

    with pytest.raises(ValidationError) as raised:
        NewRules.model_validate(sent | numbers)

    assert field_errors(raised.value) == {
        "opens_at": "must be a date and a time with its zone, such as 2027-03-31T12:00Z",
        "grace_minutes": "must be at most 10080",
        "max_boxes": "must be at least 1",
        "max_total_lines": "must be a whole number",
    }
