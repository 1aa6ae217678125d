"""What every task says in its own way: which files, how to read one, what it is held against, what it is worth."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from scoring.competitions import CompetitionInfo, expected_files
from scoring.data.description import Description
from scoring.data.ground_truth import GroundTruth
from scoring.errors import Problems
from scoring.image_counts import ImageCounts, save_counts
from scoring.ranked_predictions import Origin, RankedPredictions, save_predictions
from scoring.readers.image_index import ImageIndex
from scoring.results import ClassResult, Exhibit

Parsed = TypeVar("Parsed")
Parsed_co = TypeVar("Parsed_co", covariant=True)
Loaded = TypeVar("Loaded")
Matches = TypeVar("Matches")
Rules = TypeVar("Rules")


@dataclass(frozen=True, slots=True, eq=False)
class Entered(Generic[Parsed]):
    """A result file as read, or as judged; about: the class, action or image that it is of."""

    about: str
    predictions: Parsed


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What a task found out; None with a reason, never NaN. `counts` where images are counted and nothing is ranked."""

    measure: str
    headline: float | None
    headline_reason: str | None
    classes: tuple[ClassResult, ...]
    exhibits: tuple[Exhibit, ...]
    predictions: tuple[RankedPredictions, ...]
    counts: ImageCounts | None = None

    def keep(self, path: Path, origin: Origin) -> None:
        """Write what every later question can be answered from: a file of `scoring.ranked_predictions` or `scoring.counts`."""
        if self.counts is None:
            save_predictions(path, origin, self.predictions)
        else:
            save_counts(path, origin, self.counts)


class Parse(Protocol[Parsed_co]):
    """Reads a result file; what is wrong with it becomes problems."""

    def __call__(self, data: bytes, images: ImageIndex, /, *, file: str, problems: Problems) -> Parsed_co:
        """Read the content of the file of this name."""


def subjects_of_files(info: CompetitionInfo, description: Description, _rules: object) -> tuple[str, ...]:
    """What the files are about: the columns of a board where each file has one."""
    return tuple(about for _, about in expected_files(info, description))


def select_classes(loaded: Any, names: Sequence[str]) -> Any:
    """The part of a mapping by column that has these names."""
    return {name: loaded[name] for name in loaded if name in names}


def unmatched(
    entered: Iterator[Entered[Parsed]], _loaded: object, _rules: object
) -> Iterator[Entered[Parsed]]:
    """Judge nothing yet: where all is in one file, it is judged when it is scored."""
    return entered


@dataclass(frozen=True, slots=True)
class Task(Generic[Parsed, Loaded, Matches, Rules]):
    """A task as six functions.

    parse: reads one file. load: what of a ground truth answers are held
    against. judge: holds some files against it, one after the other, in one of several threads; what it keeps of each is
    small. score: what all of them together are worth. columns: what a report has a value for. choose: what was loaded,
    without the columns that nobody asks for.
    """

    parse: Parse[Parsed]
    load: Callable[[GroundTruth], Loaded]
    match: Callable[[Iterator[Entered[Parsed]], Loaded, Rules], Iterator[Entered[Matches]]]
    score: Callable[[Iterator[Entered[Matches]], Loaded, Rules], Scores]
    columns: Callable[[CompetitionInfo, Description, Rules], tuple[str, ...]] = subjects_of_files
    choose: Callable[[Loaded, Sequence[str]], Loaded] = select_classes
