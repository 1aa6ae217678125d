"""What a phase shows, and which competitions it has."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from app.editions.rules import offered_competitions, shows_details, withheld
from app.models import Disclosure
from tests.rules.test_submissions import phase

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_open_annotation_hides_nothing() -> None:
    assert shows_details(replace(phase(), disclosure=Disclosure.FULL), NOW)


def test_held_out_annotation_shows_details_after_grace_if_its_organiser_chose_so() -> None:
    chosen = replace(phase(closes=NOW), details_at_close=True, grace=timedelta(hours=1))

    assert not shows_details(chosen, NOW + timedelta(minutes=59))
    assert shows_details(chosen, NOW + timedelta(hours=1))
    assert not shows_details(replace(chosen, details_at_close=False), NOW + timedelta(days=999))


def test_what_is_withheld_says_until_when() -> None:
    chosen = replace(phase(closes=NOW), details_at_close=True)

    assert withheld(chosen).endswith("they become public when it is over")
    assert withheld(replace(chosen, closes_at=None)).endswith("is held out")


def test_competitions_without_ground_truth_are_not_offered() -> None:
    offered = offered_competitions(replace(phase(), not_offered=(1, 2)))

    assert [each.number for each in offered][:2] == [3, 4]
