"""The processes below a process, read from /proc, and what tests do to them."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.system.servers import eventually


def tree_of(pid: int) -> list[int]:
    """A process and all below it, parents before children."""
    found = [pid]
    children = _children()
    for parent in found:
        found += children.get(parent, [])
    return found


def working_children(pid: int) -> list[int]:
    """The processes in which archives are checked or scored just now: what the fork servers below have forked."""
    tree = tree_of(pid)
    servers = [one for one in tree if "multiprocessing.forkserver" in command_of(one)]
    children = _children()
    return [child for server in servers for child in children.get(server, []) if child in servers]


def pool_of(worker: int) -> list[int]:
    """The processes of a worker's pool: those that have a fork server."""
    children = _children()
    return [
        pid
        for pid in children.get(worker, [])
        if any("multiprocessing.forkserver" in command_of(child) for child in children.get(pid, []))
    ]


def command_of(pid: int) -> str:
    """The command line, empty for what has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def has_open(pid: int, file: Path) -> bool:
    """Whether a process holds a file open."""
    with suppress(OSError):
        return file in {one.readlink() for one in Path(f"/proc/{pid}/fd").iterdir()}
    return False


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is only remembered does not."""
    return command_of(pid) != ""


def kill_all(pids: Iterable[int]) -> None:
    """Kill -9, in the order given, and wait until they are gone."""
    killed = list(pids)
    _send_to_all(killed, signal.SIGKILL)
    assert eventually(lambda: not any(map(is_alive, killed)))


def _send_to_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def stopped(pids: Iterable[int]) -> Iterator[None]:
    """Processes that stand still, and go on at the end; those that have ended by themselves are left out."""
    held = list(pids)
    try:
        _send_to_all(held, signal.SIGSTOP)
        yield
    finally:
        _send_to_all(held, signal.SIGCONT)


def bytes_of(pid: int, what: str) -> int:
    """A size of a process's memory: `VmRSS` now, `VmHWM` at its highest."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [kib] = [line.split()[1] for line in lines if line.startswith(f"{what}:")]
    return int(kib) * 1024


def _children() -> dict[int, list[int]]:
    """By process, those that it has started."""
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                # the name in parentheses may hold anything; the parent is the second field after it
                parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
                found.setdefault(parent, []).append(int(folder.name))
    return found
