"""Processes of the application that are forked from one that has imported it, in a tenth of the time of starting them.

What they do is the same from their first own line on. Tests of how a process is started, or of what the kernel says of its
command line and environment, start it as the product does.
"""

import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from app.operations.processes import COUNTERS
from app.operations.supervisor import Supervisor
from tests.shared import ROOT

PROGRAMS = ("app", "app.operations.serving", "worker", "worker.sending", "worker.sweeping")
# everything that they import, but for worker.main, which reads its settings
IMPORTED = (
    "app.main", "app.operations.commands", "app.operations.installation", "app.operations.serving.__main__",
    "worker.handlers", "worker.sender", "worker.sweeper", "worker.transport",
    "celery.bin.celery", "celery.concurrency.prefork", "celery.worker", "kombu.transport.redis",
    "uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.h11_impl",
)  # fmt: skip
PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36
FIRST_KEPT = 500  # descriptors from here on are those that were received
LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Order:
    """A process to be forked; its descriptors are sent beside it, in the order of `numbers`."""

    program: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    numbers: Sequence[int]
    parent: int
    parent_death_signal: int
    starts_session: bool


class Forked(subprocess.Popen[Any]):
    """A process that was forked, if its command runs a program of ours, and started as usual if not."""

    def _execute_child(self, args: Any, *others: Any) -> None:
        """Do what `Popen` does; these are its arguments."""
        pass_fds, directory, environment = others[3:6]
        pipes = others[9:15]
        started = program_of(args)
        if started is None or COUNTERS in (environment or os.environ):  # read when they are imported
            super()._execute_child(args, *others)  # type: ignore[misc]  # the stubs lack it
            return
        program, *arguments = started
        standard = [own if own != -1 else usual for usual, own in enumerate((pipes[0], pipes[3], pipes[5]))]
        order = Order(
            program,
            arguments,
            dict(os.environ if environment is None else environment),
            str(directory or Path.cwd()),
            [0, 1, 2, *pass_fds],
            os.getpid(),
            death_signal_of(args),
            starts_session=others[-2],
        )
        self.pid = template().fork(order, [*standard, *pass_fds])
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]  # the stubs lack it


class ForkingSupervisor(Supervisor):
    """A supervisor whose children are forked."""

    popen = Forked


def program_of(command: Sequence[Any]) -> list[str] | None:
    """The module and the arguments that a command runs; None if it runs something else."""
    words = [str(word) for word in command]
    with suppress(ValueError):
        place = words.index(sys.executable)
        if words[place + 1] == "-m" and words[place + 2] in PROGRAMS:
            return words[place + 2 :]
    return None


def death_signal_of(command: Sequence[Any]) -> int:
    """The signal that the kernel sends when the parent dies, as `die_with_parent` writes it; 0 for none."""
    words = [str(word) for word in command]
    return signal.Signals[f"SIG{words[2]}"] if "--pdeathsig" in words[:2] else 0


class Template:
    """A process that has imported everything; it ends with the other end of its connection."""

    def __init__(self, connection: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._connection = connection
        self._process = process  # whose object warns if it is dropped before its end
        self._lock = threading.Lock()

    def fork(self, order: Order, descriptors: Sequence[int]) -> int:
        """Return the process ID of a new child of this process."""
        content = json.dumps(asdict(order)).encode()
        with self._lock:
            _control(PR_SET_CHILD_SUBREAPER, 1)  # or the orphan would become a child of init
            try:
                socket.send_fds(self._connection, [LENGTH.pack(len(content))], descriptors)
                self._connection.sendall(content)
                [pid] = LENGTH.unpack(_received(self._connection, LENGTH.size))
            finally:
                _control(PR_SET_CHILD_SUBREAPER, 0)
        return int(pid)


@cache
def template() -> Template:
    """The only one of this process, which starts it."""
    ours, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(its.fileno())],
            cwd=ROOT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
            pass_fds=[its.fileno()],
            start_new_session=True,
        )
    return Template(ours, process)


def _control(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _received(connection: socket.socket, size: int) -> bytes:
    """Exactly so many bytes. Raises EOFError if there are fewer."""
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return found


def serve(connection: socket.socket) -> Order:
    """Fork a process for each order; return in each of them, with its order, and exit in this one when all are done."""
    while True:
        start, descriptors, _, _ = socket.recv_fds(connection, LENGTH.size, 64)
        if not start:
            sys.exit()
        order = Order(**json.loads(_received(connection, LENGTH.unpack(start)[0])))
        reader, writer = os.pipe()
        between = os.fork()
        if between == 0:
            between = os.getpid()
            pid = os.fork()
            if pid == 0:
                connection.detach()  # its number may be that of a descriptor of the new process
                _become(order, descriptors, between)
                return order
            os.write(writer, LENGTH.pack(pid))
            os._exit(0)  # the child is an orphan, and adopted by the process that gave the order
        os.waitpid(between, 0)
        connection.sendall(os.read(reader, LENGTH.size))
        for each in (*descriptors, reader, writer):
            os.close(each)


def _become(order: Order, descriptors: Sequence[int], between: int) -> None:
    """Take over what a new process is given."""
    while os.getppid() == between:
        time.sleep(0.001)
    if order.parent_death_signal:
        _control(PR_SET_PDEATHSIG, order.parent_death_signal)
    if os.getppid() != order.parent:
        os._exit(1)
    if order.starts_session:
        os.setsid()
    kept = [os.dup2(one, FIRST_KEPT + number) for number, one in enumerate(descriptors)]
    os.closerange(3, FIRST_KEPT)
    for one, number in zip(kept, order.numbers, strict=True):
        os.dup2(one, number)
        os.close(one)
    os.chdir(order.directory)
    os.environ.clear()
    os.environ.update(order.environment)


def with_own_template(order: Order) -> Order:
    """Let a worker fork its sweeper, which has to be its child, from a copy of the template that is its child, too."""
    ours, its = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        return serve(its)
    its.close()
    own = Template(ours)
    globals()["template"] = lambda: own
    Supervisor.popen = Forked
    return order


def main(descriptor: int) -> None:
    """Import everything, and become a program of ours in each process that is forked."""
    for module in IMPORTED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # or the first collection of each process would copy all pages
    order = serve(socket.socket(fileno=descriptor))
    if order.program == "worker":
        order = with_own_template(order)
    name = ctypes.create_string_buffer(order.program.encode())
    ctypes.CDLL(None).prctl(PR_SET_NAME, name, 0, 0, 0)
    sys.argv[1:] = order.arguments
    runpy.run_module(order.program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
