"""Corrected labels that wait to become a version: sealed for the workers as they arrive, and read again by nobody else."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field
from sqlalchemy import delete, exists, func, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, FieldsError, NotFoundError
from app.intake import correcting, keys, label_scenes
from app.intake.image_labels import ImageLabels, problems_of
from app.intake.sealed_labels import SealError, place_of, seal, unseal
from app.models import GroundTruth, LabelEdit, LabelPreview, TruthCopy
from app.platform import Platform
from heldout_scoring import GroundTruth as Annotation

LARGEST: Final = 64 << 10  # bytes of the labels of an image, sealed
MOST: Final = 500  # corrections of a person in a phase that wait
KEPT: Final = timedelta(days=30)  # after the last change


class LabelCorrection(ImageLabels):
    """The labels of an image after a correction. version: the one that is corrected, the newest as far as the organiser knows."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]


def save(platform: Platform, actor: Actor, phase_id: int, image: str, sent: LabelCorrection) -> None:
    """Keep the corrected labels of an image, in place of those that this organiser saved before.

    Raises FieldsError with all that is wrong, NotFoundError, ConflictError if another version was applied meanwhile, NoWorkerError.
    """
    assert actor.user_id is not None
    view = label_scenes.view(platform, actor, phase_id, image)
    _require_newest(view.version, sent.version)
    if problems := problems_of(sent, frozenset(view.classes), view.scene):
        raise FieldsError(problems)
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id, lock=True)
        challenges.lock_phase(session, phase_id)
        truth = challenges.newest_truth(session, phase_id)
        assert truth is not None
        _require_newest(truth.version, sent.version)
        _require_none_applied(session, phase_id, actor.user_id)
        others = of_person(session, phase_id, actor.user_id, without=image)
        if len(others) >= MOST:
            raise ConflictError(
                f"you have corrected {MOST} images; apply these, or take some back, before you go on"
            )
        key = keys.newest(session)
        sealed = seal(sent, place_of(phase, truth, image, actor.user_id), key.public_key)
        if len(sealed) > LARGEST:
            raise FieldsError({"": f"these labels have more than {LARGEST >> 10} KiB; send a new data set"})
        _forget(session, phase_id, actor.user_id, image)
        row = LabelEdit(
            phase_id=phase_id, user_id=actor.user_id, image=image, ground_truth_id=truth.id, sealed=sealed,
            key_id=key.id,
        )  # fmt: skip
        session.add(row)
        _record(session, actor, phase, "label.correct", image)


def take_back(platform: Platform, actor: Actor, phase_id: int, image: str) -> None:
    """Forget the corrected labels of an image. Raises NotFoundError if this organiser has none, ConflictError while they are applied."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        phase = challenges.require_phase(session, actor, phase_id, lock=True)
        challenges.lock_phase(session, phase_id)
        _require_none_applied(session, phase_id, actor.user_id)
        if not _forget(session, phase_id, actor.user_id, image):
            raise NotFoundError("you have not corrected the labels of this image")
        _record(session, actor, phase, "label.take-back", image)


def of_person(session: Session, phase_id: int, user_id: int, *, without: str = "") -> list[LabelEdit]:
    """Return the corrections of a person that wait, by image."""
    own = LabelEdit.phase_id == phase_id, LabelEdit.user_id == user_id, LabelEdit.image != without
    return list(session.scalars(select(LabelEdit).where(*own).order_by(LabelEdit.image)))


def _require_newest(newest: int, known: int) -> None:
    if newest != known:
        raise ConflictError(
            f"version {newest} was applied meanwhile, so what you corrected in version {known} is not kept; open the image again"
        )


def _require_none_applied(session: Session, phase_id: int, user_id: int) -> None:
    """Raise ConflictError while a worker makes a version of the corrections of a person."""
    asked = session.get(TruthCopy, phase_id)
    if asked is not None and asked.is_corrected and asked.user_id == user_id and not asked.message:
        raise ConflictError("a worker is making a version of what you corrected; wait for it")


def _forget(session: Session, phase_id: int, user_id: int, image: str) -> bool:
    """Delete a correction, and what is known of the changes with it."""
    own = LabelEdit.phase_id == phase_id, LabelEdit.user_id == user_id
    preview = LabelPreview.phase_id == phase_id, LabelPreview.user_id == user_id
    session.execute(delete(LabelPreview).where(*preview))
    statement = delete(LabelEdit).where(*own, LabelEdit.image == image).returning(LabelEdit.id)
    return session.scalar(statement) is not None


def _record(session: Session, actor: Actor, phase: PhaseView, action: str, image: str) -> None:
    audit.record(
        session, actor.user_id, action, f"phase {phase.id}", challenge_id=phase.challenge_id,
        details={"image": image},
    )  # fmt: skip


def corrected(
    platform: Platform, phase: PhaseView, base: GroundTruth, truth: Annotation, edits: Sequence[LabelEdit]
) -> Annotation:
    """Return the annotation of a version with corrections of a person. For workers.

    Raises ConflictError if they cannot be read or are of another version, CorrectionError if they do not fit.
    """
    if not edits:
        raise ConflictError("there is nothing left to correct")
    identities = keys.identities(platform)
    labels = {}
    for edit in edits:
        if edit.ground_truth_id != base.id:
            raise ConflictError(
                f"'{edit.image}' was corrected in an earlier version; open it again, or take it back"
            )
        try:
            place = place_of(phase, base, edit.image, edit.user_id)
            labels[edit.image] = unseal(edit.sealed, place, identities)
        except SealError as error:
            raise ConflictError(f"'{edit.image}': {error}. Correct it again, or take it back") from error
    return correcting.corrected(truth, labels)


def forget(session: Session, edits: Sequence[LabelEdit]) -> None:
    """Delete corrections that became a version, and what was found of their changes."""
    for user_id in {each.user_id for each in edits}:
        preview = LabelPreview.phase_id == edits[0].phase_id, LabelPreview.user_id == user_id
        session.execute(delete(LabelPreview).where(*preview))
    session.execute(delete(LabelEdit).where(LabelEdit.id.in_([each.id for each in edits])))


def delete_old(platform: Platform) -> None:
    """Delete corrections that nobody went on with for a month, and what was found of their changes.

    Those that a worker makes a version of stay, so that it has all that the organiser confirmed.
    """
    is_applied = exists().where(
        TruthCopy.phase_id == LabelEdit.phase_id, TruthCopy.user_id == LabelEdit.user_id,
        TruthCopy.is_corrected, TruthCopy.message == "",
    )  # fmt: skip
    with platform.transaction() as session:
        before = func.clock_timestamp() - KEPT
        session.execute(delete(LabelEdit).where(LabelEdit.saved_at < before, ~is_applied))
        session.execute(delete(LabelPreview).where(LabelPreview.requested_at < before))
