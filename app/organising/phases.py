"""Dates, quotas and limits of a phase, as organisers change them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from icalendar import Calendar, Event
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.challenges import challenges, news, versions
from app.challenges.challenges import PhaseView, chosen_tasks, description_of, find_phase
from app.challenges.phase_rules import (
    LONGEST_WINDOW,
    MOST_RESULTS,
    PhaseRules,
    RuleChange,
    format_rule,
    has_results,
    new_contradictions,
    unfair_changes,
)
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, PhaseBroken, PhaseUnfair, Refusal, RefusedError
from app.core.settings import Settings
from app.models import Phase, Quota, in_order
from app.people.team_choice import TeamChoice, team_choice
from app.platform import Platform
from app.submissions import quotas
from app.submissions.quotas import SlotView
from app.web.formats import size
from app.web.forms import OrBlank
from app.web.zones import Moment
from heldout_scoring import Limits


class NewQuota(BaseModel):
    """How many results of one task may be scored within a rolling window of this many days, or in total."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    results: Annotated[int, Field(ge=1, le=MOST_RESULTS)]
    days: Annotated[int | None, Field(ge=1, le=LONGEST_WINDOW, description="null: in total")]


class NewRules(BaseModel):
    """All dates and quotas of a phase, and the archive limits that change."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    opens_at: Annotated[Moment, Field(description="with a time zone")]
    closes_at: Annotated[OrBlank[Moment], Field(description="null: never")]
    grace_minutes: Annotated[
        int,
        Field(
            ge=0, le=10_080, description="how long an upload started before the close may still be confirmed"
        ),
    ]
    quotas: Annotated[
        tuple[NewQuota, ...],
        Field(max_length=5, description="results per task, for each team and each person"),
    ]
    embargo: Annotated[
        bool, Field(description="only its team and organisers see a result until the phase is over")
    ]
    reason: Annotated[str, Field(min_length=3, max_length=1000, description="recorded in the audit log")]
    frozen_days: Annotated[
        int | None,
        Field(
            ge=0,
            le=365,
            description="before the deadline, in which others see only results submitted before them; 0: none;"
            " null: unchanged",
        ),
    ] = None
    max_boxes: Annotated[
        int | None, Field(ge=1, le=100_000, description="per class and image; null: unchanged")
    ] = None
    max_total_lines: Annotated[
        int | None, Field(ge=1, le=100_000_000, description="in all files of an archive; null: unchanged")
    ] = None
    max_lines: Annotated[
        int | None,
        Field(ge=1, le=100_000_000, description="in one file; can only be raised; null: unchanged"),
    ] = None
    max_upload: Annotated[
        int | None, Field(ge=1, description="bytes of an archive as it is sent; null: unchanged")
    ] = None
    max_unpacked_bytes: Annotated[
        int | None, Field(ge=1, description="of all files of an archive; can only be raised; null: unchanged")
    ] = None
    max_file_bytes: Annotated[
        int | None, Field(ge=1, description="of one file, unpacked; can only be raised; null: unchanged")
    ] = None

    def applied_to(self, rules: PhaseRules, now: datetime) -> PhaseRules:
        """Return the rules of a phase with these in their place."""
        return rules.changed(
            now,
            opens_at=self.opens_at,
            closes_at=self.closes_at,
            grace=timedelta(minutes=self.grace_minutes),
            quotas=in_order(Quota(each.results, each.days) for each in self.quotas),
            embargo=self.embargo,
            frozen_days=self.frozen_days,
        )

    def limited(self, limits: Limits) -> Limits:
        """Apply the changed limits to the given ones."""
        given = {name: getattr(self, name) for name in LIMITS}
        return replace(limits, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, slots=True)
class SizeBounds:
    """The largest sizes, in bytes, that organisers may allow."""

    max_upload: int
    max_unpacked_bytes: int
    max_file_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return what the operator allows. A check holds a file and columns of its numbers in memory."""
        memory = settings.child_memory
        return cls(settings.max_upload, memory, memory // MEMORY_PER_BYTE)


@dataclass(frozen=True, slots=True)
class PhaseSheet:
    """A phase with its rules, as its organisers see them."""

    phase: PhaseView
    limits: Limits  # of archives
    bounds: SizeBounds  # of those limits
    has_results: bool  # whether any score was recorded
    slots: tuple[SlotView, ...]
    teams: TeamChoice
    tasks: tuple[str, ...]
    more_slots: int | None = None  # `before` of the next page, if there is one


PRODUCT = "-//heldout//phases//EN"
MEMORY_PER_BYTE: Final = 3  # that the check of a file needs, see docs/organise/rules.md
LIMITS: Final = ("max_boxes", "max_total_lines", "max_lines", "max_unpacked_bytes", "max_file_bytes")
ONLY_RAISED: Final = ("max_lines", "max_unpacked_bytes", "max_file_bytes")  # scoring asks for them, too
SETTINGS: Final = {
    "max_upload": "by HELDOUT_MAX_UPLOAD",
    "max_unpacked_bytes": "by HELDOUT_CHILD_MEMORY",
    "max_file_bytes": f"by HELDOUT_CHILD_MEMORY / {MEMORY_PER_BYTE}",
}
TITLES: Final = {
    "max_upload": "size of an archive",
    "max_unpacked_bytes": "size of all files",
    "max_file_bytes": "size of a file",
    "max_lines": "lines of a file",
}


def change_refusals(
    now: datetime, before: PhaseRules, after: PhaseRules, *, has_results: bool
) -> tuple[Refusal, ...]:
    """Return all reasons to refuse other rules of a phase; empty if they may be set."""
    return (
        *(PhaseBroken(each.message) for each in new_contradictions(before, after)),
        *(PhaseUnfair(each.message) for each in unfair_changes(before, after, now, has_results=has_results)),
    )


def limit_refusals(limits: Limits, rules: NewRules, bounds: SizeBounds) -> tuple[Refusal, ...]:
    """Return all reasons to refuse new limits of archives in place of these."""
    return tuple(PhaseBroken(message) for message in _wrong_limits(limits, rules, bounds))


def _wrong_limits(limits: Limits, rules: NewRules, bounds: SizeBounds) -> Iterator[str]:
    after = rules.limited(limits)
    for name in ONLY_RAISED:
        if getattr(after, name) < getattr(limits, name):
            yield f"{TITLES[name]}: this can only be raised, because accepted archives are scored again under it"
    for name, setting in SETTINGS.items():
        given, bound = getattr(rules, name), getattr(bounds, name)
        if given is not None and given > bound:
            yield f"{TITLES[name]}: this server allows at most {size(bound)} ({bound} bytes), {setting}"
    if after.max_file_bytes > after.max_unpacked_bytes:
        yield "a file cannot be larger than all files of its archive together"


def calendar_of(phases: Sequence[PhaseView], address: str, now: datetime) -> bytes:
    """Return the openings and deadlines of phases as iCalendar (RFC 5545); an event keeps its UID when it moves.

    address: the public URL of the server.
    """
    calendar = Calendar()
    calendar.add("prodid", PRODUCT)
    calendar.add("version", "2.0")
    for phase in phases:
        for what, moment in (("opens", phase.opens_at), ("closes", phase.closes_at)):
            if moment is not None:
                calendar.add_component(_event(phase, what, moment, address, now))
    written: bytes = calendar.to_ical()
    return written


def _event(phase: PhaseView, what: str, moment: datetime, address: str, now: datetime) -> Event:
    event = Event()
    event.add("uid", f"phase-{phase.id}-{what}@{urlsplit(address).hostname}")
    event.add("summary", f"{phase.challenge_title}, {phase.image_set} {what}")
    event.add("dtstamp", now)
    event.add("dtstart", moment)
    event.add("url", f"{address}/challenges/{phase.challenge}")
    if what == "closes":
        event.add(
            "description",
            f"An upload that was started before may be submitted up to {_minutes(phase.grace_in_force)} later.",
        )
    return event


def _minutes(grace: timedelta) -> str:
    return f"{int(grace.total_seconds() // 60)} minutes"


def phase_rules(
    platform: Platform, actor: Actor, phase_id: int, before: int | None = None, team: str = ""
) -> PhaseSheet:
    """Return a phase with its rules; before: list the extra slots granted before this one; team: what was typed as its name.

    Raises NotFoundError for a phase that the actor does not organise.
    """
    with platform.snapshot() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        slots = quotas.slot_views(session, phase_id, before)
        return PhaseSheet(
            phase=phase,
            limits=description_of(platform.descriptions, phase.description_key).limits,
            bounds=SizeBounds.of(platform.settings),
            has_results=has_results(session, phase_id),
            slots=slots.rows,
            teams=team_choice(session, phase.challenge_id, team),
            tasks=chosen_tasks(phase),
            more_slots=slots.next,
        )


def calendar(platform: Platform, challenge: str, image_set: str | None = None) -> bytes:
    """Return the dates of a challenge's phases, or of one of them, as iCalendar.

    Raises NotFoundError.
    """
    with platform.snapshot() as session:
        phases = (
            [find_phase(session, challenge, image_set)]
            if image_set
            else challenges.phases_of(session, challenge)
        )
        challenges.find_challenge(session, challenge)
        return calendar_of(phases, platform.settings.address, challenges.now(session))


def change_rules(platform: Platform, actor: Actor, phase_id: int, rules: NewRules) -> None:
    """Set dates, quotas and the given limits of a phase; record what changed.

    Raises NotFoundError for a phase that the actor does not organise, RefusedError with all reasons, ConflictError if an
    import has changed the limits meanwhile.
    """
    limit_change = _store_limits(platform, actor, phase_id, rules)
    with platform.transaction() as session:
        if limit_change.before != limit_change.after:
            challenges.lock_imports(session)
        phase = challenges.require_phase(session, actor, phase_id, lock=True)
        row = session.get_one(Phase, phase_id)
        now, before = challenges.now(session), PhaseRules.of(row)
        after = rules.applied_to(before, now)
        refusals = (
            *change_refusals(now, before, after, has_results=has_results(session, phase_id)),
            *limit_refusals(limit_change.before, rules, SizeBounds.of(platform.settings)),
        )
        if refusals:
            raise RefusedError(refusals)
        changes = (
            *news.change_rules(session, row, after),
            *limit_change.apply(session, row, rules.max_upload or row.max_upload),
        )
        if changes:
            audit.record(
                session,
                actor.user_id,
                "phase.change",
                f"phase {phase_id}",
                challenge_id=phase.challenge_id,
                reason=rules.reason,
                before={each.name: each.before for each in changes},
                after={each.name: each.after for each in changes},
            )
    platform.cache.expire_versions()


@dataclass(frozen=True, slots=True)
class _LimitChange:
    """The limits of a phase before and after a change. keys: the stored descriptions with the new ones, by those before."""

    keys: Mapping[str, str]
    before: Limits
    after: Limits

    def apply(self, session: Session, row: Phase, max_upload: int | None) -> Iterator[RuleChange]:
        """Change the limits of a phase, and yield what changes."""
        if self.before != self.after:
            if versions.keys_in_use(session, row.id) != self.keys.keys():
                raise ConflictError(
                    "An import has changed this phase in the meantime. Check its limits, then send the form again"
                )
            versions.use_descriptions(session, row, self.keys)
        if max_upload != row.max_upload:
            yield RuleChange("max_upload", format_rule(row.max_upload), format_rule(max_upload))
        row.max_upload = max_upload
        for name in LIMITS:
            before, after = getattr(self.before, name), getattr(self.after, name)
            if before != after:
                yield RuleChange(f"limit {name}", str(before), str(after))


def _store_limits(platform: Platform, actor: Actor, phase_id: int, rules: NewRules) -> _LimitChange:
    """Store descriptions with the new limits, without holding a lock while the store is slow."""
    with platform.transaction() as session:
        key = challenges.require_phase(session, actor, phase_id).description_key
        keys = versions.keys_in_use(session, phase_id)
    before = description_of(platform.descriptions, key).limits
    after = rules.limited(before)
    return _LimitChange(versions.store_limits(platform, keys, after), before, after)
