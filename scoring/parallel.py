"""Work done ahead of whoever uses its results: in a few threads, a little at a time, in order."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

THREADS: Final = 3
"""One more than the cores we plan for, as the caller is busy unpacking, and a thread that waits for the interpreter does no work."""

Given = TypeVar("Given")
Done = TypeVar("Done")


def _never(_: object) -> bool:
    return False


def parallel_map(
    work: Callable[[Given], Done], items: Iterable[Given], *, alone: Callable[[Given], bool] = _never
) -> Generator[Done, None, None]:
    """What `work` makes of each item, in the order of the items.

    While one result is used the next are being made; only a few items and results are in memory at a time, and beside an
    item that wants to be alone nothing else is worked on. Items are taken in the caller's thread. What `work`
    raises is raised where its result would have been.

    >>> list(parallel_map(str.upper, ["car", "cat"]))
    ['CAR', 'CAT']
    """
    waiting: deque[Future[Done]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        for item in items:
            lonely = alone(item)
            while waiting and lonely:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, item))
            while len(waiting) >= (1 if lonely else THREADS):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
