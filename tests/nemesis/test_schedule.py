"""The schedule of faults: the same for the same seed, and never two faults of one thing at a time."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis.strategies import integers

from tests.nemesis.faults import KINDS
from tests.nemesis.schedule import schedule

SECONDS = 120.0
SEEDS = integers(0, 1 << 32)


@settings(deadline=None)
@given(SEEDS)
def test_a_seed_gives_the_same_schedule_each_time(seed: int) -> None:
    assert schedule(seed, SECONDS, KINDS) == schedule(seed, SECONDS, KINDS)


def test_another_seed_gives_another_schedule() -> None:
    assert schedule(1, SECONDS, KINDS) != schedule(2, SECONDS, KINDS)


@settings(deadline=None)
@given(SEEDS)
def test_everything_is_mended_at_the_end(seed: int) -> None:
    assert all(each.at > 0 and each.at + each.lasts <= SECONDS for each in schedule(seed, SECONDS, KINDS))


@settings(deadline=None)
@given(SEEDS)
def test_nothing_is_broken_that_is_broken_already(seed: int) -> None:
    for one, other in combinations(schedule(seed, SECONDS, KINDS), 2):
        if KINDS[one.name].takes == KINDS[other.name].takes:
            assert one.at + one.lasts < other.at


@settings(deadline=None)
@given(SEEDS)
def test_two_minutes_have_a_fault_of_every_kind(seed: int) -> None:
    planned = schedule(seed, SECONDS, KINDS)

    assert {each.name for each in planned} == set(KINDS)
