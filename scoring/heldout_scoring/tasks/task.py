"""A task as a row of functions, and what all tasks share."""

import math
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

import numpy as np

from ..competitions import CompetitionInfo, expected_files
from ..data.arrays import Integers, some_of
from ..data.description import Description
from ..data.matches import ImageCounts, RankedPredictions
from ..data.truth import GroundTruth
from ..errors import DataError, Problem, plural
from ..metrics.labels import PixelMeasure
from ..metrics.ranking import Average, Pool, WeightedMetric
from ..scores import DIFFICULT_INCLUDED, NOT_ENTERED, ClassResult, Scores, ScoreTable

_LISTS: Final = {"image": "images", "class": "classes"}
"""The arguments that list what numbers in a column count."""

Key = TypeVar("Key", bound=Hashable)


def places_of(what: str, used: Integers, names: Sequence[str], known: Sequence[str]) -> Integers:
    """Where in `known` each used name stands: int32 (n,).

    used: int32 (n,), into names; names that nothing uses need not be known. Raises DataError for a used name that is not
    known.

    >>> places_of("class", np.array([1, 1], np.int32), ["background", "cat"], ["car", "cat"]).tolist()
    [1, 1]
    """
    table = {name: place for place, name in enumerate(known)}
    found = np.array([table.get(name, -1) for name in names], np.int32)
    if len(unknown := used[found[used] < 0] if len(used) else used):
        unknown = np.unique(unknown)
        are_numbers = all(names[place].isdecimal() for place in unknown.tolist()) and not any(
            map(str.isdecimal, known)
        )
        hint = f"; numbers are names, unless `{_LISTS[what]}=` lists what they count" if are_numbers else ""
        absent = [names[place] for place in unknown.tolist()]
        missing = ", ".join(f"'{name}'" for name in absent[:3])
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        hint = hint or _same_in_print(absent[0], known)
        hint = hint or f"; `{_LISTS[what]}=` of the ground truth lists those without an object, too"
        raise DataError(f"the ground truth has no {what} {missing}{more}; it has {some_of(known)}{hint}")
    if len(used) and not np.array_equal(found, np.arange(len(found))):
        return found[used]
    return used.astype(np.int32, copy=False)


def _same_in_print(name: str, known: Sequence[str]) -> str:
    """A hint at a known name that looks the same and has other characters, such as an accent of its own."""
    plain = unicodedata.normalize("NFC", name)
    twin = next((each for each in known if unicodedata.normalize("NFC", each) == plain), None)
    return "" if twin is None else f"; they differ in Unicode: {name!a} is not {twin!a}"


def assert_once(keys: Mapping[str, Integers]) -> None:
    """Check that no two rows agree in all columns. Raises DataError naming the first row that repeats another.

    >>> assert_once({"image": np.array([0, 1]), "class": np.array([0, 0])})
    """
    table = np.stack(list(keys.values()), axis=1)
    _, first, count = np.unique(table, axis=0, return_index=True, return_counts=True)
    if len(repeated := first[count > 1]):
        raise DataError(
            f"expected one prediction for each {' and '.join(keys)}, found several, as of row {repeated.min()}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class RankingSample:
    """Ranked predictions, the number of positives, int32 (classes, images), and how a value is computed from both.

    images: the names of those that are drawn from, into which the rankings' `image` counts. pool: puts all classes into one ranking whose value is the headline; None where the headline is the average.
    together: how many consecutive rankings belong to a class, whose value is the mean of theirs.
    """

    rankings: Sequence[RankedPredictions]
    positives: Integers
    weighted_metric: WeightedMetric
    average: Average
    images: Sequence[str]
    pool: Pool | None = None
    together: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class PixelSample:
    """Pixel counts by image, and how a value is computed from the confusion matrix that they add up to; images: their names."""

    counts: ImageCounts
    measure: PixelMeasure
    average: Average
    images: Sequence[str]


Sample = RankingSample | PixelSample


def only_images(sample: RankingSample, truth: GroundTruth, names: Sequence[str]) -> RankingSample:
    """The sample drawn from the images of these names only, for a set that lists some of the images.

    Predictions on other images are ignored ones and are assigned to the first image.
    """
    places = {name: place for place, name in enumerate(truth.lists.images)}
    listed = np.unique([places[name] for name in names]).astype(np.intp)
    place = np.zeros(len(places), np.int32)
    place[listed] = np.arange(len(listed))
    rankings = [replace(each, image=place[each.image]) for each in sample.rankings]
    drawn = [truth.lists.images[each] for each in listed]
    return replace(sample, rankings=rankings, positives=sample.positives[:, listed], images=drawn)


def count_by_class(images_of: Iterable[Integers], classes: int, images: int) -> Integers:
    """How often each image occurs for each class: int32 (classes, images).

    images_of: of each class the image of each positive, int32 (n,); one at a time, for a thousand classes fill memory.

    >>> count_by_class([np.array([0, 2, 2])], 1, 3).tolist()
    [[1, 0, 2]]
    """
    table = np.zeros((classes, images), np.int32)
    for row, image in zip(table, images_of, strict=True):
        row[:] = np.bincount(image, minlength=images)
    return table


Parsed = TypeVar("Parsed")
Loaded = TypeVar("Loaded")
Matched = TypeVar("Matched")
Rules = TypeVar("Rules")


@dataclass(frozen=True, slots=True, eq=False)
class Keyed(Generic[Parsed]):
    """A value with its key: the class, action or image that the value is of."""

    key: str
    value: Parsed


def keys_of_files(info: CompetitionInfo, description: Description, _rules: object) -> tuple[str, ...]:
    """The classes, actions or images that have a file each."""
    return tuple(key for _, key in expected_files(info, description))


def select_keys(loaded: Any, names: Sequence[str]) -> Any:
    """The entries of a mapping that have one of these keys."""
    return {name: loaded[name] for name in loaded if name in names}


@dataclass(frozen=True, slots=True)
class Task(Generic[Parsed, Loaded, Matched, Rules]):
    """A task: everything that differs from one task to another, as one row.

    accepts: whether predictions in memory are of this task; split: the part of them that each file would have.
    missing_truth: why a ground truth cannot score the task, None if it can. load: the part of a ground truth that
    the task needs. match: compares predictions, split or read from files, with it, one batch per thread; the values that it yields are kept in
    memory for all files and so should be small. score: the scores from all that matched. resample: what the bootstrap
    draws from, given ranked predictions or image counts. columns: the names that a report has a value for.
    select: restricts what was loaded to some columns. files: where the `TaskFiles` are that read and check its files, as
    "module:name"; the module is imported with the first file.
    """

    name: str
    title: str
    accepts: Callable[[object], bool]
    split: Callable[[Any, GroundTruth], Iterator[Keyed[Parsed]]]
    missing_truth: Callable[[GroundTruth], str | None]
    load: Callable[[GroundTruth], Loaded]
    match: Callable[[Iterator[Keyed[Parsed]], Loaded, Rules], Iterator[Keyed[Matched]]]
    score: Callable[[Iterator[Keyed[Matched]], Loaded, Rules], Scores]
    resample: Callable[[Any, GroundTruth, Rules], Sample]
    files: str
    columns: Callable[[CompetitionInfo, Description, Rules], tuple[str, ...]] = keys_of_files
    select: Callable[[Loaded, Sequence[str]], Loaded] = select_keys


@dataclass(frozen=True, slots=True)
class TaskRules(Generic[Rules]):
    """The rules by which a protocol scores a task; mypy refuses rules of another task."""

    task: Task[Any, Any, Any, Rules]
    rules: Rules


_UNKNOWN: Final = "which these rules do not know"
NO_DIFFICULT: Final = f"marked as difficult, {_UNKNOWN}: difficult objects count like any other"
CROWDS_ARE_DIFFICULT: Final = (
    f"marked as crowd, {_UNKNOWN}: crowds are taken as difficult and need not be found"
)
CROWDS_COUNT: Final = f"marked as crowd, {_UNKNOWN}: crowds count like any other object"
NO_NUMBER: Final = (
    "numbered 0 as 'id': as in the official program, what matches such an object is a false positive"
)

_CODES: Final[Mapping[str, str]] = {
    NO_DIFFICULT: "difficult-counted",
    CROWDS_ARE_DIFFICULT: "crowd-difficult",
    CROWDS_COUNT: "crowd-counted",
    NO_NUMBER: "id-0",
}


def are(count: int, noun: str) -> str:
    """How a sentence begins of what is counted.

    >>> are(1, "object"), are(2, "object")
    ('1 object is', '2 objects are')
    """
    return f"{plural(count, noun)} {'is' if count == 1 else 'are'}"


def notes_on_objects(counts: Mapping[str, int]) -> tuple[Problem, ...]:
    """Notes on annotated objects that count otherwise than one may think; counts: how many, by what they are.

    >>> [note.message for note in notes_on_objects({CROWDS_COUNT: 2, NO_NUMBER: 0})]
    ['2 annotated objects are marked as crowd, which these rules do not know: crowds count like any other object']
    """
    return tuple(
        Problem(
            _CODES[what],
            f"{are(count, 'annotated object')} {what}",
            found=str(count),
        )
        for what, count in counts.items()
        if count
    )


def headline(
    names: Sequence[str], values: Mapping[str, float], average: Average
) -> tuple[float | None, str | None]:
    """The headline of the classes of these names, or the reason why there is none; values: of the classes entered, or NaN.

    >>> headline(["car", "cat"], {"car": 0.5}, max)
    (None, 'not entered: cat')
    """
    missing = [name for name in names if name not in values]
    if missing:
        return None, f"{NOT_ENTERED}: {', '.join(missing)}"
    mean = average([values[name] for name in names])
    return (None, "a class has no value") if math.isnan(mean) else (mean, None)


def say_what_counts(
    classes: Iterable[ClassResult], values: Mapping[str, float], mean: float | None
) -> tuple[ClassResult, ...]:
    """The classes, of which those without a value that the mean counts all the same say so; values: as for `headline`.

    >>> nowhere = ClassResult("cat", None, "there is none", 0, 0)
    >>> say_what_counts([nowhere], {"cat": 0.0}, 0.5)[0].reason
    'there is none; the mean counts it as 0'
    """
    return tuple(
        replace(each, reason=f"{each.reason}; the mean counts it as {value:g}", counted_as=value)
        if mean is not None and each.value is None and not math.isnan(value := values[each.name])
        else each
        for each in classes
    )


def table_of_classes(measure: str, classes: Iterable[ClassResult]) -> ScoreTable:
    """The table of the classes' values."""
    return ScoreTable(measure, tuple((each.name, each.value) for each in classes))


def table_with_difficult(
    measure: str, names: Sequence[str], values: Mapping[str, float], average: Average
) -> ScoreTable:
    """The table of the values that count difficult objects like any other, with their mean."""
    rows = [(name, None if math.isnan(value := values.get(name, math.nan)) else value) for name in names]
    mean, _ = headline(names, values, average)
    return ScoreTable(f"{measure}, {DIFFICULT_INCLUDED}", (*rows, ("mean", mean)))
