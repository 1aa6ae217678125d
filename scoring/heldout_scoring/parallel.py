"""Work in a few threads, with its results in order."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

from .errors import DataError

DEFAULT_THREADS: Final = 3
"""One more than the cores that the server plans for: the caller is busy unpacking, and a thread that waits for the
interpreter does no work."""

_threads: Final = ContextVar("threads", default=DEFAULT_THREADS)

Given = TypeVar("Given")
Done = TypeVar("Done")


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Read, match and resample in this number of threads inside the `with` block; memory grows with it.

    Results do not depend on it. Raises DataError for less than 1.

    >>> with use_threads(8):
    ...     thread_count()
    8
    """
    if not isinstance(count, int) or count < 1:
        raise DataError(f"expected a whole number of threads from 1, found {count!r}")
    token = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(token)


def thread_count() -> int:
    """How many threads `parallel_map` and the bootstrap use here.

    >>> thread_count()
    3
    """
    return _threads.get()


def _never(_: object) -> bool:
    return False


def parallel_map(
    work: Callable[[Given], Done], items: Iterable[Given], *, alone: Callable[[Given], bool] = _never
) -> Generator[Done, None, None]:
    """The results of `work` for each item, in the order of the items.

    Items are taken in the caller's thread, at most as many ahead as there are threads, so that few items and results are
    in memory at a time; while an item of which `alone` is true is worked on, nothing else is. An exception of `work` is
    raised in place of its result. A single item is worked on in the caller's thread.

    >>> list(parallel_map(str.upper, ["car", "cat"]))
    ['CAR', 'CAT']
    """
    items = iter(items)
    first = list(islice(items, 1))
    if not any(map(alone, first)):
        first += islice(items, 1)
    if len(first) < 2 and not any(map(alone, first)):
        yield from map(work, first)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - takes longer than to score a few predictions

    waiting: deque[Future[Done]] = deque()
    threads = thread_count()
    with ThreadPoolExecutor(threads) as pool:
        for item in chain(first, items):
            is_alone = alone(item)
            while waiting and is_alone:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, item))
            while len(waiting) >= (1 if is_alone else threads):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
