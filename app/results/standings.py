"""Results on boards as everybody may see them: the newest, those of a method, all methods of a phase."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, null, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

import scoring
from app.challenges.challenges import PhaseView, is_past_embargo
from app.challenges.disclosure import Sight, public_sight, withheld
from app.models import Board, Method, Phase, Result, ResultState, Run, Submission, Team
from app.people.teams import is_public
from app.results import headlines as disclosure
from app.results.scored_runs import stands_on_board


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result that stands on a board; its mean follows by run."""

    phase_id: int
    competition: int
    method_id: int
    method: str
    is_baseline: bool
    team_id: int
    team: str
    submission: int
    run_id: int
    ladder_run_id: int | None
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class RankedMethod:
    """A method among the first of a board: `key` is its mean in tenths of a percent; none where it has none, or it is hidden."""

    competition: int
    method_id: int
    key: int | None


@dataclass(frozen=True, slots=True)
class ResultView:
    """A result that stands on a board; without a mean where it lacks a class, or where the phase does not disclose it."""

    challenge: str
    challenge_title: str
    image_set: str
    competition: int
    title: str  # of the competition
    method_id: int
    method: str
    is_baseline: bool
    team_id: int
    team: str
    submission: int
    mean: float | None
    date: datetime


@dataclass(frozen=True, slots=True)
class Column:
    """A competition in which at least one of the methods stands."""

    competition: int
    task: str
    title: str
    own_data: bool  # methods may be trained on other data than the given


@dataclass(frozen=True, slots=True)
class Cell:
    """A method's result in a competition."""

    submission: int
    mean: float | None
    best: bool  # of the competition


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A method with a cell for each column: none where it was not entered."""

    method_id: int
    method: str
    is_baseline: bool
    team_id: int
    team: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Methods by competitions of one phase, best first: a method with the best rank that any of its results has."""

    challenge: str
    image_set: str
    columns: tuple[Column, ...]
    rows: tuple[MatrixRow, ...]
    page: int
    next_page: int | None
    has_more: bool  # methods that follow; without a next page they are on the boards
    withheld: str | None  # what readers do not see, and until when


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a submission has brought to the boards, at least one result."""

    challenge: str
    challenge_title: str
    image_set: str
    method_id: int
    method: str
    team_id: int
    team: str
    submission: int
    date: datetime
    results: tuple[ResultView, ...]  # by competition


def best_first(ranked: Iterable[RankedMethod]) -> list[int]:
    """The methods by the best rank that any of their results has; who share it, by competition.

    Equal means share a rank. Methods without a mean, or whose means are hidden, follow, the newest first.

    >>> best_first([RankedMethod(1, 7, 800), RankedMethod(1, 8, 900), RankedMethod(3, 7, 500), RankedMethod(3, 9, None)])
    [8, 7, 9]
    """
    boards: defaultdict[int, list[RankedMethod]] = defaultdict(list)
    for each in ranked:
        boards[each.competition].append(each)
    best: dict[int, tuple[float, int, int]] = {}
    for competition, rows in boards.items():
        falling = sorted(-row.key for row in rows if row.key is not None)
        for row in rows:
            place = (inf, 0, -row.method_id)
            if row.key is not None:
                place = (bisect_left(falling, -row.key), competition, row.method_id)
            best[row.method_id] = min(place, best.get(row.method_id, place))
    return sorted(best, key=best.__getitem__)


def leaders_of(ranked: Iterable[RankedMethod]) -> frozenset[tuple[int, int]]:
    """Those with the highest mean of a competition, as (competition, method).

    >>> sorted(leaders_of([RankedMethod(1, 7, 900), RankedMethod(1, 8, 900), RankedMethod(1, 9, 80), RankedMethod(3, 7, None)]))
    [(1, 7), (1, 8)]
    """
    known = [each for each in ranked if each.key is not None]
    best: dict[int, int] = {}
    for each in known:
        best[each.competition] = max(each.key or 0, best.get(each.competition, 0))
    return frozenset(
        (each.competition, each.method_id) for each in known if each.key == best[each.competition]
    )


def ranked_of(results: Iterable[ResultView]) -> list[RankedMethod]:
    """Results as they rank by the means that their reader sees."""
    return [
        RankedMethod(each.competition, each.method_id, None if each.mean is None else round(1000 * each.mean))
        for each in results
    ]


def columns_of(dataset: str, competitions: Iterable[int]) -> tuple[Column, ...]:
    """The columns of these competitions, by number."""
    infos = (scoring.competition_of(dataset, number) for number in sorted(set(competitions)))
    return tuple(Column(info.number, info.task, info.title, info.own_data) for info in infos)


def rows_of(
    results: Iterable[ResultView],
    methods: Iterable[int],
    columns: Sequence[Column],
    leaders: Container[tuple[int, int]],
) -> tuple[MatrixRow, ...]:
    """A row for each of these methods that has results, in this order."""
    found: defaultdict[int, dict[int, ResultView]] = defaultdict(dict)
    for each in results:
        found[each.method_id][each.competition] = each
    return tuple(_row(found[method], columns, leaders) for method in methods if method in found)


def _row(
    results: Mapping[int, ResultView], columns: Sequence[Column], leaders: Container[tuple[int, int]]
) -> MatrixRow:
    one = next(iter(results.values()))
    return MatrixRow(
        method_id=one.method_id,
        method=one.method,
        is_baseline=one.is_baseline,
        team_id=one.team_id,
        team=one.team,
        cells=tuple(_cell(results.get(column.competition), leaders) for column in columns),
    )


def _cell(result: ResultView | None, leaders: Container[tuple[int, int]]) -> Cell | None:
    if result is None:
        return None
    is_best = result.mean is not None and (result.competition, result.method_id) in leaders
    return Cell(result.submission, result.mean, best=is_best)


def arrivals_of(results: Iterable[ResultView], limit: int) -> tuple[Arrival, ...]:
    """The first `limit` submissions of these results, in their order."""
    found: dict[int, list[ResultView]] = {}
    for each in results:
        found.setdefault(each.submission, []).append(each)
    return tuple(_arrival(several) for several in list(found.values())[:limit])


def _arrival(results: Sequence[ResultView]) -> Arrival:
    one = results[0]
    return Arrival(
        challenge=one.challenge,
        challenge_title=one.challenge_title,
        image_set=one.image_set,
        method_id=one.method_id,
        method=one.method,
        team_id=one.team_id,
        team=one.team,
        submission=one.submission,
        date=one.date,
        results=tuple(sorted(results, key=lambda result: result.competition)),
    )


LOOKED_AT = 200  # the newest results of a phase among which public ones are looked for; home says so
ANY_RESULT = aliased(Result)


def is_shown() -> ColumnElement[bool]:
    """Whether everybody sees a result that stands; for statements that join Method and Result."""
    return and_(is_public(), is_past_embargo(Result.phase_id))


def first_of_boards(session: Session, phase_id: int, sight: Sight, limit: int) -> list[RankedMethod]:
    """The first public methods of each board of a phase, all that tie with the last of them included.

    Where means are hidden the newest, so that their order says nothing.
    """
    key = rank_column(sight)
    found = (
        select(
            Result.competition,
            Result.method_id,
            (null() if key is None else func.nullif(key, -1)).label("key"),
        )
        .join(Method, Result.method_id == Method.id)
        .where(stands_on_board(), is_shown())
        .correlate(Board)
    )
    if key is None:
        first = found.order_by(Result.id.desc()).limit(limit).lateral()
    else:
        first = found.where(key.is_not(None)).order_by(key.desc()).fetch(limit, with_ties=True).lateral()
    statement = select(first.c.competition, first.c.method_id, first.c.key).select_from(Board)
    rows = session.execute(statement.join(first, true()).where(Board.phase_id == phase_id))
    return [RankedMethod(*row) for row in rows]


def rank_column(sight: Sight) -> InstrumentedAttribute[int | None] | None:
    """What ranks are told by; none where they are not told."""
    if not sight.means:
        return None
    return Result.ladder_rank_key if sight.by_ladder else Result.rank_key


def newest(session: Session, limit: int) -> list[StoredResult]:
    """The newest public results; of each phase those among its last `LOOKED_AT` results."""
    recent = (
        select(ANY_RESULT.id)
        .where(ANY_RESULT.phase_id == Phase.id, ANY_RESULT.state == ResultState.SCORED)
        .order_by(ANY_RESULT.id.desc())
        .limit(LOOKED_AT)
        .correlate(Phase)
        .lateral()
    )
    shown = (
        select(Result.id)
        .select_from(recent)
        .join(Result, Result.id == recent.c.id)
        .join(Board, stands_on_board())
        .join(Method, Result.method_id == Method.id)
        .where(is_shown())
        .order_by(recent.c.id.desc())
        .limit(limit)
        .lateral()
    )
    ids = select(shown.c.id).select_from(Phase).join(shown, true()).order_by(shown.c.id.desc()).limit(limit)
    statement = _results().where(Result.id.in_(ids.scalar_subquery())).order_by(Result.id.desc())
    return [StoredResult(*row) for row in session.execute(statement)]


def select_of_methods(
    session: Session,
    methods: Collection[int],
    phase_ids: Collection[int],
    *,
    only_public: bool,
) -> list[StoredResult]:
    """The results of these methods that stand on boards of these phases."""
    statement = (
        _results()
        .where(Result.method_id.in_(methods), Result.phase_id.in_(phase_ids))
        .where(is_shown() if only_public else true())
        .order_by(Result.phase_id, Result.competition, Result.id)
    )
    return [StoredResult(*row) for row in session.execute(statement)]


def methods_of_team(session: Session, team_id: int, limit: int, *, only_public: bool) -> list[int]:
    """The newest methods of a team that have a result on a board."""
    standing = (
        select(Result.id)
        .join(Board, stands_on_board())
        .where(Result.method_id == Method.id, is_shown() if only_public else true())
        .correlate(Method)
        .exists()
    )
    statement = select(Method.id).where(Method.team_id == team_id, standing)
    return list(session.scalars(statement.order_by(Method.id.desc()).limit(limit)))


def _results() -> Select[*tuple[Any, ...]]:
    """The columns of a `StoredResult`."""
    return (
        select(
            Result.phase_id, Result.competition, Method.id, Method.name, Method.is_baseline, Team.id, Team.name,
            Submission.id, Run.id, Run.ladder_run_id, Submission.created_at,
        )
        .select_from(Result)
        .join(Board, stands_on_board())
        .join(Method, Result.method_id == Method.id)
        .join(Team, Method.team_id == Team.id)
        .join(Submission, Result.submission_id == Submission.id)
        .join(Run, Result.published_run_id == Run.id)
    )  # fmt: skip


PAGE = 50  # methods
MOST_PAGES = 20  # what follows is on the boards
RESULTS_EACH = 4  # of a submission, as a rule
Sights = Mapping[int, tuple[PhaseView, Sight]]  # by phase


def arrivals(session: Session, phases: Sequence[PhaseView], limit: int) -> tuple[Arrival, ...]:
    """The newest submissions with results that everybody sees."""
    found = newest(session, limit * RESULTS_EACH)
    return arrivals_of(views(session, found, public_sights(phases)), limit)


def public_sights(phases: Sequence[PhaseView]) -> Sights:
    """What everybody sees of these phases."""
    return {phase.id: (phase, public_sight(phase)) for phase in phases}


def of_methods(
    session: Session, methods: Collection[int], sights: Sights, *, only_public: bool
) -> tuple[ResultView, ...]:
    """The results of these methods on the boards of these phases."""
    return views(session, select_of_methods(session, methods, sights, only_public=only_public), sights)


def views(session: Session, results: Sequence[StoredResult], sights: Sights) -> tuple[ResultView, ...]:
    """Stored results with what may be seen of them."""
    headlines = disclosure.headlines(
        session, {run for each in results for run in (each.run_id, each.ladder_run_id)}
    )
    return tuple(
        ResultView(
            challenge=phase.challenge,
            challenge_title=phase.challenge_title,
            image_set=phase.image_set,
            competition=each.competition,
            title=scoring.competition_of(phase.dataset, each.competition).title,
            method_id=each.method_id,
            method=each.method,
            is_baseline=each.is_baseline,
            team_id=each.team_id,
            team=each.team,
            submission=each.submission,
            mean=sight.mean(headlines.get(each.run_id), headlines.get(each.ladder_run_id or 0)),
            date=sight.moment(each.sent_at),
        )
        for each in results
        for phase, sight in [sights[each.phase_id]]
    )


def matrix(session: Session, phase: PhaseView, page: int) -> Matrix:
    """The public methods of a phase by its competitions, a page of them."""
    sight = public_sight(phase)
    ranked = first_of_boards(session, phase.id, sight, page * PAGE + 1)
    order = best_first(ranked)
    shown = order[(page - 1) * PAGE : page * PAGE]
    columns = columns_of(phase.dataset, {each.competition for each in ranked})
    results = of_methods(session, shown, {phase.id: (phase, sight)}, only_public=True)
    has_more = len(order) > page * PAGE
    return Matrix(
        challenge=phase.challenge,
        image_set=phase.image_set,
        columns=columns,
        rows=rows_of(results, shown, columns, leaders_of(ranked)),
        page=page,
        next_page=page + 1 if has_more and page < MOST_PAGES else None,
        has_more=has_more,
        withheld=withheld(phase, sight),
    )


def of_team(session: Session, team_id: int, sights: Sights, *, only_public: bool) -> tuple[Matrix, ...]:
    """The newest methods of a team by the competitions of each phase in which they stand, best first."""
    methods = methods_of_team(session, team_id, PAGE + 1, only_public=only_public)
    results = of_methods(session, methods[:PAGE], sights, only_public=only_public)
    found = ((phase, sight, _results_on(phase, results)) for phase, sight in sights.values())
    has_more = len(methods) > PAGE
    return tuple(_own_matrix(phase, sight, own, has_more=has_more) for phase, sight, own in found if own)


def _results_on(phase: PhaseView, results: Sequence[ResultView]) -> list[ResultView]:
    return [
        each for each in results if (each.challenge, each.image_set) == (phase.challenge, phase.image_set)
    ]


def _own_matrix(phase: PhaseView, sight: Sight, results: Sequence[ResultView], *, has_more: bool) -> Matrix:
    ranked = ranked_of(results)
    order = best_first(ranked)
    columns = columns_of(phase.dataset, {each.competition for each in results})
    return Matrix(
        challenge=phase.challenge,
        image_set=phase.image_set,
        columns=columns,
        rows=rows_of(results, order, columns, leaders_of(ranked) if len(order) > 1 else ()),
        page=1,
        next_page=None,
        has_more=has_more,
        withheld=withheld(phase, sight),
    )
