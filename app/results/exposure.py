"""How much each team can have learnt of hidden annotation, and what a phase has disclosed over time."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Integer,
    Select,
    Subquery,
    and_,
    cast,
    func,
    select,
    true,
)
from sqlalchemy.orm import Session

from app.challenges.disclosure import DisclosureChange, Exposure, ProbingSigns, Use
from app.models import (
    AuditRecord,
    Board,
    ClassScore,
    Disclosure,
    Method,
    Phase,
    Publication,
    Result,
    Run,
    RunState,
    Submission,
    Team,
    Upload,
)
from app.results.recording import is_no_preview


def disclosure_changes(session: Session, phase_id: int) -> list[DisclosureChange]:
    """Return the changes of a phase's terms since its first score, newest first, from the audit log."""
    of_board = (
        select(Publication.published_at)
        .where(Publication.phase_id == Board.phase_id, Publication.competition == Board.competition)
        .order_by(Publication.id)
        .limit(1)
        .correlate(Board)
        .scalar_subquery()
    )
    first = select(func.min(of_board)).where(Board.phase_id == phase_id)
    statement = (
        select(AuditRecord.at, AuditRecord.before, AuditRecord.details)
        .where(
            AuditRecord.subject == f"phase {phase_id}",
            AuditRecord.action.in_(("phase.disclose", "phase.import")),
            AuditRecord.at > first.scalar_subquery(),
        )
        .order_by(AuditRecord.id.desc())
    )
    return [
        _disclosure_change(at, before if before is not None else _replaced(details))
        for at, before, details in session.execute(statement)
    ]


def _replaced(import_details: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the rules that an import replaced, which it recorded as text."""
    old_values = {change["name"]: change["before"] for change in import_details.get("changes", ())}
    details = old_values.get("details at close")
    return old_values | {"details_at_close": None if details is None else details == "yes"}


def _disclosure_change(at: datetime, before: Mapping[str, Any]) -> DisclosureChange:
    row = before.get("disclosure")
    return DisclosureChange(at, Disclosure(row) if row else None, before.get("details_at_close"))


def uses(session: Session, phase_id: int, after: int, limit: int) -> list[Exposure]:
    """Return what teams with scored results have used, after this id; the bits are not estimated yet.

    Aggregated team by team, because a planner that joins all of them at once reads every result of a long history.
    """
    teams = _teams_with_results(phase_id, after, limit)
    used, probing = _used(teams, phase_id).lateral(), _probing(teams, phase_id).lateral()
    joined = select(teams, used, probing).select_from(teams).join(used, true()).join(probing, true())
    return [
        Exposure(
            team_id=row.id,
            team=row.name,
            archives=row.archives,
            contents=row.contents,
            incomplete=row.incomplete,
            use=Use(row.results, row.values, row.steps),
            lists=ProbingSigns(row.constant, row.partial, row.classes),
            bits=None,
        )
        for row in session.execute(joined.order_by(teams.c.id))
    ]


def _used(teams: Subquery, phase_id: int) -> Select[int, int, int, int, int, int]:
    """For one team: archives, contents, incomplete results, and the values of `Use`."""
    result = _results_of_method(phase_id).lateral()
    values = (
        select(func.count(ClassScore.held_out_value))
        .where(ClassScore.run_id == Run.id, ClassScore.class_name.is_not(None))
        .correlate(Run)
        .scalar_subquery()
    )
    return (
        select(
            func.count(Submission.id.distinct()).label("archives"),
            func.count(Upload.sha256.distinct()).label("contents"),
            func.count(result.c.id.distinct()).filter(~result.c.is_complete).label("incomplete"),
            func.count(Run.id).label("results"),
            cast(func.sum(values), Integer).label("values"),
            func.count(Run.id).filter(Run.ladder_run_id == Run.id).label("steps"),
        )
        .select_from(Method)
        .join(result, true())
        .join(Submission, result.c.submission_id == Submission.id)
        .join(Submission.upload)
        .join(Run, and_(Run.result_id == result.c.id, Run.state == RunState.SCORED, is_no_preview()))
        .where(Method.team_id == teams.c.id)
        .correlate(teams)
    )


def _probing(teams: Subquery, phase_id: int) -> Select[int, int, int]:
    """For one team: the values of `Lists`."""
    result = _results_of_method(phase_id).lateral()
    constant = func.jsonb_array_length(result.c.constant_lists)
    both = result.c.constant_lists.op("||")(result.c.partial_lists)
    name = func.jsonb_array_elements_text(both).table_valued("value", with_ordinality="place")
    listed = name.render_derived()
    return (
        select(
            func.count().filter(listed.c.place <= constant).label("constant"),
            func.count().filter(listed.c.place > constant).label("partial"),
            func.count(listed.c.value.distinct()).label("classes"),
        )
        .select_from(Method)
        .join(result, true())
        .join(listed, true())
        .where(Method.team_id == teams.c.id)
        .correlate(teams)
    )


def _results_of_method(phase_id: int) -> Select[int, int, bool, list[str], list[str]]:
    """The scored results of one method in a phase. OFFSET 0 keeps the planner from joining them with those of all others."""
    columns = Result.id, Result.submission_id, Result.is_complete, Result.constant_lists, Result.partial_lists
    scored = select(Run.id).where(Run.result_id == Result.id, Run.state == RunState.SCORED).exists()
    of_method = (Result.method_id == Method.id, Result.phase_id == phase_id, scored)
    return select(*columns).where(*of_method).correlate(Method).offset(0)


def _teams_with_results(phase_id: int, after: int, limit: int) -> Subquery:
    """A page of the teams with scored results in a phase, to which the rest of the query is limited."""
    challenge = select(Phase.challenge_id).where(Phase.id == phase_id).scalar_subquery()
    has_result = (
        select(Run.id)
        .join(Run.result)
        .join(Result.method)
        .where(Method.team_id == Team.id, Result.phase_id == phase_id, Run.state == RunState.SCORED)
        .correlate(Team)
        .exists()
    )
    found = select(Team.id, Team.name).where(Team.challenge_id == challenge, Team.id > after, has_result)
    return found.order_by(Team.id).limit(limit).subquery()


def scored_results(session: Session, phase_id: int) -> dict[int, dict[int, int]]:
    """Return how many results were scored in a phase, by team and competition, with re-scored and withdrawn ones."""
    statement = (
        select(Run.team_id, Result.competition, func.count())
        .join(Run.result)
        .where(Result.phase_id == phase_id, Run.state == RunState.SCORED, is_no_preview())
        .group_by(Run.team_id, Result.competition)
    )
    found: dict[int, dict[int, int]] = {}
    for team, competition, results in session.execute(statement):
        found.setdefault(team, {})[competition] = results
    return found
