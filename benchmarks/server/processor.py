"""Processor time and memory of processes, read from /proc."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.system.process_trees import bytes_of, tree_of


def run_time(pid: int) -> int:
    """Nanoseconds for which the threads of a process have run, by the scheduler's own account."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            total += int(thread.joinpath("schedstat").read_text().split()[0])
    return total


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
    """What processes spend in a block, by group; processes that end within it are not counted, those that begin are."""

    def read() -> dict[str, dict[int, int]]:
        return {name: {pid: run_time_of(pid) for pid in pids()} for name, pids in groups.items()}

    found, before = Spent({}), read()
    yield found
    for name, times in read().items():
        known = before[name]
        found.seconds[name] = sum(max(0, time - known.get(pid, 0)) for pid, time in times.items()) / 1e9


def run_time_of(pid: int) -> int:
    """As `run_time`, 0 for a process that has ended."""
    try:
        return run_time(pid)
    except OSError:
        return 0


def below(pid: int) -> Callable[[], list[int]]:
    """A process and all below it, whenever asked."""
    return lambda: tree_of(pid)


def resident(pid: int) -> int:
    """Bytes of memory of one process now."""
    return bytes_of(pid, "VmRSS")
