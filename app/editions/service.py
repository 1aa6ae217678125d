"""Reading what participants may know of phases."""

from functools import lru_cache

from sqlalchemy.orm import Session

from app.access import Actor
from app.editions import queries
from app.editions.schemas import PhaseView
from app.errors import NotFoundError
from app.platform import Platform
from app.storage import Storage
from scoring import Description


def find_phase(session: Session, edition: str, image_set: str) -> PhaseView:
    """A phase by what stands in its address.

    Raises NotFoundError.
    """
    phase = queries.phase_of(session, edition, image_set)
    if phase is None:
        raise _no_phase(edition, image_set)
    return phase


def _no_phase(edition: str, image_set: str) -> NotFoundError:
    return NotFoundError(f"there is no phase {image_set!r} in an edition {edition!r}")


@lru_cache(maxsize=32)
def description_of(descriptions: Storage, key: str) -> Description:
    """The public description with this key; immutable, so a process reads each once."""
    with descriptions.open(key) as stream:
        return Description.from_json(stream.read().decode())


def public_description(platform: Platform, edition: str, image_set: str) -> str:
    """The public description of a phase, as JSON.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        phase = find_phase(session, edition, image_set)
    with platform.descriptions.open(phase.description_key) as stream:
        return stream.read().decode()


def phase_description(platform: Platform, edition: str, image_set: str) -> Description:
    """The public description of a phase.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        phase = find_phase(session, edition, image_set)
    return description_of(platform.descriptions, phase.description_key)


def phase_page(platform: Platform, edition: str, image_set: str) -> PhaseView:
    """A phase and its rules.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        return find_phase(session, edition, image_set)


def organised_phase(platform: Platform, actor: Actor, edition: str, image_set: str) -> PhaseView:
    """A phase of an edition that the actor organises.

    Raises NotFoundError, for others as for what does not exist.
    """
    phase = phase_page(platform, edition, image_set)
    if not actor.runs(phase.edition_id):
        raise _no_phase(edition, image_set)
    return phase
