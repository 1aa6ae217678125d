"""Who is let in by the provider, and to which account."""

from datetime import UTC, datetime, timedelta

import pytest

from app.people.openid import (
    Claims,
    ExistingAccount,
    LoginOutcome,
    Purpose,
    is_fresh,
    outcome,
    suggested_name,
)

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ASH = Claims("ash", "ash@example.org", is_verified=True, authenticated_at=int(NOW.timestamp()))
UNVERIFIED = Claims("ash", "ash@example.org")
LOG_IN, LINK, CONFIRM = Purpose.LOG_IN, Purpose.LINK, Purpose.CONFIRM


@pytest.mark.parametrize(
    ("purpose", "claims", "known", "found"),
    [
        (LOG_IN, ASH, ExistingAccount(), LoginOutcome.NEW),
        (LOG_IN, UNVERIFIED, ExistingAccount(), LoginOutcome.NO_ADDRESS),
        (LOG_IN, Claims("ash", is_verified=True), ExistingAccount(), LoginOutcome.NO_ADDRESS),
        (LOG_IN, ASH, ExistingAccount(has_account=True), LoginOutcome.HAS_ACCOUNT),
        (LOG_IN, UNVERIFIED, ExistingAccount(has_account=True), LoginOutcome.NO_ADDRESS),
        (
            LOG_IN,
            UNVERIFIED,
            ExistingAccount(owner=7),
            LoginOutcome.LOGGED_IN,
        ),  # the address opens nothing, the link does
        (LOG_IN, ASH, ExistingAccount(owner=7, has_account=True), LoginOutcome.LOGGED_IN),
        (LOG_IN, ASH, ExistingAccount(owner=7, is_suspended=True), LoginOutcome.SUSPENDED),
        (LINK, ASH, ExistingAccount(started_by=7), LoginOutcome.LINKED),
        (LINK, UNVERIFIED, ExistingAccount(started_by=7, has_account=True), LoginOutcome.LINKED),
        (LINK, ASH, ExistingAccount(owner=7, started_by=7, has_link=True), LoginOutcome.LINKED),
        (LINK, ASH, ExistingAccount(started_by=None), LoginOutcome.SESSION_OVER),
        (LINK, ASH, ExistingAccount(owner=8, started_by=7), LoginOutcome.OF_ANOTHER),
        (LINK, ASH, ExistingAccount(started_by=7, has_link=True), LoginOutcome.HAS_ANOTHER),
        (CONFIRM, ASH, ExistingAccount(owner=7, started_by=7), LoginOutcome.CONFIRMED),
        (CONFIRM, ASH, ExistingAccount(owner=8, started_by=7), LoginOutcome.NOT_YOURS),
        (CONFIRM, ASH, ExistingAccount(started_by=7), LoginOutcome.NOT_YOURS),
        (CONFIRM, ASH, ExistingAccount(owner=7), LoginOutcome.SESSION_OVER),
        (CONFIRM, UNVERIFIED, ExistingAccount(owner=7, started_by=7), LoginOutcome.NOT_FRESH),
    ],
)
def test_an_account_is_entered_by_the_login_that_was_linked_to_it(
    purpose: Purpose, claims: Claims, known: ExistingAccount, found: LoginOutcome
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
