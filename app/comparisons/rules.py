"""What a comparison of methods is: which may be chosen, and what their replicates say."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np

from app.comparisons.schemas import (
    ClassDifferences,
    ComparisonView,
    Difference,
    ImageDifference,
    PairDifference,
    Statistics,
)
from app.errors import MalformedError
from app.exhibits.schemas import ClassValue
from app.figures.dots import Dot, DotRow, Range, dot_chart, series_of, symmetric
from app.figures.shapes import Column, Drawing, Figure, Table
from scoring.analysis.image_outcomes import ImageOutcomes
from scoring.statistics.comparison import Comparison, compare
from scoring.statistics.rank_tests import holm
from scoring.statistics.resampling import Replicates

FEWEST: Final = 2
MOST: Final = 5
MAX_IMAGES: Final = 20

Compared = tuple[Replicates, ImageOutcomes]


def chosen_methods(ids: Sequence[int]) -> tuple[int, ...]:
    """The methods to compare, each once, the first being the reference. Raises MalformedError for more than five.

    >>> chosen_methods([7, 3, 7])
    (7, 3)
    """
    chosen = tuple(dict.fromkeys(ids))
    if len(chosen) > MOST:
        raise MalformedError(f"at most {MOST} methods can be compared at once; {len(chosen)} were chosen")
    return chosen


def obstacle_of(setups: Sequence[tuple[int, str, str]]) -> str | None:
    """Why results have no statistics in common; each by its ground truth, scorer and protocol. None if they have.

    >>> obstacle_of([(1, "1", "voc2012"), (1, "1", "voc2012")])
    >>> obstacle_of([(1, "1", "voc2012"), (2, "1", "voc2012")])
    'these results were scored under different versions of the ground truth or the scorer'
    """
    if len(set(setups)) > 1:
        return "these results were scored under different versions of the ground truth or the scorer"
    return None


def statistics_of(compared: Sequence[Compared]) -> Statistics:
    """The paired differences of at least two methods, each with its replicates and its outcomes by image.

    Holm's correction is over all pairs of means, and again over all classes of all methods against the first. Classes are those
    that every method has entered; images are compared only where all have entered the same ones. Raises ValueError for replicates that are not paired.
    """
    replicates = _of_common_classes([each for each, _ in compared])
    pairs = list(combinations(range(len(replicates)), 2))
    found = {pair: compare(replicates[pair[1]], replicates[pair[0]]) for pair in pairs}
    means = _corrected([found[pair][-1] for pair in pairs])
    against_first = [found[0, place][:-1] for place in range(1, len(replicates))]
    flat = _corrected([each for column in against_first for each in column])
    names = replicates[0].names
    columns = [flat[start : start + len(names)] for start in range(0, len(flat), len(names) or 1)]
    return Statistics(
        replicates=replicates[0].draws.replicates,
        pairs=tuple(
            PairDifference(one, other, mean) for (one, other), mean in zip(pairs, means, strict=True)
        ),
        classes=tuple(
            ClassDifferences(name, tuple(column[place] for column in columns))
            for place, name in enumerate(names)
        ),
        images=_images([outcomes for _, outcomes in compared])
        if len({(each.names, outcomes.images) for each, outcomes in compared}) == 1
        else (),
    )


def _of_common_classes(replicates: Sequence[Replicates]) -> list[Replicates]:
    """The replicates of the classes that every method has, and of the headline."""
    common = [name for name in replicates[0].names if all(name in each.names for each in replicates)]

    def restricted(each: Replicates) -> Replicates:
        rows = [*map(each.names.index, common), len(each.names)]
        scores = tuple(each.scores[row] for row in rows)
        return replace(each, names=tuple(common), scores=scores, values=each.values[rows])

    return [restricted(each) for each in replicates]


def _corrected(compared: Sequence[Comparison]) -> list[Difference]:
    tested = [each.p_value for each in compared if each.p_value is not None]
    corrected = iter(holm(tested))
    return [
        Difference(
            each.difference.value,
            each.difference.low,
            each.difference.high,
            each.p_value,
            None if each.p_value is None else next(corrected),
        )
        for each in compared
    ]


def _images(outcomes: Sequence[ImageOutcomes]) -> tuple[ImageDifference, ...]:
    """The images in which the numbers of errors lie furthest apart, the furthest first; none where they never do."""
    errors = np.array([each.errors() for each in outcomes])
    apart = errors.max(axis=0) - errors.min(axis=0)
    first = np.argsort(-apart, kind="stable")[:MAX_IMAGES]
    return tuple(
        ImageDifference(
            outcomes[0].images[place],
            int(outcomes[0].positives[place]),
            tuple(int(each.positives[place] - each.found[place]) for each in outcomes),
            tuple(int(each.false[place]) for each in outcomes),
        )
        for place in first.tolist()
        if apart[place]
    )


def scores_figure(view: ComparisonView) -> Figure | None:
    """The scores of every class with their intervals, a dot for each method; none where they are hidden."""
    value_of = view.value_of
    rows = tuple(
        DotRow(name, tuple(_dot(value_of.get((method.id, name))) for method in view.methods))
        for name in view.classes
    )
    if not rows:
        return None
    names = [method.name for method in view.methods]
    columns = (Column("class", "text"), *map(Column, names))
    table = tuple((row.name, *(None if dot is None else dot.value for dot in row.dots)) for row in rows)
    title = "Score of each class"
    said = f"{title}, for {', '.join(names)}."
    return Figure(
        dot_chart("scores", title, said, rows, series_of(names), Range(0.0, 1.0)), Table(columns, table)
    )


def _dot(score: ClassValue | None) -> Dot | None:
    return None if score is None or score.value is None else Dot(score.value, score.low, score.high)


def differences_figure(view: ComparisonView) -> Drawing | None:
    """The differences of every class from the reference, with their intervals; none without statistics."""
    if view.statistics is None or not view.statistics.classes:
        return None
    rows = tuple(
        DotRow(
            each.name,
            tuple(
                None if found.value is None else Dot(found.value, found.low, found.high)
                for found in each.differences
            ),
        )
        for each in view.statistics.classes
    )
    dots = [dot for row in rows for dot in row.dots if dot is not None]
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    reference, *others = (method.name for method in view.methods)
    title = f"Difference from {reference}"
    said = f"{title} of {', '.join(others)}, in each class."
    return dot_chart("differences", title, said, rows, series_of([reference, *others])[1:], symmetric(ends))
