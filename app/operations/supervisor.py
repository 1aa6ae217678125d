"""The processes of an installation: started, started again when they die, stopped together."""

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
from typing import IO

POLL_SECONDS = 0.02  # between two looks at the children
INITIAL_BACKOFF = 0.5  # seconds before a child that died is started again; doubled each time it dies early
MAX_BACKOFF = 30.0
STABLE_SECONDS = 10.0  # a child that ran for this long did not die early
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOG_BYTES = 10 << 20  # of a log and of the one before it
LINES_SHOWN = 5


class NotReadyError(Exception):
    """A child did not become ready; says which, and shows the end of its log."""


@dataclass(frozen=True, slots=True)
class Child:
    """How to start one process, the first time and after it died."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path | None  # none: it writes where the supervisor writes
    stop_signal: signal.Signals = signal.SIGTERM
    parent_death_signal: signal.Signals = signal.SIGKILL  # sent by the kernel when the supervisor is killed
    stop_timeout: timedelta = timedelta(seconds=10)  # then it is killed
    pass_fds: tuple[int, ...] = ()
    directory: Path | None = None  # where it runs


@dataclass(slots=True)
class _Life:
    """A child, and its process while there is one."""

    child: Child
    process: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    backoff: float = INITIAL_BACKOFF
    start_at: float = 0.0  # when a child that died is started again
    was_ready: bool = False
    ending: str = ""  # of its last process
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_SHOWN))
    writing: threading.Thread | None = None  # its log

    def end_of_log(self) -> str:
        """The last lines that a child that has ended wrote, each on a line of its own; empty where there are none."""
        if self.writing:
            self.writing.join()
        return "".join((f"; the end of {self.child.log}:", *self.last_lines)) if self.last_lines else ""


@contextmanager
def supervised(report: Callable[[str], None]) -> Iterator["Supervisor"]:
    """A supervisor whose children are stopped on the way out, however that is reached."""
    supervisor = Supervisor(report)
    try:
        yield supervisor
    finally:
        supervisor.stop_all()


class Supervisor:
    """Keeps children running until they are stopped.

    One thread starts and watches all of them and lives as long as this process, because the kernel takes a child for orphaned
    as soon as the thread that started it has ended. A child leads its own process group, so that Ctrl-C reaches the supervisor
    alone.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._lives: dict[str, _Life] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, name="supervisor", daemon=True).start()

    def start(
        self, child: Child, ready: Callable[[], bool], within: timedelta = timedelta(seconds=60)
    ) -> None:
        """Start a child and wait until `ready` says so; from then on it is started again when it dies.

        Raises NotReadyError when it ends before, or is not ready in time; nothing is left running then.
        """
        self.launch(child)
        self.wait_until_ready(child.name, ready, within)

    def launch(self, child: Child) -> None:
        """Start a child in place of one with its name; it is not started again when it dies before `wait_until_ready` has returned."""
        if child.name in self._lives:
            self.stop(child.name)
        with self._lock:
            self._lives[child.name] = _Life(child)

    def wait_until_ready(
        self, name: str, ready: Callable[[], bool], within: timedelta = timedelta(seconds=60)
    ) -> None:
        """Wait until `ready` says that a child is; raises as `start` does."""
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
        """The process number of a child, None between its death and its next start."""
        process = self._lives[name].process
        return process.pid if process else None

    def stop(self, name: str) -> Child:
        """Stop one child for good; returns how to start it again."""
        with self._lock:
            life = self._lives.pop(name)
        self._end(life)
        return life.child

    def stop_all(self) -> None:
        """Stop every child, all at the same time: that takes as long as the slowest of them."""
        with self._lock:
            lives = list(self._lives.values())
            self._lives.clear()
        for life in lives:
            _signal(life, life.child.stop_signal)
        for life in lives:
            self._end(life, is_asked=True)
        self._stopped.set()

    def _end(self, life: _Life, *, is_asked: bool = False) -> None:
        """End a child that nobody starts again, in the end by force, and all that it started."""
        if not is_asked:
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
                    self._look_at(life)

    def _look_at(self, life: _Life) -> None:
        """Start a child that does not run, if it should."""
        now = time.monotonic()
        if life.process is None:
            if now >= life.start_at and (life.was_ready or not life.ending):
                _start(life)
        elif _reap(life) and life.was_ready:
            life.backoff = INITIAL_BACKOFF if now - life.began > STABLE_SECONDS else life.backoff
            where = f" ({life.child.log})" if life.child.log else ""
            self._report(f"{life.child.name} {life.ending}; starting it again in {life.backoff:g} s{where}")
            life.start_at, life.backoff = now + life.backoff, min(2 * life.backoff, MAX_BACKOFF)


def _start(life: _Life) -> None:
    child = life.child
    output = subprocess.PIPE if child.log else None
    try:
        life.process = subprocess.Popen(
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
        life.writing = threading.Thread(
            target=_write_log, args=arguments, name=f"log of {child.name}", daemon=True
        )
        life.writing.start()


def _write_log(output: IO[bytes], log: Path, last_lines: deque[str]) -> None:
    """Write what a process says into a log that stays short, until all who write have ended."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = RotatingFileHandler(log, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    with output:
        for line in output:
            text = line.decode(errors="replace").rstrip("\n")
            last_lines.append(f"\n    {text}")
            handler.handle(makeLogRecord({"msg": text}))
    handler.close()


def _reap(life: _Life) -> bool:
    """Whether a child has ended; if so, what it left behind is killed, and nothing of it remains."""
    process = life.process
    if process is None:
        return True
    if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        return False
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # its number is not given to another before it is waited for
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
    """Make Ctrl-C, SIGTERM and SIGHUP a KeyboardInterrupt; while that is being handled, ignore further ones.

    An impatient second Ctrl-C would otherwise cut the stopping short. Where a library has swallowed the first, as some do
    while they are imported, the next counts. A signal that was ignored before, such as SIGHUP under nohup, stays without
    effect. Main thread only.
    """
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if not _is_handling_interrupt():
            raise KeyboardInterrupt

    for number, handler in before.items():
        signal.signal(number, do_nothing if handler == signal.SIG_IGN else interrupt)
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


def do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Handle a signal by ignoring it, in this process alone.

    Children inherit that a signal is ignored, and could then not be stopped by it; a handler they do not inherit.
    """


def die_with_parent(command: Sequence[str], parent_death_signal: signal.Signals) -> list[str]:
    """The command, such that the kernel sends it the signal when this process is gone (Linux).

    Should we die before the kernel knows of it, the shell sees that its parent is another one, and ends.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return list(command)
    wrapper = [setpriv, "--pdeathsig", parent_death_signal.name.removeprefix("SIG")]
    return [*wrapper, "/bin/sh", "-c", 'test "$PPID" = "$0" && exec "$@"', str(os.getpid()), *command]
