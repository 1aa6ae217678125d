"""When a phase is over, and which competitions it offers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from app.challenges.challenges import offered_competitions
from tests.rules.test_submissions import phase

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_a_phase_is_over_when_its_grace_period_ends() -> None:
    closed, hour = phase(closes=NOW), timedelta(hours=1)

    assert not closed.is_over_at(NOW + timedelta(minutes=59))
    assert closed.is_over_at(NOW + hour)
    assert not phase().is_over_at(NOW + timedelta(days=999))


def test_competitions_without_ground_truth_are_not_offered() -> None:
    offered = offered_competitions(replace(phase(), not_offered=(1, 2)))

    assert [each.number for each in offered][:2] == [3, 4]
