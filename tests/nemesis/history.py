"""What happened while an installation was broken at random, in plain values that can be kept as JSON."""

from dataclasses import dataclass

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was broken, from the moment before it to the moment after; times are seconds since the begin."""

    name: str
    begun: float
    ended: float
    what: str = ""  # which process, if one was chosen


@dataclass(frozen=True, slots=True)
class Response:
    """A request, and what came of it; no status means that no response came."""

    who: str
    asked: str
    begun: float
    ended: float
    status: int | None
    code: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Promise:
    """A submission that was acknowledged to somebody, and its right mean by version of the ground truth."""

    method: str
    submission: int
    sha256: str
    means: dict[int, float]


@dataclass(frozen=True, slots=True)
class Look:
    """A board as somebody saw it."""

    begun: float
    ended: float
    ground_truth: int
    means: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the database has it in the end."""

    ground_truth: int
    rescore: int | None
    state: str
    message: str | None
    mean: float | None
    scores: int  # rows
    classes: int  # different ones among them
    publications: int


@dataclass(frozen=True, slots=True)
class Result:
    """A result in the end: its row, its runs, and what its team is told."""

    submission: int
    method: str
    state: str
    sha256: str  # of the archive as it can be downloaded; empty if it cannot
    shown: float | None
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class End:
    """How everything stands once nothing is broken any more and all should have come to its end."""

    recovered_after: float | None  # seconds from the last fault until all processes were there
    settled_after: float | None  # seconds from then until nothing was under way any more
    under_way: tuple[str, ...]  # what still was when nobody waited any longer
    results: tuple[Result, ...]
    board: Look
    given_up: tuple[str, ...]  # jobs
    leftovers: tuple[str, ...]  # files that nothing names, a day later
    missing: tuple[str, ...]  # contents that something names and that are not there


@dataclass(frozen=True, slots=True)
class History:
    """All of it. `ground_truth`: the version of the last re-scoring that was acknowledged."""

    seed: int
    faults: tuple[Fault, ...]
    responses: tuple[Response, ...]
    promises: tuple[Promise, ...]
    refused: tuple[str, ...]  # good archives that were reported as faulty
    looks: tuple[Look, ...]
    calm: tuple[Response, ...]  # requests after the recovery
    ground_truth: int
    end: End


HISTORY = TypeAdapter(History)
