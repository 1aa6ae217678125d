"""The picture of a challenge: the one that its organisers chose, or else some of its public images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from io import BytesIO
from typing import Annotated, Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.challenges import challenges, versions
from app.challenges.challenges import PhaseView, description_of
from app.core import audit
from app.core.access import Actor, require_challenge
from app.core.errors import FieldsError, NotFoundError
from app.core.names import Visible
from app.images import overlays
from app.images.decoding import make_cover
from app.images.drawing import Box, DrawnObject
from app.images.packs import parts_of
from app.images.pictures import TRIED, PictureView, StoredPicture, first_pictures
from app.jobs.sandbox import ChildError, ChildFileError, ChildLimits, run_in_subprocess
from app.models import Challenge, ChallengePicture
from app.platform import Platform
from app.web.transfers import LARGEST_PICTURE

LIMITS: Final = ChildLimits(seconds=10, memory=2 << 30, nice=10)
IMAGES: Final = 4
STRIP: Final = 8  # thumbnails in a row, as many as fit on a wide screen
FRESH: Final = 60.0  # seconds for which the choice of images is cached


class NewPicture(BaseModel):
    """What organisers say about the picture of their challenge."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    alt: Annotated[
        str,
        Field(min_length=1, max_length=200, description="what it shows, for people who do not see it"),
        Visible,
    ]


@dataclass(frozen=True, slots=True)
class PublicAnnotation:
    """What is drawn over an image: boxes in pixels of an image of this size, or else a label image, by its address."""

    width: int
    height: int
    boxes: tuple[Box, ...] = ()
    labels: str | None = None


@dataclass(frozen=True, slots=True)
class Cover:
    """What stands for a challenge on its card and its page: a picture, or else up to four of its public images, or neither.

    picture: the address of the picture, 1280 by 720 pixels; small: the same in half the size; alt: what it shows; images: the
    addresses of thumbnails; drawn: what is drawn over each of them, empty unless everybody may see the annotation.
    """

    picture: str | None = None
    small: str | None = None
    alt: str = ""
    images: tuple[str, ...] = ()
    drawn: tuple[PublicAnnotation | None, ...] = ()


@dataclass(frozen=True, slots=True)
class CoverPage:
    """The picture of a challenge for its organisers."""

    challenge: str
    title: str
    cover: Cover


def own_covers(session: Session, code: str | None = None) -> Mapping[str, Cover]:
    """Return the pictures that organisers chose, of one challenge or of all, by the code of the challenge."""
    statement = select(Challenge.code, ChallengePicture.digest, ChallengePicture.alt).join(Challenge)
    if code is not None:
        statement = statement.where(Challenge.code == code)
    return {name: _own(name, digest, alt) for name, digest, alt in session.execute(statement)}


def _own(code: str, digest: str, alt: str) -> Cover:
    address = f"/challenges/{quote(code)}/picture"
    return Cover(f"{address}.jpg?v={digest}", f"{address}-small.jpg?v={digest}", alt)


def with_images(platform: Platform, own: Cover | None, phases: Sequence[PhaseView]) -> Cover:
    """Return the picture that organisers chose or, without one, images of the first phase whose images everybody may see now.

    The choice of the images is cached, not whether they and their annotation may be seen.
    """
    if own is not None:
        return own
    for phase in phases:
        if phase.shows_images:
            key = ("cover", phase.id, phase.description_key, phase.draws_images)
            found = platform.cache.version(key, partial(_of_images, platform, phase), FRESH)
            if found.images:
                return found
    return Cover()


def _of_images(platform: Platform, phase: PhaseView) -> Cover:
    """Show the first images of a phase. If its annotation is public, they have its boxes, and half of them labels, if there are any."""
    with platform.transaction() as session:
        found = first_pictures(session, phase.id, IMAGES)
        if not phase.draws_images:
            return Cover(images=tuple(_thumbnail(phase, each) for each in found))
        segmented = description_of(platform.descriptions, phase.description_key).segmentation[:TRIED]
        having_labels = first_pictures(session, phase.id, IMAGES // 2, segmented)
    others = [each for each in found if each not in having_labels]
    chosen = (*others[:1], *having_labels, *others[1:])[:IMAGES]
    shown = [(each, "segmentation" if each in having_labels else "detection") for each in chosen]
    return Cover(
        images=tuple(_thumbnail(phase, each) for each in chosen),
        drawn=public_annotation(platform, phase, shown),
    )


def public_annotation(
    platform: Platform, phase: PhaseView, shown: Sequence[tuple[PictureView, str]]
) -> tuple[PublicAnnotation | None, ...]:
    """Return what is annotated in images for the task beside each; None where nothing can be drawn, or not yet.

    Nothing unless everybody who may see the images may see their annotation, too.
    """
    with platform.transaction() as session:
        truth = versions.shown_truth(session, phase.id) if phase.draws_images else None
        truth_id = truth.id if truth else None
    return tuple(
        _annotation(platform, phase, truth_id, picture, task) if truth_id is not None else None
        for picture, task in shown
    )


def _annotation(
    platform: Platform, phase: PhaseView, truth_id: int, picture: PictureView, task: str
) -> PublicAnnotation | None:
    overlay = overlays.truth_overlay(platform, truth_id, picture.position, picture.name)
    if overlay is None or not picture.width or not picture.height:
        return None
    if task == "segmentation":
        labels = f"{_address(phase, picture)}/labels.png?truth={truth_id}"
        return PublicAnnotation(picture.width, picture.height, labels=labels) if overlay.has_labels else None
    boxes = tuple(box for each in overlay.objects for box in _boxes(each, task))
    return PublicAnnotation(picture.width, picture.height, boxes) if boxes else None


def _boxes(thing: DrawnObject, task: str) -> tuple[Box, ...]:
    """Return the boxes of an object that matter for a task."""
    match task:
        case "detection":
            return (thing.box,)
        case "layout" if thing.parts:
            return (thing.box, *(part.box for part in thing.parts))
        case "action" if thing.name == "person":
            return (thing.box,)
    return ()


def _address(phase: PhaseView, picture: PictureView) -> str:
    return f"/pictures/{quote(phase.challenge)}/{quote(phase.image_set)}/{quote(picture.name)}"


def _thumbnail(phase: PhaseView, picture: PictureView) -> str:
    return f"{_address(phase, picture)}/thumbnail.jpg?v={picture.version}"


def first_thumbnails(platform: Platform, phase: PhaseView) -> tuple[str, ...]:
    """Return the addresses of thumbnails of the first images of a phase, for whoever may see them."""
    with platform.transaction() as session:
        found = first_pictures(session, phase.id, STRIP)
    return tuple(_thumbnail(phase, each) for each in found)


def cover_page(platform: Platform, actor: Actor, code: str) -> CoverPage:
    """Return the picture of a challenge that this person organises. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        own, phases = own_covers(session, code).get(code), challenges.phases_of(session, code)
    return CoverPage(challenge.code, challenge.title, with_images(platform, own, phases))


def set_picture(platform: Platform, actor: Actor, code: str, new: NewPicture, data: bytes | None) -> None:
    """Set the picture of a challenge, made anew from a file, or only what the present one shows.

    Raises NotFoundError, ForbiddenError, and MalformedError if the file is not an image or there is no picture yet.
    """
    with platform.transaction() as session:
        require_challenge(session, actor, code)
    sizes = parts_of(BytesIO(made_anew(make_cover, data, "picture"))) if data is not None else None
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        row = session.get(ChallengePicture, challenge.id)
        if row is None:
            if sizes is None:
                raise FieldsError({"picture": "choose one"})
            row = ChallengePicture(challenge_id=challenge.id)
            session.add(row)
        row.alt = new.alt
        if sizes is not None:
            row.large, row.small = sizes
            row.digest = sha256(row.large).hexdigest()[:16]
        _record(session, actor, challenge, {"alt": row.alt, "digest": row.digest})
    platform.cache.expire_versions()


def made_anew(make: Callable[[bytes], bytes], data: bytes, field: str) -> bytes:
    """Have a child process decode an image and write it anew. field: of the form, for problems. Raises MalformedError."""
    if len(data) > LARGEST_PICTURE:
        raise FieldsError({field: f"the file may have at most {LARGEST_PICTURE >> 20} MiB"})
    try:
        made = run_in_subprocess(LIMITS, make, data)
    except ChildFileError:
        raise
    except ChildError as error:
        raise FieldsError({field: f"this image cannot be decoded: {error}"}) from error
    if made.startswith(b"!"):
        raise FieldsError({field: made[1:].decode()})
    return made


def remove_picture(platform: Platform, actor: Actor, code: str) -> None:
    """Remove the picture that organisers chose, if there is one. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        row = session.get(ChallengePicture, challenge.id)
        if row is not None:
            session.delete(row)
            _record(session, actor, challenge, {})
    platform.cache.expire_versions()


def _record(session: Session, actor: Actor, challenge: Challenge, after: dict[str, str]) -> None:
    subject = f"challenge {challenge.id}"
    audit.record(session, actor.user_id, "picture.change", subject, challenge_id=challenge.id, after=after)


def stored_cover(platform: Platform, code: str, *, is_small: bool) -> StoredPicture:
    """Return the picture that organisers chose, as JPEG. Raises NotFoundError if there is none."""
    column = ChallengePicture.small if is_small else ChallengePicture.large
    statement = select(column, ChallengePicture.digest).join(Challenge).where(Challenge.code == code)
    with platform.transaction() as session:
        row = session.execute(statement).one_or_none()
    if row is None:
        raise NotFoundError(f"the organisers of {code!r} have not chosen a picture")
    return StoredPicture(*row, is_public=True)
