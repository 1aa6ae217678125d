"""Corrected labels sealed for the workers: bound to annotation, version, image and person, and listed without their values."""

import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyrage
from pydantic import ValidationError
from pyrage import x25519
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.challenges.challenges import PhaseView
from app.intake.image_labels import ImageLabels
from app.intake.reports import HIDDEN, PUBLIC
from app.intake.segments import may_become
from app.models import GroundTruth, LabelEdit

MAGIC: Final = "heldout label edit 1"


class SealError(Exception):
    """What is stored is not what the organiser sent; the message is a sentence and quotes nothing."""


@dataclass(frozen=True, slots=True)
class SealedFor:
    """Where a correction belongs; part of what is sealed. role: of the annotation when it was sent; base: public id of its version."""

    role: str
    phase_id: int
    base: uuid.UUID
    image: str
    user_id: int


def seal(labels: ImageLabels, place: SealedFor, public_key: str) -> bytes:
    """Encrypt a correction for the owner of a key."""
    plain = {
        "magic": MAGIC, "role": place.role, "phase": place.phase_id, "base": place.base.hex, "image": place.image,
        "user": place.user_id, "labels": labels.model_dump(include=set(ImageLabels.model_fields)),
    }  # fmt: skip
    text = json.dumps(plain, separators=(",", ":")).encode()
    return pyrage.encrypt(text, [x25519.Recipient.from_str(public_key)])


def unseal(sealed: bytes, place: SealedFor, identities: list[x25519.Identity]) -> ImageLabels:
    """Decrypt a correction. Raises SealError if it was changed, is for another key, or belongs elsewhere."""
    try:
        plain: dict[str, Any] = json.loads(pyrage.decrypt(sealed, identities))
    except pyrage.DecryptError:
        raise SealError("It was changed in storage, or is for another key") from None
    own = (MAGIC, place.phase_id, place.base.hex, place.image, place.user_id)
    if tuple(plain.get(name) for name in ("magic", "phase", "base", "image", "user")) != own:
        raise SealError("It belongs to another image, version or person")
    if not may_become(plain.get("role"), place.role) or plain.get("role") is None:
        raise SealError("It was made while the annotation was hidden")
    try:
        return ImageLabels.model_validate(plain["labels"])
    except ValidationError:
        raise SealError("Another release of the server sealed it") from None  # whose message would quote it


def place_of(phase: PhaseView, truth: GroundTruth, image: str, user_id: int) -> SealedFor:
    """Where a correction of an image belongs."""
    return SealedFor(HIDDEN if phase.is_held_out else PUBLIC, phase.id, truth.public_id, image, user_id)


@dataclass(frozen=True, slots=True)
class WaitingEdit:
    """A correction that waits. is_outdated: another version was applied since."""

    image: str
    saved_at: datetime
    version: int
    is_outdated: bool


def waiting(session: Session, phase_id: int, user_id: int, newest: int) -> tuple[WaitingEdit, ...]:
    """Return the corrections of a person that wait, as they may see them: without their values."""
    statement = (
        select(LabelEdit.image, LabelEdit.saved_at, GroundTruth.version)
        .join(GroundTruth, GroundTruth.id == LabelEdit.ground_truth_id)
        .where(LabelEdit.phase_id == phase_id, LabelEdit.user_id == user_id)
        .order_by(LabelEdit.image)
    )
    return tuple(
        WaitingEdit(image, saved, version, version != newest)
        for image, saved, version in session.execute(statement)
    )
