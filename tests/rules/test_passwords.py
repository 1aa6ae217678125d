"""Which passwords are accepted, how they are stored, and how many are hashed at a time."""

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from threading import Event

import pytest

from app.core.errors import BusyError
from app.people.passwords import (
    DUMMY_HASH,
    Pool,
    common_passwords,
    hash_password,
    is_password,
    password_problem,
)
from tests.patience import LIMIT

COMMON = "this password is too easy to guess"
REPEATED = "this password repeats a few"
OWN = "this password is little more than your name"


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("short", "must have at least 10 characters"),
        ("x" * 201, "must have at most 200 characters"),
        ("q1w2e3r4t5y6", COMMON),
        ("Q1W2E3R4T5Y6", COMMON),
        ("finalfantasy", COMMON),
        ("Password2026!", COMMON),
        ("...monkey...", COMMON),
        ("ｐａｓｓｗｏｒｄ１２３", COMMON),
        ("1234567890!?", COMMON),
        ("aaaaaaaaaaaaa", REPEATED),
        ("abcabcabcabcab", REPEATED),
        ("monkeymonkeymonk", REPEATED),
        ("ash@example.org", OWN),
        ("Ash.Grove.2026", OWN),
        ("grovegroveash", OWN),
        ("heldout-ash1", OWN),
        ("13572468!", "must have at least 10"),
    ],
)
def test_a_guessable_password_is_refused_with_one_reason(password: str, problem: str) -> None:
    found = password_problem(password, ["ash@example.org", "Ash Grove"], common_passwords())

    assert found is not None
    assert found.startswith(problem)


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery staple",
        "a long password",
        " leading and trailing blanks ",
        "ονομα του σκυλου",
        "żółta łódź podwodna",
        "🐕🐈🦜🐢🐇🦔🐿🦊🐻🐼",
        "8f3kq0zzpl",
        "x" * 20 + "ylophonist rhythms",
    ],
)
def test_a_long_password_needs_no_special_characters(password: str) -> None:
    assert password_problem(password, ["ash@example.org", "Ash Grove"], common_passwords()) is None


def test_a_name_without_letters_to_guess_excludes_no_password() -> None:
    assert password_problem("zzyzx road 17", ["", "李"], frozenset()) is None


def test_work_beyond_the_queue_is_refused_before_it_starts() -> None:
    pool, is_open = Pool(threads=1, max_waiting=1), Event()
    with ThreadPoolExecutor() as people:
        tasks = [people.submit(pool.run, is_open.wait) for _ in range(3)]
        [refused], others = wait(tasks, timeout=LIMIT, return_when=FIRST_COMPLETED)
        is_open.set()

    with pytest.raises(BusyError):
        refused.result()
    assert all(task.result() for task in others)
    assert pool.run(lambda: "free again") == "free again"


def test_a_failed_task_frees_its_thread() -> None:
    pool = Pool(threads=1, max_waiting=0)

    with pytest.raises(ZeroDivisionError):
        pool.run(lambda: 1 // 0)

    assert pool.run(lambda: 1) == 1


def test_a_password_matches_its_own_hash_and_never_a_missing_one() -> None:
    known = hash_password("a long enough password")

    assert is_password("a long enough password", known)
    assert not is_password("a long enough passwore", known)
    assert not is_password("a long enough password", None)


def test_checking_a_password_costs_the_same_without_an_account() -> None:
    parameters = [hashed.rpartition("$")[0].rpartition("$")[0] for hashed in (DUMMY_HASH, hash_password("x"))]

    assert parameters[0] == parameters[1]
