"""Annotation that several phases have: recognised by its labels, without the names of data sets, phases and files.

What is annotated in each image has a fingerprint under a key of the workers, and so has all of it. Only workers and commands compute
them; the web process compares those of whole sets, which are in the database.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from pathlib import Path
from typing import Final

import structlog
from sqlalchemy import ColumnElement, and_, false, func, or_, select, true, update
from sqlalchemy.orm import Session, aliased

from app.challenges import challenges, label_digests
from app.challenges.challenges import equal_labels
from app.challenges.label_digests import LabelDigests
from app.core import audit
from app.core.errors import RateLimitedError, StorageDamagedError, StorageUnavailableError
from app.jobs.sandbox import ChildError, ChildLimits, run_in_subprocess
from app.models import (
    AuditRecord,
    Challenge,
    ChallengeOrganiser,
    ChallengeVisibility,
    Disclosure,
    GroundTruth,
    Phase,
)
from app.people.locking import lock_person
from app.platform import Platform
from app.storage import owner_of
from app.storage.truth_key import IMAGE
from heldout_scoring.stored import from_plain

log = structlog.get_logger()

BATCH: Final = 20  # versions that a sweep fills in
# of the annotated images of one of two sets, from which on people are told that both have them
SHARE: Final = 0.1
NICE: Final = 10
DAY: Final = timedelta(days=1)
MOST_REFUSED: Final = 10  # copies of hidden annotation, of a person in a day
REFUSED_ACTION: Final = "data-set.refuse-copy"


@dataclass(frozen=True, slots=True)
class LabelPrints:
    """The fingerprint of the labels of a set, and those of its images that have any, sorted."""

    labels: str
    images: tuple[bytes, ...]


def prints_of(platform: Platform, digests: LabelDigests) -> LabelPrints:
    """Return the fingerprints of annotation. Raises SettingsError in the web process."""
    secret = platform.secret
    return LabelPrints(secret.labels(digests.images), tuple(sorted(secret.image_labels(digests.annotated))))


def prints_of_corrected(
    platform: Platform, before: Path, after: LabelDigests, stored: LabelPrints | None
) -> LabelPrints:
    """Return the fingerprints of annotation after some labels were corrected.

    before: the annotation in a file that was corrected; stored: its fingerprints. If its images have neutral names, those they were
    sent with are not known any more: then images keep the fingerprints that they had.
    """
    found = prints_of(platform, after)
    if stored is None or prints_of(platform, digests_in(platform, before)).images == stored.images:
        return found
    return LabelPrints(found.labels, stored.images)


def store_images(platform: Platform, prints: LabelPrints, truth_key: str) -> str:
    """Store the fingerprints of the images of annotation in private storage, and return their key."""
    return platform.truths.put(b"".join(prints.images), owner_of(truth_key))


def stored_prints(platform: Platform, labels: str, images_key: str) -> LabelPrints:
    """Return the fingerprints of a version of annotation. Raises StorageUnavailableError."""
    with platform.truths.open(images_key) as stream:
        content = stream.read()
    return LabelPrints(labels, _split(content))


def _split(content: bytes) -> tuple[bytes, ...]:
    return tuple(content[place : place + IMAGE] for place in range(0, len(content), IMAGE))


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
    with platform.truths.materialise(key) as path:
        return digests_in(platform, path)


def digests_in(platform: Platform, truth: Path) -> LabelDigests:
    """Return the digests of annotation in a file, from a child process."""
    settings = platform.settings
    limits = ChildLimits(seconds=settings.intake_seconds, memory=settings.intake_memory, nice=NICE)
    return from_plain(LabelDigests, json.loads(run_in_subprocess(limits, label_digests.digests, truth)))


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


def hiding_elsewhere(session: Session, challenge_id: int) -> list[str]:
    """Return the phases of opened challenges that hide what a draft would publish by opening."""
    return [
        name
        for phase_id in _public_phases(session, challenge_id)
        for name in phases_hiding(session, phase_id, was_public=True)
    ]


def _public_phases(session: Session, challenge_id: int) -> Sequence[int]:
    return session.scalars(
        select(Phase.id).where(Phase.challenge_id == challenge_id, ~Phase.is_held_out)
    ).all()


@dataclass(frozen=True, slots=True)
class Overlap:
    """Another phase that has some of the images of a set, annotated alike.

    name: such as "alfa test"; common: how many images, of `annotated` in the set; is_whole: whether all annotation is the same;
    is_listed: whether everybody can find the challenge.
    """

    phase_id: int
    challenge_id: int
    name: str
    is_held_out: bool
    is_listed: bool
    is_whole: bool
    common: int
    annotated: int


def overlaps(
    platform: Platform, prints: LabelPrints, challenge: str, image_set: str, *, is_replaced: bool
) -> tuple[Overlap, ...]:
    """Compare a set, image by image, with the newest annotation of the other phases, without drafts of other challenges.

    challenge, image_set: of the phase that the set becomes; is_replaced: whether all phases of the challenge are deleted then.
    Raises StorageUnavailableError.
    """
    newer = aliased(GroundTruth)
    is_newest = (
        ~select(newer.id)
        .where(newer.phase_id == GroundTruth.phase_id, newer.version > GroundTruth.version)
        .exists()
    )
    is_here = Challenge.code == challenge
    is_other = ~is_here if is_replaced else or_(~is_here, Phase.image_set != image_set)
    statement = (
        select(GroundTruth.labels, GroundTruth.image_labels_key, Phase, Challenge)
        .join(GroundTruth.phase)
        .join(Phase.challenge)
        .where(
            is_newest,
            is_other,
            GroundTruth.image_labels_key.is_not(None),
            or_(is_here, Challenge.visibility != ChallengeVisibility.DRAFT),
        )
        .order_by(Challenge.code, Phase.image_set)
    )
    with platform.transaction() as session:
        rows = session.execute(statement).all()
    own = frozenset(prints.images)
    found = []
    for labels, key, phase, of in rows:
        assert key is not None
        common, theirs = _common(platform, own, key)
        if labels == prints.labels or common >= max(1, SHARE * min(len(own), theirs)):
            found.append(
                Overlap(
                    phase_id=phase.id,
                    challenge_id=of.id,
                    name=f"{of.code} {phase.image_set}",
                    is_held_out=phase.is_held_out,
                    is_listed=of.visibility is ChallengeVisibility.LISTED,
                    is_whole=labels == prints.labels,
                    common=common,
                    annotated=len(own),
                )
            )
    return tuple(found)


def _common(platform: Platform, own: frozenset[bytes], key: str) -> tuple[int, int]:
    """How many images of a set another one has, and how many annotated images that one has; none if it is damaged."""
    try:
        with platform.truths.open(key) as stream:
            content = stream.read()
    except StorageDamagedError:
        return 0, 0
    theirs = set(_split(content))
    return len(own & theirs), len(theirs)


def warnings_of(
    session: Session, found: Sequence[Overlap], *, is_held_out: bool, user_id: int | None
) -> list[str]:
    """What somebody who imports a set is told of phases that have its labels, too; user_id: None for the command line.

    Of what other organisers hide nobody is told: that would answer guesses.
    """
    theirs = set(
        session.scalars(select(ChallengeOrganiser.challenge_id).where(ChallengeOrganiser.user_id == user_id))
    )
    told = []
    for each in found:
        organises = user_id is None or each.challenge_id in theirs
        if not (organises or (each.is_listed and not each.is_held_out)):
            continue
        if is_held_out or each.is_held_out:
            count = f"{each.common:,} of {each.annotated:,} annotated images have the same annotation in {each.name}"
            told.append(f"{count}, {_consequence(each, is_held_out=is_held_out)}")
    return told


def _consequence(found: Overlap, *, is_held_out: bool) -> str:
    if not found.is_held_out:
        return "which is public: participants can know what is hidden here"
    if not is_held_out:
        return "which hides it: everybody will see it here"
    return "which hides it, too" + ("; results in both count together" if found.is_whole else "")


def record_published(session: Session, found: Sequence[Overlap], user_id: int | None) -> None:
    """Record for the organisers of phases that hide some images that their annotation was applied as public."""
    for each in found:
        if each.is_held_out:
            audit.record(
                session, user_id, "phase.copied", f"phase {each.phase_id}",
                challenge_id=each.challenge_id, details={"images": each.common},
            )  # fmt: skip


def record_refusal(session: Session, user_id: int, hiding: Sequence[str]) -> None:
    """Record for admins that somebody was refused to publish what phases hide."""
    # what other phases hide is for admins alone
    audit.record(session, user_id, REFUSED_ACTION, f"person {user_id}", details={"hiding": ", ".join(hiding)})


def note_disclosing(session: Session, user_id: int, phase_id: int) -> None:
    """Record the refusal if another phase hides what this held-out phase would disclose in full; the caller then refuses it.

    Call it in a transaction of its own before the change, whose transaction is rolled back. Raises RateLimitedError after too many.
    """
    lock_person(session, user_id)  # two at the same moment count each other
    require_few_refusals(session, user_id)
    if hiding := phases_hiding(session, phase_id, was_public=False):
        record_refusal(session, user_id, hiding)


def note_opening(session: Session, user_id: int, challenge_id: int) -> None:
    """Record the refusal if another challenge hides what this draft would publish by opening. Works as `note_disclosing` does."""
    if not _public_phases(session, challenge_id):
        return
    lock_person(session, user_id)
    require_few_refusals(session, user_id)
    if hiding := hiding_elsewhere(session, challenge_id):
        record_refusal(session, user_id, hiding)


def require_few_refusals(session: Session, user_id: int) -> None:
    """Raise RateLimitedError if somebody was refused often today: each refusal answers a guess at what others hide."""
    statement = (
        select(AuditRecord.at)
        .where(
            AuditRecord.subject == f"person {user_id}",
            AuditRecord.action == REFUSED_ACTION,
            AuditRecord.at > func.clock_timestamp() - DAY,
        )
        .order_by(AuditRecord.at.desc())
        .limit(MOST_REFUSED)
    )
    found = session.scalars(statement).all()
    if len(found) == MOST_REFUSED:
        wait = found[-1] + DAY - challenges.now(session)
        raise RateLimitedError("copies of hidden annotation", max(1, ceil(wait.total_seconds())))
