"""The rules of a phase: what closing early keeps, what is stored of them, and what contradicts what."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.challenges.phase_rules import (
    PhaseRules,
    PlannedClose,
    new_contradictions,
    parse_quota,
    quotas_in_words,
    rule_changes,
    store,
    unfair_changes,
)
from app.models import Disclosure, Phase, Quota, in_order

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = timedelta(days=1)

QUOTAS = st.builds(Quota, st.integers(1, 100), st.none() | st.integers(1, 3660))
TIMES = st.integers(-60 * 24, 60 * 24).map(lambda hours: NOW + timedelta(hours=hours))


@st.composite
def rules(draw: st.DrawFn) -> PhaseRules:
    """Rules of any kind, also such as contradict each other."""
    return PhaseRules(
        opens_at=draw(TIMES),
        closes_at=draw(st.none() | TIMES),
        grace=timedelta(minutes=draw(st.integers(0, 10_080))),
        quotas=in_order(draw(st.lists(QUOTAS, max_size=5))),
        disclosure=draw(st.sampled_from(Disclosure)),
        details_at_close=draw(st.booleans()),
        only_complete=draw(st.booleans()),
        embargo=draw(st.booleans()),
        frozen_from=draw(st.none() | TIMES),
        planned=draw(st.none() | st.builds(PlannedClose, st.none() | TIMES, st.none() | TIMES)),
    )


@given(rules())
def test_rules_are_read_as_they_were_stored(given_rules: PhaseRules) -> None:
    row = Phase()

    store(given_rules, row)

    assert PhaseRules.of(row) == given_rules


@given(rules())
def test_columns_of_the_close_hold_what_is_in_force(given_rules: PhaseRules) -> None:
    row = Phase()

    store(given_rules, row)

    assert given_rules.over_at == (None if row.closes_at is None else row.closes_at + row.grace)
    assert row.frozen_from == given_rules.frozen_from


@given(rules(), st.integers(1, 59), st.integers(60, 200), st.integers(0, 30))
def test_a_later_deadline_undoes_closing_early(
    before: PhaseRules, early: int, later: int, frozen_days: int
) -> None:
    before = replace(before, closes_at=NOW + 59 * DAY, planned=None, frozen_from=None).frozen_for(frozen_days)
    closed = before.closed_early(NOW + early * DAY, NOW)

    assert closed.over_at == NOW + early * DAY
    assert closed.frozen_days == before.frozen_days
    assert closed.with_deadline(NOW + later * DAY, NOW) == before.with_deadline(NOW + later * DAY, NOW)
    assert closed.closed_early(NOW + DAY / 2, NOW).with_deadline(None, NOW).grace == before.grace


@given(rules())
def test_rules_that_stay_as_they_are_are_never_refused(same: PhaseRules) -> None:
    assert same.changed(NOW, closes_at=same.closes_at, frozen_days=same.frozen_days) == same
    assert new_contradictions(same, same) == []
    assert list(unfair_changes(same, same, NOW, has_results=True)) == []
    assert rule_changes(same, same) == ()


@given(rules())
def test_each_contradiction_is_said_once_and_is_about_rules(found: PhaseRules) -> None:
    problems = list(found.contradictions())

    assert len({each.message for each in problems}) == len(problems)
    assert all(hasattr(found, name) for each in problems for name in each.about)


@given(rules(), TIMES)
def test_a_phase_is_over_once_it_has_closed_and_never_before(found: PhaseRules, moment: datetime) -> None:
    is_closed = found.closes_at is not None and moment >= found.closes_at

    assert not found.is_over_at(moment) or is_closed
    assert not (found.is_over_at(moment) and found.is_frozen_at(moment))


def test_a_freeze_that_closing_early_moved_to_now_is_not_kept_by_a_later_deadline() -> None:
    before = PhaseRules(
        opens_at=NOW - 9 * DAY,
        closes_at=NOW + 30 * DAY,
        frozen_from=NOW + 27 * DAY,
        disclosure=Disclosure.CLASSES,
    )

    closed = before.closed_early(NOW + 2 * DAY, NOW)
    reopened = closed.with_deadline(NOW + 40 * DAY, NOW + DAY)

    assert closed.frozen_from == NOW
    assert reopened.frozen_from == NOW + 37 * DAY
    assert (reopened.frozen_days, closed.frozen_days, before.frozen_days) == (3, 3, 3)


@given(QUOTAS)
def test_a_quota_is_parsed_as_it_is_written(quota: Quota) -> None:
    assert parse_quota(f"{quota.results}/{quota.days or 'all'}") == quota


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2/3661", "at most 3660 days"),
        ("1000001/7", "at most 1000000 results"),
        ("2/none", "30/all for 30 in total"),
    ],
)
def test_a_quota_that_is_out_of_bounds_is_refused_with_them(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_quota(text)


def test_quotas_are_said_in_one_way() -> None:
    assert (
        quotas_in_words((Quota(1, 1), Quota(30, None)))
        == "1 result in 1 day and 30 results in total, per task"
    )
    assert quotas_in_words(()) == ""
