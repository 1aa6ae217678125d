"""What a person has left, in the team that they act for."""

from collections.abc import Iterable

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.access import Actor
from app.audit import queries as audit
from app.editions import queries as editions
from app.editions.rules import offered_competitions, tasks_of
from app.editions.schemas import PhaseView
from app.editions.service import find_phase
from app.errors import ConflictError, MalformedError, NotFoundError
from app.memberships import queries as memberships
from app.models import ExtraSlot
from app.names import lookalike_key
from app.platform import Platform
from app.quotas import queries
from app.quotas.rules import quota_lines, rate_limit_fields
from app.quotas.schemas import NewSlots, QuotaLine, Usage


def usage(session: Session, phase: PhaseView, team_id: int, user_id: int) -> Usage:
    """What counts against the quotas of a phase, and the extra slots of the team."""
    if not phase.quotas:
        return Usage()
    longest = max(quota.window for quota in phase.quotas)
    counted = queries.counted_results(session, phase.id, tasks_of(phase), team_id, user_id, longest)
    return Usage(counted, queries.free_slots(session, phase.id, team_id))


def lines(
    session: Session, actor: Actor, phase: PhaseView, competitions: Iterable[int] | None = None
) -> tuple[QuotaLine, ...]:
    """What is left for the tasks of these competitions, by default of all; nothing where there is no quota."""
    tasks = tasks_of(phase)
    numbers = [each.number for each in offered_competitions(phase)] if competitions is None else competitions
    wanted = dict.fromkeys(tasks[number] for number in numbers if number in tasks)
    team_id = memberships.team_in(session, actor.user_id, phase.edition_id)
    used = usage(session, phase, team_id or 0, actor.user_id or 0)
    return quota_lines(editions.now(session), phase.quotas, tuple(wanted), used)


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


def grant(platform: Platform, actor: Actor, phase_id: int, wanted: NewSlots) -> None:
    """Let a team have results of a task scored beyond its quotas.

    Raises NotFoundError for a phase that the actor does not organise, MalformedError for a team or a task that there is not.
    """
    with platform.transaction() as session:
        phase = organised_phase(session, actor, phase_id)
        team_id = queries.team_called(session, phase.edition_id, lookalike_key(wanted.team))
        if team_id is None:
            raise MalformedError(f"team: {phase.edition} has no team {wanted.team!r}")
        if wanted.task not in tasks_of(phase).values():
            raise MalformedError(f"task: {phase.edition} has no task {wanted.task!r}")
        for _ in range(wanted.number):
            slot = ExtraSlot(phase_id=phase.id, team_id=team_id, granted_by=actor.user_id)
            slot.task, slot.reason = wanted.task, wanted.reason
            session.add(slot)
        audit.record(
            session, actor.user_id, "quota.grant", f"team {team_id}", edition_id=phase.edition_id, reason=wanted.reason,
            after={"phase": phase.id, "task": wanted.task, "slots": wanted.number},
        )  # fmt: skip


def take_back(platform: Platform, actor: Actor, slot_id: int, reason: str) -> int:
    """Take an extra slot back that was not used; returns its phase.

    Raises NotFoundError, and ConflictError for one that was used or taken back.
    """
    with platform.transaction() as session:
        found = queries.slot_of(session, slot_id)
        if found is None or not actor.runs(found[1]):
            raise NotFoundError(f"there is no extra slot {slot_id}")
        slot, edition_id = found
        memberships.lock_team(session, slot.team_id)  # whose confirmation may use it at this moment
        if slot_id not in queries.free_slots(session, slot.phase_id, slot.team_id).get(slot.task, ()):
            raise ConflictError("This extra slot has already been used or taken back")
        slot.taken_back_at = func.clock_timestamp()
        audit.record(
            session, actor.user_id, "quota.take_back", f"team {slot.team_id}", edition_id=edition_id, reason=reason,
            before={"phase": slot.phase_id, "task": slot.task, "slot": slot_id},
        )  # fmt: skip
        return slot.phase_id


def organised_phase(session: Session, actor: Actor, phase_id: int) -> PhaseView:
    """A phase of an edition that the actor organises.

    Raises NotFoundError.
    """
    phase = editions.phase_of_id(session, phase_id)
    if phase is None or not actor.runs(phase.edition_id):
        raise NotFoundError(f"there is no phase {phase_id}")
    return phase
