"""How passwords are kept, and how many are hashed at a time."""

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from threading import Event

import pytest

from app.errors import BusyError
from app.passwords.service import DUMMY_HASH, Pool, hash_password, is_password


def test_work_beyond_the_queue_is_refused_before_it_starts() -> None:
    pool, is_open = Pool(threads=1, max_waiting=1), Event()
    with ThreadPoolExecutor() as people:
        tasks = [people.submit(pool.run, is_open.wait) for _ in range(3)]
        [refused], others = wait(tasks, timeout=10, return_when=FIRST_COMPLETED)
        is_open.set()

    with pytest.raises(BusyError):
        refused.result()
    assert all(task.result() for task in others)
    assert pool.run(lambda: "free again") == "free again"


def test_a_failure_leaves_its_place_to_others() -> None:
    pool = Pool(threads=1, max_waiting=0)

    with pytest.raises(ZeroDivisionError):
        pool.run(lambda: 1 // 0)

    assert pool.run(lambda: 1) == 1


def test_a_password_opens_its_hash_and_nothing_opens_none() -> None:
    known = hash_password("a long enough password")

    assert is_password("a long enough password", known)
    assert not is_password("a long enough passwore", known)
    assert not is_password("a long enough password", None)


def test_an_account_that_does_not_exist_costs_as_much_as_one_that_does() -> None:
    parameters = [hashed.rpartition("$")[0].rpartition("$")[0] for hashed in (DUMMY_HASH, hash_password("x"))]

    assert parameters[0] == parameters[1]
