"""Processor time and memory of processes, read from /proc."""

import os
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


@contextmanager
def spent_with_ended(**roots: int) -> Iterator[Spent]:
    """What processes and all below them spend in a block, by name, to a hundredth of a second; also of children that begin and end in it."""

    def read(root: int) -> float:
        return sum(_ticks(pid) for pid in tree_of(root)) / os.sysconf("SC_CLK_TCK")

    found, before = Spent({}), {name: read(root) for name, root in roots.items()}
    yield found
    found.seconds |= {name: read(root) - before[name] for name, root in roots.items()}


def _ticks(pid: int) -> int:
    """Ticks of a process and of those children of it that have ended; none of one that has ended itself."""
    with suppress(OSError):
        # user and system of its own and of its children; the name in parentheses before them may hold anything
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return 0


def below(pid: int) -> Callable[[], list[int]]:
    """A process and all below it, whenever asked."""
    return lambda: tree_of(pid)


def resident(pid: int) -> int:
    """Bytes of memory of one process now."""
    return bytes_of(pid, "VmRSS")
