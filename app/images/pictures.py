"""The images of a phase, as readers may see them.

The web process reads only the images that workers have made, never source folders or ground truth.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select, true, update
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView, description_of, find_phase
from app.challenges.files import refusal_of_images
from app.core import audit
from app.core.access import Actor, require_active
from app.core.errors import NotFoundError
from app.images.packs import read_part
from app.jobs import queue
from app.models import JobKind, Picture, PictureBatch, PictureSource
from app.platform import Platform
from app.results import artefacts
from heldout_scoring import Description

PICTURES: Final = "pictures"  # artefact kind: the images of a batch
BATCH: Final = 50  # images that are made together: about a second of work, 5 MB
PAGE: Final = 60  # images per page
SHORT_SIDE: Final = 150  # of a thumbnail on a page, in CSS pixels
TRIED: Final = 20  # images of a task, of which the first that can be shown represents the task
NOT_MADE: Final = "this image could not be made; an organiser has to retry"


class PictureSize(IntEnum):
    """The two sizes of an image. The value is the offset in the pack."""

    THUMBNAIL = 0
    VIEW = 1


@dataclass(frozen=True, slots=True)
class PictureView:
    """An image.

    version: of the images made from it, None if there are none; problem: why it cannot be shown; file: what people know its file by, where
    that does not follow from its name.
    """

    position: int
    name: str
    width: int | None
    height: int | None
    version: str | None
    problem: str | None
    file: str = ""

    @property
    def shown_size(self) -> tuple[int, int]:
        """Width and height of the thumbnail in CSS pixels, so that the layout does not shift when it loads."""
        if not self.width or not self.height:
            return SHORT_SIDE * 4 // 3, SHORT_SIDE
        scale = min(SHORT_SIDE / self.height, 3 * SHORT_SIDE / self.width)  # limits the width of panoramas
        return max(1, round(scale * self.width)), max(1, round(scale * self.height))


@dataclass(frozen=True, slots=True)
class PicturesPage:
    """Some images of a phase, in the order of its image sets.

    total: images of the phase; made: those that can be shown; refused: those that have a problem; being_made: those still queued;
    beginning: the prefix of the names; previous, next: the positions at which the adjacent pages end and start, None if there
    is no such page; is_public: everyone may see them; source: only for organisers.
    """

    phase: PhaseView
    pictures: tuple[PictureView, ...]
    total: int
    made: int
    refused: int
    being_made: int
    beginning: str
    previous: int | None
    next: int | None
    is_public: bool
    source: PictureSource | None


@dataclass(frozen=True, slots=True)
class PageRange:
    """A range of at most `limit` images: after a position or, if `before` is given, before that one."""

    after: int = -1
    before: int | None = None
    limit: int = PAGE


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """The bytes of an image, and whether caches may store them."""

    content: bytes
    version: str
    is_public: bool

    @property
    def etag(self) -> str:
        """The entity tag of the content."""
        return f'"{sha256(self.content).hexdigest()[:24]}"'


class PictureRules(BaseModel):
    """Who may see the images of a held-out phase."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    is_public: Annotated[bool, Field(description="everyone may see the images, without annotation")] = False
    draws_truth: Annotated[
        bool,
        Field(
            description="draw the hidden annotation for organisers; it is then stored where the web server can read it"
        ),
    ] = False
    reason: Annotated[str, Field(min_length=3, max_length=1000, description="recorded in the audit log")]


def draws_annotation(phase: PhaseView, source: PictureSource) -> bool:
    """Whether annotation and predictions are drawn at all.

    Overlays are stored where the web server can read them, so hidden annotation is drawn only if an organiser asks for it. A phase
    that discloses details after its end shows curves and counts then, but no boxes, because test sets are reused.
    """
    return not phase.is_held_out or source.draws_truth


def can_see_truth(actor: Actor, phase: PhaseView, source: PictureSource) -> bool:
    """Whether somebody who may see the images of a phase may see annotation and predictions drawn over them."""
    if not phase.is_held_out:
        return phase.draws_images or actor.organises_challenge(phase.challenge_id)
    return source.draws_truth and actor.organises_challenge(phase.challenge_id)


def withheld(phase: PhaseView) -> str:
    """Explain why nothing is drawn over the images of a phase."""
    if not phase.images_available:
        return f"The images of {phase.image_set} are not available now; the data page of the challenge says when they are"
    if not phase.is_held_out:
        return f"The annotation of {phase.image_set} is not public for everybody who may see the images; the data page of the challenge says when and for whom it is"
    return f"Annotation and predictions are not drawn because the annotation of {phase.image_set} is held out"


def source_of(session: Session, phase_id: int) -> PictureSource | None:
    """Load the source of a phase's images and who may see them. None if the phase has no images."""
    return session.get(PictureSource, phase_id)


def visible_source(session: Session, actor: Actor, phase: PhaseView) -> PictureSource:
    """Load the source of a phase's images. Raises what `refusal_of_images` returns if the reader may not see them."""
    if refused := refusal_of_images(session, actor, phase):
        raise refused
    return session.get_one(PictureSource, phase.id)


def pictures_page(
    platform: Platform, actor: Actor, challenge: str, image_set: str, beginning: str, window: PageRange
) -> PicturesPage:
    """Load some images of a phase. Raises NotFoundError, and what `refusal_of_images` returns."""
    with platform.snapshot() as session:
        phase = find_phase(session, challenge, image_set)
        source = visible_source(session, actor, phase)
        description = description_of(platform.descriptions, phase.description_key)
        rows, previous, next_ = _page(session, phase.id, beginning, window, description)
        total, made, refused = session.execute(_counts(phase.id)).one()
        is_awaited = session.scalar(select(queue.is_pending(JobKind.PICTURES, f"phase {phase.id}")))
    return PicturesPage(
        phase=phase,
        pictures=tuple(with_file(each, description) for each in map(_view, rows)),
        total=total,
        made=made,
        refused=refused,
        being_made=total - made - refused if is_awaited else 0,
        beginning=beginning,
        previous=previous,
        next=next_,
        is_public=phase.shows_images,
        source=source if actor.organises_challenge(phase.challenge_id) else None,
    )


def _counts(phase_id: int) -> Select[int, int, int]:
    """Count the images of a phase: all, those that can be shown, and those with a problem."""
    return (
        select(
            func.count(),
            func.count().filter(_can_be_shown()),
            func.count().filter(Picture.problem.is_not(None)),
        )
        .select_from(Picture)
        .join(PictureBatch, _is_its_batch())
        .where(Picture.phase_id == phase_id)
    )


def _pictures(phase_id: int, *conditions: ColumnElement[bool]) -> Select[Picture, str | None, bool]:
    is_awaited = queue.is_pending(JobKind.PICTURES, func.concat("phase ", Picture.phase_id))
    return (
        select(Picture, PictureBatch.made, is_awaited)
        .join(PictureBatch, _is_its_batch())
        .where(Picture.phase_id == phase_id, *conditions)
    )  # fmt: skip


def _is_its_batch() -> ColumnElement[bool]:
    return and_(PictureBatch.phase_id == Picture.phase_id, PictureBatch.number == Picture.batch)


def _can_be_shown() -> ColumnElement[bool]:
    return and_(Picture.problem.is_(None), PictureBatch.made.is_not(None))


def _view(row: Row[Picture, str | None, bool]) -> PictureView:
    picture, made, is_awaited = row
    problem = picture.problem if made or picture.problem or is_awaited else NOT_MADE
    return PictureView(
        picture.position,
        picture.name,
        picture.width,
        picture.height,
        made[:12] if made and not problem else None,
        problem,
    )


def with_file(picture: PictureView, description: Description) -> PictureView:
    """An image of a phase with what people know its file by."""
    listed = description.images[picture.position : picture.position + 1]
    return replace(picture, file=listed[0].file) if listed and listed[0].id == picture.name else picture


def _called(description: Description, beginning: str, window: PageRange) -> list[int]:
    """The positions of images whose files have names that begin like this, as far as a page can show them."""
    if not beginning:
        return []
    found = [
        place
        for place, image in enumerate(description.images)
        if image.file and PurePosixPath(image.file).name.startswith(beginning)
    ]
    if window.before is None:
        return [place for place in found if place > window.after][: window.limit + 1]
    return [place for place in found if place < window.before][-window.limit - 1 :]


def _page(
    session: Session, phase_id: int, beginning: str, window: PageRange, description: Description
) -> tuple[list[Row[Picture, str | None, bool]], int | None, int | None]:
    """Load some images by the beginning of their names or their files', with the positions before and after which there are more."""
    begins = Picture.name.startswith(beginning, autoescape=True)
    is_called = Picture.position.in_(_called(description, beginning, window))
    chosen = _pictures(phase_id, or_(begins, is_called)).limit(window.limit + 1)
    if window.before is None:
        forwards = chosen.where(Picture.position > window.after).order_by(Picture.position)
        rows = list(session.execute(forwards))
        shown, has_previous, has_next = rows[: window.limit], window.after >= 0, len(rows) > window.limit
    else:
        backwards = chosen.where(Picture.position < window.before).order_by(Picture.position.desc())
        rows = list(reversed(session.execute(backwards).all()))
        shown, has_previous, has_next = rows[-window.limit :], len(rows) > window.limit, True
    previous = shown[0][0].position if shown and has_previous else None
    return shown, previous, shown[-1][0].position if shown and has_next else None


def picture_of(session: Session, phase_id: int, name: str) -> PictureView | None:
    """Load an image by name, or None."""
    return pictures_of(session, phase_id, [name]).get(name)


def no_image(phase: PhaseView, name: str) -> NotFoundError:
    """Return the error for an image that does not exist, or of which nothing may be said."""
    return NotFoundError(f"there is no image {name!r} in {phase.challenge} {phase.image_set}")


def pictures_of(session: Session, phase_id: int, names: Collection[str]) -> dict[str, PictureView]:
    """Load images by name."""
    rows = session.execute(_pictures(phase_id, Picture.name.in_(names)))
    return {view.name: view for view in map(_view, rows)}


def stored_picture(
    platform: Platform, actor: Actor, challenge: str, image_set: str, name: str, size: PictureSize
) -> StoredPicture:
    """Load the bytes of an image by name.

    Raises NotFoundError if it does not exist or is not made yet, and what `refusal_of_images` returns.
    """

    def read() -> PhaseView:
        with platform.transaction() as session:
            return find_phase(session, challenge, image_set)

    phase = platform.cache.version(("pictures", challenge, image_set), read)
    with platform.transaction() as session:
        if refused := refusal_of_images(session, actor, phase):
            raise refused
        conditions = Picture.phase_id == phase.id, Picture.name == name, _can_be_shown()
        statement = select(Picture.position, Picture.batch, PictureBatch.made).join(
            PictureBatch, _is_its_batch()
        )
        row = session.execute(statement.where(*conditions)).one_or_none()
        made = artefacts.find(session, PICTURES, f"{phase.id}/{row.batch}") if row else None
    if row is None or made is None:
        raise NotFoundError(f"there is no image {name!r} in {challenge} {image_set}, or it is not made yet")
    content = read_part(platform.artefacts, made.key, len(PictureSize) * (row.position % BATCH) + size)
    return StoredPicture(content, row.made[:12], phase.shows_images)


def first_visible_picture(session: Session, phase_id: int, names: Collection[str]) -> PictureView | None:
    """Return the first of these images, in the order of the image set, that may be shown."""
    chosen = _pictures(phase_id, Picture.name.in_(names), _can_be_shown())
    row = session.execute(chosen.order_by(Picture.position).limit(1)).one_or_none()
    return _view(row) if row else None


def first_pictures(
    session: Session, phase_id: int, most: int, names: Collection[str] | None = None
) -> tuple[PictureView, ...]:
    """Return the first images of a phase that can be shown, or of those with these names."""
    named = true() if names is None else Picture.name.in_(names)
    chosen = _pictures(phase_id, named, _can_be_shown()).order_by(Picture.position).limit(most)
    return tuple(map(_view, session.execute(chosen)))


def candidates(description: Description, tasks: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the images that can illustrate each task. Tasks with the same images start at different ones.

    >>> from heldout_scoring import Image
    >>> images = tuple(Image(name, 9, 9) for name in "abcd")
    >>> phase = Description("VOC2012", "val", ("cat",), (), images, segmentation=("a", "c"))
    >>> candidates(phase, ["classification", "detection", "segmentation"])
    {'classification': ['a', 'b', 'c', 'd'], 'detection': ['b', 'c', 'd', 'a'], 'segmentation': ['a', 'c']}
    """
    main = [image.id for image in description.images]
    by_task = {
        "segmentation": list(description.segmentation),
        "layout": list(dict.fromkeys(image for image, _ in description.persons)),
        "action": list(dict.fromkeys(image for image, _ in description.acting)),
    }
    return {task: _starting_at(by_task.get(task) or main, place) for place, task in enumerate(tasks)}


def _starting_at(names: list[str], place: int) -> list[str]:
    """Rotate the names so that they start at this index, and keep the first few."""
    start = place % len(names) if names else 0
    return [*names[start:], *names[:start]][:TRIED]


def organised(platform: Platform, actor: Actor, phase_id: int) -> PhaseView:
    """Load a phase with images that the actor organises. Raises NotFoundError."""
    with platform.transaction() as session:
        return organised_images(session, actor, phase_id)


def organised_images(session: Session, actor: Actor, phase_id: int) -> PhaseView:
    """Load a phase with images that the actor organises. Raises NotFoundError."""
    phase = challenges.require_phase(session, actor, phase_id)
    if source_of(session, phase_id) is None:
        raise NotFoundError(f"there is no phase {phase_id} with images")
    return phase


def try_again(platform: Platform, actor: Actor, phase_id: int) -> None:
    """Try again to make the missing images. Raises NotFoundError if the phase has none or the actor does not organise it."""
    with platform.transaction() as session:
        organised_images(session, actor, phase_id)
        session.execute(
            update(PictureSource)
            .where(PictureSource.phase_id == phase_id)
            .values(problem=None, archive_problem=None)
        )
        queue_job(session, JobKind.PICTURES, phase_id)


def queue_job(session: Session, kind: JobKind, phase_id: int) -> None:
    """Queue a job that makes the missing images of a phase, or their overlays. It goes to the end of the queue."""
    owner = queue.owner_of_phase(session, phase_id)
    queue.add(session, kind, {"phase_id": phase_id}, owner=owner, key=f"phase {phase_id}")


def change(platform: Platform, actor: Actor, phase_id: int, rules: PictureRules) -> None:
    """Set who may see the images of a phase. Raises NotFoundError if it has none or the actor does not organise it."""
    with platform.transaction() as session:
        challenge_id = organised_images(session, actor, phase_id).challenge_id
        require_active(session, challenge_id)
        source = session.get_one(PictureSource, phase_id, with_for_update=True, populate_existing=True)
        before = {"is_public": source.is_public, "draws_truth": source.draws_truth}
        after = {"is_public": rules.is_public, "draws_truth": rules.draws_truth}
        source.is_public, source.draws_truth = rules.is_public, rules.draws_truth
        if before != after:
            queue_job(session, JobKind.OVERLAYS, phase_id)
            queue_job(session, JobKind.PICTURES, phase_id)  # which makes the archive
            audit.record(
                session, actor.user_id, "pictures.change", f"phase {phase_id}",
                challenge_id=challenge_id, reason=rules.reason, before=before, after=after,
            )  # fmt: skip
    platform.cache.expire_versions()
