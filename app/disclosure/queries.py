"""Scores in the database, with what readers may see of them."""

from collections.abc import Collection, Iterable
from typing import Final

from sqlalchemy import Subquery, and_, func, select, true
from sqlalchemy.orm import Session

from app.disclosure.schemas import Lists, StoredScore, Use
from app.models import ClassScore, Entry, Method, Phase, Run, RunState, Submission, Team, Upload

SCORE: Final = (ClassScore.value, ClassScore.held_out_value, ClassScore.reason)
"""The columns of a `StoredScore`."""


def has_results(session: Session, phase_id: int) -> bool:
    """Whether something was scored in a phase, be it withdrawn."""
    scored = select(Run.id).join(Entry, Run.entry_id == Entry.id)
    return (
        session.scalar(scored.where(Entry.phase_id == phase_id, Run.state == RunState.SCORED).limit(1))
        is not None
    )


def headlines(session: Session, run_ids: Iterable[int | None]) -> dict[int, StoredScore]:
    """The means of these runs; there is none under None."""
    known = {run for run in run_ids if run is not None}
    if not known:
        return {}
    statement = select(ClassScore.run_id, *SCORE).where(
        ClassScore.run_id.in_(known), ClassScore.class_name.is_(None)
    )
    return {
        run: StoredScore(value, held_out, reason)
        for run, value, held_out, reason in session.execute(statement)
    }


def uses(
    session: Session, phase_id: int, after: int, limit: int
) -> list[tuple[int, str, int, int, int, Use]]:
    """Teams with scored results in a phase, by id from `after` on: name, archives, contents, incomplete results, use."""
    teams = _teams_with_results(phase_id, after, limit)
    values = (
        select(func.count(ClassScore.held_out_value))
        .where(ClassScore.run_id == Run.id, ClassScore.class_name.is_not(None))
        .correlate(Run)
        .scalar_subquery()
    )
    statement = (
        select(
            teams.c.id, teams.c.name, func.count(Submission.id.distinct()), func.count(Upload.sha256.distinct()),
            func.count(Entry.id.distinct()).filter(~Entry.is_complete), func.count(Run.id), func.sum(values),
            func.count(Run.id).filter(Run.ladder_run_id == Run.id),
        )
        .select_from(teams)
        .join(Method, Method.team_id == teams.c.id)
        .join(Submission, Submission.method_id == Method.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(Entry, and_(Entry.submission_id == Submission.id, Entry.phase_id == phase_id))
        .join(Run, and_(Run.entry_id == Entry.id, Run.state == RunState.SCORED))
        .group_by(teams.c.id, teams.c.name)
        .order_by(teams.c.id)
    )  # fmt: skip
    return [
        (team, name, archives, contents, incomplete, Use(results, int(values), steps))
        for team, name, archives, contents, incomplete, results, values, steps in session.execute(statement)
    ]


def _teams_with_results(phase_id: int, after: int, limit: int) -> Subquery:
    """A page of the teams with scored results in a phase: what follows counts for these alone."""
    edition = select(Phase.edition_id).where(Phase.id == phase_id).scalar_subquery()
    has_result = (
        select(Run.id)
        .join(Entry, Run.entry_id == Entry.id)
        .join(Method, Entry.method_id == Method.id)
        .where(Method.team_id == Team.id, Entry.phase_id == phase_id, Run.state == RunState.SCORED)
        .correlate(Team)
        .exists()
    )
    found = select(Team.id, Team.name).where(Team.edition_id == edition, Team.id > after, has_result)
    return found.order_by(Team.id).limit(limit).subquery()


def lists(session: Session, phase_id: int, teams: Collection[int]) -> dict[int, Lists]:
    """By team, the lists that probe in its scored results of a phase."""
    constant, partial = Entry.constant_lists, Entry.partial_lists
    name = func.jsonb_array_elements_text(constant.op("||")(partial)).table_valued("value")
    scored = select(Run.id).where(Run.entry_id == Entry.id, Run.state == RunState.SCORED).exists()
    counts = func.sum(func.jsonb_array_length(constant)), func.sum(func.jsonb_array_length(partial))
    of_teams = (Entry.phase_id == phase_id, Method.team_id.in_(teams), scored)
    totals = (
        select(Method.team_id, *counts)
        .select_from(Entry)
        .join(Method, Entry.method_id == Method.id)
        .where(*of_teams)
        .group_by(Method.team_id)
    )
    names = (
        select(Method.team_id, func.count(name.c.value.distinct()))
        .select_from(Entry)
        .join(Method, Entry.method_id == Method.id)
        .join(name, true())
        .where(*of_teams)
        .group_by(Method.team_id)
    )
    classes = dict(session.execute(names).all())
    return {
        team: Lists(constant, partial, classes.get(team, 0))
        for team, constant, partial in session.execute(totals)
    }


def scored_results(session: Session, phase_id: int) -> dict[int, dict[int, int]]:
    """By team and competition, how many results were scored in a phase, again and withdrawn ones included."""
    statement = (
        select(Run.team_id, Entry.competition, func.count())
        .join(Entry, Run.entry_id == Entry.id)
        .where(Entry.phase_id == phase_id, Run.state == RunState.SCORED)
        .group_by(Run.team_id, Entry.competition)
    )
    found: dict[int, dict[int, int]] = {}
    for team, competition, results in session.execute(statement):
        found.setdefault(team, {})[competition] = results
    return found
