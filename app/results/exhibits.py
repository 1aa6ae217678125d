"""Exhibits of runs: tables, curves and matrices that a report shows beside its scores."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from math import isnan
from typing import Any, Final

from sqlalchemy import Subquery, select
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges
from app.challenges.disclosure import visibility_for, withheld
from app.core.access import Actor
from app.core.errors import NotFoundError, WithheldError
from app.models import Exhibit
from app.platform import Platform
from app.results.scored_runs import visible_run
from app.web import tables as exports
from heldout_scoring.stored import from_plain

NO_VALUE = "no value"


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A run's score for one class, in [0, 1]; `reason` says why there is no value. Counts are present only if all is public.

    low, high: the 95 % confidence interval, by bootstrap over the images.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    positives: int | None = None
    predictions: int | None = None


@dataclass(frozen=True, slots=True)
class CurveView:
    """The points of a PR curve, in [0, 1]."""

    name: str
    recall: tuple[float | None, ...]  # None without positives
    precision: tuple[float | None, ...]  # None before the first prediction that counts


@dataclass(frozen=True, slots=True)
class RocView:
    """The points of a ROC curve, in [0, 1]."""

    name: str
    fpr: tuple[float | None, ...]
    tpr: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class MatrixView:
    """For each true label, the shares and counts of its pixels by predicted label."""

    labels: tuple[str, ...]
    shares: tuple[tuple[float | None, ...], ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ExhibitView:
    """A part of a run's report, as the template `exhibits/<kind>.html` shows it.

    total: the mean of the rows, in [0, 1], with its interval.
    """

    kind: str
    title: str
    rows: tuple[ClassValue | CurveView | RocView | MatrixView, ...]
    total: float | None = None
    low: float | None = None
    high: float | None = None


def exhibits_of(stored: Sequence[Mapping[str, Any]]) -> tuple[ExhibitView, ...]:
    """Return a run's further tables, curves, and matrices, as pages show them."""
    tables = [one for one in stored if one["kind"] == heldout_scoring.ScoreTable.kind]
    shown = [table_view(from_plain(heldout_scoring.ScoreTable, one)) for one in tables[1:]]
    for kind, (title, view) in DRAWN.items():
        rows = tuple(
            view(from_plain(heldout_scoring.EXHIBITS[kind], one)) for one in stored if one["kind"] == kind
        )
        if rows:
            shown.append(ExhibitView(kind, title, rows))
    return tuple(shown)


def table_view(table: heldout_scoring.ScoreTable) -> ExhibitView:
    """Convert a table of scores by other rules, such as with difficult objects included; the mean may be its last row."""
    rows = [ClassValue(name, value, reason=NO_VALUE if value is None else None) for name, value in table.rows]
    total = rows.pop().value if rows and rows[-1].name == "mean" else None
    return ExhibitView(table.kind, table.title, tuple(rows), total)


def with_difficult(stored: Iterable[Mapping[str, Any]]) -> Mapping[str, float | None]:
    """Return the values with difficult objects included, from a run's exhibits; the mean is under "mean"."""
    tables = (from_plain(heldout_scoring.ScoreTable, one) for one in stored if includes_difficult(one))
    return next((dict(table.rows) for table in tables), {})


def includes_difficult(stored: Mapping[str, Any]) -> bool:
    """Whether a stored exhibit is the table of scores with difficult objects included."""
    return (
        stored["kind"] == heldout_scoring.ScoreTable.kind
        and from_plain(heldout_scoring.ScoreTable, stored).includes_difficult
    )


def curve_view(curve: heldout_scoring.Curve) -> CurveView:
    """Convert a PR curve, with every point."""
    points = curve.points()
    return CurveView(curve.class_name, _known(points.recall.tolist()), _known(points.precision.tolist()))


def csv_of(curves: Iterable[CurveView]) -> str:
    """Format PR curves as CSV with a header: a line for each point, blank where it has no value.

    >>> csv_of([CurveView("car", (0.5, 1.0), (1.0, None))]).splitlines()
    ['class,recall,precision', 'car,0.5,1.0', 'car,1.0,']
    """
    points = (zip(repeat(curve.name), curve.recall, curve.precision, strict=False) for curve in curves)
    return exports.csv_of(("class", "recall", "precision"), chain.from_iterable(points))


def roc_view(curve: heldout_scoring.RocCurve) -> RocView:
    """Convert a ROC curve, with every point."""
    points = curve.points()
    return RocView(curve.class_name, _known(points.fpr.tolist()), _known(points.tpr.tolist()))


def matrix_view(matrix: heldout_scoring.ConfusionMatrix) -> MatrixView:
    """Convert a confusion matrix, with each count's share of its row."""
    totals = [sum(row) for row in matrix.counts]
    shares = tuple(
        tuple(count / total if total else None for count in row)
        for row, total in zip(matrix.counts, totals, strict=True)
    )
    return MatrixView(matrix.labels, shares, matrix.counts)


DRAWN: Mapping[str, tuple[str, Callable[[Any], CurveView | RocView | MatrixView]]] = {
    "curve": ("PR curve", curve_view),
    "roc_curve": ("ROC curve", roc_view),
    "confusion_matrix": ("Confusion matrix", matrix_view),
}
"""The kinds of exhibits on a page, with their titles and in their order."""


def _known(values: Sequence[float]) -> tuple[float | None, ...]:
    return tuple(None if isnan(value) else value for value in values)


CURVES: Final = ("curve", "roc_curve")


def stored_exhibits(session: Session, run_id: int) -> list[dict[str, Any]]:
    """Return the stored exhibits of a run."""
    return list(
        session.scalars(select(Exhibit.content).where(Exhibit.run_id == run_id).order_by(Exhibit.position))
    )


def curves_of(session: Session, run_ids: Sequence[int], class_name: str) -> dict[int, dict[str, Any]]:
    """Return the stored curve of a class by run."""
    statement = select(Exhibit.run_id, Exhibit.content).where(
        Exhibit.run_id.in_(run_ids),
        Exhibit.kind.in_(CURVES),
        Exhibit.content["class_name"].astext == class_name,
    )
    return dict(session.execute(statement).all())


def score_tables(session: Session, standing: Subquery) -> dict[int, list[dict[str, Any]]]:
    """Return the stored tables of scores by run; standing: has a column run_id."""
    statement = (
        select(Exhibit.run_id, Exhibit.content)
        .join(standing, standing.c.run_id == Exhibit.run_id)
        .where(Exhibit.kind == heldout_scoring.ScoreTable.kind)
        .order_by(Exhibit.run_id, Exhibit.position)
    )
    found: dict[int, list[dict[str, Any]]] = {}
    for run, content in session.execute(statement):
        found.setdefault(run, []).append(content)
    return found


def curves(
    platform: Platform, actor: Actor, run_id: int, class_name: str | None = None
) -> tuple[CurveView, ...]:
    """Return the curves of a run with every point. Raises NotFoundError, and WithheldError while the phase is held out."""
    stored = _stored_exhibits(platform, actor, run_id)
    curves = (
        from_plain(heldout_scoring.Curve, one) for one in stored if one["kind"] == heldout_scoring.Curve.kind
    )
    return tuple(curve_view(curve) for curve in curves if class_name in (None, curve.class_name))


def tables(platform: Platform, actor: Actor, run_id: int) -> tuple[ExhibitView, ...]:
    """Return the further tables of a run, such as with difficult objects included.

    Raises NotFoundError, and WithheldError while the phase is held out.
    """
    exhibits = exhibits_of(_stored_exhibits(platform, actor, run_id))
    return tuple(exhibit for exhibit in exhibits if exhibit.kind == heldout_scoring.ScoreTable.kind)


def exhibits(platform: Platform, actor: Actor, run_id: int) -> tuple[ExhibitView, ...]:
    """Return a run's exhibits for pages, none while they are withheld. Raises NotFoundError."""
    try:
        return exhibits_of(_stored_exhibits(platform, actor, run_id))
    except WithheldError:
        return ()


def _stored_exhibits(platform: Platform, actor: Actor, run_id: int) -> list[dict[str, Any]]:
    with platform.transaction() as session:
        found = visible_run(session, actor, run_id)
        phase = challenges.phase_of_id(session, found[1].id) if found else None
        if phase is None:
            raise NotFoundError(f"there is no run {run_id}, or it is not public")
        if hidden := withheld(phase, visibility_for(actor, phase)):
            raise WithheldError(hidden)
        return stored_exhibits(session, run_id)
