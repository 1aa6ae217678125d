"""What happened while an installation was broken at random, in plain values that can be stored as JSON."""

from dataclasses import dataclass

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault from just before it to just after it, in seconds since the start."""

    name: str
    begun: float
    ended: float
    what: str = ""  # the process, if one was chosen


@dataclass(frozen=True, slots=True)
class Response:
    """A request and its response; without a status there was no response."""

    who: str
    asked: str
    begun: float
    ended: float
    status: int | None
    code: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Promise:
    """An acknowledged submission and its correct mean for each version of the ground truth."""

    method: str
    submission: int
    sha256: str
    means: dict[int, float]


@dataclass(frozen=True, slots=True)
class Look:
    """A board as a person saw it."""

    begun: float
    ended: float
    ground_truth: int
    means: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Run:
    """The final state of a run in the database."""

    ground_truth: int
    rescore: int | None
    state: str
    message: str | None
    mean: float | None
    scores: int  # rows
    classes: int  # distinct rows
    publications: int


@dataclass(frozen=True, slots=True)
class Result:
    """The final state of a result: its row, its runs, and what its team sees."""

    submission: int
    method: str
    state: str
    sha256: str  # of the archive as downloaded; empty if that failed
    shown: float | None
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The final state, once nothing is broken any more and everything should have finished."""

    recovered_after: float | None  # seconds from the last fault until all processes were running
    settled_after: float | None  # seconds from then until everything had finished
    under_way: tuple[str, ...]  # what had not finished when the wait ended
    results: tuple[Result, ...]
    board: Look
    given_up: tuple[str, ...]  # jobs
    leftovers: tuple[str, ...]  # unreferenced files, a day later
    missing: tuple[str, ...]  # referenced contents that are missing


@dataclass(frozen=True, slots=True)
class History:
    """The whole history. `ground_truth`: the version of the last acknowledged rescoring."""

    seed: int
    faults: tuple[Fault, ...]
    responses: tuple[Response, ...]
    promises: tuple[Promise, ...]
    refused: tuple[str, ...]  # valid archives that were reported as invalid
    looks: tuple[Look, ...]
    calm: tuple[Response, ...]  # requests after the recovery
    ground_truth: int
    end: End


HISTORY = TypeAdapter(History)
