"""What every task says in its own way: which files, how to read one, what it is held against, what it is worth."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from scoring.answers import Origin, RankedAnswers, save_answers
from scoring.counts import ImageCounts, save_counts
from scoring.description import Description
from scoring.errors import Problems
from scoring.formats.images import ImageIndex
from scoring.registry import CompetitionInfo, expected_files
from scoring.report import ClassResult, Exhibit
from scoring.truth.ground_truth import GroundTruth

Parsed = TypeVar("Parsed")
Parsed_co = TypeVar("Parsed_co", covariant=True)
Loaded = TypeVar("Loaded")
Judged = TypeVar("Judged")
Rules = TypeVar("Rules")


@dataclass(frozen=True, slots=True, eq=False)
class Entered(Generic[Parsed]):
    """A result file as read, or as judged; about: the class, action or image that it is of."""

    about: str
    answers: Parsed


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What a task found out; None with a reason, never NaN. `counts` where images are counted and nothing is ranked."""

    measure: str
    headline: float | None
    headline_reason: str | None
    classes: tuple[ClassResult, ...]
    exhibits: tuple[Exhibit, ...]
    answers: tuple[RankedAnswers, ...]
    counts: ImageCounts | None = None

    def keep(self, path: Path, origin: Origin) -> None:
        """Write what every later question can be answered from: a file of `scoring.answers` or `scoring.counts`."""
        if self.counts is None:
            save_answers(path, origin, self.answers)
        else:
            save_counts(path, origin, self.counts)


class Parse(Protocol[Parsed_co]):
    """Reads a result file; what is wrong with it becomes problems."""

    def __call__(self, data: bytes, images: ImageIndex, /, *, file: str, problems: Problems) -> Parsed_co:
        """Read the content of the file of this name."""


def subjects_of_files(info: CompetitionInfo, description: Description, _rules: object) -> tuple[str, ...]:
    """What the files are about: the columns of a board where each file has one."""
    return tuple(about for _, about in expected_files(info, description))


def only_these(loaded: Any, names: Sequence[str]) -> Any:
    """The part of a mapping by column that has these names."""
    return {name: loaded[name] for name in loaded if name in names}


def as_read(entered: Iterator[Entered[Parsed]], _loaded: object, _rules: object) -> Iterator[Entered[Parsed]]:
    """Judge nothing yet: where all is in one file, it is judged when it is scored."""
    return entered


@dataclass(frozen=True, slots=True)
class Task(Generic[Parsed, Loaded, Judged, Rules]):
    """A task as six functions.

    parse: reads one file. load: what of a ground truth answers are held
    against. judge: holds some files against it, one after the other, in one of several threads; what it keeps of each is
    small. score: what all of them together are worth. columns: what a report has a value for. choose: what was loaded,
    without the columns that nobody asks for.
    """

    parse: Parse[Parsed]
    load: Callable[[GroundTruth], Loaded]
    judge: Callable[[Iterator[Entered[Parsed]], Loaded, Rules], Iterator[Entered[Judged]]]
    score: Callable[[Iterator[Entered[Judged]], Loaded, Rules], Scores]
    columns: Callable[[CompetitionInfo, Description, Rules], tuple[str, ...]] = subjects_of_files
    choose: Callable[[Loaded, Sequence[str]], Loaded] = only_these
