"""Ctrl-C at any time while `make run` starts prints one line and leaves nothing running."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from app.core.settings import ROOT
from tests.patience import LIMIT
from tests.system.servers import OwnServers, eventually

pytestmark = [pytest.mark.slow, pytest.mark.system]

START_SECONDS = 300
LINES = ("stopped before anything was started", "stopping; the next start continues from here")


class Start:
    """`heldout-server run` as started by a shell: in its own process group, all of which receives Ctrl-C."""

    def __init__(self, data: Path, bytecode: Path, *options: str) -> None:
        self.data = data
        self.output = data.with_name("output")
        environment = {
            "PATH": os.defpath,
            "HELDOUT_DATA": str(data),
            "HELDOUT_PORT": "0",
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": str(bytecode),
        }
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", "run", *options],
                env=environment,
                cwd=ROOT,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def said(self) -> list[str]:
        return self.output.read_text().splitlines()

    def has_said(self, words: str) -> bool:
        return any(words in line for line in self.said())

    def imports(self, library: str) -> bool:
        """Whether the program has reached this point of its imports."""
        return library in Path(f"/proc/{self.process.pid}/maps").read_text()

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(LIMIT)


@contextmanager
def started(bytecode: Path, *options: str) -> Iterator[Start]:
    with tempfile.TemporaryDirectory(prefix="heldout test ") as folder:
        start = Start(Path(folder, "data"), bytecode, *options)
        try:
            yield start
        finally:
            start.process.kill()
            start.process.wait()


def processes_of(data: Path) -> list[str]:
    """The command lines of processes that mention this folder or have a file in it open."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and process.name != str(os.getpid()):
                links = [process / "cwd", *(process / "fd").iterdir()]
                known = [(process / each).read_text("utf-8", "replace") for each in ("cmdline", "environ")]
                known += [str(link.readlink()) for link in links if link.is_symlink()]
                if any(str(data) in each for each in known):
                    found.append(known[0].replace("\0", " "))
    return found


@pytest.fixture(scope="module")
def bytecode(own_servers: OwnServers) -> Path:
    return own_servers.data / "bytecode"


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param(lambda start: start.imports("pydantic_core"), id="import"),
        *(
            pytest.param(lambda start, line=line: start.has_said(line), id=line)
            for line in (
                "creating a database",
                "starting PostgreSQL",
                "starting Valkey",
                "bringing the schema up to date",
                "web: http",
                "drawing images",
            )
        ),
    ],
)
def test_ctrl_c_prints_one_line_and_leaves_nothing_running(
    bytecode: Path, stage: Callable[[Start], bool]
) -> None:
    with started(bytecode) as start:
        assert eventually(lambda: stage(start), START_SECONDS), start.said()
        before = len(start.said())
        code = start.interrupt()
        after = start.said()[before:]

        assert (code, "Traceback" in start.output.read_text()) == (0, False), start.output.read_text()
        assert [line for line in after if line in LINES] == after[-1:]
        assert eventually(lambda: processes_of(start.data) == []), processes_of(start.data)


def test_a_start_prints_the_addresses_and_two_links(bytecode: Path) -> None:
    with started(bytecode) as start:
        assert eventually(lambda: start.has_said("Ctrl-C stops everything"), START_SECONDS), start.said()
        began = next(number for number, line in enumerate(start.said()) if "ready in" in line)
        said = start.said()[began + 1 :]
        code = start.interrupt()

        names = [re.split("  +", line.strip())[0] for line in said[:-1]]
        assert names == ["pages", "leaderboard", "API", "organiser", "set up"]
        assert all("http://" in line for line in said[:-1])
        assert (code, start.said()[began + 1 + len(said) :]) == (0, [LINES[1]])
        assert eventually(lambda: processes_of(start.data) == []), processes_of(start.data)
