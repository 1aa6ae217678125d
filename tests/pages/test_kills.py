"""Kills at every statement find an operation that can be left half done."""

from itertools import count

import pytest
from sqlalchemy import select

from app.models import Challenge
from app.platform import Platform
from tests.kills import assert_all_or_nothing, killed_at

NUMBERS = count(1)


def scene() -> str:
    return f"kills{next(NUMBERS)}"


def add(platform: Platform, code: str, ending: str) -> None:
    with platform.transaction() as session:
        session.add(Challenge(code=code + ending, title=ending, dataset="kills"))


def titles(platform: Platform, code: str) -> list[str]:
    with platform.transaction() as session:
        statement = select(Challenge.title).where(Challenge.code.startswith(f"{code}-"))
        return sorted(session.scalars(statement))


def test_one_transaction_is_never_half_done(platform: Platform) -> None:
    def add_two(code: str) -> None:
        with platform.transaction() as session:
            for ending in ("-a", "-b"):
                session.add(Challenge(code=code + ending, title=ending, dataset="kills"))
                session.flush()

    moments = assert_all_or_nothing(platform, scene, add_two, lambda code: titles(platform, code))

    assert moments == 3  # two statements and a commit


def test_two_transactions_are_found(platform: Platform) -> None:
    def add_two(code: str) -> None:
        add(platform, code, "-a")
        add(platform, code, "-b")

    with pytest.raises(AssertionError, match="killed at moment 3: INSERT INTO challenge"):
        assert_all_or_nothing(platform, scene, add_two, lambda code: titles(platform, code))


def test_what_others_complete_is_not_half_done(platform: Platform) -> None:
    def add_missing(code: str) -> None:
        for ending in ("-a", "-b"):
            if ending not in titles(platform, code):
                add(platform, code, ending)

    assert_all_or_nothing(
        platform, scene, add_missing, lambda code: titles(platform, code) == ["-a", "-b"], recover=add_missing
    )


def test_after_a_kill_nothing_more_is_sent_whatever_is_caught(platform: Platform) -> None:
    code = scene()

    with killed_at(platform, 2) as kill:
        try:
            add(platform, code, "-a")
        finally:
            add(platform, code, "-b")

    assert kill.about == "COMMIT"
    assert titles(platform, code) == []
