"""Phases over time, and which deadline is next."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.challenges.challenges import PhaseView, by_deadline
from app.challenges.phase_rules import PhaseState
from app.home.front import next_deadline
from app.home.home import MOST_TICKS, shown_phase, timeline_of
from app.models import Disclosure
from tests.pages.views import NOW, PHASE, VAL

DAY = timedelta(days=1)
OPEN, CLOSED, UPCOMING = PhaseState.OPEN, PhaseState.CLOSED, PhaseState.UPCOMING


def phase(name: str, state: PhaseState, opens: int, closes: int | None, **changes: object) -> PhaseView:
    ends = None if closes is None else NOW + closes * DAY
    known = replace(PHASE, image_set=name, state=state, opens_at=NOW + opens * DAY, closes_at=ends)
    return replace(known, **changes)  # type: ignore[arg-type]  # fields of a phase


def test_the_phase_that_closes_first_is_the_next_deadline() -> None:
    late, soon = phase("late", OPEN, -9, 8), phase("soon", OPEN, -1, 2)

    assert next_deadline([late, VAL, soon, phase("past", CLOSED, -9, -1)]) == soon
    assert next_deadline([VAL]) is None
    assert by_deadline([VAL, late, soon], OPEN) == (soon, late, VAL)


def test_upcoming_phases_are_ordered_by_their_opening() -> None:
    late, soon = phase("late", UPCOMING, 9, 12), phase("soon", UPCOMING, 1, None)

    assert by_deadline([late, soon, VAL], UPCOMING) == (soon, late)


def test_a_challenge_shows_its_open_held_out_phase_by_default() -> None:
    future = phase("future", UPCOMING, 2, 3)

    assert shown_phase([VAL, PHASE, future], None) == PHASE
    assert shown_phase([VAL, PHASE], "val") == VAL
    assert shown_phase([VAL, PHASE], "trainval") is None
    assert shown_phase([VAL], None) == VAL
    assert shown_phase([], None) is None
    assert VAL.disclosure is Disclosure.FULL


def test_bars_fit_the_drawing_and_are_followed_by_their_grace_period() -> None:
    drawn = timeline_of([VAL, phase("a", CLOSED, -30, -10, grace=5 * DAY), phase("b", OPEN, -5, 20)], NOW)

    assert [bar.phase.image_set for bar in drawn.bars] == ["val", "a", "b"]
    val, a, b = drawn.bars
    assert a.left == 0.0
    assert a.left + a.width < a.left + a.width + a.grace < drawn.now.place < b.left + b.width < 100
    assert val.left + val.width == 100


@pytest.mark.parametrize("days", [0, 1, 3, 5, 12, 40, 100, 300, 700, 2000, 9000])
def test_a_timeline_has_a_few_dates_in_order(days: int) -> None:
    drawn = timeline_of([phase("a", OPEN, -days, 1)], NOW)

    places = [tick.place for tick in drawn.ticks]
    assert 1 <= len(places) <= MOST_TICKS + 1
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert len({tick.text for tick in drawn.ticks}) == len(places)
    assert {tick.anchor for tick in drawn.ticks} <= {"start", "middle", "end"}


def test_a_challenge_without_phases_has_an_axis_but_no_bars() -> None:
    drawn = timeline_of([], datetime(2026, 1, 1, tzinfo=UTC))

    assert drawn.bars == ()
    assert drawn.now.place == 0.0


def test_a_timeline_of_centuries_has_no_dates() -> None:
    assert timeline_of([phase("a", OPEN, -200_000, 1)], NOW).ticks == ()
