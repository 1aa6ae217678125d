"""Annotation that several phases have: recognised by its labels, without the names of data sets, phases and files.

What is annotated in each image has a fingerprint under a key of the workers, and so has all of it. Only workers and commands compute
them; the web process compares those of whole sets, which are in the database.
"""

import json
from dataclasses import dataclass
from typing import Final

import structlog
from sqlalchemy import ColumnElement, and_, false, func, or_, select, true, update
from sqlalchemy.orm import Session, aliased

from app.challenges.challenges import equal_labels
from app.core.errors import StorageUnavailableError
from app.jobs import sandbox
from app.jobs.sandbox import ChildError, ChildLimits, run_in_subprocess
from app.models import Challenge, ChallengeVisibility, Disclosure, GroundTruth, Phase
from app.platform import Platform
from app.storage import owner_of
from scoring import from_plain
from scoring.data.label_digests import LabelDigests

log = structlog.get_logger()

BATCH: Final = 20  # versions that a sweep fills in
NICE: Final = 10


@dataclass(frozen=True, slots=True)
class LabelPrints:
    """The fingerprint of the labels of a set, and those of its images that have any, sorted."""

    labels: str
    images: tuple[bytes, ...]


def prints_of(platform: Platform, digests: LabelDigests) -> LabelPrints:
    """Return the fingerprints of annotation. Raises SettingsError in the web process."""
    secret = platform.secret
    return LabelPrints(secret.labels(digests.images), tuple(sorted(secret.image_labels(digests.annotated))))


def store_images(platform: Platform, prints: LabelPrints, truth_key: str) -> str:
    """Store the fingerprints of the images of annotation in private storage, and return their key."""
    return platform.truths.put(b"".join(prints.images), owner_of(truth_key))


def fill_in(platform: Platform) -> None:
    """Compute the fingerprints that versions of earlier releases lack, a limited number at a time.

    If the images of a version have neutral names, those they were sent with are not known any more: it is recognised in the same
    challenge, where the names are the same.
    """
    if platform.private is None:
        return
    lacking = select(GroundTruth.id, GroundTruth.key).where(GroundTruth.labels.is_(None))
    with platform.transaction() as session:  # in any order, so that damaged ones do not hold up the others
        found = session.execute(lacking.order_by(func.random()).limit(BATCH)).all()
    for truth_id, key in found:
        try:
            prints = prints_of(platform, _digests(platform, key))
        except (ChildError, StorageUnavailableError) as error:
            log.warning("labels without a fingerprint", ground_truth=truth_id, error=str(error))
            continue
        values = {"labels": prints.labels, "image_labels_key": store_images(platform, prints, key)}
        still = GroundTruth.id == truth_id, GroundTruth.labels.is_(None)
        with platform.transaction() as session:
            session.execute(update(GroundTruth).where(*still).values(values))


def _digests(platform: Platform, key: str) -> LabelDigests:
    settings = platform.settings
    limits = ChildLimits(seconds=settings.intake_seconds, memory=settings.intake_memory, nice=NICE)
    with platform.truths.materialise(key) as path:
        return from_plain(LabelDigests, json.loads(run_in_subprocess(limits, sandbox.digests, path)))


def phases_hiding(
    session: Session, phase_id: int, new: tuple[str, str] | None = None, *, was_public: bool
) -> list[str]:
    """Return the other phases of opened challenges that hide what this phase would publish, such as "alfa test".

    new: fingerprint and labels of annotation that is about to become the phase's; was_public: whether what the phase has is public
    already. Annotation that was public before a phase hid it is hidden by none.
    """
    own, hidden, public = aliased(GroundTruth), aliased(GroundTruth), aliased(GroundTruth)
    its_phase, its_challenge = aliased(Phase), aliased(Challenge)
    is_same: list[ColumnElement[bool]] = [
        select(own.id).where(own.phase_id == phase_id, equal_labels(own, hidden)).exists()
    ]
    if new is not None:
        is_same += [hidden.fingerprint == new[0], hidden.labels == new[1]]
    is_seen = and_(its_phase.id != phase_id, its_challenge.visibility != ChallengeVisibility.DRAFT)
    was_public_before = (
        select(public.id)
        .join(its_phase, public.phase_id == its_phase.id)
        .join(its_challenge, its_phase.challenge_id == its_challenge.id)
        .where(
            equal_labels(public, hidden),
            public.imported_at < hidden.imported_at,
            its_phase.disclosure == Disclosure.FULL,
            or_(is_seen, and_(its_phase.id == phase_id, true() if was_public else false())),
        )
        .exists()
    )
    statement = (
        select(Challenge.code + " " + Phase.image_set)
        .join(Phase, Phase.challenge_id == Challenge.id)
        .join(hidden, hidden.phase_id == Phase.id)
        .where(
            Phase.id != phase_id,
            Phase.is_held_out,
            Challenge.visibility != ChallengeVisibility.DRAFT,
            or_(*is_same),
            ~was_public_before,
        )
        .distinct()
    )
    return sorted(session.scalars(statement))
