"""Details of a result: rank, history, curves of chosen classes, further tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    func,
    literal,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.orm import Session, aliased

import heldout_scoring
from app.challenges.challenges import PhaseView, is_open_to_others
from app.challenges.disclosure import StoredScore, Visibility
from app.core.access import Actor
from app.models import (
    Board,
    ClassScore,
    Exhibit,
    GroundTruth,
    Publication,
    Result,
    ResultState,
    Run,
    RunAnalysis,
)
from app.people.teams import is_public
from app.results.analyses import AnalysisView, ClassErrors, SweepView, analysis_view
from app.results.exhibits import (
    CURVES,
    CurveView,
    ExhibitView,
    RocView,
    curve_view,
    exhibits_of,
    includes_difficult,
    roc_view,
    with_difficult,
)
from app.results.recording import is_on_board
from app.results.scores import RunScores, load_headlines, load_scores
from app.web.charts.bars import Bar, Legend, bar_chart
from app.web.charts.curves import PRECISION_RECALL, ROC, Axes, Curve, curve_chart
from app.web.charts.dots import Dot, DotRow, Range, dot_chart, series_of
from app.web.charts.scales import top_of
from app.web.charts.shapes import Column, Drawing, Figure, Table
from heldout_scoring.stored import from_plain


@dataclass(frozen=True, slots=True)
class Rank:
    """The rank of a result on its board, 1 for the best, and the number of ranked results. Equal means share a rank."""

    rank: int
    of: int


@dataclass(frozen=True, slots=True)
class ClassChange:
    """A class whose value changed, in [0, 1]."""

    name: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """A run that is or was on a board, and since when; changes: classes with other scores than in the previous run."""

    run: int
    since: datetime
    ground_truth: int  # version
    scorer: str
    mean: float | None
    changes: tuple[ClassChange, ...]


@dataclass(frozen=True, slots=True)
class ResultDetail:
    """The details below a run's scores: curves, figures of the analysis, tables, and matrices.

    drawn: the classes with curves; names: all classes that can be drawn; difficult: the scores of classes with difficult objects
    included, and of all under "mean".
    """

    names: tuple[str, ...]
    drawn: tuple[str, ...]
    curves: Figure | None
    difficult: Mapping[str, float | None]
    exhibits: tuple[ExhibitView, ...]
    analysis: AnalysisView
    errors: Figure | None
    sweeps: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A result with the run to show, its number of runs, and the ground-truth version of that run."""

    result: Result
    run: Run
    runs: int
    ground_truth: int


@dataclass(frozen=True, slots=True)
class BoardHistory:
    """The ranks of results on their boards, and the histories of results with several runs there."""

    ranks: Mapping[int, Rank]
    histories: Mapping[int, tuple[PublishedRun, ...]]


@dataclass(frozen=True, slots=True)
class DetailRequest:
    """The result (by its competition) and the classes to show in detail; by default the first ones."""

    competition: int | None = None
    classes: tuple[str, ...] = ()


EVERY: Final = "all classes"
LEVELS: Final = 11  # rows of the table beside curves
MOST: Final = 2  # classes in one figure


def classes_to_draw(asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return up to two known classes, in the order requested; by default the first.

    >>> classes_to_draw(["dog", "cow", "dog"], ["cat", "dog"]), classes_to_draw([], ["cat", "dog"])
    (('dog',), ('cat',))
    """
    found = tuple(name for name in dict.fromkeys(asked) if name in known)[:MOST]
    return found or tuple(known[:1])


def seconds_between(begun: datetime | None, ended: datetime | None) -> float | None:
    """Return a duration in seconds; None if it has not ended.

    >>> seconds_between(datetime(2026, 11, 22, 10, 0), datetime(2026, 11, 22, 10, 1)), seconds_between(None, None)
    (60.0, None)
    """
    return None if begun is None or ended is None else (ended - begun).total_seconds()


def changes_of(
    before: Mapping[str, float | None], after: Mapping[str, float | None]
) -> tuple[ClassChange, ...]:
    """Return the classes whose shown value changed, in their order.

    >>> changes_of({"cat": 0.5, "dog": 0.25}, {"cat": 0.5, "dog": 0.75})
    (ClassChange(name='dog', before=0.25, after=0.75),)
    """
    return tuple(
        ClassChange(name, before.get(name), value)
        for name, value in after.items()
        if before.get(name) != value
    )


def view_of(stored: Mapping[str, Any]) -> CurveView | RocView:
    """Convert a stored PR or ROC curve to its view."""
    if stored["kind"] == heldout_scoring.Curve.kind:
        return curve_view(from_plain(heldout_scoring.Curve, stored))
    return roc_view(from_plain(heldout_scoring.RocCurve, stored))


def curves_figure(curves: Sequence[tuple[str, float | None, CurveView | RocView | None]]) -> Figure | None:
    """Draw PR or ROC curves in one figure, each with its name and score; None without curves.

    One that has no curve is in the legend alone, so that the others keep their colours.
    """
    first = next((view for _, _, view in curves if view is not None), None)
    if first is None:
        return None
    is_roc = isinstance(first, RocView)
    axes = ROC if is_roc else PRECISION_RECALL
    title = "ROC curve" if is_roc else "Precision-recall curve"
    lines = [Curve(name, value, *_places(view)) for name, value, view in curves]
    labels = "; ".join(f"{name} {_percent(value)}" for name, value, _ in curves)
    drawing = curve_chart("curves", title, f"{title} of {labels}.", lines, axes)
    level = f"{axes.across} {'at most' if is_roc else 'at least'}"
    columns = (Column(level), *(Column(f"{name}: best {axes.up}") for name, _, _ in curves))
    return Figure(drawing, Table(columns, tuple(_levels(lines, is_roc=is_roc))))


def _places(view: CurveView | RocView | None) -> tuple[Any, Any]:
    if view is None:
        return np.zeros(0), np.zeros(0)
    across, up = (view.fpr, view.tpr) if isinstance(view, RocView) else (view.recall, view.precision)
    return np.array(across, np.float64), np.array(up, np.float64)


def _levels(lines: Sequence[Curve], *, is_roc: bool) -> list[tuple[float | None, ...]]:
    """Return, for each level, the best value of each curve from there on; for ROC curves, up to there."""
    return [
        (level, *(_best(line, level, is_roc=is_roc) for line in lines))
        for level in (number / (LEVELS - 1) for number in range(LEVELS))
    ]


def _best(line: Curve, level: float, *, is_roc: bool) -> float | None:
    there = (line.across <= level + 1e-12) if is_roc else (line.across >= level - 1e-12)
    there &= ~np.isnan(line.up)
    return float(line.up[there].max()) if there.any() else None


def errors_figure(methods: Sequence[tuple[str, ClassErrors | None]]) -> Figure | None:
    """Draw the score that each kind of error costs, by kind and method; None without an analysis."""
    known = [(name, errors) for name, errors in methods if errors is not None]
    if not known:
        return None
    title = "What each kind of error costs"
    drawing = _error_bars(title, known[0][1]) if len(methods) == 1 else _error_dots(title, methods)
    columns = [Column("kind", "text")]
    for name, _ in known:
        columns += [Column(f"{name}: errors", "number"), Column(f"{name}: cost")]
    rows = tuple(
        (
            row.label,
            *(value for _, errors in known for value in (errors.rows[place].count, errors.rows[place].gain)),
        )
        for place, row in enumerate(known[0][1].rows)
    )
    return Figure(drawing, Table(tuple(columns), rows))


def _error_bars(title: str, errors: ClassErrors) -> Drawing:
    bars = [Bar(row.label, row.gain) for row in errors.rows if row.gain is not None]
    return bar_chart("errors", title, f"{title}.", bars, Legend("score that fixing it would gain"))


def _error_dots(title: str, methods: Sequence[tuple[str, ClassErrors | None]]) -> Drawing:
    """Draw a dot for each method with an analysis, in the colour of its place among all methods."""
    drawn = [
        (one, errors)
        for one, (_, errors) in zip(series_of([name for name, _ in methods]), methods, strict=True)
        if errors is not None
    ]
    rows = [
        DotRow(
            row.label,
            tuple(None if (gain := errors.rows[place].gain) is None else Dot(gain) for _, errors in drawn),
        )
        for place, row in enumerate(drawn[0][1].rows)
    ]
    gains = [row.gain for _, errors in drawn for row in errors.rows if row.gain is not None]
    series = [one for one, _ in drawn]
    names = ", ".join(one.name for one in series)
    return dot_chart("errors", title, f"{title}, for {names}.", rows, series, Range(0.0, top_of(gains)))


def sweep_figure(group: Sequence[SweepView]) -> Figure:
    """Draw the scores of classes over the swept parameter."""
    first = group[0]
    lines = [
        Curve(
            each.name or EVERY,
            None,
            np.array([level.level for level in each.levels], np.float64),
            np.array([np.nan if level.value is None else level.value for level in each.levels], np.float64),
        )
        for each in group
    ]
    drawing = curve_chart(
        f"sweep-{first.swept}", f"Score by {first.label}", f"Score by {first.label}.", lines,
        Axes(first.label, "score", right=_axis_end(first)),
    )  # fmt: skip
    columns = (Column(first.label), *(Column(each.name or EVERY) for each in group))
    rows = tuple(
        (level.level, *(each.levels[place].value for each in group))
        for place, level in enumerate(first.levels)
    )
    return Figure(drawing, Table(columns, rows))


def _axis_end(swept: SweepView) -> float:
    """Return the end of the axis: 1 for thresholds, the largest level for sizes."""
    return 1.0 if swept.swept == "iou" else max(level.level for level in swept.levels)


def _percent(value: float | None) -> str:
    return "without a score" if value is None else f"{100 * value:.1f}"


DIAGNOSIS: Final = -1  # sorts before the positions of exhibits
OWN_RESULT: Final = aliased(Result)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that is or was on a board, and since when."""

    run: Run
    ground_truth: int
    since: datetime


def select_ranks(
    session: Session, actor: Actor, phase: PhaseView, visibility: Visibility, own: Collection[int]
) -> dict[int, Rank]:
    """Return the ranks of these results of a phase, among the results that the boards show to the reader.

    Counted in the database by what the reader may see: by exact means if they see everything, else by the boards' rank keys.
    """
    statement = _ranks(visibility, own, phase.id, is_organised=actor.organises_challenge(phase.challenge_id))
    return {result: Rank(rank, of) for result, rank, of in session.execute(statement)}


def _ranks(
    visibility: Visibility, own: Collection[int], phase_id: int, *, is_organised: bool
) -> Select[int, int, int]:
    ranked = (
        select(
            OWN_RESULT.id,
            OWN_RESULT.competition,
            OWN_RESULT.published_generation,
            _mean(OWN_RESULT, visibility).label("mean"),
        )
        .join(Board, is_on_board(OWN_RESULT))
        .where(OWN_RESULT.id.in_(own))
        .cte("ranked")
        .prefix_with("MATERIALIZED")
    )
    shown = (
        true()
        if is_organised
        else and_(is_public(), is_open_to_others(Result.phase_id, Result.submission_id))
    )
    others = (
        select(_mean(Result, visibility).label("mean"))
        .select_from(Result)
        .join(Result.method)
        .where(
            Result.phase_id == phase_id, Result.competition == ranked.c.competition, Result.state == ResultState.SCORED,
            Result.published_generation == ranked.c.published_generation, Result.id != ranked.c.id, shown,
        )
        .correlate(ranked)
        .lateral()
    )  # fmt: skip
    better = func.count().filter(others.c.mean > ranked.c.mean)
    return (
        select(ranked.c.id, 1 + better, 1 + func.count(others.c.mean))
        .select_from(ranked)
        .outerjoin(others, true())
        .where(ranked.c.mean.is_not(None))
        .group_by(ranked.c.id)
    )


def _mean(result: type[Result], visibility: Visibility) -> ColumnElement[Any]:
    """Return the mean by which a result is ranked; null without a mean."""
    if visibility.details:
        headline = (ClassScore.run_id == result.published_run_id, ClassScore.class_name.is_(None))
        return select(ClassScore.value).where(*headline).correlate(result).scalar_subquery()
    key = func.coalesce(result.ladder_rank_key, result.rank_key) if visibility.by_ladder else result.rank_key
    return func.nullif(key, -1)


def published_runs(session: Session, result_ids: Collection[int]) -> list[StoredRun]:
    """Return the runs of results that have been on their boards, and since when, oldest first."""
    since = func.min(Publication.published_at)
    statement = (
        select(Run, GroundTruth.version, since)
        .select_from(Run)
        .join(Publication, Publication.run_id == Run.id)
        .join(Run.ground_truth)
        .where(Publication.result_id.in_(result_ids))
        .group_by(Run.id, GroundTruth.version)
        .order_by(since, Run.id)
    )
    return [StoredRun(*row) for row in session.execute(statement)]


def stored_detail(
    session: Session, run_id: int, classes: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return a run's exhibits, with curves only of these classes, and its diagnosis, if it has one."""
    shown = or_(Exhibit.kind.not_in(CURVES), Exhibit.content["class_name"].astext.in_(classes))
    exhibits = select(Exhibit.position, Exhibit.content).where(Exhibit.run_id == run_id, shown)
    diagnosis = select(literal(DIAGNOSIS), RunAnalysis.diagnosis).where(RunAnalysis.run_id == run_id)
    both = union_all(exhibits, diagnosis).subquery()
    rows = session.execute(select(both).order_by(both.c.position)).all()
    found = [content for position, content in rows if position != DIAGNOSIS]
    return found, next((content for position, content in rows if position == DIAGNOSIS), None)


def ranks(
    session: Session, actor: Actor, phase: PhaseView, visibility: Visibility, results: Collection[Result]
) -> dict[int, Rank]:
    """Return the ranks of one submission's results among the results that the reader sees on their boards.

    A private result gets the rank that it would have among them. While others' results are under an embargo there is
    no rank.
    """
    if not visibility.means or (
        phase.embargo and not phase.is_over and not actor.organises_challenge(phase.challenge_id)
    ):
        return {}
    own = [result.id for result in results if result.published_run_id is not None]
    return select_ranks(session, actor, phase, visibility, own) if own else {}


def histories(
    session: Session, visibility: Visibility, results: Collection[Result]
) -> dict[int, tuple[PublishedRun, ...]]:
    """Return the runs that have been on the board for each result, latest first, with the values the reader may see."""
    if not results:
        return {}
    runs = published_runs(session, [result.id for result in results])
    scores = load_scores(session, [each.run.id for each in runs])
    ladder = (
        load_headlines(session, [each.run.ladder_run_id for each in runs]) if visibility.by_ladder else {}
    )
    complete = {result.id: result.is_complete for result in results}
    found: dict[int, list[PublishedRun]] = {}
    before: dict[int, Mapping[str, float | None]] = {}
    for each in runs:
        run, result = each.run, each.run.result_id
        its_sight = visibility.of_result(is_complete=complete[result])
        mean, values = _shown(its_sight, scores.get(run.id, {}), ladder.get(run.ladder_run_id or 0))
        changes = changes_of(before[result], values) if result in before else ()
        since = visibility.moment(each.since)
        row = PublishedRun(run.id, since, each.ground_truth, run.scorer, mean, changes)
        found.setdefault(result, []).insert(0, row)
        before[result] = values
    return {result: tuple(rows) for result, rows in found.items()}


def _shown(
    visibility: Visibility, scores: RunScores, ladder: StoredScore | None
) -> tuple[float | None, dict[str, float | None]]:
    values = {name: visibility.value(score) for name, score in scores.items() if name is not None}
    return visibility.mean(scores.get(None), ladder), values


def detail(
    session: Session, run_id: int, values: Mapping[str, float | None], asked: Sequence[str]
) -> ResultDetail:
    """Return the details of a run, for readers who may see all of it.

    values: of its classes. Curves are drawn for the requested ones among these, by default for the first that is not 0.
    """
    names = tuple(name for name, value in values.items() if value is not None)
    drawn = classes_to_draw(asked, sorted(names, key=lambda name: not values[name]))
    stored, diagnosis = stored_detail(session, run_id, drawn)
    analysis = analysis_view(diagnosis)
    curves = _curves(stored)
    return ResultDetail(
        names=names,
        drawn=drawn,
        curves=curves_figure([(name, values[name], curves[name]) for name in drawn if name in curves]),
        difficult=with_difficult(stored),
        exhibits=exhibits_of(
            [each for each in stored if each["kind"] not in CURVES and not includes_difficult(each)]
        ),
        analysis=analysis,
        errors=errors_figure([(EVERY, analysis.errors_of(None))]),
        sweeps=tuple(sweep_figure(group) for group in analysis.sweeps_of([None, *drawn])),
    )


def _curves(stored: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {each["class_name"]: view_of(each) for each in stored if each["kind"] in CURVES}
