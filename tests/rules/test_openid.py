"""Who is let in by the provider, and to which account."""

from datetime import UTC, datetime, timedelta

import pytest

from app.people.openid import Claims, Known, Outcome, Purpose, is_fresh, outcome, suggested_name

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ASH = Claims("ash", "ash@example.org", is_verified=True, authenticated_at=int(NOW.timestamp()))
UNVERIFIED = Claims("ash", "ash@example.org")
LOG_IN, LINK, CONFIRM = Purpose.LOG_IN, Purpose.LINK, Purpose.CONFIRM


@pytest.mark.parametrize(
    ("purpose", "claims", "known", "found"),
    [
        (LOG_IN, ASH, Known(), Outcome.NEW),
        (LOG_IN, UNVERIFIED, Known(), Outcome.NO_ADDRESS),
        (LOG_IN, Claims("ash", is_verified=True), Known(), Outcome.NO_ADDRESS),
        (LOG_IN, ASH, Known(has_account=True), Outcome.HAS_ACCOUNT),
        (LOG_IN, UNVERIFIED, Known(has_account=True), Outcome.NO_ADDRESS),
        (LOG_IN, UNVERIFIED, Known(owner=7), Outcome.LOGGED_IN),  # the address opens nothing, the link does
        (LOG_IN, ASH, Known(owner=7, has_account=True), Outcome.LOGGED_IN),
        (LOG_IN, ASH, Known(owner=7, is_suspended=True), Outcome.SUSPENDED),
        (LINK, ASH, Known(started_by=7), Outcome.LINKED),
        (LINK, UNVERIFIED, Known(started_by=7, has_account=True), Outcome.LINKED),
        (LINK, ASH, Known(owner=7, started_by=7, has_link=True), Outcome.LINKED),
        (LINK, ASH, Known(started_by=None), Outcome.SESSION_OVER),
        (LINK, ASH, Known(owner=8, started_by=7), Outcome.OF_ANOTHER),
        (LINK, ASH, Known(started_by=7, has_link=True), Outcome.HAS_ANOTHER),
        (CONFIRM, ASH, Known(owner=7, started_by=7), Outcome.CONFIRMED),
        (CONFIRM, ASH, Known(owner=8, started_by=7), Outcome.NOT_YOURS),
        (CONFIRM, ASH, Known(started_by=7), Outcome.NOT_YOURS),
        (CONFIRM, ASH, Known(owner=7), Outcome.SESSION_OVER),
        (CONFIRM, UNVERIFIED, Known(owner=7, started_by=7), Outcome.NOT_FRESH),
    ],
)
def test_an_account_is_entered_by_the_login_that_was_linked_to_it(
    purpose: Purpose, claims: Claims, known: Known, found: Outcome
) -> None:
    assert outcome(purpose, claims, known, NOW) is found


@pytest.mark.parametrize(
    ("ago", "fresh"),
    [(timedelta(seconds=-5), True), (timedelta(minutes=1), True), (timedelta(seconds=61), False)],
)
def test_a_login_is_fresh_that_came_after_the_question(ago: timedelta, *, fresh: bool) -> None:
    assert is_fresh(round((NOW - ago).timestamp()), NOW) is fresh


def test_a_provider_that_does_not_say_when_shows_nothing() -> None:
    assert not is_fresh(None, NOW)


@pytest.mark.parametrize(
    ("name", "email", "suggested"),
    [
        ("  Ash \n Grove ", "ash@example.org", "Ash Grove"),
        ("A", "ash@example.org", "ash"),
        ("\u202egro.evil", "ash@example.org", "ash"),
        ("", "a@example.org", ""),
        ("x" * 100, "a@example.org", "x" * 80),
    ],
)
def test_the_suggested_name_is_one_that_the_form_takes(name: str, email: str, suggested: str) -> None:
    assert suggested_name(name, email) == suggested
