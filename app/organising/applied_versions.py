"""The versions of a phase's annotation for its organisers: who applied each and when, and since when the boards show it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.challenges import challenges, versions
from app.core.access import Actor
from app.models import AuditRecord, GroundTruth, Rescore, User
from app.platform import Platform


@dataclass(frozen=True, slots=True)
class AppliedVersion:
    """A version of the annotation. applied_by: empty for the command line; shown_from: None if the boards never showed it."""

    version: int
    applied_at: datetime
    applied_by: str
    shown_from: datetime | None
    is_shown: bool
    is_newest: bool


def versions_of_phase(platform: Platform, actor: Actor, phase_id: int) -> tuple[AppliedVersion, ...]:
    """Return the versions of a phase, newest first. Raises NotFoundError unless the reader organises it."""
    with platform.snapshot() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        return versions_of(session, [phase.id]).get(phase.id, ())


def versions_of(session: Session, phase_ids: Collection[int]) -> dict[int, tuple[AppliedVersion, ...]]:
    """Return the versions of these phases, newest first."""
    switched = (
        select(Rescore.ground_truth_id, func.max(Rescore.activated_at).label("at"))
        .where(Rescore.phase_id.in_(phase_ids), Rescore.result_id.is_(None))
        .group_by(Rescore.ground_truth_id)
        .subquery()
    )
    statement = (
        select(GroundTruth, switched.c.at)
        .outerjoin(switched, switched.c.ground_truth_id == GroundTruth.id)
        .where(GroundTruth.phase_id.in_(phase_ids))
        .order_by(GroundTruth.phase_id, GroundTruth.version.desc())
    )
    names = _people(session, phase_ids)
    shown = {phase: versions.shown_truth(session, phase) for phase in phase_ids}
    found: dict[int, tuple[AppliedVersion, ...]] = {}
    for truth, switched_at in session.execute(statement):
        on_boards = shown[truth.phase_id]
        first = truth.imported_at if truth.version == 1 else None  # which boards show at once
        row = AppliedVersion(
            version=truth.version,
            applied_at=truth.imported_at,
            applied_by=names.get((truth.phase_id, truth.version), ""),
            shown_from=switched_at or first,
            is_shown=on_boards is not None and on_boards.id == truth.id,
            is_newest=truth.phase_id not in found,
        )
        found[truth.phase_id] = (*found.get(truth.phase_id, ()), row)
    return found


def _people(session: Session, phase_ids: Collection[int]) -> dict[tuple[int, int], str]:
    """Who applied which version of which phase, as the audit log has it."""
    subjects = {f"phase {phase}": phase for phase in phase_ids}
    version = AuditRecord.details["new_ground_truth"].as_integer()
    statement = (
        select(AuditRecord.subject, version, User.name)
        .join(User, AuditRecord.user_id == User.id)
        .where(
            AuditRecord.subject.in_(subjects),
            AuditRecord.action.in_(("phase.create", "phase.import")),
            version.is_not(None),
        )
    )
    return {(subjects[subject], number): name for subject, number, name in session.execute(statement)}
