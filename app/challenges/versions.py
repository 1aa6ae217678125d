"""Versions of a phase's annotation: the one that its boards show, and the public description of each.

A phase is described, and its uploads are checked, by the version that its boards show. Archive limits are part of a description;
raising them writes anew that of the version shown and those of the versions that wait, so that these keep them.
"""

import json
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

import structlog
from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges
from app.challenges.challenges import NOT_CHOSEN, description_of
from app.core.errors import StorageUnavailableError
from app.jobs import sandbox
from app.jobs.sandbox import ChildError, ChildLimits, run_in_subprocess
from app.models import Board, Challenge, GroundTruth, Phase, Upload
from app.platform import Platform
from app.storage import digest_of
from heldout_scoring import Description, Limits
from heldout_scoring.evaluation import is_scorable

log = structlog.get_logger()

BATCH: Final = 20  # versions that a sweep describes
NICE: Final = 10


def shown_truth(session: Session, phase_id: int) -> GroundTruth | None:
    """Return the version of the annotation that the boards of a phase show; None if it has no board.

    Boards of an earlier release may show several until they are scored again; then it is the earliest.
    """
    statement = (
        select(GroundTruth)
        .join(Board, Board.ground_truth_id == GroundTruth.id)
        .where(Board.phase_id == phase_id)
        .order_by(GroundTruth.version)
    )
    return session.scalar(statement.limit(1))


def show(session: Session, phase: Phase, truth: GroundTruth, scorer: str) -> None:
    """Have all boards of a locked phase show a version that has a description, scored by this scorer.

    Competitions that the version adds get their boards. Results under other versions leave the boards.
    """
    assert truth.description_key is not None
    assert truth.not_offered is not None
    is_other = or_(Board.ground_truth_id != truth.id, Board.scorer != scorer)
    session.execute(
        update(Board)
        .where(Board.phase_id == phase.id, is_other)
        .values(
            ground_truth_id=truth.id,
            scorer=scorer,
            generation=Board.generation + 1,
            activated_at=func.clock_timestamp(),
        ),
        execution_options={"synchronize_session": False},
    )
    dataset = session.get_one(Challenge, phase.challenge_id).dataset
    existing = set(session.scalars(select(Board.competition).where(Board.phase_id == phase.id)))
    offered = competitions_of(dataset, [int(number) for number in truth.not_offered])
    session.add_all(
        Board(
            phase_id=phase.id,
            competition=number,
            protocol=phase.protocol,
            ground_truth_id=truth.id,
            scorer=scorer,
        )
        for number in offered
        if number not in existing
    )
    phase.description_key, phase.not_offered = truth.description_key, truth.not_offered
    session.flush()


def competitions_of(dataset: str, not_offered: Collection[int]) -> tuple[int, ...]:
    """Return the competitions that get a board: this release can score them, and they are offered."""
    return tuple(
        info.number
        for info in heldout_scoring.competitions(dataset)
        if is_scorable(info) and info.number not in not_offered
    )


def reasons_not_offered(
    dataset: str, missing: Mapping[int, str], left_out: Collection[int]
) -> dict[int, str]:
    """Return the competitions that are not offered, and why: without ground truth, or left out by the organisers."""
    numbers = [info.number for info in heldout_scoring.competitions(dataset)]
    return {n: NOT_CHOSEN if n in left_out else missing[n] for n in numbers if n in left_out or n in missing}


def keys_in_use(session: Session, phase_id: int) -> frozenset[str]:
    """Return the descriptions of the version that the boards of a phase show, and of those that wait."""
    shown = select(func.min(GroundTruth.version)).join(Board, Board.ground_truth_id == GroundTruth.id)
    waiting = select(GroundTruth.description_key).where(
        GroundTruth.phase_id == phase_id,
        GroundTruth.version >= shown.where(Board.phase_id == phase_id).scalar_subquery(),
        GroundTruth.description_key.is_not(None),
    )
    own = select(Phase.description_key).where(Phase.id == phase_id)
    return frozenset(session.scalars(waiting.union(own)))


def store_limits(platform: Platform, keys: Collection[str], limits: Limits) -> dict[str, str]:
    """Store these descriptions with these limits, and return the key of each by that of the one before."""
    return {key: _with_limits(platform, key, limits) for key in keys}


def _with_limits(platform: Platform, key: str, limits: Limits) -> str:
    description = description_of(platform.descriptions, key)
    if description.limits == limits:
        return key
    return platform.descriptions.put(replace(description, limits=limits).to_json().encode(), uuid.uuid4())


def use_descriptions(session: Session, phase: Phase, keys: Mapping[str, str]) -> None:
    """Replace descriptions of a locked phase, as `store_limits` returns them.

    Changed limits are for later uploads, so those that were checked are not checked again.
    """
    for before, after in keys.items():
        if before != after:
            own = GroundTruth.phase_id == phase.id, GroundTruth.description_key == before
            session.execute(update(GroundTruth).where(*own).values(description_key=after))
            checked = Upload.phase_id == phase.id, Upload.description_digest == digest_of(before)
            session.execute(update(Upload).where(*checked).values(description_digest=digest_of(after)))
    phase.description_key = keys[phase.description_key]


# versions without a description, and phases that another version describes, are of releases before this one


def complete(platform: Platform) -> None:
    """Describe versions that have no description, a limited number at a time, and phases by what their boards show."""
    if platform.private is None:
        return
    with platform.transaction() as session:
        without = select(GroundTruth.id).where(GroundTruth.description_key.is_(None))
        found = session.scalars(without.order_by(GroundTruth.id.desc()).limit(BATCH)).all()
    for truth_id in found:
        describe(platform, truth_id)
    for phase_id in _described_otherwise(platform):
        _align(platform, phase_id)


@dataclass(frozen=True, slots=True)
class _Undescribed:
    """A version without a description, and what it takes from its phase."""

    key: str
    phase_id: int
    phase_key: str
    dataset: str
    left_out: tuple[int, ...]


def describe(platform: Platform, truth_id: int) -> bool:
    """Describe a version unless that is done; return whether it has a description. Only workers can read what it takes."""
    with platform.transaction() as session:
        row = session.get(GroundTruth, truth_id)
        if row is None or row.description_key is not None:
            return row is not None
        task = _undescribed(session, truth_id)
    if platform.private is None:
        return False
    try:
        found = _found_by_child(platform, task)
    except (ChildError, StorageUnavailableError) as error:
        log.warning("version not described", ground_truth=truth_id, error=str(error))
        return False
    shown = description_of(platform.descriptions, task.phase_key)
    missing = {int(number): reason for number, reason in found["missing"].items()}
    reasons = reasons_not_offered(task.dataset, missing, task.left_out)
    described = replace(
        Description.from_json(found["description"]), limits=shown.limits, not_offered=tuple(reasons)
    )
    key = store_description(platform, described, {task.phase_key})
    with platform.transaction() as session:
        phase = challenges.lock_phase(session, task.phase_id)
        if phase.description_key != task.phase_key:
            return False  # its limits were raised meanwhile; the next sweep takes them
        own = GroundTruth.id == truth_id, GroundTruth.description_key.is_(None)
        values = {"description_key": key, "not_offered": {str(n): reason for n, reason in reasons.items()}}
        session.execute(update(GroundTruth).where(*own).values(values))
    log.info("version described", ground_truth=truth_id)
    return True


def _undescribed(session: Session, truth_id: int) -> _Undescribed:
    statement = (
        select(GroundTruth.key, Phase, Challenge.dataset)
        .join(GroundTruth.phase)
        .join(Phase.challenge)
        .where(GroundTruth.id == truth_id)
    )
    key, phase, dataset = session.execute(statement).one()
    left_out = tuple(int(number) for number, reason in phase.not_offered.items() if reason == NOT_CHOSEN)
    return _Undescribed(key, phase.id, phase.description_key, dataset, left_out)


def _found_by_child(platform: Platform, task: _Undescribed) -> dict[str, Any]:
    settings = platform.settings
    limits = ChildLimits(seconds=settings.intake_seconds, memory=settings.intake_memory, nice=NICE)
    with platform.truths.materialise(task.key) as path:
        found: dict[str, Any] = json.loads(run_in_subprocess(limits, sandbox.describe, path))
    return found


def store_description(platform: Platform, description: Description, known: Collection[str]) -> str:
    """Store a description and return its key; one with the same content among those known is used again."""
    content = description.to_json().encode()
    digest = sha256(content).hexdigest()
    same = next((key for key in sorted(known) if digest_of(key) == digest), None)
    return same or platform.descriptions.put(content, uuid.uuid4())


def _described_otherwise(platform: Platform) -> list[int]:
    """The phases whose boards all show one version, while they are described by another."""
    boards = (
        select(Board.phase_id, func.min(Board.ground_truth_id).label("truth"))
        .group_by(Board.phase_id)
        .having(func.min(Board.ground_truth_id) == func.max(Board.ground_truth_id))
        .subquery()
    )
    statement = (
        select(Phase.id)
        .join(boards, boards.c.phase_id == Phase.id)
        .join(GroundTruth, GroundTruth.id == boards.c.truth)
        .where(
            GroundTruth.not_offered.is_not(None),
            or_(
                GroundTruth.description_key != Phase.description_key,
                GroundTruth.not_offered != Phase.not_offered,
            ),
        )
    )
    with platform.transaction() as session:
        return list(session.scalars(statement))


def _align(platform: Platform, phase_id: int) -> None:
    """Describe a phase by the version that its boards show; it keeps its limits."""
    with platform.transaction() as session:
        keys = keys_in_use(session, phase_id)
        own = session.get_one(Phase, phase_id).description_key
    limited = store_limits(platform, keys, description_of(platform.descriptions, own).limits)
    with platform.transaction() as session:
        challenges.lock_imports(session)
        phase = challenges.lock_phase(session, phase_id)
        truth = shown_truth(session, phase_id)
        if truth is None or keys_in_use(session, phase_id) != keys or phase.description_key != own:
            return  # the next sweep tries again
        use_descriptions(session, phase, limited)
        session.refresh(truth)
        assert truth.description_key is not None
        phase.description_key, phase.not_offered = truth.description_key, truth.not_offered or {}
    log.info("phase described by the version that its boards show", phase=phase_id)
