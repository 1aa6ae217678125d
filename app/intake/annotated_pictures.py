"""Pictures of a data set with their annotation drawn: public ones once it is read, hidden ones on request.

Pictures of hidden annotation are made when an organiser asks, for that organiser alone, and deleted after ten minutes.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Text, cast, exists, func, select
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, NotFoundError
from app.images.packs import PACK, read_part
from app.intake import for_one, intakes
from app.intake.drawing import DrawnPictures
from app.intake.for_one import HIDDEN_PICTURES, KEPT
from app.jobs import queue
from app.models import Artefact, Intake, IntakeRole, IntakeState, JobKind
from app.platform import Platform
from app.results import artefacts
from heldout_scoring.stored import from_plain

PUBLIC_PICTURES: Final = "data set, public"  # kind of artefacts


@dataclass(frozen=True, slots=True)
class ShownPictures:
    """The pictures of a data set that an organiser may see. public, hidden: None if not drawn; until: when hidden ones are deleted."""

    public: DrawnPictures | None
    hidden: DrawnPictures | None
    until: datetime | None
    has_hidden: bool
    is_waiting: bool


def shown(platform: Platform, actor: Actor, intake_id: uuid.UUID) -> ShownPictures:
    """Return which pictures of a data set an organiser may see. Raises NotFoundError."""
    with platform.snapshot() as session:
        report = intakes.report_of(intakes.of_organiser(session, actor, intake_id))
        public = artefacts.find(session, PUBLIC_PICTURES, str(intake_id))
        hidden = _hidden(session, actor, intake_id)
        job = queue.is_pending(JobKind.INTAKE_PICTURES, _key(intake_id, actor))
        is_waiting = bool(session.scalar(select(job)))
    return ShownPictures(
        public=_views(platform, public if report else None),
        hidden=_views(platform, hidden),
        until=hidden.created_at + KEPT if hidden else None,
        has_hidden=report is not None and any(each.role == IntakeRole.HIDDEN for each in report.sets),
        is_waiting=is_waiting,
    )


def _key(intake_id: uuid.UUID, actor: Actor) -> str:
    return f"{intake_id}/{actor.user_id}"


def _hidden(session: Session, actor: Actor, intake_id: uuid.UUID) -> Artefact | None:
    """The pictures of hidden annotation that were made for an organiser, as long as they may be seen."""
    return for_one.find(session, HIDDEN_PICTURES, _key(intake_id, actor))


def _views(platform: Platform, artefact: Artefact | None) -> DrawnPictures | None:
    if artefact is None:
        return None
    return from_plain(DrawnPictures, json.loads(read_part(platform.artefacts, artefact.key, 0)))


def picture(platform: Platform, actor: Actor, intake_id: uuid.UUID, role: IntakeRole, number: int) -> bytes:
    """Return a drawn picture as JPEG, counted from 1. Raises NotFoundError, also for pictures made for somebody else.

    While a data set is read there are none of its public annotation: some of it may have become hidden.
    """
    with platform.transaction() as session:
        state = intakes.of_organiser(session, actor, intake_id).state
        if role is IntakeRole.PUBLIC and state in (IntakeState.RECEIVED, IntakeState.READING):
            raise NotFoundError("there is no such image while the data set is read")
        found = {
            IntakeRole.PUBLIC: lambda: artefacts.find(session, PUBLIC_PICTURES, str(intake_id)),
            IntakeRole.HIDDEN: lambda: _hidden(session, actor, intake_id),
        }.get(role, lambda: None)()
    content = read_part(platform.artefacts, found.key, number) if found else b""
    if not content:
        raise NotFoundError("there is no such image, or not any more")
    return content


def request(platform: Platform, actor: Actor, intake_id: uuid.UUID) -> None:
    """Have a worker draw hidden annotation for this organiser. Raises NotFoundError, ConflictError."""
    with platform.transaction() as session:
        intake = intakes.of_organiser(session, actor, intake_id, lock=True)
        report = intakes.report_of(intake)
        if intake.state in intakes.WITH_WORKER or report is None:
            raise ConflictError("this data set was not read yet, or a worker is processing it")
        if not any(each.role == IntakeRole.HIDDEN for each in report.sets):
            raise ConflictError("this data set has no hidden annotation that could be read")
        if session.scalar(select(queue.is_pending(JobKind.INTAKE_PICTURES, _key(intake_id, actor)))):
            raise ConflictError("a worker draws these images already")
        audit.record(
            session,
            actor.user_id,
            "data-set.pictures",
            f"data set {intake.id}",
            challenge_id=intake.challenge_id,
        )
        payload = {"intake": str(intake_id), "user": actor.user_id}
        owner = f"challenge {intake.challenge_id}"
        queue.add(session, JobKind.INTAKE_PICTURES, payload, owner=owner, key=_key(intake_id, actor))
    platform.notifier.wake_workers()


def store_public(platform: Platform, intake_id: uuid.UUID, pack: bytes | None) -> None:
    """Store pictures of public annotation, or None if there are none, in place of earlier ones."""
    for_one.remove(platform, Artefact.kind == PUBLIC_PICTURES, Artefact.subject == str(intake_id))
    if pack is not None:
        artefacts.store(platform, PUBLIC_PICTURES, str(intake_id), "1", PACK, pack)


def store_hidden(platform: Platform, payload: Mapping[str, Any], pack: bytes) -> None:
    """Store pictures of hidden annotation for the organiser who asked, in place of earlier ones."""
    for_one.store(platform, HIDDEN_PICTURES, f"{payload['intake']}/{payload['user']}", pack)


def delete_left(platform: Platform) -> None:
    """Delete the pictures of data sets that are gone."""
    of_intake = cast(Intake.id, Text) == func.split_part(Artefact.subject, "/", 1)
    is_left = ~exists().where(of_intake).correlate(Artefact)
    for_one.remove(platform, Artefact.kind.in_((PUBLIC_PICTURES, HIDDEN_PICTURES)), is_left)
