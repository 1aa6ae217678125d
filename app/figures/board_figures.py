"""Figures of a board, drawn by a job after its rows have changed."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

import numpy as np
from sqlalchemy import and_, cast, func, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.types import Text

import scoring
from app.boards import boards
from app.boards.boards import Audience, is_shown_to, ranks_of
from app.challenges import challenges
from app.challenges.challenges import PhaseView, description_of
from app.challenges.disclosure import Sight, StoredScore, public_sight
from app.figures.drawings import BoardScores, MethodScores, confusion, curves_of_class, summary_figures
from app.images import overlays
from app.jobs import queue
from app.models import (
    Artefact,
    Board,
    ClassScore,
    Exhibit,
    JobKind,
    Method,
    Phase,
    Queue,
    Result,
    Run,
    Submission,
)
from app.platform import Platform
from app.results import exhibits as artefacts
from app.results import groups, headlines
from app.results.headlines import SCORE
from app.results.scored_runs import stands_on_board
from app.web.charts.curves import Axes, Curve
from app.web.charts.shapes import Figure
from app.web.dependencies import draw
from scoring.analysis.random_baseline import random_baseline
from scoring.data.matches import RankedPredictions
from scoring.metrics.ranking import IGNORED, TRUE_POSITIVE
from scoring.protocols import TASKS
from scoring.tasks.ranking.rules import LabelRules


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A public method on a board; its scores follow by run."""

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
    """The columns of a board, and what they are: "class", or "part" of a person."""

    classes: tuple[str, ...]
    what: str


@dataclass(frozen=True, slots=True)
class FigureHead:
    """A figure in the list of a board's; is_curve: one of many, which a page loads when it is looked at."""

    name: str
    title: str
    description: str
    width: float
    height: float
    is_curve: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A method's rank and mean, as everybody sees them."""

    rank: int | None
    mean: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What was drawn of a board: under which disclosure, from what was there when, which figures, and whose rank is which.

    places: by number of the method.
    """

    disclosed: str
    as_of: datetime
    figures: tuple[FigureHead, ...]
    places: dict[str, Place]


def disclosed(phase: PhaseView, taken_back: int) -> str:
    """What everybody sees of a board's results; figures that were drawn under another disclosure are not shown.

    taken_back: another number once results were withdrawn or hidden, so that figures with them vanish before new ones are drawn.
    """
    is_hidden = phase.embargo and not phase.is_over
    return "nothing" if is_hidden else f"{public_sight(phase)!r} {taken_back}"


def version_of(board: BoardScores, disclosure: str) -> str:
    """What differs where the figures of a board would."""
    return sha256(repr((disclosure, board)).encode()).hexdigest()[:24]


def scores_of(
    rows: Sequence[FigureRow],
    scores: Mapping[int, Mapping[str | None, StoredScore]],
    ladder: Mapping[int, StoredScore],
    board: Columns,
    sight: Sight,
) -> BoardScores:
    """The scores of a board as a reader with this sight sees them, best first; those without a mean follow."""
    methods = []
    for row in rows:
        own, seen = scores.get(row.run_id, {}), sight.of_result(is_complete=row.is_complete)
        values = tuple(seen.value(own[name]) if name in own else None for name in board.classes)
        mean = seen.mean(own.get(None), ladder.get(row.ladder_run_id or 0))
        date = sight.moment(row.date)
        methods.append(MethodScores(row.name, mean, values, date, row.is_baseline, row.run_id, row.method_id))
    methods.sort(key=lambda each: (each.mean is None, -(each.mean or 0.0), each.date, each.run_id))
    return BoardScores(rows[0].measure if rows else "", board.classes, tuple(methods), board.what)


FIGURES = "board figures"  # kind of the artefact that lists those of a board


def select_rows(session: Session, phase_id: int, competition: int) -> list[FigureRow]:
    """The public methods on a board."""
    is_outdated = or_(Run.ground_truth_id != Board.ground_truth_id, Run.scorer != Board.scorer)
    statement = (
        select(
            Run.id, Run.ladder_run_id, Result.is_complete, Method.id, Method.name, Method.is_baseline,
            Submission.created_at, func.coalesce(Run.measure, ""), is_outdated,
        )
        .join(Result, Result.published_run_id == Run.id)
        .join(Board, stands_on_board())
        .join(Method, Result.method_id == Method.id)
        .join(Submission, Result.submission_id == Submission.id)
        .where(
            Result.phase_id == phase_id,
            Result.competition == competition,
            is_shown_to(Audience.PUBLIC),
        )
        .order_by(Run.id)
    )  # fmt: skip
    return [FigureRow(*row) for row in session.execute(statement)]


def scores_by_run(session: Session, run_ids: Collection[int]) -> dict[int, dict[str | None, StoredScore]]:
    """By run, the scores of its classes; the headline stands under None."""
    statement = select(ClassScore.run_id, ClassScore.class_name, *SCORE).where(ClassScore.run_id.in_(run_ids))
    found: dict[int, dict[str | None, StoredScore]] = {}
    for run, name, value, held_out, reason in session.execute(statement):
        found.setdefault(run, {})[name] = StoredScore(value, held_out, reason)
    return found


def exhibits(
    session: Session, run_ids: Collection[int], kind: str, name: str | None = None
) -> dict[int, Any]:
    """By run, its exhibit of a kind, of one class where it has one for each; for those alone who see details."""
    statement = select(Exhibit.run_id, Exhibit.content).where(
        Exhibit.run_id.in_(run_ids), Exhibit.kind == kind
    )
    if name is not None:
        statement = statement.where(Exhibit.content["class_name"].astext == name)
    return dict(session.execute(statement).all())


def outdated(session: Session, drawn: str) -> list[tuple[int, int]]:
    """Boards (phase, competition) to draw anew: never drawn, drawn otherwise than `drawn` says, or before their phase was over.

    A board for which a message waits, or was given up, is not among them.
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
    is_asked_for = queue.is_asked_for(JobKind.BOARD, subject)
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


DRAWN = "5"  # another one has the figures of every board drawn anew
FIGURE = "board figure"  # kind of the artefact that is one figure
SVG_AND_NUMBERS = "application/json"
MOST_CURVES = 100  # of one drawing
MOST_CLASSES = 100  # that have a drawing of curves
LAYOUT = "layout"
PERMUTATIONS = 10  # random rankings of each class


@dataclass(frozen=True, slots=True)
class Making:
    """A board whose figures are drawn, as it was at `as_of`."""

    platform: Platform
    phase: PhaseView
    competition: int
    protocol: str
    as_of: datetime
    scores: BoardScores
    disclosed: str

    @property
    def subject(self) -> str:
        """What its artefacts are named by."""
        return f"{self.phase.id}/{self.competition}"

    @property
    def version(self) -> str:
        """What differs where other figures would be drawn."""
        return f"{DRAWN}-{version_of(self.scores, self.disclosed)}"


def refresh(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Compute the groups and draw the figures of the board in `payload`; cheap if nothing has changed.

    Figures show what everybody sees. Raises whatever keeps storage or a child process from working.
    """
    phase_id, competition = int(payload["phase_id"]), int(payload["competition"])
    with platform.snapshot() as session:
        as_of = challenges.now(session)
        phase = challenges.phase_of_id(session, phase_id)
        board = challenges.board_of(session, phase_id, competition)
        taken_back = boards.withdrawals_number(session, phase_id, competition)
        rows = select_rows(session, phase_id, competition)
        scores = scores_by_run(session, [row.run_id for row in rows])
        ladder = headlines.headlines(session, [row.ladder_run_id for row in rows])
    if phase is None or board is None:
        return
    compared = [row.run_id for row in rows if not row.is_outdated]
    groups.compute(platform, (phase_id, competition), compared, as_of)
    with platform.transaction() as session:
        overlays.request(session, phase_id)
    classes = scoring.columns(
        description_of(platform.descriptions, phase.description_key), competition, board.protocol
    )
    task = scoring.competition_of(phase.dataset, competition).task
    columns = Columns(classes, "part" if task == LAYOUT else "class")
    shown = scores_of(rows, scores, ladder, columns, public_sight(phase))
    seen = disclosed(phase, taken_back)
    _draw_if_changed(Making(platform, phase, competition, board.protocol, as_of, shown, seen))


def _draw_if_changed(making: Making) -> None:
    with making.platform.transaction() as session:
        before = artefacts.find(session, FIGURES, making.subject)
    if before is not None and before.version == making.version:
        return
    heads = [
        *(_keep(making, figure) for figure in _figures_of_scores(making)),
        *(_keep(making, figure, is_curve=True) for figure in _figures_of_curves(making)),
    ]
    ranks = ranks_of([each.mean for each in making.scores.methods])
    places = {
        str(each.method_id): Place(rank, each.mean)
        for each, rank in zip(making.scores.methods, ranks, strict=True)
    }
    as_of = public_sight(making.phase).moment(making.as_of)
    summary = Summary(making.disclosed, as_of, tuple(heads), places)
    _store(making, FIGURES, making.subject, {**asdict(summary), "as_of": as_of.isoformat()})
    making.platform.cache.forget_versions()


def _keep(making: Making, figure: Figure, *, is_curve: bool = False) -> FigureHead:
    """Store a figure, and what a list of figures says of it."""
    drawing = figure.drawing
    head = FigureHead(
        drawing.name,
        drawing.title,
        drawing.description,
        drawing.width - drawing.left,
        drawing.height,
        is_curve,
    )
    content = {
        "columns": [asdict(column) for column in figure.table.columns],
        "rows": figure.table.rows,
        "svg": draw("figures/drawing.svg", drawing=drawing).strip(),
    }
    _store(making, FIGURE, f"{making.subject}/{drawing.name}", content)
    return head


def _store(making: Making, kind: str, subject: str, content: Mapping[str, Any]) -> None:
    artefacts.store(
        making.platform,
        kind,
        subject,
        making.version,
        SVG_AND_NUMBERS,
        json.dumps(content).encode(),
        as_of=making.as_of,
    )


def _figures_of_scores(making: Making) -> Iterator[Figure]:
    """The figures that follow from the scores, and the confusion of the first method, where details are shown."""
    shows_details = public_sight(making.phase).details
    first = next(iter(making.scores.methods), None)
    baseline = _baseline(making) if shows_details else ()
    yield from summary_figures(replace(making.scores, baseline=baseline))
    if first is None or not shows_details:
        return
    with making.platform.transaction() as session:
        stored = exhibits(session, [first.run_id], scoring.ConfusionMatrix.kind)
    for content in stored.values():
        matrix = scoring.from_plain(scoring.ConfusionMatrix, content)
        yield confusion(first.name, matrix.labels, matrix.counts)


def _baseline(making: Making) -> tuple[float | None, ...]:
    """The scores of random rankings, where everything is ranked: of any method's curves, for all have the same objects."""
    complete = next((each for each in making.scores.methods if None not in each.values), None)
    rules = _rules_of_rankings(making)
    if complete is None or rules is None:
        return ()
    found: list[float | None] = []
    for name in making.scores.classes:
        with making.platform.transaction() as session:
            stored = [exhibits(session, [complete.run_id], kind, name) for kind in CURVES]
        content = next((each[complete.run_id] for each in stored if each), None)
        found.append(None if content is None else _random_score(name, content, rules))
    return tuple(found)


def _rules_of_rankings(making: Making) -> LabelRules | None:
    """The rules of a task in which every image or person is ranked; none for others."""
    task = TASKS[scoring.competition_of(making.phase.dataset, making.competition).task]
    rules = scoring.protocol_of(making.protocol).rules_of(task)
    return rules if isinstance(rules, LabelRules) else None


def _random_score(name: str, stored: Mapping[str, Any], rules: LabelRules) -> float | None:
    if stored["kind"] == scoring.RocCurve.kind:
        outcomes = np.frombuffer(scoring.from_plain(scoring.RocCurve, stored).outcomes, np.int8)
    else:
        outcomes = np.frombuffer(scoring.from_plain(scoring.Curve, stored).outcomes, np.int8)
    nothing = np.zeros(len(outcomes))
    ranked = RankedPredictions(
        name, int(np.count_nonzero(outcomes == 1)), nothing.astype(np.int32), nothing, outcomes
    )
    return random_baseline(ranked, rules.measure.of, permutations=PERMUTATIONS)


def _figures_of_curves(making: Making) -> Iterator[Figure]:
    """The curves of every class, best first, where details are shown."""
    board = making.scores
    if not public_sight(making.phase).details or len(board.classes) > MOST_CLASSES:
        return
    ranks = _rules_of_rankings(making) is not None
    for place, name in enumerate(board.classes):
        for kind, axes in CURVES.items():
            entered = [each for each in board.methods if each.values[place] is not None]
            entered.sort(key=lambda each: -(each.values[place] or 0.0))
            chosen = entered[:MOST_CURVES]
            with making.platform.transaction() as session:
                stored = exhibits(session, [each.run_id for each in chosen], kind, name)
            curves = [
                _curve_of(each.name, each.values[place], stored[each.run_id])
                for each in chosen
                if each.run_id in stored
            ]
            if curves:
                level = _random_precision(stored.values()) if ranks and kind == scoring.Curve.kind else None
                shown = replace(axes, level=level, level_name="random rankings")
                yield curves_of_class(place, name, curves, shown, methods=len(entered))


def _random_precision(curves: Iterable[Mapping[str, Any]]) -> float | None:
    """The share of positives, which a random ranking's precision is at every recall: by the curve that ranks most."""
    outcomes = (np.frombuffer(scoring.from_plain(scoring.Curve, each).outcomes, np.int8) for each in curves)
    counted = max((each[each != IGNORED] for each in outcomes), key=len, default=np.zeros(0, np.int8))
    return float(np.mean(counted == TRUE_POSITIVE)) if len(counted) else None


def _curve_of(name: str, value: float | None, stored: Mapping[str, Any]) -> Curve:
    """A stored curve in points."""
    if stored["kind"] == scoring.RocCurve.kind:
        rates = scoring.from_plain(scoring.RocCurve, stored).points()
        return Curve(name, value, rates.fpr, rates.tpr)
    points = scoring.from_plain(scoring.Curve, stored).points()
    return Curve(name, value, points.recall, points.precision)


CURVES: Mapping[str, Axes] = {
    scoring.Curve.kind: Axes("Recall", "Precision"),
    scoring.RocCurve.kind: Axes("False positive rate", "True positive rate"),
}


def sweep(platform: Platform) -> int:
    """Have the figures drawn of boards that have none, or have older ones than their phase's end; how many boards."""
    with platform.transaction() as session:
        boards = outdated(session, DRAWN)
        for phase_id, competition in boards:
            queue.add_board(session, phase_id, competition)
    if boards:
        platform.notifier.wake_workers(Queue.FOLLOW_UPS)
    return len(boards)
