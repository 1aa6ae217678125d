"""Who can log in through the provider, and to which account."""

from datetime import UTC, datetime, timedelta

import pytest

from app.people.openid import (
    ExistingAccount,
    LoginOutcome,
    is_fresh,
    outcome,
    suggested_name,
)
from app.people.provider_claims import Claims, Purpose

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
        ),  # access comes from the link, not from the address
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
def test_only_a_linked_login_gives_access_to_an_account(
    purpose: Purpose, claims: Claims, known: ExistingAccount, found: LoginOutcome
) -> None:
    assert outcome(purpose, claims, known, NOW) is found


@pytest.mark.parametrize(
    ("ago", "fresh"),
    [
        (timedelta(seconds=-5), True), (timedelta(minutes=1), True), (timedelta(seconds=61), False),
        (timedelta(minutes=-11), True), (timedelta(minutes=-11, seconds=-1), False), (timedelta(days=-1), False),
    ],
)  # fmt: skip
def test_a_login_is_fresh_from_a_minute_before_it_was_asked_for_and_never_in_the_future(
    ago: timedelta, *, fresh: bool
) -> None:
    assert is_fresh(round((NOW - ago).timestamp()), NOW) is fresh


def test_a_login_without_a_time_is_not_fresh() -> None:
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
def test_the_suggested_name_is_valid_in_the_form(name: str, email: str, suggested: str) -> None:
    assert suggested_name(name, email) == suggested
