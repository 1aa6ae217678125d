import threading
from collections.abc import Iterator

import pytest

from heldout_scoring.parallel import DEFAULT_THREADS, parallel_map, thread_count, use_threads
from tests.patience import LIMIT


def test_results_keep_the_order_of_the_work() -> None:
    first_may_end = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            assert first_may_end.wait(LIMIT)
        else:
            first_may_end.set()
        return number

    assert list(parallel_map(work, range(9))) == list(range(9))


def test_only_a_few_items_are_prefetched() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = parallel_map(abs, items())
    for number in range(10):
        assert next(results) == number
        assert len(taken) <= number + 1 + DEFAULT_THREADS
    results.close()

    assert len(taken) <= 10 + DEFAULT_THREADS


def test_an_error_is_raised_where_its_result_would_have_been() -> None:
    results = parallel_map(lambda number: 1 // number, [2, 1, 0, 1])

    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_no_item_is_prefetched_while_one_must_run_alone() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(9):
            taken.append(number)
            yield number

    results = parallel_map(abs, items(), alone=lambda number: number == 3)

    assert [next(results) for _ in range(4)] == [0, 1, 2, 3]
    assert taken == [0, 1, 2, 3]
    assert list(results) == [4, 5, 6, 7, 8]


def test_the_requested_threads_run_and_end_with_the_work() -> None:
    together = threading.Barrier(5, timeout=LIMIT)

    with use_threads(5):
        results = list(parallel_map(lambda number: (number, together.wait())[0], range(5)))

    assert results == list(range(5))
    assert thread_count() == DEFAULT_THREADS


def test_zero_threads_are_refused() -> None:
    with (
        pytest.raises(ValueError, match="expected a whole number of threads from 1, found 0"),
        use_threads(0),
    ):
        pass
