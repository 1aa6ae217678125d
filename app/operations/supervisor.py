"""A supervisor that starts, restarts and stops the processes of an installation."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from logging import makeLogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType
from typing import IO, ClassVar

POLL_SECONDS = 0.02  # between two checks of the children
INITIAL_BACKOFF = 0.5  # seconds before a dead child is restarted; doubled each time it dies early
MAX_BACKOFF = 30.0
STABLE_SECONDS = 10.0  # a child that ran this long did not die early
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOG_BYTES = 10 << 20  # of a log, and of the rotated one
LINES_SHOWN = 5


class NotReadyError(Exception):
    """A child did not become ready; the message names it and has the end of its log."""


@dataclass(frozen=True, slots=True)
class Child:
    """How to start and restart one process."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path | None  # None: it writes to the output of the supervisor
    stop_signal: signal.Signals = signal.SIGTERM
    parent_death_signal: signal.Signals = signal.SIGKILL  # sent by the kernel if the supervisor is killed
    stop_timeout: timedelta = timedelta(seconds=10)  # after this it is killed
    pass_fds: tuple[int, ...] = ()
    directory: Path | None = None  # working directory


@dataclass(slots=True)
class _Life:
    """A child and its current process, if any."""

    child: Child
    process: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    backoff: float = INITIAL_BACKOFF
    start_at: float = 0.0  # when a dead child is restarted
    was_ready: bool = False
    ending: str = ""  # how its last process ended
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_SHOWN))
    log_writer: threading.Thread | None = None

    def end_of_log(self) -> str:
        """Return the last output of an ended child for a message, one line each; empty if there is none."""
        if self.log_writer:
            self.log_writer.join()
        return "".join((f"; the end of {self.child.log}:", *self.last_lines)) if self.last_lines else ""


@contextmanager
def supervised(
    report: Callable[[str], None], kind: type["Supervisor"] | None = None
) -> Iterator["Supervisor"]:
    """Yield a supervisor, and stop its children when the block ends for any reason."""
    supervisor = (kind or Supervisor)(report)
    try:
        yield supervisor
    finally:
        supervisor.stop_all()


class Supervisor:
    """Keep child processes running until they are stopped.

    One thread starts and watches all of them. It lives as long as this process, because the kernel considers a child
    orphaned once the thread that started it ends. Each child leads its own process group, so that Ctrl-C reaches only the
    supervisor.
    """

    popen: ClassVar[type[subprocess.Popen[bytes]]] = subprocess.Popen

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._lives: dict[str, _Life] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, name="supervisor", daemon=True).start()

    def start(
        self, child: Child, ready: Callable[[], bool], within: timedelta = timedelta(seconds=60)
    ) -> None:
        """Start a child and wait until `ready` returns True; from then on it is restarted when it dies.

        Raises NotReadyError if it ends first or is not ready in time; it is stopped then.
        """
        self.launch(child)
        self.wait_until_ready(child.name, ready, within)

    def launch(self, child: Child) -> None:
        """Start a child, replacing one of the same name; it is not restarted until `wait_until_ready` has returned."""
        if child.name in self._lives:
            self.stop(child.name)
        with self._lock:
            self._lives[child.name] = _Life(child)

    def wait_until_ready(
        self, name: str, ready: Callable[[], bool], within: timedelta = timedelta(seconds=60)
    ) -> None:
        """Wait until `ready` returns True. Raises NotReadyError as `start` does."""
        life, deadline = self._lives[name], time.monotonic() + within.total_seconds()
        while not life.ending:
            if life.process and ready():
                with self._lock:
                    life.was_ready = not life.ending
                if life.was_ready:
                    return
            elif time.monotonic() > deadline:
                self.stop(name)
                late = f"was not ready after {within.total_seconds():g} s"
                raise NotReadyError(f"{name} {late}{life.end_of_log()}")
            time.sleep(POLL_SECONDS)
        self.stop(name)
        raise NotReadyError(f"{name} {life.ending} before it was ready{life.end_of_log()}")

    def pid(self, name: str) -> int | None:
        """Return the process ID of a child; None between its death and its restart."""
        process = self._lives[name].process
        return process.pid if process else None

    def stop(self, name: str) -> Child:
        """Stop one child for good; return how to start it again."""
        with self._lock:
            life = self._lives.pop(name)
        self._end(life)
        return life.child

    def stop_all(self) -> None:
        """Stop all children at the same time; this takes as long as the slowest one."""
        with self._lock:
            lives = list(self._lives.values())
            self._lives.clear()
        for life in lives:
            _signal(life, life.child.stop_signal)
        for life in lives:
            self._end(life, is_signalled=True)
        self._stopped.set()

    def _end(self, life: _Life, *, is_signalled: bool = False) -> None:
        """End a child and everything it started; kill it after its timeout."""
        if not is_signalled:
            _signal(life, life.child.stop_signal)
        deadline = time.monotonic() + life.child.stop_timeout.total_seconds()
        while life.process and not _reap(life):
            if time.monotonic() > deadline:
                _signal(life, signal.SIGKILL)
            time.sleep(POLL_SECONDS)

    def _watch(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            with self._lock:
                for life in self._lives.values():
                    self._restart_if_due(life)

    def _restart_if_due(self, life: _Life) -> None:
        """Start or restart a child that is not running, if it is time."""
        now = time.monotonic()
        if life.process is None:
            if now >= life.start_at and (life.was_ready or not life.ending):
                _start(life, self.popen)
        elif _reap(life) and life.was_ready:
            life.backoff = INITIAL_BACKOFF if now - life.began > STABLE_SECONDS else life.backoff
            where = f" ({life.child.log})" if life.child.log else ""
            self._report(f"{life.child.name} {life.ending}; starting it again in {life.backoff:g} s{where}")
            life.start_at, life.backoff = now + life.backoff, min(2 * life.backoff, MAX_BACKOFF)


def _start(life: _Life, popen: type[subprocess.Popen[bytes]]) -> None:
    child = life.child
    output = subprocess.PIPE if child.log else None
    try:
        life.process = popen(
            die_with_parent(child.command, child.parent_death_signal),
            env=dict(child.environment),
            cwd=child.directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            pass_fds=child.pass_fds,
            start_new_session=True,
        )
    except OSError as error:
        life.ending = f"could not be started ({error})"
        return
    life.began, life.ending = time.monotonic(), ""
    if child.log and life.process.stdout:
        arguments = (life.process.stdout, child.log, life.last_lines)
        life.log_writer = threading.Thread(
            target=_write_log, args=arguments, name=f"log of {child.name}", daemon=True
        )
        life.log_writer.start()


def _write_log(output: IO[bytes], log: Path, last_lines: deque[str]) -> None:
    """Copy the output of a process to a rotated log, until all its writers have ended."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = RotatingFileHandler(log, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    with output:
        for line in output:
            text = line.decode(errors="replace").rstrip("\n")
            last_lines.append(f"\n    {text}")
            handler.handle(makeLogRecord({"msg": text}))
    handler.close()


def _reap(life: _Life) -> bool:
    """Return whether a child has ended; if so, kill what is left of its process group."""
    process = life.process
    if process is None:
        return True
    if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        return False
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # its ID is not reused before wait()
    code = process.wait()
    life.process = None
    life.ending = (
        f"ended by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with exit code {code}"
    )
    return True


def _signal(life: _Life, number: signal.Signals) -> None:
    if life.process and life.process.returncode is None:
        os.kill(life.process.pid, number)


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and SIGHUP into KeyboardInterrupt; ignore further ones while it is being handled.

    Otherwise a second Ctrl-C would cut the shutdown short. If a library swallowed the first one, as some do while they are
    imported, the next one counts. A signal that was already ignored, such as SIGHUP under nohup, stays ignored. Main thread
    only.
    """
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if not _is_handling_interrupt():
            raise KeyboardInterrupt

    for number, handler in before.items():
        signal.signal(number, ignore_signal if handler == signal.SIG_IGN else interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_handling_interrupt() -> bool:
    error = sys.exception()
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def ignore_signal(_number: int, _frame: FrameType | None) -> None:
    """Ignore a signal in this process only.

    Children would inherit SIG_IGN and could not be stopped by the signal; they do not inherit a handler.
    """


def die_with_parent(command: Sequence[str], parent_death_signal: signal.Signals) -> list[str]:
    """Wrap a command so that the kernel sends it the signal when this process dies (Linux).

    If we die before that is set up, the shell notices that its parent has changed, and exits.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return list(command)
    wrapper = [setpriv, "--pdeathsig", parent_death_signal.name.removeprefix("SIG")]
    return [*wrapper, "/bin/sh", "-c", 'test "$PPID" = "$0" && exec "$@"', str(os.getpid()), *command]
