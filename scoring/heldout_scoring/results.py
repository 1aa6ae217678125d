"""The result of an evaluation."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, Self, get_type_hints

import numpy as np

from .data.arrays import Floats, some_of
from .data.matches import AllMatches, Origin, RankedPredictions, save_matches
from .errors import DataError, NotFoundError, Problem, from_extra
from .protocols import PROTOCOLS, TASKS, spell
from .scores import (
    NOT_ENTERED,
    ClassResult,
    Curve,
    Exhibit,
    Explain,
    Explanation,
    RocCurve,
    ScoreTable,
    plot_curves,
    plot_values,
)
from .stored import from_plain, to_plain

if TYPE_CHECKING:
    import polars as pl

_COUNTED: Final = "; the mean counts it as "
"""What stood before the number that the mean counts a class as, in JSON that does not have the number by itself."""

_WIDTH: Final = 80
"""Characters of a line of figures."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassView:
    """Everything that a result holds of one class: its score with the curve and the matches, None where there are none."""

    score: ClassResult
    measure: str
    curve: Curve | RocCurve | None = field(repr=False)
    matches: RankedPredictions | None = field(repr=False)

    @property
    def figures(self) -> Mapping[str, float | None]:
        """Those of COCO's protocols by name, in [0, 1] or None; empty for others, and for a result that was read from JSON."""
        return self.score.figures

    @property
    def value(self) -> float | None:
        """The value of the measure, in [0, 1]."""
        return self.score.value

    @property
    def ap(self) -> float | None:
        """The value of an average precision. Raises AttributeError where something else is measured."""
        if "average precision" not in self.measure.lower():
            raise AttributeError(f"the measure is '{self.measure}', not an average precision: see `value`")
        return self.score.value


@dataclass(frozen=True, slots=True)
class Result:
    """The result of predictions: of an archive, or of arrays, for which competition is None.

    headline and values are in [0, 1], or None with a reason. receipt: sha256, in hexadecimal, of the predictions (of their
    files, where there are any), the truth's fingerprint, the protocol, the scorer's version, and the classes chosen, if a
    subset was declared: what decided these numbers and nothing else. truth: that fingerprint. matches: what intervals and
    analyses are computed from; notes: on the files, and on annotated objects that count otherwise than one may think; explainer: of COCO's protocols, what `explain` asks. None of them is part of the JSON form.
    rules: by which the task was scored; None in a result that was put together or read from JSON, where the name of an
    official protocol says them. The JSON form has them where the protocol is not official, unless a function of them is not
    part of the library.
    """

    competition: int | None
    task: str
    protocol: str
    measure: str
    headline: float | None
    headline_reason: str | None
    classes: tuple[ClassResult, ...]
    exhibits: tuple[Exhibit, ...] = field(repr=False)
    scorer: str
    truth: str
    receipt: str
    notes: tuple[Problem, ...] = field(default=(), compare=False)
    matches: AllMatches | None = field(default=None, compare=False, repr=False)
    explainer: Explain | None = field(default=None, compare=False, repr=False)
    rules: Any = field(default=None, compare=False, repr=False)

    def __getitem__(self, name: str) -> ClassView:
        """Everything about one class. Raises KeyError for one that is not among `classes`.

        >>> row = ClassResult("car", 0.5, None, positives=2, predictions=3)
        >>> _example(row)["car"].ap
        0.5
        """
        found = {each.name: each for each in self.classes}
        if name not in found:
            raise NotFoundError(f"the result has no class '{name}'; it has {', '.join(found)}")
        curves = {each.class_name: each for each in self.exhibits if isinstance(each, Curve | RocCurve)}
        ranked = self.matches if isinstance(self.matches, tuple) else ()
        matches = {each.class_name: each for each in ranked}
        return ClassView(found[name], self.measure, curves.get(name), matches.get(name))

    def __iter__(self) -> Iterator[str]:
        """The names of the classes, which `result[name]` takes.

        >>> list(_example(ClassResult("car", 0.5, None, positives=2, predictions=3)))
        ['car']
        """
        return iter([each.name for each in self.classes])

    @property
    def figures(self) -> Mapping[str, float | None]:
        """The figures of COCO's protocols by name, AP to ARl, in [0, 1] or None; empty for other protocols.

        >>> _example().figures
        {}
        """
        tables = (each for each in self.exhibits if isinstance(each, ScoreTable))
        return dict(next((each.rows for each in tables if each.has_all_figures), ()))

    def explain(self) -> tuple[Explanation, ...]:
        """Why figures of COCO's rules are below 1, class by class, at the lowest of their IoU thresholds, which is 0.5 in `coco`.

        crowd: crowds need not be found and hide what is detected in them; difficult: objects that are marked so count all the
        same; area: objects without an area, or whose
        annotated area is of another range of sizes than their box or mask; cap: detections beyond the most that count;
        tie: equal confidences or IoU that the order of the detections decides; id: annotations numbered 0; missed: objects
        without a detection; wrong: detections without an object. Raises NotFoundError for other rules, those of LVIS among them,
        DataError for a result that was read from JSON.

        >>> _example().explain()
        Traceback (most recent call last):
        heldout_scoring.errors.NotFoundError: explanations are those of COCO's rules, not of voc2012
        """
        if self.explainer is not None:
            return self.explainer()
        if self.task.startswith("coco-") and not any(each.figures for each in self.classes):
            raise DataError(
                "a result that was read from JSON has no explanations: evaluate the predictions again"
            )
        raise NotFoundError(f"explanations are those of COCO's rules, not of {self.protocol}")

    def __str__(self) -> str:
        """The headline and the classes as a table, and the figures of COCO's protocols below it.

        >>> print(_example(ClassResult("car", 0.5, None, 2, 3), ClassResult.not_entered("cat", 1)))
        Average precision by voc2012
        class      value  positives  predictions
        car       0.5000          2            3
        cat            -          1            0  not entered
        mean      0.5000
        """
        width = max([8, *(len(each.name) for each in self.classes)])
        lines = [
            f"{self.measure} by {self.protocol}",
            f"{'class':{width}} {'value':>7}  positives  predictions",
        ]
        for each in self.classes:
            numbers = f"{each.positives:>9}  {each.predictions:>11}"
            reason = f"  {each.reason}" if each.reason else ""
            lines.append(f"{each.name:{width}} {_shown(each.value)}  {numbers}{reason}")
        reason = f"  {self.headline_reason}" if self.headline_reason else self._counted()
        figures = "  ".join(f"{name} {_shown(value).strip()}" for name, value in self.figures.items())
        return "\n".join(
            [*lines, f"{'mean':{width}} {_shown(self.headline)}{reason}", *wrap(figures, _WIDTH)]
        )

    def _counted(self) -> str:
        """Which classes without a value the mean counts, and as what."""
        counted = {each.name: each.counted_as for each in self.classes if each.counted_as is not None}
        if not counted:
            return ""
        verb = "counts" if len(counted) == 1 else "count"
        return f"  {some_of([*counted])} {verb} as {next(iter(counted.values())):g}"

    def to_frame(self) -> "pl.DataFrame":
        """A row for each class: class, value (null where there is none), positives, predictions, reason, and the figures of COCO's protocols.

        >>> _example(ClassResult("car", 0.5, None, positives=2, predictions=3)).to_frame().row(0)
        ('car', 0.5, 2, 3, None)
        """
        with from_extra("files"):
            import polars as pl  # noqa: PLC0415 - takes longer to import than the whole library

        types = {
            "class": pl.String,
            "value": pl.Float64,
            "positives": pl.Int64,
            "predictions": pl.Int64,
            "reason": pl.String,
        }
        rows = [
            (each.name, each.value, each.positives, each.predictions, each.reason) for each in self.classes
        ]
        frame = pl.DataFrame(rows, types, orient="row")
        figures = [dict(each.figures) for each in self.classes]
        if not any(figures):
            return frame
        return frame.hstack(pl.DataFrame(figures, dict.fromkeys(figures[0], pl.Float64)))

    def plot(self, axes: Any = None) -> Any:
        """Draw the curves of the classes, or their values where there are none, and return the axes.

        axes: of matplotlib, to draw on; by default new ones. Raises ImportError where matplotlib is not installed.
        """
        curves = [each for each in self.exhibits if isinstance(each, Curve | RocCurve)]
        values = {each.name: each.value for each in self.classes}
        return plot_values(values, self.measure, axes) if not curves else plot_curves(curves, values, axes)

    def save_matches(self, path: Path | str) -> None:
        """Write the matches to a file that `bootstrap` reads. Raises PathError, and DataError for a result read from JSON."""
        save_matches(path, self.origin, matches_in_memory(self))

    @property
    def origin(self) -> Origin:
        """Where the matches come from."""
        return Origin(self.task, self.protocol, self.scorer, self.truth, self.receipt)

    def to_json(self) -> str:
        """One line of JSON, the same for the same result, without the matches."""
        rules = None if self.protocol in PROTOCOLS else _rules_to_plain(self.rules)
        plain = to_plain(self) | {"rules": rules}
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; raises KeyError, TypeError or ValueError for anything else.

        >>> result = _example(ClassResult("car", 0.5, None, positives=2, predictions=3))
        >>> Result.from_json(result.to_json()) == result
        True
        """
        plain = json.loads(text)
        rules = None
        if isinstance(plain, dict):
            rules = plain.pop("rules")
            plain["classes"] = [_as_written_today(each) for each in plain["classes"]]
        result = from_plain(cls, plain)
        return replace(result, rules=_own_rules(result, rules))


def _own_rules(result: Result, plain: Any) -> Any:
    """The rules in JSON; those of an official protocol are never written, so that they cannot be others."""
    if plain is not None and result.protocol in PROTOCOLS:
        raise DataError(f"'{result.protocol}' is the name of an official protocol, which has its own rules")
    return _rules_from_plain(result.task, plain)


def _as_written_today(plain: Any) -> Any:
    """A class in JSON with `counted_as` and `is_entered`, which only its reason said in earlier releases.

    >>> _as_written_today({"name": "cat", "reason": "no object; the mean counts it as 0"})["counted_as"]
    0.0
    """
    reason = str(plain["reason"])
    _, said, value = reason.rpartition(_COUNTED)
    return {"counted_as": float(value) if said else None, "is_entered": reason != NOT_ENTERED} | plain


def rules_of(result: Result) -> Any:
    """The rules that a result was scored by: its own, or where it holds none those of its official protocol.

    Raises NotFoundError for a result that was put together or read from JSON without rules that are not official.

    >>> from heldout_scoring import Detections, GroundTruth, evaluate
    >>> truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 10, 10]], convention="inclusive")
    >>> found = Detections.from_arrays(["a"], ["cat"], [0.9], [[1, 1, 10, 9]])
    >>> rules_of(evaluate(found, truth, protocol="voc2012")).iou_threshold
    0.5
    """
    if result.rules is not None:
        return result.rules
    if result.protocol not in PROTOCOLS:
        raise NotFoundError(
            f"the result does not hold the rules of '{result.protocol}', which is no official protocol: "
            "evaluate the predictions again"
        )
    return PROTOCOLS[result.protocol].rules_of(TASKS[result.task])


def matches_in_memory(result: Result) -> AllMatches:
    """The matches of a result. Raises DataError for one that was read from JSON.

    >>> matches_in_memory(_example())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    heldout_scoring.errors.DataError: the matches of this result are not in memory: evaluate the predictions again, or open their file
    """
    if result.matches is None:
        raise DataError(
            "the matches of this result are not in memory: evaluate the predictions again, or open their file"
        )
    return result.matches


def _shown(value: float | None) -> str:
    return f"{'-':>7}" if value is None else f"{value:7.4f}"


def _example(*classes: ClassResult) -> Result:
    values = (3, "detection", "voc2012", "Average precision", 0.5, None, classes, (), "1", "", "")
    return Result(*values)


def _rules_to_plain(rules: Any) -> Any:
    """Every field of the rules; None for None, and for rules with a field that JSON cannot hold.

    Functions and measures are spelled as in a receipt, and have to be those of an official protocol.
    """
    if rules is None:
        return None
    try:
        return {each.name: _to_plain(each.name, getattr(rules, each.name)) for each in fields(rules)}
    except DataError:
        return None


def _rules_from_plain(task: str, plain: Any) -> Any:
    """The rules of a task that `_rules_to_plain` turned into `plain`; None for None.

    Raises KeyError, TypeError or ValueError for anything else.
    """
    if plain is None:
        return None
    kind = _kinds()[task]
    hints = get_type_hints(kind)
    if not isinstance(plain, dict) or plain.keys() != hints.keys():
        raise DataError(f"expected the fields of {kind.__name__} as 'rules'")
    return kind(**{name: _from_plain(name, hint, plain[name]) for name, hint in hints.items()})


def _to_plain(field: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if callable(value) or is_dataclass(value):
        name = spell(value)
        if _named().get((field, name)) != value:
            raise DataError(f"{name} is not part of the library")
        return name
    return to_plain(value)


def _from_plain(field: str, hint: Any, plain: Any) -> Any:
    if isinstance(plain, str) and (field, plain) in _named():
        return _named()[field, plain]
    if hint == Floats:
        return np.array(plain, np.float64)
    return from_plain(hint, plain)


@cache
def _kinds() -> Mapping[str, Any]:
    """The type of the rules of each task."""
    return {each.task.name: type(each.rules) for row in PROTOCOLS.values() for each in row.tasks}


@cache
def _named() -> Mapping[tuple[str, str], Any]:
    """The functions and measures of all official rules, by the field in which they stand and as they are spelled."""
    rules = [each.rules for row in PROTOCOLS.values() for each in row.tasks]
    values = ((each.name, getattr(one, each.name)) for one in rules for each in fields(one))
    return {(name, spell(value)): value for name, value in values if callable(value) or is_dataclass(value)}
