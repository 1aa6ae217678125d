"""The versions of a phase's annotation for its organisers: who applied each and when, and since when the boards show it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Path as PathParameter
from pydantic import BaseModel, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.challenges import challenges, versions
from app.challenges.challenges import PhaseView
from app.core import audit
from app.core.access import Actor
from app.core.errors import NotFoundError
from app.intake.applying import LONGEST_NOTE
from app.intake.reports import ClassCount
from app.models import AuditRecord, GroundTruth, Rescore, TruthCopy, User
from app.platform import Platform


@dataclass(frozen=True, slots=True)
class AppliedVersion:
    """A version of the annotation. applied_by: empty for the command line; shown_from: None if the boards never showed it.

    copied_from: the earlier version that it is; images, objects, classes: how many were counted when it was applied.
    """

    version: int
    applied_at: datetime
    applied_by: str
    shown_from: datetime | None
    is_shown: bool
    is_newest: bool
    note: str = ""
    copied_from: int | None = None
    images: int = 0
    objects: int = 0
    classes: int = 0


@dataclass(frozen=True, slots=True)
class RequestedCopy:
    """An earlier version that somebody asked to go back to, or the newest with labels that they corrected.

    message: why it was not done; empty while a worker has it.
    """

    version: int
    asked_by: str
    requested_at: datetime
    message: str
    is_corrected: bool = False


@dataclass(frozen=True, slots=True)
class VersionSheet:
    """A version with its classes, the others of its phase, newest first, and the earlier one that was asked for last."""

    phase: PhaseView
    version: AppliedVersion
    classes: tuple[ClassCount, ...]
    others: tuple[AppliedVersion, ...]
    copy: RequestedCopy | None

    @property
    def newest(self) -> int:
        """The newest version of the phase."""
        return max(each.version for each in (self.version, *self.others))


VersionNumber = Annotated[int, PathParameter(ge=1, le=2**31 - 1)]


class Note(BaseModel):
    """What organisers say of a version."""

    note: Annotated[str, Field(max_length=LONGEST_NOTE)] = ""


def versions_of_phase(platform: Platform, actor: Actor, phase_id: int) -> tuple[AppliedVersion, ...]:
    """Return the versions of a phase, newest first. Raises NotFoundError unless the reader organises it."""
    with platform.snapshot() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        return versions_of(session, [phase.id]).get(phase.id, ())


def version_of_phase(platform: Platform, actor: Actor, phase_id: int, version: int) -> VersionSheet:
    """Return a version of a phase. Raises NotFoundError if there is none, or the reader does not organise the phase."""
    with platform.snapshot() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        truth = _truth(session, phase_id, version)
        listed = versions_of(session, [phase_id]).get(phase_id, ())
        copy = copies_of(session, [phase_id]).get(phase_id)
        classes = tuple(ClassCount(**row) for row in truth.statistics.get("rows", ()))
    own = next(each for each in listed if each.version == version)
    return VersionSheet(phase, own, classes, tuple(each for each in listed if each is not own), copy)


def _truth(session: Session, phase_id: int, version: int) -> GroundTruth:
    own = GroundTruth.phase_id == phase_id, GroundTruth.version == version
    truth = session.scalar(select(GroundTruth).where(*own))
    if truth is None:
        raise NotFoundError(f"there is no version {version} of this phase")
    return truth


def write_note(platform: Platform, actor: Actor, phase_id: int, version: int, note: Note) -> None:
    """Change what organisers say of a version. Raises NotFoundError."""
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id, lock=True)
        truth, text = _truth(session, phase_id, version), note.note.strip()
        if text == truth.note:
            return
        audit.record(
            session, actor.user_id, "phase.note", f"phase {phase_id}", challenge_id=phase.challenge_id,
            before={"note": truth.note}, after={"note": text}, details={"version": version},
        )  # fmt: skip
        truth.note = text


def copies_of(session: Session, phase_ids: Collection[int]) -> dict[int, RequestedCopy]:
    """Return the version that organisers of these phases asked to go back to, or to correct, if it is not done."""
    statement = (
        select(TruthCopy, User.name)
        .join(User, TruthCopy.user_id == User.id)
        .where(TruthCopy.phase_id.in_(phase_ids))
    )
    return {
        row.phase_id: RequestedCopy(row.version, name, row.requested_at, row.message, row.is_corrected)
        for row, name in session.execute(statement)
    }


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
    found: dict[int, list[AppliedVersion]] = {}
    for truth, switched_at in session.execute(statement):
        on_boards = shown[truth.phase_id]
        total = truth.statistics.get("total", {})
        first = truth.imported_at if truth.version == 1 else None  # which boards show at once
        row = AppliedVersion(
            version=truth.version,
            applied_at=truth.imported_at,
            applied_by=names.get((truth.phase_id, truth.version), ""),
            shown_from=switched_at or first,
            is_shown=on_boards is not None and on_boards.id == truth.id,
            is_newest=truth.phase_id not in found,
            note=truth.note,
            copied_from=truth.copied_from,
            images=total.get("images", 0),
            objects=total.get("objects", 0) + total.get("difficult", 0),
            classes=len(truth.statistics.get("rows", ())),
        )
        found.setdefault(truth.phase_id, []).append(row)
    return {phase: tuple(rows) for phase, rows in found.items()}


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
