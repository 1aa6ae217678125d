"""Find the descendants of a process in /proc, and stop or kill them."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.system.servers import eventually


def tree_of(pid: int) -> list[int]:
    """A process and all its descendants, parents before children."""
    found = [pid]
    children = _children()
    for parent in found:
        found += children.get(parent, [])
    return found


def working_children(pid: int) -> list[int]:
    """The processes that are checking or scoring archives: the children of the fork servers."""
    tree = tree_of(pid)
    servers = [one for one in tree if "multiprocessing.forkserver" in command_of(one)]
    children = _children()
    return [child for server in servers for child in children.get(server, []) if child in servers]


def pool_of(worker: int) -> list[int]:
    """The processes of a worker's pool, which are those with a fork server."""
    children = _children()
    return [
        pid
        for pid in children.get(worker, [])
        if any("multiprocessing.forkserver" in command_of(child) for child in children.get(pid, []))
    ]


def command_of(pid: int) -> str:
    """The command line of a process, empty if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def sweepers_of(pid: int) -> list[int]:
    """The sweepers of a worker, whether they were forked or started."""
    return [
        each
        for each in tree_of(pid)
        if "worker.sweeping" in command_of(each) or "worker.sweeping" in name_of(each)
    ]


def name_of(pid: int) -> str:
    """What a process calls itself, up to 15 characters; empty if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text()
    return ""


def has_open(pid: int, file: Path) -> bool:
    """Whether a process has a file open."""
    with suppress(OSError):
        return file in {one.readlink() for one in Path(f"/proc/{pid}/fd").iterdir()}
    return False


def is_alive(pid: int) -> bool:
    """Whether a process is running; a zombie is not."""
    return command_of(pid) != ""


def kill_all(pids: Iterable[int]) -> None:
    """Kill -9 in the given order and wait until all have ended."""
    killed = list(pids)
    _send_to_all(killed, signal.SIGKILL)
    assert eventually(lambda: not any(map(is_alive, killed)))


def _send_to_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def stopped(pids: Iterable[int]) -> Iterator[None]:
    """Stop processes and continue them at the end; those that have already ended are skipped."""
    held = list(pids)
    try:
        _send_to_all(held, signal.SIGSTOP)
        yield
    finally:
        _send_to_all(held, signal.SIGCONT)


def bytes_of(pid: int, what: str) -> int:
    """The memory of a process: `VmRSS` is the current size, `VmHWM` the peak."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [kib] = [line.split()[1] for line in lines if line.startswith(f"{what}:")]
    return int(kib) * 1024


def _children() -> dict[int, list[int]]:
    """The children of each process."""
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                # the name in parentheses may contain anything; the parent is the second field after it
                parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
                found.setdefault(parent, []).append(int(folder.name))
    return found
