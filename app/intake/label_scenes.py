"""An image with its labels for the organiser who asked: a worker makes the scene, and it is deleted after ten minutes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView, description_of
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, NotFoundError, StorageDamagedError
from app.images.originals import originals
from app.images.packs import read_part
from app.intake import correcting, for_one, keys, sealed_labels
from app.intake.for_one import KEPT, SCENES
from app.intake.image_labels import ImageScene
from app.intake.sealed_labels import SealError, WaitingEdit
from app.jobs import queue
from app.jobs.attempts import Handler
from app.jobs.queue import Claim
from app.jobs.sandbox import ChildError, ChildFileError, ChildLimits, run_in_subprocess
from app.models import Artefact, GroundTruth, JobKind, LabelEdit
from app.platform import Platform
from app.storage import Storage
from heldout_scoring import Description

log = structlog.get_logger()

PAGE: Final = 60  # images on a page
NICE: Final = 10
FAILED: Final = "A worker could not read the labels of this image; admins can see why in its log."


@dataclass(frozen=True, slots=True)
class ListedImage:
    """An image of a phase. edit: what the reader has corrected in it and not applied yet."""

    name: str
    position: int
    width: int | None
    height: int | None
    edit: WaitingEdit | None = None


@dataclass(frozen=True, slots=True)
class LabelledImages:
    """Some images of the newest version of a phase, in its order.

    total: all of its images; found: those whose names have `search` in them; start: how many of these come before; waiting: the
    corrections of the reader.
    """

    phase: PhaseView
    version: int
    images: tuple[ListedImage, ...]
    total: int
    found: int
    start: int
    search: str
    waiting: tuple[WaitingEdit, ...]

    @property
    def previous(self) -> int | None:
        """Where the page before begins."""
        return max(0, self.start - PAGE) if self.start else None

    @property
    def next(self) -> int | None:
        """Where the next page begins."""
        following = self.start + len(self.images)
        return following if following < self.found else None


@dataclass(frozen=True, slots=True)
class LabelSheet:
    """An image of the newest version of a phase for the organiser who looks at it.

    scene: its labels, once a worker has made it for this organiser; until: when it is deleted; edit: what they corrected before;
    waiting: in how many images they did; position: from 1.
    """

    phase: PhaseView
    version: int
    image: str
    position: int
    total: int
    before: str | None
    after: str | None
    classes: tuple[str, ...]
    scene: ImageScene | None
    until: datetime | None
    is_waiting: bool
    edit: WaitingEdit | None
    waiting: int


def images(platform: Platform, actor: Actor, phase_id: int, search: str, start: int) -> LabelledImages:
    """Return some images of a phase whose labels can be corrected. Raises NotFoundError."""
    with platform.snapshot() as session:
        phase, truth = newest(session, actor, phase_id)
        waiting = sealed_labels.waiting(session, phase_id, actor.user_id or 0, truth.version)
    description = _description(platform, phase, truth)
    wanted = search.strip().casefold()
    known = _images(platform.descriptions, truth.description_key or phase.description_key)
    places = [place for place, name in enumerate(known) if wanted in name.casefold()]
    edits = {each.image: each for each in waiting}
    every = (*description.images, *description.further)
    rows = tuple(
        ListedImage(
            known[place],
            place + 1,
            every[place].width if every[place].has_size else None,
            every[place].height if every[place].has_size else None,
            edits.get(known[place]),
        )
        for place in places[start : start + PAGE]
    )
    return LabelledImages(phase, truth.version, rows, len(known), len(places), start, search.strip(), waiting)


def newest(session: Session, actor: Actor, phase_id: int) -> tuple[PhaseView, GroundTruth]:
    """Return a phase that the actor organises with its newest version. Raises NotFoundError."""
    phase = challenges.require_phase(session, actor, phase_id)
    truth = challenges.newest_truth(session, phase_id)
    if truth is None:
        raise NotFoundError("this phase has no annotation yet")
    return phase, truth


def _description(platform: Platform, phase: PhaseView, truth: GroundTruth) -> Description:
    return description_of(platform.descriptions, truth.description_key or phase.description_key)


@lru_cache(maxsize=8)
def _images(descriptions: Storage, key: str) -> tuple[str, ...]:
    """The names of the images of a version, in its order."""
    description = description_of(descriptions, key)
    return tuple(image.id for image in (*description.images, *description.further))


def view(platform: Platform, actor: Actor, phase_id: int, image: str) -> LabelSheet:
    """Return an image as this organiser may see it. Raises NotFoundError."""
    user_id = actor.user_id or 0
    with platform.snapshot() as session:
        phase, truth = newest(session, actor, phase_id)
        made = for_one.find(session, SCENES, _key(truth.id, user_id, image))
        waiting = sealed_labels.waiting(session, phase_id, user_id, truth.version)
        edit = session.scalar(_edit(phase_id, user_id, image))
        is_waiting = session.scalar(
            select(queue.is_pending(JobKind.LABEL_SCENE, _key(truth.id, user_id, image)))
        )
    names = _images(platform.descriptions, truth.description_key or phase.description_key)
    place = _place(names, image)
    scene = _scene(platform, made, str(edit.id) if edit and edit.ground_truth_id == truth.id else "")
    return LabelSheet(
        phase=phase,
        version=truth.version,
        image=image,
        position=place + 1,
        total=len(names),
        before=names[place - 1] if place else None,
        after=names[place + 1] if place + 1 < len(names) else None,
        classes=_description(platform, phase, truth).classes,
        scene=scene,
        until=made.created_at + KEPT if made and scene else None,
        is_waiting=bool(is_waiting),
        edit=next((each for each in waiting if each.image == image), None),
        waiting=len(waiting),
    )


def _place(names: Sequence[str], image: str) -> int:
    try:
        return names.index(image)
    except ValueError:
        raise NotFoundError("there is no such image in the newest version of this phase") from None


def _edit(phase_id: int, user_id: int, image: str) -> Any:
    own = LabelEdit.phase_id == phase_id, LabelEdit.user_id == user_id, LabelEdit.image == image
    return select(LabelEdit).where(*own)


def _key(truth_id: int, user_id: int, image: str) -> str:
    return f"{truth_id}/{image}/{user_id}"


def _scene(platform: Platform, made: Artefact | None, edit: str) -> ImageScene | None:
    """What a worker made, unless the organiser has corrected the image since. edit: the id of their correction."""
    if made is None:
        return None
    found = ImageScene.of_plain(json.loads(read_part(platform.artefacts, made.key, 0)))
    return found if found.edit == edit else None


def picture(platform: Platform, actor: Actor, phase_id: int, image: str) -> bytes:
    """Return the picture of a scene as JPEG. Raises NotFoundError, also for a scene that was made for somebody else."""
    with platform.transaction() as session:
        _, truth = newest(session, actor, phase_id)
        made = for_one.find(session, SCENES, _key(truth.id, actor.user_id or 0, image))
    content = read_part(platform.artefacts, made.key, 1) if made else b""
    if not content:
        raise NotFoundError("there is no such image, or not any more")
    return content


def request(platform: Platform, actor: Actor, phase_id: int, image: str) -> None:
    """Have a worker show the labels of an image to this organiser. Raises NotFoundError, ConflictError."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        phase, truth = newest(session, actor, phase_id)
        key = _key(truth.id, actor.user_id, image)
        _place(_images(platform.descriptions, truth.description_key or phase.description_key), image)
        if session.scalar(select(queue.is_pending(JobKind.LABEL_SCENE, key))):
            raise ConflictError("a worker reads the labels of this image already")
        audit.record(
            session, actor.user_id, "label.show", f"phase {phase_id}", challenge_id=phase.challenge_id,
            details={"image": image},
        )  # fmt: skip
        payload = {"truth": truth.id, "image": image, "user": actor.user_id}
        queue.add(
            session, JobKind.LABEL_SCENE, payload, owner=queue.owner_of_phase(session, phase_id), key=key
        )
    platform.notifier.wake_workers()


def _work(platform: Platform, claim: Claim) -> None:
    """Make a scene. May be done again at any time."""
    truth_id, image, user_id = (claim.payload[name] for name in ("truth", "image", "user"))
    with platform.transaction() as session:
        truth = session.get(GroundTruth, truth_id)
        if truth is None:
            return
        phase = challenges.find_phase_of_id(session, truth.phase_id)
        edit = session.scalar(_edit(phase.id, user_id, image))
    edited: str = ""
    if edit is not None and edit.ground_truth_id == truth_id:
        place = sealed_labels.place_of(phase, truth, image, user_id)
        try:
            edited = sealed_labels.unseal(edit.sealed, place, keys.identities(platform)).model_dump_json()
        except SealError:
            log.warning("a correction cannot be read", edit=str(edit.id))
    made = _made(
        platform, truth, image, str(edit.id) if edit and edit.ground_truth_id == truth_id else "", edited
    )
    for_one.store(platform, SCENES, _key(truth_id, user_id, image), made)


def _made(platform: Platform, truth: GroundTruth, image: str, edit: str, edited: str) -> bytes:
    settings = platform.settings
    limits = ChildLimits(seconds=settings.intake_seconds, memory=settings.intake_memory, nice=NICE)
    try:
        with TemporaryDirectory() as folder, platform.truths.materialise(truth.key) as path:
            file = originals(platform, truth.phase_id, truth.version, [image], Path(folder)).get(image)
            return run_in_subprocess(limits, correcting.make_scene, path, image, file, edit, edited)
    except ChildFileError:
        raise  # an outage
    except (ChildError, StorageDamagedError) as error:
        log.warning("a scene was not made", ground_truth=truth.id, error=type(error).__name__)
        return correcting.packed(ImageScene(image, None, None, problem=FAILED, edit=edit), b"")


HANDLER: Final = Handler(_work)
