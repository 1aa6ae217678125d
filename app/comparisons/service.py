"""Comparing methods of a board, as far as a reader sees their results."""

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.analyses import queries as analyses
from app.analyses.schemas import AnalysisView, analysis_view
from app.comparisons import queries
from app.comparisons.queries import StandingRun
from app.comparisons.rules import (
    FEWEST,
    chosen_methods,
    differences_figure,
    obstacle_of,
    scores_figure,
    statistics_of,
)
from app.comparisons.schemas import Candidate, ComparedMethod, ComparisonView, Drawings, Statistics
from app.disclosure import queries as disclosure
from app.disclosure.rules import Sight, sight_of, withheld
from app.disclosure.schemas import RunScore, StoredScore
from app.editions import service as editions
from app.editions.schemas import PhaseView
from app.errors import NotFoundError
from app.exhibits import queries as exhibits
from app.leaderboards.rules import BoardAddress
from app.platform import Platform
from app.results.rules import classes_to_draw, curves_figure, errors_figure, view_of
from app.submissions import queries as submissions
from app.submissions.schemas import class_value
from scoring.analysis.image_outcomes import read_outcomes
from scoring.statistics.kept_replicates import read_replicates

MAX_CANDIDATES = 200  # methods to choose from on the page; every one can be named in an address


def comparison(
    platform: Platform, actor: Actor, address: BoardAddress, methods: Sequence[int]
) -> ComparisonView:
    """Methods of a board side by side, the first being the reference, with what the reader may see of them.

    Raises MalformedError for too many, and NotFoundError for a board that is not there or a method that does not stand on it.
    """
    chosen = chosen_methods(methods)
    with platform.snapshot() as session:
        phase = editions.find_phase(session, address.edition, address.image_set)
        if not queries.has_board(session, phase.id, address.competition):
            raise NotFoundError(
                f"{address.edition} {address.image_set} has no competition {address.competition}"
            )
        sight = sight_of(actor, phase)
        runs = queries.standing_runs(session, actor, phase.id, address.competition, chosen)
        if missing := set(chosen) - {run.method for run in runs}:
            numbers = ", ".join(map(str, sorted(missing)))
            raise NotFoundError(f"no method {numbers} stands on this board, or it is not public")
        stored = analyses.diagnoses(session, [run.run for run in runs]) if sight.details else {}
        found = _methods(session, sight, runs, stored)
        candidates, has_more = _candidates(session, actor, phase, address.competition, chosen, sight)
    obstacle = obstacle_of([run.setup for run in runs])
    is_ready = obstacle is None and len(stored) == len(runs) >= FEWEST
    return ComparisonView(
        edition=phase.edition,
        edition_title=phase.edition_title,
        image_set=phase.image_set,
        competition=address.competition,
        title=scoring.competition_of(phase.dataset, address.competition).title,
        measure=next((run.measure for run in runs), ""),
        methods=found,
        classes=tuple(dict.fromkeys(each.name for method in found for each in method.classes)),
        statistics=_statistics(platform, [run.run for run in runs]) if is_ready else None,
        is_computed=is_ready or not sight.details or obstacle is not None or len(runs) < FEWEST,
        obstacle=obstacle,
        withheld=withheld(phase, sight),
        beyond_public=sight.beyond_public,
        candidates=candidates,
        has_more=has_more,
        draws_images=phase.draws_images,
    )


def _methods(
    session: Session, sight: Sight, runs: Sequence[StandingRun], stored: Mapping[int, dict[str, Any]]
) -> tuple[ComparedMethod, ...]:
    scores = submissions.scores_of(session, [run.run for run in runs])
    ladder = disclosure.headlines(session, [run.ladder_run for run in runs])
    return tuple(
        _method(
            run,
            sight.of_result(is_complete=run.is_complete),
            scores.get(run.run, []),
            ladder.get(run.ladder_run or 0),
            analysis_view(stored.get(run.run)),
        )
        for run in runs
    )


def _method(
    run: StandingRun,
    sight: Sight,
    scores: Sequence[RunScore],
    ladder: StoredScore | None,
    analysis: AnalysisView,
) -> ComparedMethod:
    mean = next((score for score in scores if score.class_name is None), None)
    bounded = mean if sight.details else None
    return ComparedMethod(
        id=run.method,
        name=run.name,
        title=run.title,
        team=run.team,
        submission=run.submission,
        run=run.run,
        mean=sight.mean(mean, ladder),
        low=bounded.low if bounded else None,
        high=bounded.high if bounded else None,
        classes=tuple(class_value(score, sight) for score in scores if score.class_name is not None)
        if sight.classes
        else (),
        errors=analysis.errors_of(None),
    )


def _candidates(
    session: Session, actor: Actor, phase: PhaseView, competition: int, chosen: Sequence[int], sight: Sight
) -> tuple[tuple[Candidate, ...], bool]:
    """What the page has room for, and whether there are others."""
    rows = queries.candidates(
        session, actor, phase.id, competition, chosen, sight=sight, most=MAX_CANDIDATES + 1
    )
    ladder = disclosure.headlines(session, [ladder for *_, ladder, _ in rows])
    found = [Candidate(id_, name, sight.mean(own, ladder.get(other or 0))) for id_, name, other, own in rows]
    shown = found[:MAX_CANDIDATES]
    shown.sort(key=lambda each: (-(each.mean if each.mean is not None else -1), each.name))
    return tuple(shown), len(found) > MAX_CANDIDATES


def _statistics(platform: Platform, run_ids: Sequence[int]) -> Statistics:
    """Computed once for these runs, which never change, while the cache has space for it."""

    def make() -> bytes:
        with platform.transaction() as session:
            kept = analyses.kept_of(session, run_ids)
        compared = [
            (read_replicates(kept[run].replicates), read_outcomes(kept[run].image_outcomes))
            for run in run_ids
        ]
        return json.dumps(scoring.to_plain(statistics_of(compared))).encode()

    rendered = platform.cache.rendered(("comparison", *run_ids), make)
    return scoring.from_plain(Statistics, json.loads(gzip.decompress(rendered.compressed)))


def drawings(platform: Platform, view: ComparisonView, class_name: str | None) -> Drawings:
    """The figures of a comparison; curves are those of a class, by default of the first."""
    curves: dict[int, dict[str, Any]] = {}
    drawn = next(iter(classes_to_draw([class_name or ""], view.classes)), None)
    if view.withheld is None and drawn is not None:
        with platform.transaction() as session:
            curves = exhibits.curves_of(session, [method.run for method in view.methods], drawn)
    value_of = view.value_of
    lines = [
        (method.name, value_of[method.id, drawn].value, view_of(curves[method.run]))
        for method in view.methods
        if drawn is not None and method.run in curves
    ]
    return Drawings(
        drawn=drawn,
        curves=curves_figure(lines),
        scores=scores_figure(view),
        differences=differences_figure(view),
        errors=errors_figure([(method.name, method.errors) for method in view.methods]),
    )
