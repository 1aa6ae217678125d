"""The row that describes a task, and the values that its functions exchange."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from scoring.archives.checking import Checked, Inspection
from scoring.archives.result_files import ResultFile
from scoring.competitions import CompetitionInfo, expected_files
from scoring.data.description import Description
from scoring.data.ground_truth import GroundTruth
from scoring.errors import Problems
from scoring.readers.image_index import ImageIndex
from scoring.scores import Scores
from scoring.tasks.resampling import Sample

Parsed = TypeVar("Parsed")
Parsed_co = TypeVar("Parsed_co", covariant=True)
Loaded = TypeVar("Loaded")
Matched = TypeVar("Matched")
Rules = TypeVar("Rules")


@dataclass(frozen=True, slots=True, eq=False)
class Keyed(Generic[Parsed]):
    """A value with its key: the class, action or image that the value is of."""

    key: str
    value: Parsed


class ReadFile(Protocol[Parsed_co]):
    """Reads a result file; everything wrong with it becomes a problem."""

    def __call__(self, data: bytes, images: ImageIndex, /, *, file: str, problems: Problems) -> Parsed_co:
        """Read the content of the file of this name."""


class ReadFiles(Protocol[Parsed_co]):
    """Reads several result files at once, where nothing is wrong with any of them."""

    def __call__(
        self, contents: Sequence[bytes], images: ImageIndex, /, *, files: Sequence[str], problems: Problems
    ) -> Sequence[Parsed_co] | None:
        """Read the contents of the files of these names; None where they have to be read one by one."""


def read_one_by_one(
    _contents: Sequence[bytes], _images: ImageIndex, /, *, files: Sequence[str], problems: Problems
) -> None:
    """Never read files together.

    >>> read_one_by_one([b"", b""], ImageIndex.of(Description("VOC2012", "val", (), (), ())), files=["a", "b"], problems=Problems())
    """


def keys_of_files(info: CompetitionInfo, description: Description, _rules: object) -> tuple[str, ...]:
    """The classes, actions or images that have a file each."""
    return tuple(key for _, key in expected_files(info, description))


def select_keys(loaded: Any, names: Sequence[str]) -> Any:
    """The entries of a mapping that have one of these keys."""
    return {name: loaded[name] for name in loaded if name in names}


def one_for_each_image(description: Description) -> int:
    """As many predictions as there are images in the Main set.

    >>> from scoring.data.description import Image
    >>> one_for_each_image(Description("COCO", "val", ("car", "cat"), (), (Image("1", 9, 9),)))
    1
    """
    return len(description.images)


def one_for_each_image_and_class(description: Description) -> int:
    """As many predictions as there are pairs of an image of the Main set and a class.

    >>> from scoring.data.description import Image
    >>> one_for_each_image_and_class(Description("VOC2012", "val", ("car", "cat"), (), (Image("a", 9, 9),)))
    2
    """
    return len(description.images) * len(description.classes)


@dataclass(frozen=True, slots=True)
class Task(Generic[Parsed, Loaded, Matched, Rules]):
    """A task: everything that differs from one task to another, as one row.

    read: parses one result file; read_together: several that are small. check_file: checks one result file without the ground truth, counting into the
    `Checked` of its competition; check_all: adds notes that concern all files of a competition together.
    accepts: whether predictions in memory are of this task; split: what `read` gives for each file, from such predictions.
    missing_truth: why a ground truth cannot score the task, None if it can. load: the part of a ground truth that
    the task needs. match: compares parsed files with it, one batch per thread; the values that it yields are kept in
    memory for all files and so should be small. score: the scores from all matched files. resample: what the bootstrap
    draws from, given ranked predictions or image counts. columns: the names that a report has a value for.
    select: restricts what was loaded to some columns. fewest_lines: the predictions that a complete result has at least.
    """

    name: str
    title: str
    read: ReadFile[Parsed]
    check_file: Callable[[ResultFile, Checked, Inspection], None]
    check_all: Callable[[Checked, Inspection], None]
    accepts: Callable[[object], bool]
    split: Callable[[Any, GroundTruth], Iterator[Keyed[Parsed]]]
    missing_truth: Callable[[GroundTruth], str | None]
    load: Callable[[GroundTruth], Loaded]
    match: Callable[[Iterator[Keyed[Parsed]], Loaded, Rules], Iterator[Keyed[Matched]]]
    score: Callable[[Iterator[Keyed[Matched]], Loaded, Rules], Scores]
    resample: Callable[[Any, GroundTruth, Rules], Sample]
    read_together: ReadFiles[Parsed] = read_one_by_one
    columns: Callable[[CompetitionInfo, Description, Rules], tuple[str, ...]] = keys_of_files
    select: Callable[[Loaded, Sequence[str]], Loaded] = select_keys
    fewest_lines: Callable[[Description], int] = one_for_each_image_and_class


@dataclass(frozen=True, slots=True)
class TaskRules(Generic[Rules]):
    """The rules by which a protocol scores a task; mypy refuses rules of another task."""

    task: Task[Any, Any, Any, Rules]
    rules: Rules
