"""Quotas: how many results a team and a person may have scored, and how many are left."""

import enum
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, Select, and_, false, func, or_, select, true, union
from sqlalchemy.orm import Session, aliased, joinedload

from app.challenges import challenges
from app.challenges.challenges import (
    PhaseView,
    chosen_tasks,
    find_phase,
    offered_competitions,
    tasks_of,
)
from app.core import audit
from app.core.access import Actor, require_active
from app.core.errors import ConflictError, FieldsError, NotFoundError, QuotaUsed, Refusal
from app.core.names import lookalike_key
from app.core.paging import RowPage, page_of
from app.jobs import events
from app.models import (
    Challenge,
    ChallengeVisibility,
    EventKind,
    ExtraSlot,
    GroundTruth,
    Method,
    Phase,
    Publication,
    Quota,
    Result,
    ResultState,
    Submission,
    Team,
)
from app.people import teams
from app.platform import Platform
from app.web.forms import OrBlank
from app.web.zones import Moment, date_in_words


class Holder(enum.StrEnum):
    """Who a quota applies to: a team, and each person across their teams."""

    TEAM = "team"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class CountedResult:
    """A result that counts against quotas: it revealed a score or is about to."""

    task: str
    confirmed_at: datetime
    is_teams: bool  # of the team in question
    is_persons: bool  # confirmed by the person in question, in any team


@dataclass(frozen=True, slots=True)
class Usage:
    """What a team and a person have used: the results that count towards quotas, and the free extra slots by task."""

    counted: Sequence[CountedResult] = ()
    slots: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """The use of one quota by its holder."""

    holder: Holder
    quota: Quota
    used: int
    frees_at: datetime | None  # when the oldest counted result leaves the window, if there is one

    @property
    def left(self) -> int:
        """How many more results may be scored."""
        return max(0, self.quota.results - self.used)


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """What is left for one task, which is the minimum over all quotas of team and person."""

    task: str
    left: int
    next_slot: datetime | None  # when one more becomes available; None if waiting adds none
    uses: tuple[QuotaUse, ...]
    extra: int  # slots of the team beyond its quotas

    @property
    def tightest(self) -> QuotaUse:
        """The quota with the least left; the team's in a tie with the person's."""
        return min(self.uses, key=lambda use: use.left)

    @property
    def windows(self) -> tuple[QuotaUse, ...]:
        """For each window, the use of the team's or the person's quota, the one with less left."""
        least: dict[Quota, QuotaUse] = {}
        for use in self.uses:
            if use.quota not in least or use.left < least[use.quota].left:
                least[use.quota] = use
        return tuple(least.values())


class NewSlots(BaseModel):
    """The form to grant extra slots."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    team: Annotated[str, Field(min_length=1, max_length=100, description="name of the team")]
    task: Annotated[str, Field(description="such as detection")]
    number: Annotated[int, Field(ge=1, le=20, description="how many results")] = 1
    expires_at: Annotated[
        OrBlank[Moment],
        Field(description="until when they can be used, with a time zone; null: always"),
    ] = None
    reason: Annotated[str, Field(min_length=3, max_length=1000, description="why; it is recorded")]


@dataclass(frozen=True, slots=True)
class SlotView:
    """An extra slot, as shown to organisers."""

    id: int
    team: str
    task: str
    reason: str
    granted_by: str | None
    granted_at: datetime
    expires_at: datetime | None
    is_expired: bool
    taken_back_at: datetime | None
    submission: int | None  # the one that used it
    image_set: str


def quota_refusals(
    now: datetime, quotas: Sequence[Quota], wanted: Mapping[str, int], usage: Usage
) -> Iterator[Refusal]:
    """Yield a refusal for every quota that this many more results of each task would exceed, beyond extra slots."""
    for task, number in wanted.items():
        within = number - len(usage.slots.get(task, ()))  # this many must fit into the quotas
        told: set[Quota] = set()
        for holder in Holder if within > 0 else ():
            for quota in quotas:
                used = times_of(now, quota, holder, task, usage.counted)
                if len(used) + within > quota.results and quota not in told:
                    told.add(quota)  # report it only once for a team of one person
                    yield _refusal(quota, used, holder, task, number, within)


def _refusal(
    quota: Quota, used: Sequence[datetime], holder: Holder, task: str, number: int, within: int
) -> Refusal:
    slots = f"{len(used)} of {quota.results} {task} results {quota.span} are used"
    if holder is Holder.PERSON:
        slots = f"{slots} by you, in this team or another"
    if within > quota.results or (quota.window is None and len(used) < quota.results):
        # too many at once, no matter how long one waits
        return QuotaUsed(
            f"{slots}, and this archive has {number}: score fewer competitions of this task at once"
        )
    free = free_at(quota, used, within)
    if free is None:
        return QuotaUsed(f"{slots}; no more can be scored")
    return QuotaUsed(f"{slots}; the next slot is free on {date_in_words(free)}", free)


def slots_to_use(
    now: datetime, quotas: Sequence[Quota], wanted: Mapping[str, int], usage: Usage
) -> dict[str, list[int]]:
    """Return the extra slots that accepted results use, by task: those needed beyond the quotas."""
    lines = quota_lines(now, quotas, tuple(wanted), usage)
    return {
        line.task: list(usage.slots.get(line.task, ())[: max(0, wanted[line.task] - line.left)])
        for line in lines
    }


def times_of(
    now: datetime, quota: Quota, holder: Holder, task: str, counted: Sequence[CountedResult]
) -> list[datetime]:
    """Return when the results that count against a quota at `now` were confirmed, oldest first."""
    return sorted(
        result.confirmed_at
        for result in counted
        if result.task == task
        and (result.is_teams if holder is Holder.TEAM else result.is_persons)
        and (quota.window is None or result.confirmed_at > now - quota.window)
    )


def free_at(quota: Quota, used: Sequence[datetime], number: int) -> datetime | None:
    """Return when a quota has room for `number` more results (at most the quota); None if it has now, or never in total.

    used: oldest first.
    """
    excess = len(used) + number - quota.results
    return used[excess - 1] + quota.window if excess > 0 and quota.window is not None else None


def quota_line(now: datetime, quotas: Sequence[Quota], task: str, usage: Usage) -> QuotaLine:
    """Return what is left of a phase's quotas, of which there is at least one, for one task."""
    times = {
        (holder, quota): times_of(now, quota, holder, task, usage.counted)
        for holder in Holder
        for quota in quotas
    }
    uses = tuple(
        QuotaUse(holder, quota, len(used), used[0] + quota.window if used and quota.window else None)
        for (holder, quota), used in times.items()
    )
    left, extra = min(use.left for use in uses), len(usage.slots.get(task, ()))
    if any(
        left >= _most_ever(quota, used) for (_, quota), used in times.items()
    ):  # waiting would not add any
        return QuotaLine(task, left, None, uses, extra)
    waits = [free_at(quota, used, left + 1) for (_, quota), used in times.items()]
    return QuotaLine(task, left, max(moment for moment in waits if moment is not None), uses, extra)


def _most_ever(quota: Quota, used: Sequence[datetime]) -> int:
    """Return how many more results a quota can have room for if one waits."""
    return quota.results if quota.window is not None else quota.results - len(used)


def quota_lines(
    now: datetime, quotas: Sequence[Quota], tasks: Sequence[str], usage: Usage
) -> tuple[QuotaLine, ...]:
    """Return what is left for each task; empty if there are no quotas."""
    return tuple(quota_line(now, quotas, task, usage) for task in tasks) if quotas else ()


def rate_limit_fields(now: datetime, lines: Sequence[QuotaLine]) -> dict[str, str]:
    """Return HTTP headers of draft-ietf-httpapi-ratelimit-headers-10: q results in w seconds, r left, more in t seconds.

    A quota in total has neither w nor t.

    >>> from datetime import UTC, timedelta
    >>> now = datetime(2026, 11, 21, tzinfo=UTC)
    >>> use = QuotaUse(Holder.TEAM, Quota(2, 7), 1, now + timedelta(hours=1))
    >>> for name, value in rate_limit_fields(now, [QuotaLine("detection", 1, None, (use,), 0)]).items():
    ...     print(f"{name}: {value}")
    RateLimit-Policy: "detection-7d";q=2;w=604800
    RateLimit: "detection-7d";r=1;t=3600
    """
    uses = [(f'"{line.task}-{_policy(use.quota)}"', line, use) for line in lines for use in line.windows]
    if not uses:
        return {}
    policies = (f"{name};q={use.quota.results}{_window(use.quota)}" for name, _, use in uses)
    states = (f"{name};r={use.left + line.extra}{_seconds(now, use.frees_at)}" for name, line, use in uses)
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(states)}


def _policy(quota: Quota) -> str:
    return "total" if quota.days is None else f"{quota.days}d"


def _window(quota: Quota) -> str:
    return "" if quota.window is None else f";w={int(quota.window.total_seconds())}"


def _seconds(now: datetime, moment: datetime | None) -> str:
    return "" if moment is None else f";t={max(1, math.ceil((moment - now).total_seconds()))}"


def quota_text(lines: Sequence[QuotaLine]) -> str | None:
    """Describe what is left for the task with the least left; None if there are no quotas. lines: of an archive's tasks.

    >>> from app.models import Quota
    >>> use = QuotaUse(Holder.TEAM, Quota(2, 7), 1, None)
    >>> quota_text([QuotaLine("detection", 1, None, (use,), 0)])
    '1 left of 2 detection results per 7 days'
    """
    if not lines:
        return None
    line = min(lines, key=lambda line: line.left + line.extra)
    quota = line.tightest.quota
    extra = f", and {line.extra} extra" if line.extra else ""
    return f"{line.left} left of {quota.results} {line.task} results {quota.rate}{extra}"


PAGE = 20  # slots


def counts() -> ColumnElement[bool]:
    """Whether a result revealed a score or is about to, and its quota has not been given back."""
    was_published = (
        select(Publication.id)
        .where(Publication.result_id == Result.id, Publication.run_id.is_not(None))
        .correlate(Result)
        .exists()
    )
    return and_(Result.refunded_at.is_(None), or_(Result.state == ResultState.PENDING, was_published))


def _drafts() -> Select[int]:
    """The phases of drafts, whose results are test runs."""
    return select(Phase.id).join(Challenge).where(Challenge.visibility == ChallengeVisibility.DRAFT)


def counted_results(
    session: Session,
    phase_id: int,
    tasks: Mapping[int, str],
    team_id: int,
    user_id: int,
    longest: timedelta | None,
) -> list[CountedResult]:
    """Return the results of the team, and of the person in any team, that count in a phase: scored at some time, or pending.

    Results in other held-out phases count if they were scored against the same annotation. Results that were refused or
    failed without a score do not count, nor do organisers' baselines. longest: how far back they count; None: all of them.
    """
    mine = union(
        select(Submission.id).join(Submission.method).where(Method.team_id == team_id),
        select(Submission.id).where(Submission.user_id == user_id),
    ).subquery()
    own, same = aliased(GroundTruth), aliased(GroundTruth)
    here, this = aliased(Phase), aliased(Challenge)
    sharing = (
        select(same.phase_id)
        .join(own, challenges.equal_labels(own, same))
        .join(here, own.phase_id == here.id)
        .join(this, here.challenge_id == this.id)
        .join(Phase, same.phase_id == Phase.id)
        .join(Phase.challenge)
        .where(here.id == phase_id, Phase.is_held_out, challenges.share_quotas(this, Challenge))
    )
    statement = (
        select(
            Result.competition,
            Submission.created_at,
            Method.team_id == team_id,
            Submission.user_id == user_id,
        )
        .select_from(mine)
        .join(Submission, Submission.id == mine.c.id)
        .join(Submission.method)
        .join(Result, Result.submission_id == Submission.id)
        .where(
            or_(Result.phase_id == phase_id, Result.phase_id.in_(sharing)),
            Result.phase_id.not_in(_drafts()),
            Method.is_baseline.is_(False),
            Result.extra_slot_id.is_(None),
            Submission.created_at > func.clock_timestamp() - longest if longest is not None else true(),
            counts(),
        )
    )
    return [
        CountedResult(tasks.get(competition, ""), confirmed_at, is_teams, is_persons)
        for competition, confirmed_at, is_teams, is_persons in session.execute(statement)
    ]


def has_expired() -> ColumnElement[bool]:
    """Whether an extra slot can no longer be used because its time is over."""
    return func.coalesce(ExtraSlot.expires_at <= func.clock_timestamp(), false())


def free_slots(session: Session, phase_id: int, team_id: int) -> dict[str, list[int]]:
    """Return a team's extra slots that are neither used nor revoked nor expired, by task, oldest first."""
    is_used = (
        select(Result.id).where(Result.extra_slot_id == ExtraSlot.id, counts()).correlate(ExtraSlot).exists()
    )
    statement = (
        select(ExtraSlot.task, ExtraSlot.id)
        .where(
            ExtraSlot.phase_id == phase_id,
            ExtraSlot.team_id == team_id,
            ExtraSlot.taken_back_at.is_(None),
            ~has_expired(),
            ~is_used,
        )
        .order_by(ExtraSlot.id)
    )
    found: dict[str, list[int]] = {}
    for task, slot_id in session.execute(statement):
        found.setdefault(task, []).append(slot_id)
    return found


def slot_views(
    session: Session, phase_id: int | None, before: int | None = None, *, team_id: int | None = None
) -> RowPage[SlotView]:
    """Return a page of the extra slots of a phase or a team, latest first; before: the last slot of the previous page."""
    used_by = (
        select(func.max(Result.submission_id))
        .where(Result.extra_slot_id == ExtraSlot.id, counts())
        .correlate(ExtraSlot)
        .scalar_subquery()
    )
    statement = (
        select(ExtraSlot, has_expired().label("is_expired"), used_by.label("submission"))
        .options(joinedload(ExtraSlot.team), joinedload(ExtraSlot.phase), joinedload(ExtraSlot.granter))
        .where(
            ExtraSlot.phase_id == phase_id if phase_id is not None else true(),
            ExtraSlot.team_id == team_id if team_id is not None else true(),
            ExtraSlot.id < before if before else true(),
        )
        .order_by(ExtraSlot.id.desc())
        .limit(PAGE + 1)
    )
    found = [
        _slot_view(row[0], is_expired=row.is_expired, submission=row.submission)
        for row in session.execute(statement)
    ]
    return page_of(found, PAGE, number=lambda slot: slot.id)


def _slot_view(slot: ExtraSlot, *, is_expired: bool, submission: int | None) -> SlotView:
    return SlotView(
        id=slot.id,
        team=slot.team.name,
        task=slot.task,
        reason=slot.reason,
        granted_by=slot.granter.name if slot.granter else None,
        granted_at=slot.granted_at,
        expires_at=slot.expires_at,
        is_expired=is_expired,
        taken_back_at=slot.taken_back_at,
        submission=submission,
        image_set=slot.phase.image_set,
    )


def slot_of(session: Session, slot_id: int) -> tuple[ExtraSlot, int] | None:
    """Return an extra slot and the challenge it belongs to."""
    statement = select(ExtraSlot, Phase.challenge_id).join(Phase, ExtraSlot.phase_id == Phase.id)
    row = session.execute(statement.where(ExtraSlot.id == slot_id)).one_or_none()
    return (row[0], row[1]) if row else None


def team_called(session: Session, challenge_id: int, name_key: str) -> int | None:
    """Return the team with this folded name in a challenge."""
    return session.scalar(select(Team.id).where(Team.challenge_id == challenge_id, Team.name_key == name_key))


def usage(session: Session, phase: PhaseView, team_id: int, user_id: int) -> Usage:
    """Return what counts against the quotas of a phase, and the team's extra slots."""
    if not phase.quotas:
        return Usage()
    counted = counted_results(session, phase.id, tasks_of(phase), team_id, user_id, phase.quotas[-1].window)
    return Usage(counted, free_slots(session, phase.id, team_id))


def lines(
    session: Session, actor: Actor, phase: PhaseView, competitions: Iterable[int] | None = None
) -> tuple[QuotaLine, ...]:
    """Return what is left for the tasks of these competitions, by default of all; empty if there are no quotas."""
    tasks = tasks_of(phase)
    numbers = [each.number for each in offered_competitions(phase)] if competitions is None else competitions
    wanted = dict.fromkeys(tasks[number] for number in numbers if number in tasks)
    team_id = teams.team_of(session, actor, phase.challenge_id)
    used = usage(session, phase, team_id or 0, actor.user_id or 0)
    return quota_lines(challenges.now(session), phase.quotas, tuple(wanted), used)


def quota_headers(
    platform: Platform,
    actor: Actor,
    challenge: str,
    image_set: str,
    competitions: Iterable[int] | None = None,
) -> tuple[tuple[QuotaLine, ...], dict[str, str]]:
    """Return what is left in a phase, also as HTTP headers.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        phase = find_phase(session, challenge, image_set)
        found = lines(session, actor, phase, competitions)
        return found, rate_limit_fields(challenges.now(session), found)


def grant(platform: Platform, actor: Actor, phase_id: int, wanted: NewSlots) -> None:
    """Grant a team more results in a task than its quota allows.

    Raises NotFoundError for a phase that the reader does not organise, MalformedError for an unknown team or task.
    """
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id, lock=True)
        team_id = team_called(session, phase.challenge_id, lookalike_key(wanted.team))
        if team_id is None:
            raise FieldsError({"team": f"there is no team {wanted.team!r} in {phase.challenge}"})
        if wanted.expires_at is not None and wanted.expires_at <= challenges.now(session):
            raise FieldsError({"expires_at": "this is in the past"})
        if wanted.task not in chosen_tasks(phase):
            raise FieldsError({"task": f"there is no task {wanted.task!r} in {phase.image_set}"})
        for _ in range(wanted.number):
            slot = ExtraSlot(phase_id=phase.id, team_id=team_id, granted_by=actor.user_id)
            slot.task, slot.reason, slot.expires_at = wanted.task, wanted.reason, wanted.expires_at
            session.add(slot)
        audit.record(
            session, actor.user_id, "quota.grant", f"team {team_id}", challenge_id=phase.challenge_id, reason=wanted.reason,
            after={
                "phase": phase.id, "task": wanted.task, "slots": wanted.number,
                "expires_at": wanted.expires_at and wanted.expires_at.isoformat(),
            },
        )  # fmt: skip
        events.record(
            session, EventKind.QUOTA, challenge_id=phase.challenge_id, phase_id=phase.id, team_id=team_id, by=actor.user_id,
            slots=wanted.number, task=wanted.task, until=wanted.expires_at and wanted.expires_at.isoformat(),
            reason=wanted.reason,
        )  # fmt: skip


def revoke_slot(platform: Platform, actor: Actor, slot_id: int, reason: str) -> int:
    """Revoke an unused extra slot and return its phase.

    Raises NotFoundError, and ConflictError if the slot has been used or revoked.
    """
    with platform.transaction() as session:
        found = slot_of(session, slot_id)
        if found is None or not actor.organises_challenge(found[1]):
            raise NotFoundError(f"there is no extra slot {slot_id}")
        slot, challenge_id = found
        require_active(session, challenge_id)
        teams.lock_team(session, slot.team_id)  # whose confirmation may be using it now
        if slot_id not in free_slots(session, slot.phase_id, slot.team_id).get(slot.task, ()):
            raise ConflictError("This extra slot has already been used or revoked, or has expired")
        slot.taken_back_at = func.clock_timestamp()
        audit.record(
            session, actor.user_id, "quota.take_back", f"team {slot.team_id}", challenge_id=challenge_id, reason=reason,
            before={"phase": slot.phase_id, "task": slot.task, "slot": slot_id},
        )  # fmt: skip
        events.record(
            session, EventKind.QUOTA, challenge_id=challenge_id, phase_id=slot.phase_id, team_id=slot.team_id, by=actor.user_id,
            slots=-1, task=slot.task, reason=reason,
        )  # fmt: skip
        return slot.phase_id
