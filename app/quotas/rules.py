"""What quotas leave, and when; each a pure function."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from app.errors import QuotaUsed, Refusal
from app.models import Quota
from app.quotas.schemas import CountedResult, Holder, QuotaLine, QuotaUse, Usage


def quota_refusals(
    now: datetime, quotas: Sequence[Quota], wanted: Mapping[str, int], usage: Usage
) -> Iterator[Refusal]:
    """A refusal for every quota that so many further results of each task would exceed, extra slots left aside."""
    for task, number in wanted.items():
        within = number - len(usage.slots.get(task, ()))  # so many have to fit into the quotas
        told: set[Quota] = set()
        for holder in Holder if within > 0 else ():
            for quota in quotas:
                used = times_of(now, quota, holder, task, usage.counted)
                if len(used) + within > quota.results and quota not in told:
                    told.add(quota)  # a team of one person hears it once
                    free = free_at(quota, used, within) if within <= quota.results else None
                    yield _refusal(
                        f"{len(used)} of {quota.results} {task} results in {quota.days} days are used",
                        holder,
                        number,
                        free,
                    )


def _refusal(used: str, holder: Holder, number: int, free: datetime | None) -> Refusal:
    slots = f"{used} by you, in this team or another" if holder is Holder.PERSON else used
    if free is None:  # too many at once, however long one waits
        message = f"{slots}, and this archive has {number}: score fewer competitions of this task at once"
        return QuotaUsed(message)
    return QuotaUsed(f"{slots}; the next slot is free at {free:%Y-%m-%d %H:%M} UTC", free)


def slots_to_use(
    now: datetime, quotas: Sequence[Quota], wanted: Mapping[str, int], usage: Usage
) -> dict[str, list[int]]:
    """By task, the extra slots that accepted results use: those that do not fit into the quotas."""
    lines = quota_lines(now, quotas, tuple(wanted), usage)
    return {
        line.task: list(usage.slots.get(line.task, ())[: max(0, wanted[line.task] - line.left)])
        for line in lines
    }


def times_of(
    now: datetime, quota: Quota, holder: Holder, task: str, counted: Sequence[CountedResult]
) -> list[datetime]:
    """When the results were confirmed that count against a quota at `now`, oldest first."""
    return sorted(
        result.confirmed_at
        for result in counted
        if result.task == task
        and (result.is_teams if holder is Holder.TEAM else result.is_persons)
        and result.confirmed_at > now - quota.window
    )


def free_at(quota: Quota, used: Sequence[datetime], number: int) -> datetime | None:
    """When so many further results fit into a quota of which these are used; none if they do now. `number` is at most the quota."""
    excess = len(used) + number - quota.results
    return used[excess - 1] + quota.window if excess > 0 else None


def quota_line(now: datetime, quotas: Sequence[Quota], task: str, usage: Usage) -> QuotaLine:
    """What the quotas of a phase leave for one task; at least one quota."""
    times = {
        (holder, quota): times_of(now, quota, holder, task, usage.counted)
        for holder in Holder
        for quota in quotas
    }
    uses = tuple(
        QuotaUse(holder, quota, len(used), used[0] + quota.window if used else None)
        for (holder, quota), used in times.items()
    )
    left, extra = min(use.left for use in uses), len(usage.slots.get(task, ()))
    if any(left >= quota.results for quota in quotas):  # waiting brings no more
        return QuotaLine(task, left, None, uses, extra)
    waits = [free_at(quota, used, left + 1) for (_, quota), used in times.items()]
    return QuotaLine(task, left, max(moment for moment in waits if moment is not None), uses, extra)


def quota_lines(
    now: datetime, quotas: Sequence[Quota], tasks: Sequence[str], usage: Usage
) -> tuple[QuotaLine, ...]:
    """What is left for each task; nothing where there is no quota."""
    return tuple(quota_line(now, quotas, task, usage) for task in tasks) if quotas else ()


def rate_limit_fields(now: datetime, lines: Sequence[QuotaLine]) -> dict[str, str]:
    """What is left, as HTTP fields of draft-ietf-httpapi-ratelimit-headers-10: q of results in w seconds, r left, more in t seconds.

    >>> from datetime import UTC, timedelta
    >>> now = datetime(2026, 11, 21, tzinfo=UTC)
    >>> use = QuotaUse(Holder.TEAM, Quota(2, 7), 1, now + timedelta(hours=1))
    >>> for name, value in rate_limit_fields(now, [QuotaLine("detection", 1, None, (use,), 0)]).items():
    ...     print(f"{name}: {value}")
    RateLimit-Policy: "detection-7d";q=2;w=604800
    RateLimit: "detection-7d";r=1;t=3600
    """
    uses = [(f'"{line.task}-{use.quota.days}d"', line, use) for line in lines for use in line.windows]
    if not uses:
        return {}
    policies = (
        f"{name};q={use.quota.results};w={int(use.quota.window.total_seconds())}" for name, _, use in uses
    )
    states = (f"{name};r={use.left + line.extra}{_seconds(now, use.frees_at)}" for name, line, use in uses)
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(states)}


def _seconds(now: datetime, moment: datetime | None) -> str:
    return "" if moment is None else f";t={max(1, math.ceil((moment - now).total_seconds()))}"


def quota_text(lines: Sequence[QuotaLine]) -> str | None:
    """What is left for the tasks of an archive, in words: that of the task with the least; none where there is no quota.

    >>> from app.models import Quota
    >>> use = QuotaUse(Holder.TEAM, Quota(2, 7), 1, None)
    >>> quota_text([QuotaLine("detection", 1, None, (use,), 0)])
    '1 of 2 detection results left in 7 days'
    """
    if not lines:
        return None
    line = min(lines, key=lambda line: line.left + line.extra)
    quota = line.tightest.quota
    extra = f", and {line.extra} extra" if line.extra else ""
    return f"{line.left} of {quota.results} {line.task} results left in {quota.days} days{extra}"
