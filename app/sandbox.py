"""Child processes with limits, for everything that opens what participants sent."""

import errno
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Any

import structlog
from structlog.contextvars import bind_contextvars, get_contextvars

from app import logs

log = structlog.get_logger()

FORK_SERVER_PAUSE = 0.2  # seconds until a fork server that has closed its connections has ended, too
CRASHED, OUT_OF_MEMORY, FILE_ERROR = 1, 77, 78  # exit codes of children

# A fork server has imported the library once, so a child costs milliseconds; it never holds sockets of ours.
_context = multiprocessing.get_context("forkserver")
# What the library imports when it first needs it is imported once, not in each child: polars took ten times as long as checking a
# small archive. It starts its pools when it is first used, which the fork server never does.
_context.set_forkserver_preload(["app.children", "app.sandbox", "polars", "numpy.ma", "numpy.random"])


class ChildError(Exception):
    """The child ended without a result; the message may be shown to anybody."""


class LimitExceededError(ChildError):
    """The child went over a limit: its input is to blame."""


class ChildFileError(ChildError):
    """The child could not read or write a file, such as one on a network volume that is unavailable."""


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """Limits of a child: seconds on the clock (and of processor, per core), bytes of address space."""

    seconds: int
    memory: int
    nice: int = 0


def warm_up() -> None:
    """Start the fork server now, in the background, so that the first child need not wait for its imports."""
    forkserver.ensure_running()


def run_in_subprocess(limits: ChildLimits, work: Callable[..., bytes], *arguments: object) -> bytes:
    """Compute `work(*arguments)` in a child under `limits`.

    `work` is a function of a module, its arguments can be pickled; only bytes come back, so that a child that was
    taken over has nothing to send but text. What it logs names the request or the run that it works for.
    Raises LimitExceededError over a limit, ChildFileError when a file could not be read or written, ChildError when
    the child dies in another way.
    """
    receiver, sender = _context.Pipe(duplex=False)
    child = _started((sender, limits, get_contextvars(), work, arguments))
    sender.close()
    try:
        if not receiver.poll(limits.seconds):
            raise LimitExceededError(f"it took more than {limits.seconds} seconds")
        result = receiver.recv_bytes()
    except EOFError:
        child.join(5)
        raise _error_of_exit(child.exitcode, limits) from None
    finally:
        child.kill()
        child.join()
        child.close()
        receiver.close()
    return result


def _started(inherited: tuple[object, ...]) -> ForkServerProcess:
    """A child; should the fork server die at this moment, another one is started for it."""
    for is_last in (False, True):
        child = _context.Process(target=_serve, args=inherited, daemon=True)
        try:
            child.start()
        except (OSError, EOFError) as error:
            log.warning("child could not be started", error=repr(error))
            if is_last:
                raise ChildFileError("the child process could not be started") from error
            time.sleep(FORK_SERVER_PAUSE)
        else:
            break
    return child


def _error_of_exit(exit_code: int | None, limits: ChildLimits) -> ChildError:
    """Why a child ended; a SIGKILL is none of our limits, it comes from outside whatever the archive."""
    if exit_code == -signal.SIGXCPU:
        return LimitExceededError(f"it took more than {limits.seconds} seconds")
    if exit_code == OUT_OF_MEMORY:
        return LimitExceededError(f"it needed more than {limits.memory >> 20} MiB of memory")
    if exit_code == FILE_ERROR:
        return ChildFileError("the child process could not read or write a file")
    return ChildError(f"the child process ended with code {exit_code}")


def _serve(
    sender: Connection,
    limits: ChildLimits,
    context: Mapping[str, Any],
    work: Callable[..., bytes],
    arguments: tuple[object, ...],
) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logs.configure()
    bind_contextvars(**context, child=work.__name__)
    cores = len(os.sched_getaffinity(0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds * cores, limits.seconds * cores + 5))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(limits.nice)
    try:
        sender.send_bytes(work(*arguments))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except OSError as error:
        # an allocation that the limit refuses may come as an error of the operating system
        if error.errno == errno.ENOMEM:
            os._exit(OUT_OF_MEMORY)
        log.warning("child could not use a file", error=str(error))
        os._exit(FILE_ERROR)
    except Exception:
        log.exception("child crashed")
        sys.exit(CRASHED)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
