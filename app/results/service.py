"""Reading where results rank, what they were before, and their details."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.access import Actor
from app.analyses.schemas import analysis_view
from app.disclosure import queries as disclosure
from app.disclosure.rules import Sight
from app.disclosure.schemas import StoredScore
from app.editions.schemas import PhaseView
from app.exhibits import queries as exhibits
from app.exhibits.schemas import exhibits_of
from app.models import Entry
from app.results import queries
from app.results.rules import (
    EVERY,
    changes_of,
    classes_to_draw,
    curves_figure,
    errors_figure,
    sweep_figure,
    view_of,
)
from app.results.schemas import PublishedRun, Rank, ResultDetail


def ranks(
    session: Session, actor: Actor, phase: PhaseView, sight: Sight, entries: Collection[Entry]
) -> dict[int, Rank]:
    """By entry, where those of one submission that stand on their boards rank among the rows that the reader sees there.

    A result that only its team sees is ranked as if it stood among those. While others' results are under an embargo there
    is no rank.
    """
    if not sight.means or (phase.embargo and not phase.is_over and not actor.runs(phase.edition_id)):
        return {}
    own = [entry.id for entry in entries if entry.published_run_id is not None]
    return queries.ranks(session, actor, phase, sight, own) if own else {}


def histories(
    session: Session, sight: Sight, entries: Collection[Entry]
) -> dict[int, tuple[PublishedRun, ...]]:
    """By entry, the runs that have stood on its board, the latest first, as far as the reader sees their values."""
    if not entries:
        return {}
    runs = queries.published_runs(session, [entry.id for entry in entries])
    scores = queries.scores_of(session, [run.run for run in runs])
    ladder = disclosure.headlines(session, [run.ladder_run for run in runs]) if sight.by_ladder else {}
    complete = {entry.id: entry.is_complete for entry in entries}
    found: dict[int, list[PublishedRun]] = {}
    before: dict[int, Mapping[str, float | None]] = {}
    for run in runs:
        its_sight = sight.of_result(is_complete=complete[run.entry])
        mean, values = _shown(its_sight, scores.get(run.run, {}), ladder.get(run.ladder_run or 0))
        changes = changes_of(before[run.entry], values) if run.entry in before else ()
        since = sight.moment(run.since)
        row = PublishedRun(run.run, since, run.ground_truth, run.scorer, mean, changes)
        found.setdefault(run.entry, []).insert(0, row)
        before[run.entry] = values
    return {entry: tuple(rows) for entry, rows in found.items()}


def _shown(
    sight: Sight, scores: Mapping[str | None, StoredScore], ladder: StoredScore | None
) -> tuple[float | None, dict[str, float | None]]:
    values = {name: sight.value(score) for name, score in scores.items() if name is not None}
    return sight.mean(scores.get(None), ladder), values


def detail(
    session: Session, run_id: int, values: Mapping[str, float | None], asked: Sequence[str]
) -> ResultDetail:
    """The details of a run, for readers who see all of it.

    values: of its classes; curves are drawn of those of them that are asked for.
    """
    names = tuple(name for name, value in values.items() if value is not None)
    drawn = classes_to_draw(asked, names)
    stored, diagnosis = queries.stored_detail(session, run_id, drawn)
    analysis = analysis_view(diagnosis)
    curves = _curves(stored)
    return ResultDetail(
        names=names,
        drawn=drawn,
        curves=curves_figure([(name, values[name], curves[name]) for name in drawn if name in curves]),
        exhibits=exhibits_of([each for each in stored if each["kind"] not in exhibits.CURVES]),
        analysis=analysis,
        errors=errors_figure([(EVERY, analysis.errors_of(None))]),
        sweeps=tuple(sweep_figure(group) for group in analysis.sweeps_of([None, *drawn])),
    )


def _curves(stored: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {each["class_name"]: view_of(each) for each in stored if each["kind"] in exhibits.CURVES}
