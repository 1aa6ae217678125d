"""Dates, quotas and limits of a phase, as organisers change them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from icalendar import Calendar, Event
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.challenges import challenges, news, versions
from app.challenges.challenges import (
    PhaseState,
    PhaseView,
    chosen_tasks,
    description_of,
    find_phase,
    is_over,
    moved_freeze,
)
from app.challenges.disclosure import public_visibility
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, NotFoundError, PhaseBroken, PhaseUnfair, Refusal, RefusedError
from app.core.settings import Settings
from app.intake.importing import format_rule
from app.jobs import queue
from app.models import Disclosure, Phase, Publication, Quota, Result, in_order
from app.platform import Platform
from app.submissions import quotas
from app.submissions.quotas import SlotView, organised_phase
from app.web.formats import size
from app.web.forms import OrBlank
from app.web.zones import Moment
from scoring import Limits

MOST_DAYS: Final = 3660  # of the window of a quota


class NewQuota(BaseModel):
    """How many results of one task may be scored within a rolling window of this many days."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    results: Annotated[int, Field(ge=1, le=1_000_000)]
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)]


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

    @property
    def grace(self) -> timedelta:
        """Return the time after the close in which uploads that were started before it may be confirmed."""
        return timedelta(minutes=self.grace_minutes)

    def frozen_from(self, phase: PhaseView, now: datetime) -> datetime | None:
        """Return since when the rows of others are frozen under these rules."""
        if self.frozen_days is None or self.frozen_days == phase.frozen_days:
            return moved_freeze(phase.frozen_from, phase.closes_at, self.closes_at, now)
        if not self.frozen_days or self.closes_at is None:
            return None
        return self.closes_at - timedelta(days=self.frozen_days)

    def windows(self, phase: PhaseView) -> tuple[Quota, ...]:
        """Return the quotas, ordered. One that counted over the whole phase does so when the phase becomes longer."""
        given = in_order(Quota(quota.results, quota.days) for quota in self.quotas)
        if phase.closes_at is None or self.closes_at is None:
            return given
        before = ceil((phase.closes_at - phase.opens_at) / timedelta(days=1))
        after = ceil((self.closes_at - self.opens_at) / timedelta(days=1))
        return in_order(
            replace(quota, days=max(quota.days, min(after, MOST_DAYS)))
            if quota in phase.own_quotas and quota.days >= before
            else quota
            for quota in given
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
    teams: tuple[str, ...]
    tasks: tuple[str, ...]
    more_slots: int | None = None  # `before` of the next page, if there is one
    more_teams: int = 0  # how many more there are than in `teams`


PRODUCT = "-//heldout//phases//EN"
MEMORY_PER_BYTE: Final = 3  # that the check of a file needs, see docs/organise.md
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
NOTICE = timedelta(days=3)  # the least time until a deadline that is brought forward


def change_refusals(
    now: datetime, phase: PhaseView, rules: NewRules, *, has_results: bool
) -> tuple[Refusal, ...]:
    """Return all reasons to refuse new dates and quotas of a phase; empty if they may be set."""
    broken = (PhaseBroken(message) for message in _contradictions(phase, rules))
    unfair = (
        PhaseUnfair(message)
        for message in (
            *_unfair_opening(now, phase, rules, has_results),
            *_unfair_embargo(phase, rules, has_results),
            *_unfair_freeze(now, phase, rules, has_results),
            *_unfair_close(now, phase, rules),
        )
    )
    return (*broken, *unfair)


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
            f"An upload that was started before may be confirmed for another {_minutes(phase.grace)}.",
        )
    return event


def _minutes(grace: timedelta) -> str:
    return f"{int(grace.total_seconds() // 60)} minutes"


def _contradictions(phase: PhaseView, rules: NewRules) -> Iterator[str]:
    if rules.closes_at is not None and rules.closes_at <= rules.opens_at:
        yield "the phase would close before it opens"
    if phase.is_held_out and not rules.quotas:
        yield "a held-out phase needs a quota, because every score reveals something of the hidden annotation"
    if rules.closes_at is None and rules.embargo:
        yield "an embargo ends when the phase closes, so it needs a closing date"
    frozen_days = phase.frozen_days if rules.frozen_days is None else rules.frozen_days
    if rules.closes_at is None and frozen_days:
        yield "the rows of others are frozen before the phase closes, so it needs a closing date"
    if rules.frozen_days and not phase.is_held_out:
        yield "rows are frozen on held-out phases only; elsewhere a newer result takes the place of the one before"
    if rules.closes_at is None and phase.disclosure is Disclosure.AT_CLOSE:
        yield "scores are shown when the phase closes, so it needs a closing date"


def _unfair_opening(
    now: datetime,
    phase: PhaseView,
    rules: NewRules,
    has_results: bool,  # noqa: FBT001 - of the phase
) -> Iterator[str]:
    if rules.opens_at != phase.opens_at and rules.opens_at > now and has_results:
        yield "the phase already has results, so its opening cannot move into the future"


def _unfair_embargo(phase: PhaseView, rules: NewRules, has_results: bool) -> Iterator[str]:  # noqa: FBT001 - of the phase
    if rules.embargo != phase.embargo and has_results:
        yield "the phase already has results, so its embargo cannot change"


def _unfair_freeze(
    now: datetime,
    phase: PhaseView,
    rules: NewRules,
    has_results: bool,  # noqa: FBT001 - of the phase
) -> Iterator[str]:
    if rules.frozen_days is None or rules.frozen_days == phase.frozen_days or not has_results:
        return
    after = rules.frozen_from(phase, now)
    if phase.is_frozen:
        yield "the rows of others are frozen already, so their days cannot change before the phase is over"
    elif after is not None and after <= now:
        yield "results that others have seen would disappear; freeze the rows for fewer days"


def _unfair_close(now: datetime, phase: PhaseView, rules: NewRules) -> Iterator[str]:
    before, after = phase.closes_at, rules.closes_at
    if phase.state is PhaseState.CLOSED:
        if (
            is_over(phase, phase.grace, now)
            and (after is None or after + rules.grace > now)
            and reveals(phase)
        ):
            yield "what was hidden became public when the phase closed, so it cannot reopen"
        elif rules.grace < phase.grace:
            yield "the phase is closed, so the grace period cannot become shorter"
        return
    if phase.state is PhaseState.OPEN and after is not None and (before is None or after < before):
        if after <= now:
            yield "the deadline would be in the past"
        elif after < now + NOTICE:
            yield f"a deadline that is brought forward must be at least {NOTICE.days} days away, so that people can finish"


def reveals(phase: PhaseView) -> bool:
    """Return whether the public sees more once the phase is over, such as the classes behind a mean."""
    before, after = (public_visibility(replace(phase, is_over=each)) for each in (False, True))
    return phase.embargo or phase.frozen_from is not None or before != after


def lock_phase(session: Session, phase_id: int) -> Phase:
    """Lock the row of a phase until the end of the transaction and return it."""
    return session.get_one(Phase, phase_id, with_for_update={"key_share": True})


def has_results(session: Session, phase_id: int) -> bool:
    """Return whether any score was ever recorded in a phase, other than of test runs."""
    statement = select(Publication.id).where(
        Publication.phase_id == phase_id, Publication.run_id.is_not(None), Publication.is_test.is_(False)
    )
    return session.scalar(statement.limit(1)) is not None


COLUMNS = ("opens_at", "closes_at", "grace", "quotas", "embargo", "frozen_from", "max_upload")


def phase_rules(platform: Platform, actor: Actor, phase_id: int, before: int | None = None) -> PhaseSheet:
    """Return a phase with its rules; before: list the extra slots granted before this one.

    Raises NotFoundError for a phase that the actor does not organise.
    """
    with platform.snapshot() as session:
        phase = organised_phase(session, actor, phase_id)
        slots = quotas.slot_views(session, phase_id, before)
        teams = tuple(quotas.team_names(session, phase.challenge_id))
        return PhaseSheet(
            phase=phase,
            limits=description_of(platform.descriptions, phase.description_key).limits,
            bounds=SizeBounds.of(platform.settings),
            has_results=has_results(session, phase_id),
            slots=slots.rows,
            teams=teams,
            tasks=chosen_tasks(phase),
            more_slots=slots.next,
            more_teams=quotas.count_teams(session, phase.challenge_id) - len(teams),
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
        if challenges.challenge_of(session, challenge) is None:
            raise NotFoundError(f"there is no challenge {challenge!r}")
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
        row = lock_phase(session, phase_id)
        phase = organised_phase(session, actor, phase_id)  # its state under the lock
        now = challenges.now(session)
        refusals = (
            *change_refusals(now, phase, rules, has_results=has_results(session, phase_id)),
            *limit_refusals(limit_change.before, rules, SizeBounds.of(platform.settings)),
        )
        if refusals:
            raise RefusedError(refusals)
        before = _as_text(row, limit_change.before)
        row.opens_at, row.closes_at, row.grace, row.quotas, row.embargo = (
            rules.opens_at, rules.closes_at, rules.grace, rules.windows(phase), rules.embargo,
        )  # fmt: skip
        row.frozen_from = rules.frozen_from(phase, now)
        row.max_upload = rules.max_upload or row.max_upload
        limit_change.apply(session, row)
        news.announce_schedule(
            session, phase.challenge_id, phase.image_set, replace(phase, quotas=phase.own_quotas), row
        )
        queue.add_boards(session, Result.phase_id == phase_id)
        after = _as_text(row, limit_change.after)
        changed = [name for name in before if before[name] != after[name]]
        if changed:
            audit.record(
                session,
                actor.user_id,
                "phase.change",
                f"phase {phase_id}",
                challenge_id=phase.challenge_id,
                reason=rules.reason,
                before={name: before[name] for name in changed},
                after={name: after[name] for name in changed},
            )
    platform.cache.expire_versions()


@dataclass(frozen=True, slots=True)
class _LimitChange:
    """The limits of a phase before and after a change. keys: the stored descriptions with the new ones, by those before."""

    keys: Mapping[str, str]
    before: Limits
    after: Limits

    def apply(self, session: Session, row: Phase) -> None:
        if self.before == self.after:
            return
        if versions.keys_in_use(session, row.id) != self.keys.keys():
            raise ConflictError(
                "An import has changed this phase in the meantime. Check its limits, then send the form again"
            )
        versions.use_descriptions(session, row, self.keys)


def _store_limits(platform: Platform, actor: Actor, phase_id: int, rules: NewRules) -> _LimitChange:
    """Store descriptions with the new limits, without holding a lock while the store is slow."""
    with platform.transaction() as session:
        key = organised_phase(session, actor, phase_id).description_key
        keys = versions.keys_in_use(session, phase_id)
    before = description_of(platform.descriptions, key).limits
    after = rules.limited(before)
    return _LimitChange(versions.store_limits(platform, keys, after), before, after)


def _as_text(row: Phase, limits: Limits) -> dict[str, str]:
    """Return the rules of a phase as text, for the audit record."""
    rules = {name: format_rule(getattr(row, name)) for name in COLUMNS}
    return rules | {f"limit {name}": str(getattr(limits, name)) for name in LIMITS}
