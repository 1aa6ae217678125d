"""What a person has left, in the team that they act for."""

from collections.abc import Iterable

from sqlalchemy.orm import Session

from app.editions import queries as editions
from app.editions.rules import tasks_of
from app.editions.schemas import PhaseView
from app.quotas import queries
from app.quotas.rules import quota_lines
from app.quotas.schemas import CountedResult, QuotaLine


def counted_results(session: Session, phase: PhaseView, team_id: int, user_id: int) -> list[CountedResult]:
    """What counts against the quotas of a phase."""
    if not phase.quotas:
        return []
    longest = max(quota.window for quota in phase.quotas)
    return queries.counted_results(session, phase.id, tasks_of(phase), team_id, user_id, longest)


def lines(
    session: Session, phase: PhaseView, team_id: int, user_id: int, competitions: Iterable[int]
) -> tuple[QuotaLine, ...]:
    """What is left for the tasks of these competitions; nothing where there is no quota."""
    tasks = tasks_of(phase)
    wanted = dict.fromkeys(tasks[number] for number in competitions if number in tasks)
    counted = counted_results(session, phase, team_id, user_id)
    return quota_lines(editions.now(session), phase.quotas, tuple(wanted), counted)
