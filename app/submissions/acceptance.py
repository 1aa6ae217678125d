"""The rules for accepting a submission. Each rule is a pure function, each refusal a message."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import heldout_scoring
from app.challenges.challenges import PhaseView
from app.challenges.phase_rules import PhaseState
from app.core.errors import (
    ConflictError,
    InvalidArchive,
    NameRetired,
    NotChecked,
    NotInArchive,
    OneResult,
    PhaseClosed,
    PhaseNotOpen,
    Refusal,
    RefusedError,
    RemovedArchive,
)
from app.models import ResultState, Upload, UploadState
from app.submissions.methods import METHOD_NAME, NAME_RACED, Training, training_refusals
from app.submissions.quotas import Usage, quota_refusals
from app.submissions.uploads import competitions_of, replaced_in
from app.web.zones import date_in_words

COUNTED_STATES = frozenset({ResultState.PENDING, ResultState.SCORED})  # a method has at most one such result


@dataclass(frozen=True, slots=True)
class PriorResult:
    """An earlier result of the team in this phase."""

    method: str
    competition: int
    state: ResultState


ONLY_ORGANISERS: Final = "Only its organisers submit to a challenge that is not open yet, as a test run"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A request to score an archive's files for these competitions as the results of a method."""

    method: str
    competitions: Sequence[int]
    tasks: Mapping[
        int, str
    ]  # of every competition of the challenge; those of one task share their ground truth
    is_baseline: bool = False


@dataclass(frozen=True, slots=True)
class Archive:
    """The facts about an upload that decide whether it is accepted."""

    started_at: datetime
    valid: bool | None
    competitions: tuple[int, ...]
    is_removed: bool = False
    replaced: str = ""  # that it was valid before the annotation was replaced


def archive_of(upload: Upload) -> Archive:
    """Return the facts about a stored upload that decide whether it is accepted."""
    is_removed = upload.state in (UploadState.REJECTED, UploadState.EXPIRED)
    found = competitions_of(upload.report)
    return Archive(upload.started_at, upload.valid, found, is_removed, replaced_in(upload.report))


def refusals(
    now: datetime,
    phase: PhaseView,
    archive: Archive,
    proposal: Proposal,
    prior: Sequence[PriorResult],
    usage: Usage,
) -> list[Refusal]:
    """Return every reason why `archive` is not accepted as the proposed result; empty if it is accepted."""
    return [
        *([] if phase.is_draft else _period_refusals(now, phase, archive.started_at)),
        *_archive_refusals(archive, proposal.competitions),
        *_method_refusals(proposal, prior, is_open=is_replaceable(phase)),
        *([] if phase.is_draft else quota_refusals(now, phase.quotas, wanted(proposal), usage)),
    ]


def _period_refusals(now: datetime, phase: PhaseView, started_at: datetime) -> Iterable[Refusal]:
    if phase.archived_at is not None:
        yield PhaseClosed(f"the challenge was archived on {date_in_words(phase.archived_at)}")
    elif phase.state is PhaseState.UPCOMING:
        yield PhaseNotOpen(f"the phase {phase.image_set} opens on {date_in_words(phase.opens_at)}")
    elif phase.closes_at is not None and now >= phase.closes_at:
        in_time = started_at < phase.closes_at and now < phase.closes_at + phase.grace_in_force
        if not in_time:
            yield PhaseClosed(f"the phase {phase.image_set} closed on {date_in_words(phase.closes_at)}")


def _archive_refusals(archive: Archive, competitions: Sequence[int]) -> Iterable[Refusal]:
    if archive.is_removed:
        message = "the archive has been removed because it was not submitted in time; upload it again"
        yield RemovedArchive(message)
    elif archive.valid is None:
        yield NotChecked(
            "the upload is incomplete or has not been checked yet; finish it at /uploads first",
        )
    elif not archive.valid:
        yield InvalidArchive(
            archive.replaced or "the archive has problems; fix those in its report and upload it again"
        )
    missing = [number for number in competitions if number not in archive.competitions]
    if archive.valid and (missing or not competitions):
        which = ", ".join(map(str, missing)) or "any competition"
        yield NotInArchive(
            f"the archive has no files for competition {which}; choose others or upload an archive with them",
        )


def statement_refusals(phase: PhaseView, proposal: Proposal, training: Training) -> tuple[Refusal, ...]:
    """Return what is missing from the statement on training data. Baselines of organisers need none."""
    if proposal.is_baseline:
        return ()
    known = (
        each for each in heldout_scoring.competitions(phase.dataset) if each.number in proposal.competitions
    )
    return training_refusals(training, known)


def is_replaceable(phase: PhaseView) -> bool:
    """Whether a method's newer result replaces the one before, as it does if the annotation is public."""
    return not phase.is_held_out


def _method_refusals(proposal: Proposal, prior: Sequence[PriorResult], *, is_open: bool) -> Iterable[Refusal]:
    for competition in proposal.competitions:
        states = {
            result.state
            for result in prior
            if result.competition == competition and result.method.lower() == proposal.method.lower()
        }
        if is_open:
            if ResultState.PENDING in states:
                yield OneResult(
                    f"{proposal.method!r} has a result in competition {competition} that is not scored yet; wait for its "
                    "score or withdraw it",
                )
        elif states & COUNTED_STATES:
            yield OneResult(
                f"{proposal.method!r} already has a result in competition {competition}, and a method can have only one; "
                "use another name for another method",
            )
        elif ResultState.WITHDRAWN in states:
            yield NameRetired(
                f"{proposal.method!r} was withdrawn from competition {competition}; its name cannot be used there again; choose another",
            )


def wanted(proposal: Proposal) -> dict[str, int]:
    """Count the proposed results of each task. Baselines of organisers have no quota."""
    competitions = () if proposal.is_baseline else proposal.competitions
    return dict(Counter(proposal.tasks.get(competition, "") for competition in sorted(competitions)))


def smallest_proposal(archive: Archive, tasks: Mapping[int, str]) -> Proposal:
    """Return the smallest proposal for an archive before any choice is made: one competition of each task."""
    first = {
        task: number for number, task in sorted(tasks.items(), reverse=True) if number in archive.competitions
    }
    return Proposal("", sorted(first.values()), tasks)


def race_conflict(constraint: str | None) -> Exception:
    """Return the error for a confirmation that lost a race, from the database constraint that decided it."""
    if constraint == METHOD_NAME:
        return RefusedError([NAME_RACED])
    if constraint in ("uq_result_one_result", "uq_result_one_pending"):
        message = "this method already has a result here, and a method can have only one"
        return RefusedError([OneResult(message)])
    return ConflictError(
        "the same request arrived twice at the same time; look at your submissions, then send it again"
    )
