import threading
from collections.abc import Iterator

import pytest

from scoring.parallel import THREADS, parallel_map


def test_results_keep_the_order_of_the_work() -> None:
    first_may_end = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            assert first_may_end.wait(10)
        else:
            first_may_end.set()
        return number

    assert list(parallel_map(work, range(9))) == list(range(9))


def test_only_a_few_items_are_taken_ahead() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = parallel_map(abs, items())
    for number in range(10):
        assert next(results) == number
        assert len(taken) <= number + 1 + THREADS
    results.close()

    assert len(taken) <= 10 + THREADS


def test_an_error_is_raised_where_its_result_would_have_been() -> None:
    results = parallel_map(lambda number: 1 // number, [2, 1, 0, 1])

    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_behind_an_item_that_is_alone_no_other_is_taken() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(9):
            taken.append(number)
            yield number

    results = parallel_map(abs, items(), alone=lambda number: number == 3)

    assert [next(results) for _ in range(4)] == [0, 1, 2, 3]
    assert taken == [0, 1, 2, 3]
    assert list(results) == [4, 5, 6, 7, 8]
