"""The order of methods over several competitions."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from math import inf

import scoring
from app.standings.schemas import Arrival, Cell, Column, MatrixRow, RankedMethod, ResultView


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
        edition=one.edition,
        edition_title=one.edition_title,
        image_set=one.image_set,
        method_id=one.method_id,
        method=one.method,
        team_id=one.team_id,
        team=one.team,
        submission=one.submission,
        date=one.date,
        results=tuple(sorted(results, key=lambda result: result.competition)),
    )
