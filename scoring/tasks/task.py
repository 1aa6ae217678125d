"""What every task says in its own way: which files, how to read one, what it is held against, what it is worth."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from scoring.answers import RankedAnswers
from scoring.description import Description
from scoring.errors import Problems
from scoring.images import ImageIndex
from scoring.registry import CompetitionInfo
from scoring.report import ClassResult, Exhibit
from scoring.truth import GroundTruth

Parsed = TypeVar("Parsed")
Parsed_co = TypeVar("Parsed_co", covariant=True)
Loaded = TypeVar("Loaded")
Rules = TypeVar("Rules")


@dataclass(frozen=True, slots=True, eq=False)
class Entered(Generic[Parsed]):
    """A result file as read; about: the class, action or image that it is of."""

    about: str
    answers: Parsed


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What a task found out; None with a reason, never NaN."""

    measure: str
    headline: float | None
    headline_reason: str | None
    classes: tuple[ClassResult, ...]
    exhibits: tuple[Exhibit, ...]
    answers: tuple[RankedAnswers, ...]


class Parse(Protocol[Parsed_co]):
    """Reads a result file; what is wrong with it becomes problems."""

    def __call__(self, data: bytes, images: ImageIndex, /, *, file: str, problems: Problems) -> Parsed_co:
        """Read the content of the file of this name."""


@dataclass(frozen=True, slots=True)
class Task(Generic[Parsed, Loaded, Rules]):
    """A task as four functions.

    expected_files: name and subject of every file of a complete result. load: what of a ground truth answers are held
    against. score: takes the files one after the other, so that they need not be in memory all at once.
    """

    expected_files: Callable[[CompetitionInfo, Description], Iterator[tuple[str, str]]]
    parse: Parse[Parsed]
    load: Callable[[GroundTruth], Loaded]
    score: Callable[[Iterator[Entered[Parsed]], Loaded, Rules], Scores]
