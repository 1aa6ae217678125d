"""Which names look the same."""

import pytest

from app.core.names import lookalike_key


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Oak", "OAK"),
        ("Oak", "\u041e\u0430k"),  # Cyrillic letters
        ("OAK", "\u039f\u0391\u039a"),  # Greek letters
        ("Oak", "0ak"),
        ("Oak", "\uff2f\uff41\uff4b"),  # full-width letters
        ("Ill", "lll"),
        ("Modern", "rnodern"),
        ("Oak  Team ", "oak\u00a0team"),
    ],
)
def test_lookalike_names_have_the_same_key(name: str, other: str) -> None:
    assert lookalike_key(name) == lookalike_key(other)


@pytest.mark.parametrize(
    ("name", "other"),
    [("Oak", "Oaks"), ("Oak Team", "OakTeam"), ("Müller", "Muller"), ("東京", "京都"), ("Oak 2", "Oak 3")],
)
def test_different_names_have_different_keys(name: str, other: str) -> None:
    assert lookalike_key(name) != lookalike_key(other)


def test_the_key_of_a_key_is_the_key_itself() -> None:
    for name in ("rnodern Pine", "PayPal", "\u041e\u0430k", "Κ ĸ"):
        assert lookalike_key(lookalike_key(name)) == lookalike_key(name)
