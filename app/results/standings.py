"""Public results on boards: the newest, those of a method, and all methods of a phase."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf

from sqlalchemy import ColumnElement, Select, and_, func, null, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased, contains_eager

import heldout_scoring
from app.challenges.challenges import PHASE_ORDER, PhaseRef, PhaseView, is_open_to_others
from app.challenges.disclosure import StoredScore, Visibility, public_visibility, withheld
from app.models import Board, Method, Phase, Result, ResultState, Run, Submission
from app.people.teams import TeamRef, is_public
from app.results.recording import is_on_board
from app.results.scores import load_headlines
from app.submissions.methods import MethodRef


@dataclass(frozen=True, slots=True)
class RankedMethod:
    """A method among the first of a board; `key` is its mean in tenths of a percent, None if missing or hidden."""

    competition: int
    method_id: int
    key: int | None


@dataclass(frozen=True, slots=True)
class ResultView:
    """A result on a board; the mean is None if a class is missing or the phase does not disclose it."""

    phase: PhaseRef
    competition: int
    title: str  # of the competition
    method: MethodRef
    team: TeamRef
    submission: int
    mean: float | None
    date: datetime
    own_data: bool = False  # the method may be trained on data other than the given
    measure: str = ""
    low: float | None = None  # of the 95 % confidence interval of the mean; None if hidden or being computed
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CompetitionColumn:
    """A competition in which at least one of the methods has a result."""

    competition: int
    task: str
    title: str
    own_data: bool  # methods may be trained on data other than the given


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """A method's result in a competition."""

    submission: int
    mean: float | None
    best: bool  # the best of the competition
    date: datetime


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A method with a cell for each column, None where it has no result."""

    method: MethodRef
    team: TeamRef
    cells: tuple[MatrixCell | None, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Methods by competitions of one phase, ordered by the best rank of any of their results."""

    challenge: str
    image_set: str
    columns: tuple[CompetitionColumn, ...]
    rows: tuple[MatrixRow, ...]
    page: int
    next_page: int | None
    has_more: bool  # more methods follow, on the next page or, without one, on the boards
    withheld: str | None  # what is hidden from readers, and until when


@dataclass(frozen=True, slots=True)
class RecentSubmission:
    """A submission with at least one result on the boards."""

    phase: PhaseRef
    method: MethodRef
    team: TeamRef
    submission: int
    date: datetime
    results: tuple[ResultView, ...]  # by competition


def best_first(ranked: Iterable[RankedMethod]) -> list[int]:
    """Order methods by the best rank of any of their results; ties by competition.

    Equal means share a rank. Methods without a mean, or with hidden means, follow, newest first.

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
    """Return the methods with the highest mean of a competition, as (competition, method).

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
    """Convert results to `RankedMethod`s, by the means that their reader sees."""
    return [
        RankedMethod(each.competition, each.method.id, None if each.mean is None else round(1000 * each.mean))
        for each in results
    ]


def columns_of(dataset: str, competitions: Iterable[int]) -> tuple[CompetitionColumn, ...]:
    """Return the columns of these competitions, by number."""
    infos = (heldout_scoring.competition_of(dataset, number) for number in sorted(set(competitions)))
    return tuple(CompetitionColumn(info.number, info.task, info.title, info.own_data) for info in infos)


def rows_of(
    results: Iterable[ResultView],
    methods: Iterable[int],
    columns: Sequence[CompetitionColumn],
    leaders: Container[tuple[int, int]],
) -> tuple[MatrixRow, ...]:
    """Return a row for each of these methods that has results, in this order."""
    found: defaultdict[int, dict[int, ResultView]] = defaultdict(dict)
    for each in results:
        found[each.method.id][each.competition] = each
    return tuple(_row(found[method], columns, leaders) for method in methods if method in found)


def _row(
    results: Mapping[int, ResultView],
    columns: Sequence[CompetitionColumn],
    leaders: Container[tuple[int, int]],
) -> MatrixRow:
    one = next(iter(results.values()))
    return MatrixRow(
        method=one.method,
        team=one.team,
        cells=tuple(_cell(results.get(column.competition), leaders) for column in columns),
    )


def _cell(result: ResultView | None, leaders: Container[tuple[int, int]]) -> MatrixCell | None:
    if result is None:
        return None
    is_best = result.mean is not None and (result.competition, result.method.id) in leaders
    return MatrixCell(result.submission, result.mean, is_best, result.date)


def submissions_of(results: Iterable[ResultView], limit: int) -> tuple[RecentSubmission, ...]:
    """Return the first `limit` submissions of these results, in their order."""
    found: dict[int, list[ResultView]] = {}
    for each in results:
        found.setdefault(each.submission, []).append(each)
    return tuple(_arrival(several) for several in list(found.values())[:limit])


def _arrival(results: Sequence[ResultView]) -> RecentSubmission:
    one = results[0]
    return RecentSubmission(
        phase=one.phase,
        method=one.method,
        team=one.team,
        submission=one.submission,
        date=one.date,
        results=tuple(sorted(results, key=lambda result: result.competition)),
    )


LOOKED_AT = 200  # newest results of a phase to search for public ones; the home page mentions it
ANY_RESULT = aliased(Result)


def is_shown() -> ColumnElement[bool]:
    """Whether a result on a board is public, for statements that join Method and Result."""
    return and_(is_public(), is_open_to_others(Result.phase_id, Result.submission_id))


def best_of_each_board(
    session: Session, phase_id: int, visibility: Visibility, limit: int
) -> list[RankedMethod]:
    """Return the best public methods of each board of a phase, including all that tie with the last.

    If means are hidden, return the newest, so that their order reveals nothing.
    """
    rank = rank_column(visibility)
    found = (
        select(
            Result.competition,
            Result.method_id,
            # -1 stands for a result without a mean, which ranks last
            (null() if rank is None else func.nullif(rank, -1)).label("key"),
        )
        .join(Result.method)
        .where(is_on_board(), is_shown())
        .correlate(Board)
    )
    if rank is None:
        first = found.order_by(Result.id.desc()).limit(limit).lateral()
    else:
        first = found.where(rank.is_not(None)).order_by(rank.desc()).fetch(limit, with_ties=True).lateral()
    statement = select(first.c.competition, first.c.method_id, first.c.key).select_from(Board)
    rows = session.execute(statement.join(first, true()).where(Board.phase_id == phase_id))
    return [RankedMethod(*row) for row in rows]


def rank_column(visibility: Visibility) -> InstrumentedAttribute[int | None] | None:
    """Return the column that decides ranks; None if ranks are hidden."""
    if not visibility.means:
        return None
    return Result.ladder_rank_key if visibility.by_ladder else Result.rank_key


def newest(session: Session, phases: Sequence[PhaseView], limit: int) -> list[Run]:
    """Return the newest public results of these phases, for each among its last `LOOKED_AT` results."""
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
        .join(Board, is_on_board())
        .join(Result.method)
        .where(is_shown())
        .order_by(recent.c.id.desc())
        .limit(limit)
        .lateral()
    )
    ids = (
        select(shown.c.id)
        .select_from(Phase)
        .join(shown, true())
        .where(Phase.id.in_([phase.id for phase in phases]))
        .order_by(shown.c.id.desc())
        .limit(limit)
    )
    statement = _runs().where(Result.id.in_(ids.scalar_subquery())).order_by(Result.id.desc())
    return list(session.scalars(statement))


def select_of_methods(
    session: Session,
    methods: Collection[int],
    phase_ids: Collection[int],
    *,
    only_public: bool,
) -> list[Run]:
    """Return the results of these methods on boards of these phases, in the order of image sets and competitions."""
    statement = (
        _runs()
        .join(Result.phase)
        .where(Result.method_id.in_(methods), Result.phase_id.in_(phase_ids))
        .where(is_shown() if only_public else true())
        .order_by(*PHASE_ORDER, Result.competition, Result.id)
    )
    return list(session.scalars(statement))


def runs_of_results(session: Session, ids: Collection[int]) -> list[Run]:
    """Return the runs that boards show of these results."""
    return list(session.scalars(_runs().where(Result.id.in_(ids)))) if ids else []


def methods_of_team(session: Session, team_id: int, limit: int, *, only_public: bool) -> list[int]:
    """Return the newest methods of a team that have a result on a board."""
    standing = (
        select(Result.id)
        .join(Board, is_on_board())
        .where(Result.method_id == Method.id, is_shown() if only_public else true())
        .correlate(Method)
        .exists()
    )
    statement = select(Method.id).where(Method.team_id == team_id, standing)
    return list(session.scalars(statement.order_by(Method.id.desc()).limit(limit)))


def _runs() -> Select[Run]:
    """Select the runs that boards show, each with its result and what that belongs to."""
    result = contains_eager(Run.result)
    method = result.contains_eager(Result.method)
    return (
        select(Run)
        .join(Result, Result.published_run_id == Run.id)
        .join(Board, is_on_board())
        .join(Result.method)
        .join(Method.team)
        .join(Result.submission)
        .options(
            method.defer(Method.description),
            method.contains_eager(Method.team),
            result.contains_eager(Result.submission).load_only(Submission.created_at),
        )
    )


PAGE = 50  # methods
MOST_PAGES = 20  # further methods are on the boards
RESULTS_EACH = 4  # typical for a submission
Visibilities = Mapping[int, tuple[PhaseView, Visibility]]  # by phase


def recent_submissions(
    session: Session, phases: Sequence[PhaseView], limit: int
) -> tuple[RecentSubmission, ...]:
    """Return the newest submissions with public results."""
    found = newest(session, phases, limit * RESULTS_EACH)
    return submissions_of(views(session, found, public_visibilities(phases)), limit)


def public_visibilities(phases: Sequence[PhaseView]) -> Visibilities:
    """Return what is public of these phases."""
    return {phase.id: (phase, public_visibility(phase)) for phase in phases}


def results_of_methods(
    session: Session, methods: Collection[int], visibilities: Visibilities, *, only_public: bool
) -> tuple[ResultView, ...]:
    """Return the results of these methods on the boards of these phases."""
    return views(
        session, select_of_methods(session, methods, visibilities, only_public=only_public), visibilities
    )


def views(session: Session, runs: Sequence[Run], visibilities: Visibilities) -> tuple[ResultView, ...]:
    """Return what may be seen of the results that these runs on boards are of."""
    means = load_headlines(session, {number for run in runs for number in (run.id, run.ladder_run_id)})
    return tuple(_result_view(run, means, *visibilities[run.result.phase_id]) for run in runs)


def _result_view(
    run: Run, means: Mapping[int, StoredScore], phase: PhaseView, visibility: Visibility
) -> ResultView:
    result, score = run.result, means.get(run.id)
    info = heldout_scoring.competition_of(phase.dataset, result.competition)
    low, high = visibility.interval(score) if score else (None, None)
    return ResultView(
        phase=phase.ref,
        competition=result.competition,
        title=info.title,
        method=MethodRef.of(result.method),
        team=TeamRef.of(result.method.team),
        submission=result.submission_id,
        mean=visibility.mean(score, means.get(run.ladder_run_id or 0)),
        date=visibility.moment(result.submission.created_at),
        own_data=info.own_data,
        measure=run.measure or "",
        low=low,
        high=high,
    )


def matrix(session: Session, phase: PhaseView, page: int) -> Matrix:
    """Return a page of the public methods of a phase by its competitions."""
    visibility = public_visibility(phase)
    ranked = best_of_each_board(session, phase.id, visibility, page * PAGE + 1)
    order = best_first(ranked)
    shown = order[(page - 1) * PAGE : page * PAGE]
    columns = columns_of(phase.dataset, {each.competition for each in ranked})
    results = results_of_methods(session, shown, {phase.id: (phase, visibility)}, only_public=True)
    has_more = len(order) > page * PAGE
    return Matrix(
        challenge=phase.challenge,
        image_set=phase.image_set,
        columns=columns,
        rows=rows_of(results, shown, columns, leaders_of(ranked)),
        page=page,
        next_page=page + 1 if has_more and page < MOST_PAGES else None,
        has_more=has_more,
        withheld=withheld(phase, visibility),
    )


def matrices_of_team(
    session: Session, team_id: int, visibilities: Visibilities, *, only_public: bool
) -> tuple[Matrix, ...]:
    """Return the newest methods of a team by the competitions of each phase with their results, best first."""
    methods = methods_of_team(session, team_id, PAGE + 1, only_public=only_public)
    results = results_of_methods(session, methods[:PAGE], visibilities, only_public=only_public)
    found = ((phase, visibility, _results_on(phase, results)) for phase, visibility in visibilities.values())
    has_more = len(methods) > PAGE
    return tuple(
        _own_matrix(phase, visibility, own, has_more=has_more) for phase, visibility, own in found if own
    )


def _results_on(phase: PhaseView, results: Sequence[ResultView]) -> list[ResultView]:
    return [each for each in results if each.phase == phase.ref]


def _own_matrix(
    phase: PhaseView, visibility: Visibility, results: Sequence[ResultView], *, has_more: bool
) -> Matrix:
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
        withheld=withheld(phase, visibility),
    )
