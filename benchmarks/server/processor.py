"""Processor time and memory of processes, read from /proc."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.system.process_trees import bytes_of, tree_of


def run_times(pid: int) -> dict[int, int]:
    """Nanoseconds for which each thread of a process has run, by the scheduler's own account; none of one that has ended."""
    found = {}
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found[int(thread.name)] = int(thread.joinpath("schedstat").read_text().split()[0])
    return found


@dataclass(slots=True)
class Spent:
    """Seconds of processor time by the name of what spent them."""

    seconds: dict[str, float]

    @property
    def total(self) -> float:
        """Of all together."""
        return sum(self.seconds.values())


@contextmanager
def spent(**groups: Callable[[], Iterable[int]]) -> Iterator[Spent]:
    """What processes spend in a block, by group; of threads that end within it nothing, of those that begin everything."""

    def read() -> dict[str, dict[int, int]]:
        return {
            name: {thread: time for pid in pids() for thread, time in run_times(pid).items()}
            for name, pids in groups.items()
        }

    found, before = Spent({}), read()
    yield found
    for name, times in read().items():
        known = before[name]
        found.seconds[name] = sum(time - known.get(thread, 0) for thread, time in times.items()) / 1e9


def below(pid: int) -> Callable[[], list[int]]:
    """A process and all below it, whenever asked."""
    return lambda: tree_of(pid)


def resident(pid: int) -> int:
    """Bytes of memory of one process now."""
    return bytes_of(pid, "VmRSS")
