"""Headlines and tables from the values of classes: None with a reason where the development kit has NaN."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from scoring.errors import Problem
from scoring.exhibits import ScoreTable
from scoring.metrics.averaging import Average
from scoring.scores import NOT_ENTERED, ClassResult

_UNKNOWN: Final = "which these rules do not know"
NO_DIFFICULT: Final = f"marked as difficult, {_UNKNOWN}: difficult objects count like any other"
CROWDS_ARE_DIFFICULT: Final = (
    f"marked as crowd, {_UNKNOWN}: crowds are taken as difficult and need not be found"
)
CROWDS_COUNT: Final = f"marked as crowd, {_UNKNOWN}: crowds count like any other object"
NO_NUMBER: Final = (
    "numbered 0 as 'id': as in the official program, what matches such an object is a false positive"
)

DIFFICULT_INCLUDED: Final = "difficult objects included"
_CODES: Final[Mapping[str, str]] = {
    NO_DIFFICULT: "difficult-counted",
    CROWDS_ARE_DIFFICULT: "crowd-difficult",
    CROWDS_COUNT: "crowd-counted",
    NO_NUMBER: "id-0",
}


def notes_on_objects(counts: Mapping[str, int]) -> tuple[Problem, ...]:
    """Notes on annotated objects that count otherwise than one may think; counts: how many, by what they are.

    >>> [note.message for note in notes_on_objects({CROWDS_COUNT: 2, NO_NUMBER: 0})]
    ['2 of the annotated objects are marked as crowd, which these rules do not know: crowds count like any other object']
    """
    return tuple(
        Problem(
            _CODES[what],
            f"{count} of the annotated objects {'is' if count == 1 else 'are'} {what}",
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
