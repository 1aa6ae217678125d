"""Whether a submission is taken: each rule a pure function, each refusal a sentence."""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.editions.schemas import PhaseState, PhaseView
from app.models import EntryState

HOLDS = (EntryState.PENDING, EntryState.SCORED)  # states in which an entry is its method's one result


class RefusalCode(enum.StrEnum):
    """Why a submission is not taken."""

    NOT_OPEN = "not-open"
    CLOSED = "closed"
    NOT_CHECKED = "not-checked"
    INVALID = "invalid"
    NOT_IN_ARCHIVE = "not-in-archive"
    ONE_RESULT = "one-result"
    NAME_BURNT = "name-burnt"
    QUOTA = "quota"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason with its sentence."""

    code: RefusalCode
    sentence: str


class RefusedError(Exception):
    """The rules do not take a submission; all the reasons at once."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        super().__init__("; ".join(refusal.sentence for refusal in refusals))
        self.refusals = tuple(refusals)


@dataclass(frozen=True, slots=True)
class Past:
    """An entry that the team made in this phase before."""

    method: str
    competition: int
    state: EntryState
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Archive:
    """What counts of an upload: when it was started, what its check said, which competitions it has files for."""

    started_at: datetime
    valid: bool | None
    competitions: tuple[int, ...]


def refusals(
    now: datetime,
    phase: PhaseView,
    archive: Archive,
    method: str,
    competitions: Sequence[int],
    past: Sequence[Past],
) -> list[Refusal]:
    """Every reason why `archive` is not taken as the result of `method`; none if it is."""
    found = [*_of_period(now, phase, archive.started_at), *_of_archive(archive, competitions)]
    for competition in competitions:
        found += _of_method(method, competition, past)
        found += _of_quota(now, phase, competition, past)
    return found


def _of_period(now: datetime, phase: PhaseView, started_at: datetime) -> Iterable[Refusal]:
    if phase.state is PhaseState.UPCOMING:
        yield Refusal(RefusalCode.NOT_OPEN, f"{phase.image_set} opens at {phase.opens_at:%Y-%m-%d %H:%M} UTC")
    elif phase.closes_at is not None and now >= phase.closes_at:
        in_time = started_at < phase.closes_at and now < phase.closes_at + phase.grace
        if not in_time:
            yield Refusal(
                RefusalCode.CLOSED, f"{phase.image_set} closed at {phase.closes_at:%Y-%m-%d %H:%M} UTC"
            )


def _of_archive(archive: Archive, competitions: Sequence[int]) -> Iterable[Refusal]:
    if archive.valid is None:
        yield Refusal(RefusalCode.NOT_CHECKED, "the upload is not complete, or has not been checked yet")
    elif not archive.valid:
        yield Refusal(RefusalCode.INVALID, "the archive has problems; its report names each of them")
    missing = [number for number in competitions if number not in archive.competitions]
    if archive.valid and (missing or not competitions):
        wanted = ", ".join(map(str, missing)) or "any competition"
        yield Refusal(RefusalCode.NOT_IN_ARCHIVE, f"the archive has no files for competition {wanted}")


def _of_method(method: str, competition: int, past: Sequence[Past]) -> Iterable[Refusal]:
    same = [one for one in past if one.competition == competition and one.method.lower() == method.lower()]
    if any(one.state in HOLDS for one in same):
        yield Refusal(
            RefusalCode.ONE_RESULT,
            f"{method} already has a result in competition {competition}, and a method has one; "
            "another method needs a name of its own",
        )
    elif any(one.state is EntryState.WITHDRAWN for one in same):
        yield Refusal(
            RefusalCode.NAME_BURNT,
            f"{method} was withdrawn from competition {competition}; its name stays with it",
        )


def _of_quota(now: datetime, phase: PhaseView, competition: int, past: Sequence[Past]) -> Iterable[Refusal]:
    if phase.quota is None:
        return
    counted = counting(now, phase.quota_window, competition, past)
    if len(counted) >= phase.quota:
        free = counted[-phase.quota].created_at + phase.quota_window
        yield Refusal(
            RefusalCode.QUOTA,
            f"{len(counted)} of {phase.quota} results in {phase.quota_window.days} days are used in competition "
            f"{competition}; the next is free at {free:%Y-%m-%d %H:%M} UTC",
        )


def counting(now: datetime, window: timedelta, competition: int, past: Sequence[Past]) -> list[Past]:
    """The entries that count against the quota, oldest first: what revealed a score, or is about to.

    What was refused or failed told nothing about the test set and costs nothing; what was withdrawn did.
    """
    costs = (*HOLDS, EntryState.WITHDRAWN)
    recent = (
        one
        for one in past
        if one.competition == competition and one.state in costs and one.created_at > now - window
    )
    return sorted(recent, key=lambda one: one.created_at)
