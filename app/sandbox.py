"""A child process with limits, for everything that opens what strangers sent."""

import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait

# A fork server has imported the library once, so a child costs milliseconds; it never holds sockets of ours.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["app.children"])


class ChildError(Exception):
    """The child ended without an answer; the sentence may be shown to anybody."""


class TooMuchError(ChildError):
    """The child went over a limit: what it was given is to blame."""


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What a child may use: seconds on the clock (and of processor, per core), bytes of address space."""

    seconds: int
    memory: int
    nice: int = 0


def warm_up() -> None:
    """Start the fork server now, in the background, so that the first child need not wait for its imports."""
    forkserver.ensure_running()


def run_apart(limits: ChildLimits, work: Callable[..., bytes], *arguments: object) -> bytes:
    """What `work(*arguments)` returns, computed in a child under `limits`.

    `work` is a function of a module, its arguments can be pickled; only bytes come back, so that a child that was
    taken over has nothing to send but text.
    Raises TooMuchError over a limit, ChildError when the child dies in another way.
    """
    ours, theirs = _context.Pipe(duplex=False)
    child = _context.Process(target=_serve, args=(theirs, limits, work, arguments), daemon=True)
    child.start()
    theirs.close()
    try:
        if not ours.poll(limits.seconds):
            raise TooMuchError(f"it took more than {limits.seconds} seconds")
        answer = ours.recv_bytes()
    except EOFError:
        child.join(5)
        raise _told_by(child.exitcode, limits) from None
    finally:
        child.kill()
        child.join()
        child.close()
        ours.close()
    return answer


def _told_by(exitcode: int | None, limits: ChildLimits) -> ChildError:
    if exitcode == -signal.SIGXCPU:
        return TooMuchError(f"it took more than {limits.seconds} seconds")
    if (
        exitcode == OUT_OF_MEMORY
    ):  # a SIGKILL is none of our limits: it comes from outside, whatever the archive
        return TooMuchError(f"it needed more than {limits.memory >> 20} MiB of memory")
    return ChildError(f"the child process ended with code {exitcode}")


OUT_OF_MEMORY = 77


def _serve(
    answer: Connection, limits: ChildLimits, work: Callable[..., bytes], arguments: tuple[object, ...]
) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    cores = len(os.sched_getaffinity(0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds * cores, limits.seconds * cores + 5))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(limits.nice)
    try:
        answer.send_bytes(work(*arguments))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
