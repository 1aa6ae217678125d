"""Programs that do the same work, each in a process of its own that stays warm, and races between them."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Final, Self

ROOT: Final = Path(__file__).parents[1]
PROGRAMS: Final = ROOT / "benchmarks" / "programs"
PATIENCE: Final = 20.0  # seconds
_LOUD: Final = 400  # characters of what a program that failed had written


@dataclass(frozen=True, slots=True)
class Contestant:
    """A program and its arguments; package: what must be installed beside the peers, None for our own programs.

    repeats: how often its run stands for; a run that does a tenth of the work counts ten times.
    """

    name: str
    program: str
    arguments: tuple[object, ...]
    package: str | None = None
    repeats: float = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a contestant's runs: seconds of each, processor time and peak memory in bytes; or why it gave up."""

    name: str
    seconds: tuple[float, ...] = ()
    processor: tuple[float, ...] = ()
    peak: int = 0
    values: Mapping[str, float] | None = None
    failure: str | None = None

    @property
    def median(self) -> float | None:
        """The median time of a run in seconds."""
        return median(self.seconds) if self.seconds else None


class Running:
    """A contestant's process."""

    def __init__(self, contestant: Contestant, python: str) -> None:
        self.contestant = contestant
        self.complaints = TemporaryFile("w+", prefix="heldout-")  # noqa: SIM115 - closed with the process
        settings = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        if python == sys.executable:
            settings["PYTHONPATH"] = str(ROOT)
        self.process = subprocess.Popen(
            [python, PROGRAMS / contestant.program, *map(str, contestant.arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.complaints,
            env=settings,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()
        self.complaints.close()

    def run(self) -> Mapping[str, Any]:
        """Let it run once. Raises RuntimeError with the last words of a program that fails."""
        requests, replies = (_there(each) for each in (self.process.stdin, self.process.stdout))
        try:
            print(file=requests, flush=True)
            line = replies.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.complaints.seek(0)
            raise RuntimeError(self.complaints.read()[-_LOUD:].strip() or "it ended without a word")
        found: Mapping[str, Any] = json.loads(line)
        return found


def _there(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def race(contestants: Sequence[Contestant], *, rounds: int, peers: str | None = None) -> list[Outcome]:
    """Let each run once to warm up, and then all in turn, so that whatever else the machine does meets them alike.

    Peers, which need a package, run under the Python of this path, or not at all. What takes longer than `PATIENCE` to
    warm up is not asked again: that run counts.
    """
    taking_part = [each for each in contestants if each.package is None or peers]
    outcomes = {each.name: Outcome(each.name) for each in taking_part}
    with ExitStack() as stack:
        field = [
            stack.enter_context(Running(each, peers if each.package and peers else sys.executable))
            for each in taking_part
        ]
        for turn in range(rounds + 1):
            for running in list(field):
                name = running.contestant.name
                try:
                    reply = running.run()
                except RuntimeError as error:
                    outcomes[name] = replace(outcomes[name], failure=str(error).splitlines()[-1])
                    field.remove(running)
                    continue
                impatient = reply["seconds"] > PATIENCE
                if turn or impatient:
                    outcomes[name] = _with_run(outcomes[name], reply, running.contestant.repeats)
                if impatient:
                    field.remove(running)
    return list(outcomes.values())


def difference(one: Outcome, other: Outcome) -> float:
    """The largest difference between the values of two programs that follow the same rules. Raises ValueError if they
    speak of different classes, or either has none."""
    if not one.values or not other.values or one.values.keys() != other.values.keys():
        raise ValueError(f"{one.name} and {other.name} do not speak of the same classes")
    return max(abs(value - other.values[name]) for name, value in one.values.items())


def _with_run(outcome: Outcome, reply: Mapping[str, Any], repeats: float) -> Outcome:
    return replace(
        outcome,
        seconds=(*outcome.seconds, reply["seconds"] * repeats),
        processor=(*outcome.processor, reply["processor"] * repeats),
        peak=reply["peak"],
        values=reply["values"],
    )
