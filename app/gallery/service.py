"""Pictures as a reader may see them. The web process reads what workers have made, and no folder or ground truth."""

from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote

from sqlalchemy.orm import Session

from app.access import Actor
from app.artefacts import queries as artefacts
from app.audit import queries as audit
from app.editions.rules import offered_competitions
from app.editions.schemas import PhaseView
from app.editions.service import description_of, find_phase
from app.errors import NotFoundError
from app.gallery import queries
from app.gallery.queries import Window
from app.gallery.rules import candidates
from app.gallery.schemas import PicturesPage, Representative, StoredPicture
from app.models import PictureSource
from app.packs import read_part
from app.pictures import queries as pictures
from app.pictures import service as pictures_service
from app.pictures.rules import sees_pictures
from app.pictures.schemas import PictureRules
from app.platform import Platform
from app.quotas.service import organised_phase


@dataclass(frozen=True, slots=True)
class Sources:
    """What a phase's pictures are shown by: its rules and what its organiser chose."""

    phase: PhaseView
    is_public: bool
    draws_truth: bool


def pictures_page(
    platform: Platform, actor: Actor, edition: str, image_set: str, beginning: str, window: Window
) -> PicturesPage:
    """Some pictures of a phase. Raises NotFoundError where it has none, or none that the reader may see."""
    with platform.snapshot() as session:
        sources = visible_sources(session, actor, edition, image_set)
        phase = sources.phase
        shown, previous, next_ = queries.page(session, phase.id, beginning, window)
        total, made, refused = pictures.count(session, phase.id)
        is_organiser = actor.runs(phase.edition_id)
        return PicturesPage(
            phase=phase,
            pictures=tuple(shown),
            total=total,
            made=made,
            being_made=total - made - refused if pictures.are_awaited(session, phase.id) else 0,
            beginning=beginning,
            previous=previous,
            next=next_,
            is_public=sees_pictures(Actor(), phase, sources),
            source=pictures.source_view(session, phase.id) if is_organiser else None,
        )


def representatives(platform: Platform, actor: Actor, phase: PhaseView) -> tuple[Representative, ...]:
    """A picture for each task of a phase that can be entered; none where the reader does not see the pictures.

    It is one of the first images that the task asks about, which everybody may know: hidden annotation has no part in it.
    """
    with platform.transaction() as session:
        sources = _sources(phase, pictures.source_of(session, phase.id))
        if sources is None or not sees_pictures(actor, phase, sources):
            return ()
        description = description_of(platform.descriptions, phase.description_key)
        numbers = {each.task: each.number for each in reversed(offered_competitions(phase))}
        wanted = candidates(description, reversed(numbers))
        found = {
            task: picture
            for task, names in wanted.items()
            if (picture := queries.some_picture(session, phase.id, names))
        }
    base = f"/pictures/{quote(phase.edition)}/{quote(phase.image_set)}"
    return tuple(
        Representative(
            task,
            f"{base}/{quote(picture.name)}?competition={numbers[task]}",
            f"{base}/{quote(picture.name)}/thumbnail.jpg?v={picture.version}",
            *picture.shown_size,
        )
        for task, picture in found.items()
    )


def stored_picture(
    platform: Platform, actor: Actor, edition: str, image_set: str, name: str, kind: str
) -> StoredPicture:
    """A picture of this kind (`THUMBNAILS` or `VIEWS`), found by the name of its image in the table.

    Raises NotFoundError for one that is not there, not made yet, or not the reader's to see.
    """
    sources = platform.cache.version(
        ("pictures", edition, image_set), lambda: _sources_of(platform, edition, image_set)
    )
    if sources is None or not sees_pictures(actor, sources.phase, sources):
        raise _none(edition, image_set)
    with platform.transaction() as session:
        made = queries.made_picture(session, sources.phase.id, name)
        found = artefacts.find(session, kind, f"{sources.phase.id}/{made.batch}") if made else None
    if made is None or found is None:
        raise NotFoundError(f"{edition} {image_set} has no picture {name!r}, or it is not made yet")
    content = read_part(platform.artefacts, found.key, made.place)
    etag = f'"{sha256(content).hexdigest()[:24]}"'
    return StoredPicture(content, etag, made.version[:12], sees_pictures(Actor(), sources.phase, sources))


def visible_sources(session: Session, actor: Actor, edition: str, image_set: str) -> Sources:
    """A phase whose pictures the reader sees. Raises NotFoundError."""
    phase = find_phase(session, edition, image_set)
    sources = _sources(phase, pictures.source_of(session, phase.id))
    if sources is None or not sees_pictures(actor, phase, sources):
        raise _none(edition, image_set)
    return sources


def _sources_of(platform: Platform, edition: str, image_set: str) -> Sources | None:
    with platform.transaction() as session:
        phase = find_phase(session, edition, image_set)
        return _sources(phase, pictures.source_of(session, phase.id))


def _sources(phase: PhaseView, source: PictureSource | None) -> Sources | None:
    return None if source is None else Sources(phase, source.is_public, source.draws_truth)


def _none(edition: str, image_set: str) -> NotFoundError:
    return NotFoundError(f"{edition} {image_set} has no pictures, or they are not public")


def organised(platform: Platform, actor: Actor, phase_id: int) -> PhaseView:
    """A phase with pictures that the actor organises. Raises NotFoundError."""
    with platform.transaction() as session:
        return _organised(session, actor, phase_id)


def try_again(platform: Platform, actor: Actor, phase_id: int) -> None:
    """Have the pictures made that are not made yet. Raises NotFoundError for a phase that the actor does not organise."""
    with platform.transaction() as session:
        _organised(session, actor, phase_id)
        pictures.set_problem(session, phase_id, None)
        pictures_service.have_made(session, phase_id)


def change(platform: Platform, actor: Actor, phase_id: int, rules: PictureRules) -> None:
    """Set who sees the pictures of a phase. Raises NotFoundError for one without, or that the actor does not organise."""
    with platform.transaction() as session:
        edition_id = _organised(session, actor, phase_id).edition_id
        before = pictures.set_rules(
            session, phase_id, is_public=rules.is_public, draws_truth=rules.draws_truth
        )
        after = {"is_public": rules.is_public, "draws_truth": rules.draws_truth}
        if before != after:
            pictures_service.draw(session, phase_id)
            audit.record(
                session, actor.user_id, "pictures.change", f"phase {phase_id}",
                edition_id=edition_id, reason=rules.reason, before=before, after=after,
            )  # fmt: skip
    platform.cache.forget_versions()


def _organised(session: Session, actor: Actor, phase_id: int) -> PhaseView:
    phase = organised_phase(session, actor, phase_id)
    if pictures.source_of(session, phase_id) is None:
        raise NotFoundError(f"there is no phase {phase_id} with pictures")
    return phase
