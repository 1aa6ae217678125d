"""The part of a task that reads and checks its files, what the checks share, and fingerprints of what was checked.

A fingerprint is made while an archive is checked, from what its files say and not from their bytes. The archive's format,
compression and folders, the order of its files, line ends, blanks and the spelling of numbers (0.50 and 0.5, 0.0 and -0.0) do not
count, nor does the order of lines where it cannot change a score:

- classification and actions: in any order, because the images and persons decide that of equal confidences;
- detection: in any order as long as boxes of equal confidence keep theirs, which decides their rank;
- COCO: in any order as long as detections of equal confidence in one image keep theirs;
- layout: in the order of the file, by which the program of VOC2008 ranks;
- segmentation: the label of each pixel, not the palette, nor how the PNG is written.

Different fingerprints do not say that scores differ: confidences that were all doubled have another one.
"""

import codecs
import hashlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..archives.plausibility import (
    CORNERS,
    SIDES,
    Signs,
    box_form,
    foreign_images,
    mostly_foreign,
    unlike_public_set,
    warnings_of,
)
from ..archives.results import (
    Content,
    ResultFile,
    batches,
    contents_of,
    is_explained,
    is_large,
    missing_files,
    no_results,
)
from ..competitions import CompetitionInfo, expected_files
from ..data.arrays import Floats
from ..data.description import Description
from ..errors import Problem, Problems, Severity, SubmissionError
from ..parallel import parallel_map
from ..readers.image_index import ImageIndex
from ..readers.lines import INVERTED_BOX, UNKNOWN_IMAGE
from .task import Keyed, Parsed, Task

Parsed_co = TypeVar("Parsed_co", covariant=True)


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


@dataclass(frozen=True, slots=True)
class Inspection:
    """The context of a check: the images, where problems are collected, and how many boxes of a class an image may have."""

    images: ImageIndex
    problems: Problems
    max_boxes: int

    def check_boxes(self, counts: Mapping[tuple[str, str], int], file: str) -> None:
        """Add a problem for each image, and its class, that has more boxes than are allowed."""
        for (image, name), count in counts.items():
            message = f"{count:,} boxes of '{name}' in the image '{image}', too many; at most {self.max_boxes:,} are allowed"
            problem = Problem(
                "too-many-boxes", message, file, found=str(count), expected=f"at most {self.max_boxes}"
            )
            self.problems.add(problem)


@dataclass(slots=True)
class Checked:
    """Counts over the files of one competition: files by key, their names in problems, and their lines (predictions).

    outside: boxes that extend beyond their image; missing: images or persons without a line, by file; grey: label images of grey values;
    recoloured: label images with another palette than that of the development kits, and moved: of these the ones that have the kits'
    colours at other indices, by file; digests: of the predictions of each key,
    see `fingerprints`; constant and partial: classes as in `FoundCompetition`; signs: what warnings are made of; painted: the number of images that each
    label is in.
    """

    info: CompetitionInfo
    files: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    lines: int = 0
    outside: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    grey: int = 0
    recoloured: int = 0
    moved: dict[str, tuple[int, int]] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    constant: set[str] = field(default_factory=set)
    partial: set[str] = field(default_factory=set)
    signs: Signs = field(default_factory=Signs)
    painted: Counter[int] = field(default_factory=Counter)

    def join(self, other: "Checked") -> None:
        """Add the counts of other files of the same competition."""
        self.files |= other.files
        self.names |= other.names
        self.missing |= other.missing
        self.lines += other.lines
        self.outside += other.outside
        self.grey += other.grey
        self.recoloured += other.recoloured
        self.moved |= other.moved
        self.digests |= other.digests
        self.constant |= other.constant
        self.partial |= other.partial
        self.signs.join(other.signs)
        self.painted += other.painted

    def add_list(self, key: str, confidence: Floats, *, is_partial: bool) -> None:
        """Note whether the list of a class or action has a single confidence for everything, and whether it is partial."""
        self.signs.counts[key] = len(confidence)
        if len(confidence) > 1 and confidence.min() == confidence.max():
            self.constant.add(key)
            self.signs.constant[key] = len(confidence), float(confidence[0])
        if is_partial:
            self.partial.add(key)


def nothing_to_add(_checked: Checked, _inspection: Inspection) -> None:
    """Add no note about all files together: for tasks with one file, which has been checked."""


def one_for_each_image(description: Description) -> int:
    """As many predictions as there are images in the Main set.

    >>> from heldout_scoring.data.description import Image
    >>> one_for_each_image(Description("COCO", "val", ("car", "cat"), (), (Image("1", 9, 9),)))
    1
    """
    return len(description.images)


def one_for_each_image_and_class(description: Description) -> int:
    """As many predictions as there are pairs of an image of the Main set and a class.

    >>> from heldout_scoring.data.description import Image
    >>> one_for_each_image_and_class(Description("VOC2012", "val", ("car", "cat"), (), (Image("a", 9, 9),)))
    2
    """
    return len(description.images) * len(description.classes)


@dataclass(frozen=True, slots=True)
class TaskFiles(Generic[Parsed]):
    """How the files of a task are read and checked.

    read: parses one result file; read_together: several that are small. check_file: checks one result file without the ground truth, counting into the
    `Checked` of its competition; check_all: adds notes that concern all files of a competition together.
    fewest_lines: the predictions that a complete result has at least.
    """

    read: ReadFile[Parsed]
    check_file: Callable[[ResultFile, Checked, Inspection], None]
    check_all: Callable[[Checked, Inspection], None] = nothing_to_add
    read_together: ReadFiles[Parsed] = read_one_by_one
    fewest_lines: Callable[[Description], int] = one_for_each_image_and_class


def files_of(task: Task[Any, Any, Any, Any]) -> TaskFiles[Any]:
    """How the files of a task are read and checked, by functions of a module that only files need."""
    found: TaskFiles[Any] = pkgutil.resolve_name(task.files)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Some result files, read and matched: their keys, the hash of each by its name, their problems and notes."""

    problems: Problems = field(default_factory=Problems)
    keys: set[str] = field(default_factory=set)
    hashes: dict[str, str] = field(default_factory=dict)
    matched: list[Keyed[Any]] = field(default_factory=list)


@dataclass(slots=True)
class ResultReader:
    """Reads and matches result files, in batches and in several threads; collects hashes, problems and notes.

    broken: what made the archive unreadable from some file on.
    """

    files: TaskFiles[Any]
    match: Callable[[Iterator[Keyed[Any]]], Iterator[Keyed[Any]]]
    images: ImageIndex
    problems: Problems = field(default_factory=Problems)
    hashes: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    broken: list[Problem] = field(default_factory=list)

    def read(self, files: Iterator[ResultFile]) -> Iterator[Keyed[Any]]:
        """The matched values of each file, in the order of the files."""
        for batch in parallel_map(self._read_batch, batches(contents_of(files, self.broken)), alone=is_large):
            self.problems.join(batch.problems)
            self.keys |= batch.keys
            self.hashes |= batch.hashes
            yield from batch.matched

    def _read_batch(self, contents: Sequence[Content]) -> _Batch:
        batch = _Batch(Problems(mistakes=self.problems.mistakes))
        batch.matched.extend(self.match(self._parse(contents, batch)))
        return batch

    def _parse(self, contents: Sequence[Content], batch: _Batch) -> Iterator[Keyed[Any]]:
        for file, data in contents:
            batch.keys.add(file.key)
            batch.hashes[file.kit_name] = hashlib.sha256(data).hexdigest()
        found = self.files.read_together(
            [data for _, data in contents],
            self.images,
            files=[file.name for file, _ in contents],
            problems=batch.problems,
        )
        for place, (file, data) in enumerate(contents):
            if found is not None:
                yield Keyed(file.key, found[place])
            else:
                yield Keyed(
                    file.key, self.files.read(data, self.images, file=file.name, problems=batch.problems)
                )

    def raise_problems(self, info: CompetitionInfo) -> None:
        """Raise SubmissionError if there is any problem, missing files included."""
        self.problems.extend(self.broken)
        if not self.broken:  # the rest of a broken archive may hold what is missing
            self._add_missing_files(info)
        if self.problems.listed:
            raise SubmissionError(*self.problems.listed)

    def _add_missing_files(self, info: CompetitionInfo) -> None:
        expected = {key: name for name, key in expected_files(info, self.images.description)}
        missing = [key for key in expected if key not in self.keys]
        if not self.keys:
            if not is_explained(self.problems):
                self.problems.add(no_results([info], self.images.description))
        elif missing:
            self.problems.add(*missing_files(info, missing, expected))


def add_warnings(checked: Checked, inspection: Inspection) -> None:
    """Add what public facts say against the results of a competition; where they are refused for it, the cause in one problem."""
    signs, problems, info = checked.signs, inspection.problems, checked.info
    description = inspection.images.description
    images, total = len(description.images), signs.foreign + checked.lines
    unknown = problems.first(UNKNOWN_IMAGE, checked.names)
    if unknown is not None and mostly_foreign(signs.foreign, total):
        problems.replace(UNKNOWN_IMAGE, foreign_images(unknown, signs.foreign, total, images), checked.names)
    form = box_form(signs, info.name, expected=SIDES if info.has_any_name else CORNERS)
    inverted = problems.first(INVERTED_BOX, checked.names)
    if form is not None and inverted is not None:
        where = {name: getattr(inverted, name) for name in ("file", "line", "text")}
        problems.replace(INVERTED_BOX, replace(form, **where), checked.names)
    elif form is not None:
        problems.warn(form)
    for warning in warnings_of(signs, info.name, images=images, classes=len(description.classes)):
        problems.warn(warning)
    if (public := description.public_counts) is not None:
        unlike = unlike_public_set(signs.counts, info.name, public)
        if unlike is not None:
            problems.warn(unlike)


_MANY_MISSING: Final = 0.25
"""The share of persons without a prediction from which they are a warning."""


def severity_of_missing(missing: int, total: int) -> Severity:
    """How much is said of persons without a prediction: so many of all that there could be."""
    return Severity.WARNING if missing >= _MANY_MISSING * total else Severity.NOTE


def is_blank(data: bytes) -> bool:
    """Whether a file has no characters but whitespace."""
    text = data.removeprefix(codecs.BOM_UTF8)
    return not text or text.isspace()


def fingerprint(task: str, digests: Mapping[str, str]) -> str:
    """The fingerprint of the results of a task, 64 hexadecimal digits, from the digest of each class, action or image.

    >>> fingerprint("detection", {"cat": "01", "dog": "02"}) == fingerprint("detection", {"dog": "02", "cat": "01"})
    True
    """
    parts = [task, *(f"{key} {digests[key]}" for key in sorted(digests))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def digest_of(*columns: NDArray[Any]) -> str:
    """The SHA-256 of the values and shapes of arrays, in hexadecimal: whole numbers, or finite ones of floating point.

    >>> digest_of(np.array([0.0, 1.0])) == digest_of(np.array([-0.0, 1.0], np.float32))
    True
    """
    digest = hashlib.sha256()
    for column in columns:
        digest.update(f"{column.shape}".encode())
        if column.dtype == np.uint8:
            digest.update(np.ascontiguousarray(column).data)  # label images as they are, which are large
        elif column.dtype.kind == "f":
            digest.update((np.ascontiguousarray(column, np.float64) + 0.0).data)  # -0.0 becomes 0.0
        else:
            digest.update(np.ascontiguousarray(column, np.int64).data)
    return digest.hexdigest()
