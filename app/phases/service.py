"""Changing dates and quotas of a phase."""

import uuid
from dataclasses import dataclass, replace

from app.access import Actor
from app.audit import queries as audit
from app.editions import queries as editions
from app.editions.rules import tasks_of
from app.editions.service import description_of, find_phase
from app.errors import ConflictError, NotFoundError, RefusedError
from app.imports.rules import shown
from app.jobs import queue
from app.models import Entry, Phase
from app.phases import queries
from app.phases.rules import calendar_of, change_refusals
from app.phases.schemas import NewRules, PhaseSheet
from app.platform import Platform
from app.quotas import queries as quotas
from app.quotas.service import organised_phase
from scoring import Limits

COLUMNS = ("opens_at", "closes_at", "grace", "quotas", "embargo")
LIMITS = ("max_boxes", "max_total_lines")


def sheet(platform: Platform, actor: Actor, phase_id: int, before: int | None = None) -> PhaseSheet:
    """A phase with what its organisers see of its rules; before: the slot before which those listed were granted.

    Raises NotFoundError for a phase that the actor does not organise.
    """
    with platform.snapshot() as session:
        phase = organised_phase(session, actor, phase_id)
        slots = quotas.slot_views(session, phase_id, before)
        teams = tuple(quotas.team_names(session, phase.edition_id))
        return PhaseSheet(
            phase=phase,
            limits=description_of(platform.descriptions, phase.description_key).limits,
            has_results=queries.has_results(session, phase_id),
            slots=slots.rows,
            teams=teams,
            tasks=tuple(dict.fromkeys(tasks_of(phase).values())),
            more_slots=slots.next,
            more_teams=quotas.count_teams(session, phase.edition_id) - len(teams),
        )


def calendar(platform: Platform, edition: str, image_set: str | None = None) -> bytes:
    """The dates of an edition's phases, or of one of them, as iCalendar.

    Raises NotFoundError.
    """
    with platform.snapshot() as session:
        phases = (
            [find_phase(session, edition, image_set)] if image_set else editions.phases_of(session, edition)
        )
        if editions.edition_of(session, edition) is None:
            raise NotFoundError(f"there is no edition {edition!r}")
        return calendar_of(phases, platform.settings.address, editions.now(session))


def change(platform: Platform, actor: Actor, phase_id: int, rules: NewRules) -> None:
    """Set dates and quotas of a phase, and the limits that `rules` names; record what changed.

    Raises NotFoundError for a phase that the actor does not organise, RefusedError with all reasons, ConflictError where an
    import has changed the limits meanwhile.
    """
    described = _described(platform, actor, phase_id, rules)
    with platform.transaction() as session:
        if described.before != described.after:
            editions.lock_imports(session)
        row = queries.lock_phase(session, phase_id)
        phase = organised_phase(session, actor, phase_id)  # as it is now that nobody else changes it
        refusals = change_refusals(
            editions.now(session), phase, rules, has_results=queries.has_results(session, phase_id)
        )
        if refusals:
            raise RefusedError(refusals)
        before = _shown(row, described.before)
        row.opens_at, row.closes_at, row.grace, row.quotas, row.embargo = (
            rules.opens_at, rules.closes_at, rules.grace, rules.windows, rules.embargo,
        )  # fmt: skip
        described.take_place(row)
        queue.add_boards(session, Entry.phase_id == phase_id)
        after = _shown(row, described.after)
        changed = [name for name in before if before[name] != after[name]]
        if changed:
            audit.record(
                session,
                actor.user_id,
                "phase.change",
                f"phase {phase_id}",
                edition_id=phase.edition_id,
                reason=rules.reason,
                before={name: before[name] for name in changed},
                after={name: after[name] for name in changed},
            )
    platform.cache.forget_versions()


@dataclass(frozen=True, slots=True)
class _Described:
    """The limits of a phase before and after a change, and the stored description that has the latter."""

    key_before: str
    key: str
    before: Limits
    after: Limits

    def take_place(self, row: Phase) -> None:
        if self.before == self.after:
            return
        if row.description_key != self.key_before:
            raise ConflictError(
                "An import has changed this phase in the meantime; look at its limits, then send the form again"
            )
        row.description_key = self.key


def _described(platform: Platform, actor: Actor, phase_id: int, rules: NewRules) -> _Described:
    """Store a description with the new limits; no lock is held while the store is slow."""
    with platform.transaction() as session:
        key_before = organised_phase(session, actor, phase_id).description_key
    description = description_of(platform.descriptions, key_before)
    after = rules.limited(description.limits)
    if after == description.limits:
        return _Described(key_before, key_before, after, after)
    key = platform.descriptions.put(replace(description, limits=after).to_json().encode(), uuid.uuid4())
    return _Described(key_before, key, description.limits, after)


def _shown(row: Phase, limits: Limits) -> dict[str, str]:
    """The rules of a phase in words, as they are recorded."""
    rules = {name: shown(getattr(row, name)) for name in COLUMNS}
    return rules | {f"limit {name}": str(getattr(limits, name)) for name in LIMITS}
