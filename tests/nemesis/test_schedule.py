"""The schedule of faults is the same for the same seed and never breaks one thing twice at a time."""

from itertools import combinations

from hypothesis import given
from hypothesis.strategies import integers, sampled_from

from tests.nemesis.all_faults import KINDS
from tests.nemesis.schedule import schedule
from tests.nemesis.site import Store

SECONDS = 120.0
SEEDS = integers(0, 1 << 32)
STORES = sampled_from(Store)


@given(SEEDS, STORES)
def test_a_seed_gives_the_same_schedule_each_time(seed: int, store: Store) -> None:
    assert schedule(seed, SECONDS, KINDS[store]) == schedule(seed, SECONDS, KINDS[store])


def test_another_seed_gives_another_schedule() -> None:
    kinds = KINDS[Store.FOLDER]

    assert schedule(1, SECONDS, kinds) != schedule(2, SECONDS, kinds)


@given(SEEDS, STORES)
def test_every_fault_has_ended_at_the_end(seed: int, store: Store) -> None:
    assert all(
        each.at > 0 and each.at + each.lasts <= SECONDS for each in schedule(seed, SECONDS, KINDS[store])
    )


@given(SEEDS, STORES)
def test_no_two_faults_of_one_thing_overlap(seed: int, store: Store) -> None:
    for one, other in combinations(schedule(seed, SECONDS, KINDS[store]), 2):
        if KINDS[store][one.name].takes == KINDS[store][other.name].takes:
            assert one.at + one.lasts < other.at


@given(SEEDS, STORES)
def test_two_minutes_have_a_fault_of_every_kind(seed: int, store: Store) -> None:
    planned = schedule(seed, SECONDS, KINDS[store])

    assert {each.name for each in planned} == set(KINDS[store])
