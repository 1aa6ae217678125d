"""The processes of an installation: started, watched, started again when they die, stopped together."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType

from app.log_files import LogLimit, appended, keep_short, last_lines

POLL_SECONDS = 0.02  # between two questions whether a child is ready
INITIAL_BACKOFF = 0.5  # seconds before a child that died is started again; doubled each time it dies early
MAX_BACKOFF = 30.0
STABLE_SECONDS = 10.0  # a child that ran for this long did not die early
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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


@contextmanager
def supervised(report: Callable[[str], None], log_limit: LogLimit = LogLimit()) -> Iterator["Supervisor"]:
    """A supervisor whose children are stopped on the way out, however that is reached."""
    supervisor = Supervisor(report, log_limit)
    try:
        yield supervisor
    finally:
        supervisor.stop_all()


class Supervisor:
    """Keeps children running until they are stopped, and their logs short."""

    def __init__(self, report: Callable[[str], None], log_limit: LogLimit) -> None:
        self._report = report
        self._watchers: dict[str, _Watcher] = {}
        self._closing = threading.Event()
        arguments = (self._logs, log_limit, self._closing)
        threading.Thread(target=keep_short, args=arguments, name="log files", daemon=True).start()

    def start(
        self, child: Child, ready: Callable[[], bool], within: timedelta = timedelta(seconds=60)
    ) -> None:
        """Start a child and wait until `ready` says so; from then on it is started again when it dies.

        Raises NotReadyError when it ends before, or is not ready in time; nothing is left running then.
        """
        self.launch(child)
        self.wait_until_ready(child.name, ready, within)

    def launch(self, child: Child) -> None:
        """Start a child; it is not started again when it dies before `wait_until_ready` has returned."""
        watcher = self._watchers[child.name] = _Watcher(child, self._report)
        watcher.launch()

    def wait_until_ready(
        self, name: str, ready: Callable[[], bool], within: timedelta = timedelta(seconds=60)
    ) -> None:
        """Wait until `ready` says that a child is; raises as `start` does."""
        try:
            self._watchers[name].wait_until_ready(ready, within)
        except NotReadyError:
            self.stop(name)
            raise

    def pid(self, name: str) -> int | None:
        """The process number of a child, None between its death and its next start."""
        return self._watchers[name].pid

    def stop(self, name: str) -> Child:
        """Stop one child for good; returns how to start it again."""
        watcher = self._watchers.pop(name)
        watcher.ask_to_stop()
        watcher.wait_until_stopped()
        return watcher.child

    def _logs(self) -> list[Path]:
        return [watcher.child.log for watcher in list(self._watchers.values()) if watcher.child.log]

    def stop_all(self) -> None:
        """Stop every child, all at the same time: that takes as long as the slowest of them."""
        self._closing.set()
        watchers = [self._watchers.pop(name) for name in list(self._watchers)]
        for watcher in watchers:
            watcher.ask_to_stop()
        for watcher in watchers:
            watcher.wait_until_stopped()


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


class _Watcher:
    """Starts one child, waits for its end and starts it again, in a thread of its own.

    The thread lives as long as the child: the kernel takes a child for orphaned as soon as the thread that started
    it has ended. The child leads its own process group, so that Ctrl-C reaches the supervisor alone. Its pid is ours
    as long as it is not reaped; starting, signalling and reaping therefore exclude each other.
    """

    def __init__(self, child: Child, report: Callable[[str], None]) -> None:
        self.child = child
        self._report = report
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._ended = threading.Event()  # nothing runs and nothing will be started again
        self._was_ready = False
        self._ending = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._killed_at = 0.0
        self._log_start = child.log.stat().st_size if child.log and child.log.exists() else 0
        self._thread = threading.Thread(target=self._run, name=f"watcher of {child.name}", daemon=True)

    @property
    def pid(self) -> int | None:
        """The process number while there is one."""
        process = self._process
        return process.pid if process else None

    def launch(self) -> None:
        """Start the thread, which starts the child."""
        self._thread.start()

    def wait_until_ready(self, ready: Callable[[], bool], within: timedelta) -> None:
        """Wait for the child; raises NotReadyError."""
        deadline = time.monotonic() + within.total_seconds()
        while not ready():
            if self._ended.wait(POLL_SECONDS):
                break
            if time.monotonic() > deadline:
                raise NotReadyError(
                    f"{self.child.name} was not ready after {within.total_seconds():g} s{last_lines(self.child.log, self._log_start)}"
                )
        with self._lock:
            if self._ended.is_set():
                raise NotReadyError(
                    f"{self.child.name} {self._ending} before it was ready{last_lines(self.child.log, self._log_start)}"
                )
            self._was_ready = True

    def ask_to_stop(self) -> None:
        """Send the stop signal; the child is not started again."""
        self._stopping.set()
        self._killed_at = time.monotonic() + self.child.stop_timeout.total_seconds()
        self._signal(self.child.stop_signal)

    def wait_until_stopped(self) -> None:
        """Wait for the end of a child that was asked to stop; in the end kill it and what it started."""
        if self._thread.ident is None:
            return
        self._thread.join(max(0.0, self._killed_at - time.monotonic()))
        if self._thread.is_alive():
            self._signal(signal.SIGKILL)
            self._thread.join()

    def _run(self) -> None:
        backoff = INITIAL_BACKOFF
        while True:
            began = time.monotonic()
            self._ending = self._run_once()
            if self._is_final():
                return
            backoff = INITIAL_BACKOFF if time.monotonic() - began > STABLE_SECONDS else backoff
            where = f" ({self.child.log})" if self.child.log else ""
            self._report(f"{self.child.name} {self._ending}; starting it again in {backoff:g} s{where}")
            self._stopping.wait(backoff)
            backoff = min(2 * backoff, MAX_BACKOFF)

    def _run_once(self) -> str:
        """Start the child and wait for its end; returns how it ended."""
        with self._lock:
            if self._stopping.is_set():
                return "was stopped"
            try:
                process = self._process = self._spawn()
            except OSError as error:
                return f"could not be started ({error})"
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what the dead child has left behind
            code = process.wait()
            self._process = None
        if code < 0:
            return f"ended by signal {-code} ({signal.strsignal(-code)})"
        return f"ended with exit code {code}"

    def _is_final(self) -> bool:
        with self._lock:
            if self._stopping.is_set() or not self._was_ready:
                self._ended.set()
            return self._ended.is_set()

    def _spawn(self) -> subprocess.Popen[bytes]:
        child = self.child
        with appended(child.log) as output:
            return subprocess.Popen(
                die_with_parent(child.command, child.parent_death_signal),
                env=dict(child.environment),
                cwd=child.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=child.pass_fds,
                start_new_session=True,
            )

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            if self._process:
                os.kill(self._process.pid, number)
