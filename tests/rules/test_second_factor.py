"""Codes of authenticator apps, and recovery codes."""

import pytest

from app.core.access import Actor, Scope
from app.models import Role
from app.people.second_factor import (
    address_for_app,
    new_recovery_codes,
    new_secret,
    plain_recovery_code,
    step_of_code,
)

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  # from the examples in RFC 6238


@pytest.mark.parametrize(
    ("now", "code"),
    [
        (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
        (2_000_000_000, "279037"), (20_000_000_000, "353130"),
    ],
)  # fmt: skip
def test_codes_match_rfc_6238(now: int, code: str) -> None:
    assert step_of_code(SECRET, code, now) == now // 30


def test_a_clock_may_be_off_by_half_a_minute() -> None:
    taken = [now for now in (0, 29, 30, 89, 90, 119) if step_of_code(SECRET, "287082", now) is not None]

    assert taken == [0, 29, 30, 89]


@pytest.mark.parametrize("code", ["", "000000", "28708", "2870822", "٢٨٧٠٨٢", "abcdef", "\x00"])
def test_any_other_code_is_refused(code: str) -> None:
    assert step_of_code(SECRET, code, 59) is None


def test_spaces_in_a_code_are_ignored() -> None:
    assert step_of_code(SECRET, " 287 082 ", 59) == 1


def test_secrets_and_recovery_codes_are_unique() -> None:
    codes = [code for _ in range(20) for code in new_recovery_codes()]

    assert len(set(codes)) == 200
    assert len({new_secret() for _ in range(20)}) == 20
    assert all(len(plain_recovery_code(code)) == 16 for code in codes)


def test_the_app_is_told_the_account_and_the_server() -> None:
    address = address_for_app(SECRET, "ash@example.org", "Heldout voc.example.org")

    assert address.startswith("otpauth://totp/Heldout%20voc.example.org:ash%40example.org?secret=" + SECRET)


def test_only_admins_without_a_second_factor_have_to_set_one_up() -> None:
    assert Actor(user_id=1, role=Role.ADMIN).must_enrol
    assert Actor(user_id=1, role=Role.ADMIN, scopes=frozenset({Scope.ADMIN})).must_enrol
    assert not Actor(user_id=1, role=Role.ADMIN, has_second_factor=True).must_enrol
    assert not Actor(user_id=1, organises=frozenset({1})).must_enrol
    assert not Actor().must_enrol
