"""Draw the figures of a board in a job, after its rows have changed."""

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, cast, func, or_, select
from sqlalchemy.orm import Session, contains_eager
from sqlalchemy.types import Text

import heldout_scoring
from app.boards import boards
from app.boards.boards import BoardReaders, is_shown_to
from app.boards.rows import ranks_of
from app.challenges import challenges
from app.challenges.challenges import PhaseView, description_of
from app.challenges.disclosure import StoredScore, Visibility, public_visibility
from app.figures.drawings import BoardScores, MethodScores, confusion, curves_of_class, summary_figures
from app.images import overlays
from app.jobs import queue
from app.models import (
    Artefact,
    Board,
    Exhibit,
    JobKind,
    Method,
    Phase,
    Result,
    Run,
    Submission,
)
from app.platform import Platform
from app.results import artefacts, groups
from app.results.recording import is_on_board
from app.results.scores import RunScores, load_headlines, load_scores
from app.web.charts.curves import PRECISION_RECALL, ROC, Axes, Curve
from app.web.charts.shapes import Figure
from app.web.dependencies import render_template
from heldout_scoring import IGNORED, TRUE_POSITIVE, RankedPredictions
from heldout_scoring.evaluation import columns_of
from heldout_scoring.stored import from_plain


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A public method on a board. Its scores are loaded separately, by run."""

    run_id: int
    ladder_run_id: int | None
    is_complete: bool
    method_id: int
    name: str
    is_baseline: bool
    date: datetime
    measure: str
    is_outdated: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a board. what: "class", or "part" for the parts of a person."""

    classes: tuple[str, ...]
    what: str


@dataclass(frozen=True, slots=True)
class FigureHead:
    """An entry in the list of a board's figures.

    is_curve: one of many, of which a page shows one; class_name, best: whose curves it draws, and the best score, in [0, 1].
    """

    name: str
    title: str
    description: str
    width: float
    height: float
    is_curve: bool
    class_name: str = ""
    best: float | None = None


@dataclass(frozen=True, slots=True)
class PublicStanding:
    """A method's rank and mean, as the public sees them."""

    rank: int | None
    mean: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures drawn of a board.

    disclosed: what was public then, see `disclosed`; as_of: when the board was read; places: by method id.
    """

    disclosed: str
    as_of: datetime
    figures: tuple[FigureHead, ...]
    places: dict[str, PublicStanding]


def disclosed(phase: PhaseView, withdrawals: int) -> str:
    """Describe what the public sees of a board's results. Figures drawn under another disclosure are not shown.

    withdrawals: a number that changes when results are withdrawn or hidden, so that figures with them disappear at once.
    """
    is_hidden = phase.embargo and not phase.is_over
    return "nothing" if is_hidden else f"{public_visibility(phase)!r} {withdrawals}"


def version_of(board: BoardScores, disclosure: str) -> str:
    """Return a hash that changes whenever the figures of a board would."""
    return sha256(repr((disclosure, board)).encode()).hexdigest()[:24]


def scores_of(
    rows: Sequence[FigureRow],
    scores: Mapping[int, RunScores],
    ladder: Mapping[int, StoredScore],
    board: Columns,
    visibility: Visibility,
) -> BoardScores:
    """Return the scores of a board that a reader with this visibility sees, best first. Methods without a mean come last."""
    methods = []
    for row in rows:
        own, visible = scores.get(row.run_id, {}), visibility.of_result(is_complete=row.is_complete)
        values = tuple(visible.value(own[name]) if name in own else None for name in board.classes)
        mean = visible.mean(own.get(None), ladder.get(row.ladder_run_id or 0))
        date = visibility.moment(row.date)
        methods.append(MethodScores(row.name, mean, values, date, row.is_baseline, row.run_id, row.method_id))
    methods.sort(key=lambda each: (each.mean is None, -(each.mean or 0.0), each.date, each.run_id))
    return BoardScores(rows[0].measure if rows else "", board.classes, tuple(methods), board.what)


FIGURES = "board figures"  # artefact kind: the list of a board's figures


def select_rows(session: Session, phase_id: int, competition: int) -> list[FigureRow]:
    """Load the public methods on a board."""
    is_outdated = or_(Run.ground_truth_id != Board.ground_truth_id, Run.scorer != Board.scorer)
    result = contains_eager(Run.result)
    statement = (
        select(Run, is_outdated)
        .join(Result, Result.published_run_id == Run.id)
        .join(Board, is_on_board())
        .join(Result.method)
        .join(Result.submission)
        .where(
            Result.phase_id == phase_id,
            Result.competition == competition,
            is_shown_to(BoardReaders.PUBLIC),
        )
        .options(
            result.contains_eager(Result.method).load_only(Method.name, Method.is_baseline),
            result.contains_eager(Result.submission).load_only(Submission.created_at),
        )
        .order_by(Run.id)
    )
    return [_figure_row(*row) for row in session.execute(statement)]


def _figure_row(run: Run, is_outdated: bool) -> FigureRow:  # noqa: FBT001 - a column
    result = run.result
    return FigureRow(
        run_id=run.id,
        ladder_run_id=run.ladder_run_id,
        is_complete=result.is_complete,
        method_id=result.method.id,
        name=result.method.name,
        is_baseline=result.method.is_baseline,
        date=result.submission.created_at,
        measure=run.measure or "",
        is_outdated=is_outdated,
    )


def exhibits(
    session: Session, run_ids: Collection[int], kind: str, name: str | None = None
) -> dict[int, Any]:
    """Load the exhibit of a kind for each run. name: the class, for kinds with one per class. Only if details are visible."""
    statement = select(Exhibit.run_id, Exhibit.content).where(
        Exhibit.run_id.in_(run_ids), Exhibit.kind == kind
    )
    if name is not None:
        statement = statement.where(Exhibit.content["class_name"].astext == name)
    return dict(session.execute(statement).all())


def outdated(session: Session, drawn: str) -> list[tuple[int, int]]:
    """List the boards (phase, competition) to redraw: never drawn, drawn under another version, or before their phase ended.

    drawn: the current version. Boards whose job is queued or has failed for good are left out.
    """
    subject = cast(Board.phase_id, Text) + "/" + cast(Board.competition, Text)
    has_rows = (
        select(Result.id)
        .where(
            Result.phase_id == Board.phase_id,
            Result.competition == Board.competition,
            Result.published_generation == Board.generation,
        )
        .exists()
    )
    is_asked_for = queue.is_pending(JobKind.BOARD, subject)
    end = Phase.closes_at + Phase.grace
    was_open = and_(Artefact.as_of < end, end <= func.clock_timestamp())
    is_old = or_(Artefact.id.is_(None), Artefact.version.not_like(f"{drawn}-%"), was_open)
    statement = (
        select(Board.phase_id, Board.competition)
        .join(Phase, Board.phase_id == Phase.id)
        .outerjoin(Artefact, and_(Artefact.kind == FIGURES, Artefact.subject == subject))
        .where(has_rows, is_old, ~is_asked_for)
    )
    return [(phase, competition) for phase, competition in session.execute(statement)]


FIGURES_VERSION = "16"  # version of all figures; a change redraws those of every board
FIGURE = "board figure"  # artefact kind: one figure
SVG_AND_NUMBERS = "application/json"
MOST_CURVES = 100  # per drawing
MOST_CLASSES = 100  # with more classes, no curves are drawn
LAYOUT = "layout"
PERMUTATIONS: Final = 10  # random rankings per class
SEED: Final = 2012
RANKING: Final = {"classification", "action"}  # tasks that rank every image or person


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A board to draw, as it was at `as_of`."""

    platform: Platform
    phase: PhaseView
    competition: int
    protocol: str
    as_of: datetime
    scores: BoardScores
    disclosed: str

    @property
    def subject(self) -> str:
        """The subject of the board's artefacts."""
        return f"{self.phase.id}/{self.competition}"

    @property
    def version(self) -> str:
        """The version of the figures to draw."""
        return f"{FIGURES_VERSION}-{version_of(self.scores, self.disclosed)}"


@dataclass(frozen=True, slots=True)
class _ClassCurves:
    """The curves of a class, and the best score in it."""

    figure: Figure
    class_name: str
    best: float | None


def refresh(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Compute the groups and draw the figures of the board in `payload`. Cheap if nothing has changed.

    Figures show only what the public sees. Raises any error of storage or a child process.
    """
    phase_id, competition = int(payload["phase_id"]), int(payload["competition"])
    with platform.snapshot() as session:
        as_of = challenges.now(session)
        phase = challenges.phase_of_id(session, phase_id)
        board = challenges.board_of(session, phase_id, competition)
        withdrawals = boards.withdrawals_version(session, phase_id, competition)
        rows = select_rows(session, phase_id, competition)
        scores = load_scores(session, [row.run_id for row in rows])
        ladder = load_headlines(session, [row.ladder_run_id for row in rows])
    if phase is None or board is None:
        return
    compared = [row.run_id for row in rows if not row.is_outdated]
    groups.compute(platform, (phase_id, competition), compared, as_of)
    with platform.transaction() as session:
        overlays.request(session, phase_id)
    classes = columns_of(
        description_of(platform.descriptions, phase.description_key), competition, board.protocol
    )
    task = heldout_scoring.competition_of(phase.dataset, competition).task
    columns = Columns(classes, "part" if task == LAYOUT else "class")
    shown = scores_of(rows, scores, ladder, columns, public_visibility(phase))
    disclosure = disclosed(phase, withdrawals)
    _draw_if_changed(_Snapshot(platform, phase, competition, board.protocol, as_of, shown, disclosure))


def _draw_if_changed(snapshot: _Snapshot) -> None:
    with snapshot.platform.transaction() as session:
        before = artefacts.find(session, FIGURES, snapshot.subject)
    if before is not None and before.version == snapshot.version:
        return
    heads = [
        *(_store_figure(snapshot, figure) for figure in _figures_of_scores(snapshot)),
        *(_store_curves(snapshot, curves) for curves in _figures_of_curves(snapshot)),
    ]
    ranks = ranks_of([each.mean for each in snapshot.scores.methods])
    places = {
        str(each.method_id): PublicStanding(rank, each.mean)
        for each, rank in zip(snapshot.scores.methods, ranks, strict=True)
    }
    as_of = public_visibility(snapshot.phase).moment(snapshot.as_of)
    summary = Summary(snapshot.disclosed, as_of, tuple(heads), places)
    _store(snapshot, FIGURES, snapshot.subject, {**asdict(summary), "as_of": as_of.isoformat()})
    snapshot.platform.cache.expire_versions()


def _store_curves(snapshot: _Snapshot, curves: _ClassCurves) -> FigureHead:
    head = _store_figure(snapshot, curves.figure)
    return replace(head, is_curve=True, class_name=curves.class_name, best=curves.best)


def _store_figure(snapshot: _Snapshot, figure: Figure) -> FigureHead:
    """Store a figure and return its entry in the list of figures."""
    drawing = figure.drawing
    head = FigureHead(
        drawing.name,
        drawing.title,
        drawing.description,
        drawing.width - drawing.left,
        drawing.height,
        is_curve=False,
    )
    content = {
        "columns": [asdict(column) for column in figure.table.columns],
        "rows": figure.table.rows,
        "svg": render_template("figures/drawing.svg", drawing=drawing).strip(),
        "plot": None if drawing.plot is None else asdict(drawing.plot),
    }
    _store(snapshot, FIGURE, f"{snapshot.subject}/{drawing.name}", content)
    return head


def _store(snapshot: _Snapshot, kind: str, subject: str, content: Mapping[str, Any]) -> None:
    artefacts.store(
        snapshot.platform,
        kind,
        subject,
        snapshot.version,
        SVG_AND_NUMBERS,
        json.dumps(content).encode(),
        as_of=snapshot.as_of,
    )


def _figures_of_scores(snapshot: _Snapshot) -> Iterator[Figure]:
    """Draw the figures of the scores and, if details are public, the confusion matrix of the first method."""
    shows_details = public_visibility(snapshot.phase).details
    first = next(iter(snapshot.scores.methods), None)
    baseline = _baseline(snapshot) if shows_details else ()
    yield from summary_figures(replace(snapshot.scores, baseline=baseline))
    if first is None or not shows_details:
        return
    with snapshot.platform.transaction() as session:
        stored = exhibits(session, [first.run_id], heldout_scoring.ConfusionMatrix.kind)
    for content in stored.values():
        matrix = from_plain(heldout_scoring.ConfusionMatrix, content)
        yield confusion(first.name, matrix.labels, matrix.counts)


def _baseline(snapshot: _Snapshot) -> tuple[float | None, ...]:
    """Compute the scores of random rankings for ranking tasks. Any complete method will do: all rank the same objects."""
    complete = next((each for each in snapshot.scores.methods if None not in each.values), None)
    rules = _rules_of_rankings(snapshot)
    if complete is None or rules is None:
        return ()
    values: list[float | None] = []
    for name in snapshot.scores.classes:
        with snapshot.platform.transaction() as session:
            stored = [exhibits(session, [complete.run_id], kind, name) for kind in CURVES]
        content = next((each[complete.run_id] for each in stored if each), None)
        values.append(None if content is None else _random_score(content, rules))
    return tuple(values)


def _rules_of_rankings(snapshot: _Snapshot) -> Any | None:
    """Return the rules of a task that ranks every image or person, or None for other tasks."""
    task = heldout_scoring.competition_of(snapshot.phase.dataset, snapshot.competition).task
    return heldout_scoring.protocol_of(snapshot.protocol).rules_of(task) if task in RANKING else None


def _random_score(stored: Mapping[str, Any], rules: Any) -> float | None:
    if stored["kind"] == heldout_scoring.RocCurve.kind:
        outcomes = np.frombuffer(from_plain(heldout_scoring.RocCurve, stored).outcomes, np.int8)
    else:
        outcomes = np.frombuffer(from_plain(heldout_scoring.Curve, stored).outcomes, np.int8)
    return random_baseline(outcomes, rules.measure.of)


def random_baseline(
    outcomes: NDArray[np.int8],
    value: Callable[[RankedPredictions], float],
    *,
    permutations: int = PERMUTATIONS,
) -> float | None:
    """The mean score in [0, 1] of random permutations of a class's outcomes; None where it has no score.

    Precision depends on the prevalence, so this differs between classes. Only the number of positives and negatives
    matters, not their order. Random numbers are the raw output of PCG64. Source: Everingham et al., "The PASCAL Visual Object
    Classes (VOC) Challenge", 2010, section 6.1.3 and Figure 9, where it is the score of a single random order.

    >>> random_baseline(np.array([1, 0], np.int8), lambda ranked: ranked.outcomes[0].item(), permutations=100)
    0.49
    """
    counted = np.sort(outcomes[outcomes != IGNORED])
    places = np.arange(len(counted), dtype=np.int32)
    falling, positives = -places.astype(np.float64), int(np.count_nonzero(counted == TRUE_POSITIVE))
    generator, total = np.random.PCG64(SEED), 0.0
    for _ in range(permutations):
        order = np.argsort(generator.random_raw(len(counted)), kind="stable")
        total += value(RankedPredictions("", positives, places, falling, counted[order]))
    return None if math.isnan(total) else total / permutations


def _figures_of_curves(snapshot: _Snapshot) -> Iterator[_ClassCurves]:
    """Draw the curves of every class, best first, if details are public."""
    board = snapshot.scores
    if not public_visibility(snapshot.phase).details or len(board.classes) > MOST_CLASSES:
        return
    ranks = _rules_of_rankings(snapshot) is not None
    for place, name in enumerate(board.classes):
        for kind, axes in CURVES.items():
            entered = [each for each in board.methods if each.values[place] is not None]
            entered.sort(key=lambda each: -(each.values[place] or 0.0))
            chosen = entered[:MOST_CURVES]
            with snapshot.platform.transaction() as session:
                stored = exhibits(session, [each.run_id for each in chosen], kind, name)
            curves = [
                _curve_of(each.name, each.values[place], stored[each.run_id])
                for each in chosen
                if each.run_id in stored
            ]
            if curves:
                level = (
                    _random_precision(stored.values())
                    if ranks and kind == heldout_scoring.Curve.kind
                    else None
                )
                shown = replace(axes, level=level, level_name="random rankings")
                figure = curves_of_class(place, name, curves, shown, methods=len(entered))
                yield _ClassCurves(figure, name, curves[0].value)


def _random_precision(curves: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the fraction of positives in the longest curve: a random ranking's precision at every recall."""
    outcomes = (np.frombuffer(from_plain(heldout_scoring.Curve, each).outcomes, np.int8) for each in curves)
    counted = max((each[each != IGNORED] for each in outcomes), key=len, default=np.zeros(0, np.int8))
    return float(np.mean(counted == TRUE_POSITIVE)) if len(counted) else None


def _curve_of(name: str, value: float | None, stored: Mapping[str, Any]) -> Curve:
    """Turn a stored curve into points."""
    if stored["kind"] == heldout_scoring.RocCurve.kind:
        rates = from_plain(heldout_scoring.RocCurve, stored).points()
        return Curve(name, value, rates.fpr, rates.tpr)
    points = from_plain(heldout_scoring.Curve, stored).points()
    return Curve(name, value, points.recall, points.precision)


CURVES: Mapping[str, Axes] = {
    heldout_scoring.Curve.kind: PRECISION_RECALL,
    heldout_scoring.RocCurve.kind: ROC,
}


def queue_outdated(platform: Platform) -> int:
    """Queue drawing for boards whose figures are missing or outdated. Returns the number of boards."""
    with platform.transaction() as session:
        boards = outdated(session, FIGURES_VERSION)
        for phase_id, competition in boards:
            queue.add_board(session, phase_id, competition)
    if boards:
        platform.notifier.wake_workers()
    return len(boards)
