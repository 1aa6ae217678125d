"""Scores of classes and competitions, and the parts of a result that can be shown: tables, curves, confusion matrices, and their drawings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Final, Self

import numpy as np

from .data.matches import AllMatches, RankedPredictions
from .errors import Problem, from_extra
from .metrics.ranking import PrecisionRecall, RocPoints, ends_of_ties, precision_recall, roc

ALL_FIGURES: Final = "All figures"
DIFFICULT_INCLUDED: Final = "difficult objects included"


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """A table of names with a score in [0, 1], or None where there is no score."""

    kind: ClassVar[str] = "score_table"
    title: str
    rows: tuple[tuple[str, float | None], ...]

    @property
    def has_all_figures(self) -> bool:
        """Whether this is the table of every figure of COCO's protocols."""
        return self.title.startswith(ALL_FIGURES)

    @property
    def includes_difficult(self) -> bool:
        """Whether difficult objects count here, which they do not in the score itself."""
        return self.title.endswith(DIFFICULT_INCLUDED)


@dataclass(frozen=True, slots=True)
class Curve:
    """A precision-recall curve: the number of positives and the outcomes, int8, of the ranked predictions.

    An outcome is 1 for a true positive, 0 for a false positive, -1 for an ignored prediction; the most confident is first.
    """

    kind: ClassVar[str] = "curve"
    class_name: str
    positives: int
    outcomes: bytes

    def points(self) -> PrecisionRecall:
        """Every point as the development kits draw it: one for each prediction, NaN where nothing is counted yet.

        >>> Curve("car", 2, bytes([1, 0, 1])).points().precision.round(2).tolist()
        [1.0, 0.5, 0.67]
        """
        return precision_recall(np.frombuffer(self.outcomes, np.int8), self.positives)

    def envelope(self, levels: int = 41) -> list[float]:
        """The highest precision at or beyond each of `levels` recalls evenly spaced in [0, 1]; 0 where a recall is not reached.

        >>> Curve("car", 2, bytes([1, 0, 1])).envelope(3)
        [1.0, 1.0, 0.6666666666666666]
        """
        points = self.points()
        best = np.fmax.accumulate(points.precision[::-1])[::-1]
        recalls = np.arange(levels) / (levels - 1)
        index = np.searchsorted(points.recall, recalls) if self.positives else np.full(levels, len(best))
        values: list[float] = np.nan_to_num(np.append(best, 0.0))[index].tolist()
        return values


@dataclass(frozen=True, slots=True)
class RocCurve:
    """A ROC curve: the outcomes of ranked images, int8 as in `Curve`, and for each one byte, 1 where a run of equal scores ends."""

    kind: ClassVar[str] = "roc_curve"
    class_name: str
    outcomes: bytes
    ends: bytes

    def points(self) -> RocPoints:
        """Every point as the development kits draw it.

        >>> RocCurve("car", bytes([1, 0, 1]), bytes([1, 1, 1])).points().tpr.tolist()
        [0.0, 0.5, 0.5, 1.0, 1.0]
        """
        return roc(np.frombuffer(self.outcomes, np.int8), np.frombuffer(self.ends, np.bool_))

    def envelope(self, levels: int = 41) -> list[float]:
        """The highest TPR at or below each of `levels` FPRs evenly spaced in [0, 1]; 0 where there is no positive or no negative.

        >>> RocCurve("car", bytes([1, 0, 1]), bytes([1, 1, 1])).envelope(3)
        [0.5, 0.5, 1.0]
        """
        points = self.points()
        if np.isnan(points.fpr).any():
            return [0.0] * levels
        rates = np.arange(levels) / (levels - 1)
        index = np.searchsorted(points.fpr, rates, side="right") - 1
        values: list[float] = np.nan_to_num(points.tpr)[index].tolist()
        return values


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """Numbers of pixels, `labels` by `labels`: a row for each true label, a column for each predicted one; void is left out."""

    kind: ClassVar[str] = "confusion_matrix"
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


Exhibit = ScoreTable | Curve | RocCurve | ConfusionMatrix


EXHIBITS: Final[Mapping[str, type[Exhibit]]] = {
    each.kind: each for each in (ScoreTable, Curve, RocCurve, ConfusionMatrix)
}
"""The kinds of exhibits by name; a page has a template for each."""


def draw_precision(ranked: RankedPredictions) -> Curve:
    """The precision-recall curve of ranked predictions."""
    return Curve(ranked.class_name, ranked.positives, ranked.outcomes.tobytes())


def draw_roc(ranked: RankedPredictions) -> RocCurve:
    """The ROC curve of ranked predictions, a point for each confidence."""
    return RocCurve(ranked.class_name, ranked.outcomes.tobytes(), ends_of_ties(ranked.confidence).tobytes())


Draw = Callable[[RankedPredictions], Curve | RocCurve]
"""Makes the curve that is shown for ranked predictions."""


def plot_curves(
    curves: Sequence[Curve | RocCurve], values: Mapping[str, float | None], axes: Any = None
) -> Any:
    """Draw a line for each curve, labelled with its class and value, and return the axes of matplotlib.

    Raises ImportError where matplotlib is not installed.
    """
    axes = _new_axes() if axes is None else axes
    for curve in curves:
        value = values.get(curve.class_name)
        label = curve.class_name if value is None else f"{curve.class_name} {value:.3f}"
        if isinstance(curve, RocCurve):
            rates = curve.points()
            axes.plot(rates.fpr, rates.tpr, label=label)
        else:
            points = curve.points()
            axes.plot(points.recall, points.precision, label=label)
    is_roc = isinstance(curves[0], RocCurve)
    axes.set(
        xlabel="false positive rate" if is_roc else "recall",
        ylabel="true positive rate" if is_roc else "precision",
        xlim=(0, 1),
        ylim=(0, 1.02),
    )
    axes.legend()
    return axes


def plot_values(values: Mapping[str, float | None], measure: str, axes: Any = None) -> Any:
    """Draw a bar for each class, none where it has no value, and return the axes of matplotlib.

    Raises ImportError where matplotlib is not installed.
    """
    axes = _new_axes() if axes is None else axes
    numbers = [np.nan if value is None else value for value in values.values()]
    axes.barh(list(values), numbers)
    axes.invert_yaxis()
    axes.set(xlabel=measure, xlim=(0, 1))
    return axes


def _new_axes() -> Any:
    with from_extra("plot"):
        pyplot = import_module("matplotlib.pyplot")
    return pyplot.subplots()[1]


NOT_ENTERED: Final = "not entered"
"""The reason of a class without predictions, and how that of a mean without some of its classes begins."""


@dataclass(frozen=True, slots=True)
class ClassResult:
    """The score of one class in [0, 1], or None with the reason, and its numbers of positives and predictions.

    counted_as: what the mean of the classes counts a class without a value as, where it does, as the kits do without objects;
    the reason says so, too. is_entered: False for one without predictions where these may be left out. figures: those of COCO's
    protocols by name, in [0, 1] or None; empty for others, and no part of the JSON form.
    """

    name: str
    value: float | None
    reason: str | None
    positives: int
    predictions: int
    counted_as: float | None = None
    is_entered: bool = True
    figures: Mapping[str, float | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def not_entered(cls, name: str, positives: int) -> Self:
        """A class without predictions.

        >>> ClassResult.not_entered("cat", 1).reason
        'not entered'
        """
        return cls(name, None, NOT_ENTERED, positives, 0, is_entered=False)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why figures are not what one might expect: code, the class, how many objects or detections, and a sentence.

    code: crowd, difficult, area, cap, tie, id, missed or wrong.
    """

    code: str
    class_name: str
    count: int
    message: str


Explain = Callable[[], tuple[Explanation, ...]]
"""Why the figures of COCO's rules are below 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of one competition; None with a reason, never NaN; explain: by COCO's rules; notes: on the annotation."""

    measure: str
    headline: float | None
    headline_reason: str | None
    classes: tuple[ClassResult, ...]
    exhibits: tuple[Exhibit, ...]
    matches: AllMatches
    explain: Explain | None = None
    notes: tuple[Problem, ...] = ()
