"""What a person has left, in the team that they act for."""

from collections.abc import Iterable

from sqlalchemy.orm import Session

from app.access import Actor
from app.editions import queries as editions
from app.editions.rules import offered_competitions, tasks_of
from app.editions.schemas import PhaseView
from app.editions.service import find_phase
from app.memberships import queries as memberships
from app.platform import Platform
from app.quotas import queries
from app.quotas.rules import quota_lines, rate_limit_fields
from app.quotas.schemas import CountedResult, QuotaLine


def counted_results(session: Session, phase: PhaseView, team_id: int, user_id: int) -> list[CountedResult]:
    """What counts against the quotas of a phase."""
    if not phase.quotas:
        return []
    longest = max(quota.window for quota in phase.quotas)
    return queries.counted_results(session, phase.id, tasks_of(phase), team_id, user_id, longest)


def lines(
    session: Session, actor: Actor, phase: PhaseView, competitions: Iterable[int] | None = None
) -> tuple[QuotaLine, ...]:
    """What is left for the tasks of these competitions, by default of all; nothing where there is no quota."""
    tasks = tasks_of(phase)
    numbers = [each.number for each in offered_competitions(phase)] if competitions is None else competitions
    wanted = dict.fromkeys(tasks[number] for number in numbers if number in tasks)
    team_id = memberships.team_in(session, actor.user_id, phase.edition_id)
    counted = counted_results(session, phase, team_id or 0, actor.user_id or 0)
    return quota_lines(editions.now(session), phase.quotas, tuple(wanted), counted)


def fields(
    platform: Platform, actor: Actor, edition: str, image_set: str, competitions: Iterable[int] | None = None
) -> tuple[tuple[QuotaLine, ...], dict[str, str]]:
    """What is left in a phase, and the same as HTTP fields.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        phase = find_phase(session, edition, image_set)
        found = lines(session, actor, phase, competitions)
        return found, rate_limit_fields(editions.now(session), found)
