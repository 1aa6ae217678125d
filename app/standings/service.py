"""Standing results with the values that everybody may see."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy.orm import Session

import scoring
from app.disclosure import queries as disclosure
from app.disclosure.rules import Sight, public_sight, withheld
from app.editions.schemas import PhaseView
from app.standings import queries
from app.standings.rules import arrivals_of, best_first, columns_of, leaders_of, ranked_of, rows_of
from app.standings.schemas import Arrival, Matrix, ResultView, StoredResult

PAGE = 50  # methods
MOST_PAGES = 20  # what follows is on the boards
RESULTS_EACH = 4  # of a submission, as a rule
Sights = Mapping[int, tuple[PhaseView, Sight]]  # by phase


def arrivals(session: Session, phases: Sequence[PhaseView], limit: int) -> tuple[Arrival, ...]:
    """The newest submissions with results that everybody sees."""
    found = queries.newest(session, limit * RESULTS_EACH)
    return arrivals_of(views(session, found, public_sights(phases)), limit)


def public_sights(phases: Sequence[PhaseView]) -> Sights:
    """What everybody sees of these phases."""
    return {phase.id: (phase, public_sight(phase)) for phase in phases}


def of_methods(
    session: Session, methods: Collection[int], sights: Sights, *, only_public: bool
) -> tuple[ResultView, ...]:
    """The results of these methods on the boards of these phases."""
    return views(session, queries.of_methods(session, methods, sights, only_public=only_public), sights)


def views(session: Session, results: Sequence[StoredResult], sights: Sights) -> tuple[ResultView, ...]:
    """Stored results with what may be seen of them."""
    headlines = disclosure.headlines(
        session, {run for each in results for run in (each.run_id, each.ladder_run_id)}
    )
    return tuple(
        ResultView(
            edition=phase.edition,
            edition_title=phase.edition_title,
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
    ranked = queries.first_of_boards(session, phase.id, sight, page * PAGE + 1)
    order = best_first(ranked)
    shown = order[(page - 1) * PAGE : page * PAGE]
    columns = columns_of(phase.dataset, {each.competition for each in ranked})
    results = of_methods(session, shown, {phase.id: (phase, sight)}, only_public=True)
    has_more = len(order) > page * PAGE
    return Matrix(
        edition=phase.edition,
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
    methods = queries.methods_of_team(session, team_id, PAGE + 1, only_public=only_public)
    results = of_methods(session, methods[:PAGE], sights, only_public=only_public)
    found = ((phase, sight, _results_on(phase, results)) for phase, sight in sights.values())
    has_more = len(methods) > PAGE
    return tuple(_own_matrix(phase, sight, own, has_more=has_more) for phase, sight, own in found if own)


def _results_on(phase: PhaseView, results: Sequence[ResultView]) -> list[ResultView]:
    return [each for each in results if (each.edition, each.image_set) == (phase.edition, phase.image_set)]


def _own_matrix(phase: PhaseView, sight: Sight, results: Sequence[ResultView], *, has_more: bool) -> Matrix:
    ranked = ranked_of(results)
    order = best_first(ranked)
    columns = columns_of(phase.dataset, {each.competition for each in results})
    return Matrix(
        edition=phase.edition,
        image_set=phase.image_set,
        columns=columns,
        rows=rows_of(results, order, columns, leaders_of(ranked) if len(order) > 1 else ()),
        page=1,
        next_page=None,
        has_more=has_more,
        withheld=withheld(phase, sight),
    )
