"""The processes of an installation: started, watched, started again when they die, stopped in order."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType

LOOK_AGAIN = 0.02  # seconds between two questions whether a child is ready
FIRST_PAUSE = 0.5  # seconds before a child that died is started again; doubled each time it dies young
LONGEST_PAUSE = 30.0
STEADY = 10.0  # a child that lived for so many seconds did not die young
TAIL = 5  # lines of a log shown when a child does not start


class NotReadyError(Exception):
    """A child did not become ready; says which, and shows the end of its log."""


@dataclass(frozen=True, slots=True)
class Child:
    """What it takes to run one process; the same words start it again."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    asked: signal.Signals = signal.SIGTERM  # asks it to end
    orphaned: signal.Signals = signal.SIGKILL  # what it gets should the supervisor itself be killed
    grace: timedelta = timedelta(seconds=10)
    inherits: tuple[int, ...] = ()  # file descriptors


@contextmanager
def supervised(say: Callable[[str], None]) -> Iterator["Supervisor"]:
    """A supervisor whose children are stopped on the way out, however that is reached."""
    supervisor = Supervisor(say)
    try:
        yield supervisor
    finally:
        supervisor.stop_all()


class Supervisor:
    """Keeps children running until they are stopped, the last started first."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._keepers: dict[str, _Keeper] = {}

    def start(
        self, child: Child, ready: Callable[[], bool], within: timedelta = timedelta(seconds=60)
    ) -> None:
        """Start a child and wait until `ready` says so; from then on it is started again when it dies.

        Raises NotReadyError when it ends before, or is not ready in time; nothing is left running then.
        """
        keeper = self._keepers[child.name] = _Keeper(child, self._say)
        try:
            keeper.begin(ready, within)
        except NotReadyError:
            self.stop(child.name)
            raise

    def pid(self, name: str) -> int | None:
        """The process number of a child, None between its death and its next start."""
        return self._keepers[name].pid

    def stop(self, name: str) -> Child:
        """Stop one child for good; returns what it takes to start it again."""
        keeper = self._keepers.pop(name)
        keeper.end()
        return keeper.child

    def stop_all(self) -> None:
        """Stop every child, the last started first."""
        for name in reversed(list(self._keepers)):
            self._say(f"stopping {name}")
            self.stop(name)


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Make the first Ctrl-C, SIGTERM or SIGHUP a KeyboardInterrupt and ignore the later ones.

    An impatient second Ctrl-C would otherwise cut the stopping short. Main thread only.
    """
    heard = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    heard = {number: before for number, before in heard.items() if before != signal.SIG_IGN}  # nohup

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for each in heard:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in heard:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, before in heard.items():
            signal.signal(number, before)


def tied(command: Sequence[str], fate: signal.Signals) -> list[str]:
    """The command, such that the kernel sends it `fate` when this process is gone (Linux).

    Should we die before the kernel has been told, the shell sees that its parent is another one, and ends.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return list(command)
    told = [setpriv, "--pdeathsig", fate.name.removeprefix("SIG")]
    return [*told, "/bin/sh", "-c", 'test "$PPID" = "$0" && exec "$@"', str(os.getpid()), *command]


class _Keeper:
    """Keeps one child from a thread of its own.

    The thread lives as long as the child: the kernel takes a child for orphaned as soon as the thread that started
    it has ended. The child leads its own process group, so that Ctrl-C reaches the supervisor alone. Its pid is ours
    as long as it is not reaped; starting, signalling and reaping therefore exclude each other.
    """

    def __init__(self, child: Child, say: Callable[[str], None]) -> None:
        self.child = child
        self._say = say
        self._one_at_a_time = threading.Lock()
        self._stopping = threading.Event()
        self._over = threading.Event()  # nothing runs and nothing will be started again
        self._settled = False  # it has been ready once
        self._ending = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._log_begins = child.log.stat().st_size if child.log.exists() else 0
        self._thread = threading.Thread(target=self._keep, name=f"keeper of {child.name}", daemon=True)

    @property
    def pid(self) -> int | None:
        """The process number while there is one."""
        process = self._process
        return process.pid if process else None

    def begin(self, ready: Callable[[], bool], within: timedelta) -> None:
        """Start the thread and wait; raises NotReadyError."""
        deadline = time.monotonic() + within.total_seconds()
        self._thread.start()
        while not ready():
            if self._over.wait(LOOK_AGAIN):
                break
            if time.monotonic() > deadline:
                raise NotReadyError(
                    f"{self.child.name} was not ready after {within.total_seconds():g} s{self._tail()}"
                )
        with self._one_at_a_time:
            if self._over.is_set():
                raise NotReadyError(f"{self.child.name} {self._ending} before it was ready{self._tail()}")
            self._settled = True

    def end(self) -> None:
        """Ask the child to end, wait for its grace, then kill it and what it started."""
        self._stopping.set()
        if self._thread.ident is None:
            return
        self._signal(self.child.asked)
        self._thread.join(self.child.grace.total_seconds())
        if self._thread.is_alive():
            self._signal(signal.SIGKILL)
            self._thread.join()

    def _keep(self) -> None:
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            self._ending = self._live()
            if self._is_over():
                return
            pause = FIRST_PAUSE if time.monotonic() - began > STEADY else pause
            self._say(
                f"{self.child.name} {self._ending}; starting it again in {pause:g} s ({self.child.log})"
            )
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _live(self) -> str:
        """One life of the child; returns how it ended."""
        with self._one_at_a_time:
            if self._stopping.is_set():
                return "was stopped"
            try:
                process = self._process = self._spawn()
            except OSError as error:
                return f"could not be started ({error})"
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._one_at_a_time:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what the dead child has left behind
            code = process.wait()
            self._process = None
        return (
            f"ended by signal {-code} ({signal.strsignal(-code)})"
            if code < 0
            else f"ended with exit code {code}"
        )

    def _is_over(self) -> bool:
        with self._one_at_a_time:
            if self._stopping.is_set() or not self._settled:
                self._over.set()
            return self._over.is_set()

    def _spawn(self) -> subprocess.Popen[bytes]:
        child = self.child
        child.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with child.log.open("ab") as log:
            return subprocess.Popen(
                tied(child.command, child.orphaned),
                env=dict(child.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=child.inherits,
                start_new_session=True,
            )

    def _signal(self, number: signal.Signals) -> None:
        with self._one_at_a_time:
            if self._process:
                os.kill(self._process.pid, number)

    def _tail(self) -> str:
        """The last lines that this child wrote, each on a line of its own."""
        if not self.child.log.exists():
            return ""
        with self.child.log.open(encoding="utf-8", errors="replace") as log:
            log.seek(self._log_begins)
            lines = log.read().splitlines()[-TAIL:]
        return f"; the end of {self.child.log}:\n    " + "\n    ".join(lines) if lines else ""
