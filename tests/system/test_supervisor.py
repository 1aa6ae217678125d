import os
import queue
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from app.operations import supervisor as supervision
from app.operations.supervisor import Child, NotReadyError, Supervisor, interrupted_by_signals, supervised
from tests.patience import LIMIT
from tests.system.servers import eventually, gone, kill

pytestmark = pytest.mark.system

Said = queue.Queue[str]


@pytest.fixture
def said() -> Said:
    return queue.Queue()


@pytest.fixture
def supervisor(said: Said) -> Iterator[Supervisor]:
    with supervised(said.put) as supervisor:
        yield supervisor


def child(folder: Path, script: str, name: str = "child") -> Child:
    return Child(name, ["sh", "-c", script], {"PATH": os.defpath}, folder / "logs" / f"{name}.log")


def test_a_killed_child_is_restarted(supervisor: Supervisor, said: Said, tmp_path: Path) -> None:
    supervisor.start(child(tmp_path, "exec sleep 600"), lambda: True)
    first = supervisor.pid("child")

    kill(first)

    assert "child ended by signal 9 (Killed); starting it again in 0.5 s" in said.get(timeout=LIMIT)
    assert eventually(lambda: supervisor.pid("child") not in {None, first})


def test_a_child_that_keeps_dying_is_restarted_with_growing_delays(
    supervisor: Supervisor, said: Said, tmp_path: Path
) -> None:
    supervisor.start(child(tmp_path, f"echo . >> '{tmp_path}/lives'; sleep 0.1; exit 3"), lambda: True)

    assert "exit code 3; starting it again in 0.5 s" in said.get(timeout=LIMIT)
    assert "exit code 3; starting it again in 1 s" in said.get(timeout=LIMIT)
    assert (tmp_path / "lives").read_text() == ".\n.\n"


def test_a_child_that_never_becomes_ready_is_reported_with_the_end_of_its_log(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    with pytest.raises(NotReadyError) as refused:
        supervisor.start(child(tmp_path, "echo no disk left; exit 7"), lambda: False)

    assert "child ended with exit code 7 before it was ready" in str(refused.value)
    assert "no disk left" in str(refused.value)


def test_a_child_that_is_not_ready_in_time_is_not_left_running(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    note = tmp_path / "pid"

    with pytest.raises(NotReadyError, match=r"not ready after 0\.3 s"):
        supervisor.start(
            child(tmp_path, f"echo $$ > '{note}'; exec sleep 600"), lambda: False, timedelta(seconds=0.3)
        )

    assert not Path("/proc", note.read_text().strip()).exists()


def test_a_program_that_does_not_exist_is_reported(supervisor: Supervisor, tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="no-such-program"):
        supervisor.start(replace(child(tmp_path, ""), command=["no-such-program"]), lambda: False)


def test_a_child_that_ignores_its_signal_is_killed_after_its_grace(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    deaf = child(tmp_path, f"trap '' TERM; touch '{tmp_path}/deaf'; while :; do sleep 0.05; done")
    supervisor.start(replace(deaf, stop_timeout=timedelta(seconds=0.2)), (tmp_path / "deaf").exists)
    pid = supervisor.pid("child")

    began = time.monotonic()
    supervisor.stop("child")

    assert 0.2 < time.monotonic() - began < LIMIT
    assert not Path(f"/proc/{pid}").exists()


def test_processes_left_by_a_dead_child_are_killed(supervisor: Supervisor, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    parent = child(tmp_path, f"sleep 600 & echo $! > '{note}.new'; mv '{note}.new' '{note}'; wait")
    supervisor.start(parent, note.exists)
    left_behind = os.pidfd_open(int(note.read_text()))

    kill(supervisor.pid("child"))

    assert gone(left_behind, LIMIT)


def test_children_are_stopped_together_each_within_its_own_grace(said: Said, tmp_path: Path) -> None:
    names = ("web", "worker", "other worker")
    asked = f"$(ls '{tmp_path}' | grep -c stopping)"
    with supervised(said.put) as supervisor:
        for name in names:
            here = f"{tmp_path}/{name}"
            until_all = f"while [ {asked} -lt {len(names)} ]; do sleep 0.05; done"
            stop = f'touch "{here} stopping"; {until_all}; touch "{here} ended"; exit'.replace("'", '"')
            supervisor.start(
                child(tmp_path, f"trap '{stop}' TERM; touch '{here}'; sleep 600 & wait", name),
                (tmp_path / name).exists,
            )
        pids = [supervisor.pid(name) for name in names]

    assert all((tmp_path / f"{name} ended").exists() for name in names), (
        "one was killed while it waited for others"
    )
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_an_ignored_signal_stays_ignored_here_but_not_in_children() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with interrupted_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
            status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)

    [ignored] = [int(line.split()[1], 16) for line in status.stdout.splitlines() if line.startswith("SigIgn")]
    assert not ignored & 1 << signal.SIGHUP - 1


def test_a_second_signal_does_not_interrupt_a_shutdown() -> None:
    stopped = []
    with interrupted_by_signals(), suppress(KeyboardInterrupt):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            with suppress(ValueError):
                try:
                    raise ValueError
                finally:
                    os.kill(os.getpid(), signal.SIGINT)
            stopped.append("everything")

    assert stopped == ["everything"]


def test_a_signal_works_after_a_library_swallowed_an_earlier_one() -> None:
    with interrupted_by_signals():
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_growing_log_is_truncated_while_its_child_keeps_writing(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "LOG_BYTES", 10_000)
    script = "i=0; while :; do echo line $i; i=$((i + 1)); done"
    with supervised(said.put) as supervisor:
        supervisor.start(child(tmp_path, script), lambda: True)
        older = tmp_path / "logs" / "child.log.1"

        assert eventually(older.exists)
        first = older.read_bytes()
        assert eventually(lambda: older.read_bytes() not in {b"", first})

        assert older.stat().st_size <= 10_000
