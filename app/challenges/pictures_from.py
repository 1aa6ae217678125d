"""Where participants get the pictures of a challenge: from here, from files that it offers, or from elsewhere.

It is said of the challenge, because files may have the images of all phases and phases of a draft are made anew.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationInfo, field_validator
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.challenges import challenges, files
from app.challenges.challenges import PhaseView
from app.challenges.files import OfferedFile
from app.core import audit
from app.core.access import Actor, require_challenge
from app.models import Challenge, ChallengeVisibility, FileKind, Phase, PicturesFrom, PictureSource
from app.platform import Platform
from app.web.forms import HttpsOrBlank, OrBlank


class ParticipantsPictures(BaseModel):
    """Where participants get the pictures of a challenge."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True, validate_default=True)

    pictures_from: Annotated[
        OrBlank[PicturesFrom],
        Field(
            description="`here`: the archive of each phase's images; `files`: those that the challenge offers; null: not said"
        ),
    ] = None
    pictures_address: Annotated[
        HttpsOrBlank, Field(max_length=300, description="the address of the images, if they are elsewhere")
    ] = ""

    @field_validator("pictures_address")
    @classmethod
    def _only_elsewhere(cls, address: str, info: ValidationInfo) -> str:
        if info.data.get("pictures_from") is not PicturesFrom.ELSEWHERE:
            return ""
        if not address:
            raise ValueError("is missing")
        return str(HttpUrl(address))

    @property
    def form(self) -> dict[str, str]:
        """The values of a form's fields."""
        return {"pictures_from": self.pictures_from or "", "pictures_address": self.pictures_address}

    @property
    def words(self) -> str:
        """The answer as a sentence; empty without one."""
        return WORDS[self.pictures_from] if self.pictures_from else ""


WORDS: Final = {
    PicturesFrom.HERE: "The images are here, in an archive for each image set.",
    PicturesFrom.FILES: "The images are in the files below.",
    PicturesFrom.ELSEWHERE: "The images come from elsewhere:",
}
UNSAID: Final = ParticipantsPictures()


def answer_of(challenge: Challenge) -> ParticipantsPictures:
    """Return what the organisers of a challenge say."""
    return ParticipantsPictures.model_construct(
        pictures_from=challenge.pictures_from, pictures_address=challenge.pictures_address
    )


def change(platform: Platform, actor: Actor, code: str, new: ParticipantsPictures) -> None:
    """Say where participants get the pictures of a challenge. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        store(session, actor, require_challenge(session, actor, code, lock=True), new)
    platform.cache.expire_versions()


def store(session: Session, actor: Actor, challenge: Challenge, new: ParticipantsPictures) -> None:
    """Store the answer in a challenge, which the caller has locked."""
    before = answer_of(challenge)
    if before == new:
        return
    challenge.pictures_from, challenge.pictures_address = new.pictures_from, new.pictures_address
    show(session, challenge, was_here=before.pictures_from is PicturesFrom.HERE)
    audit.record(
        session, actor.user_id, "challenge.pictures", f"challenge {challenge.id}", challenge_id=challenge.id,
        before=before.model_dump(mode="json"), after=new.model_dump(mode="json"),
    )  # fmt: skip


def show(session: Session, challenge: Challenge, *, was_here: bool = False) -> None:
    """Show the pictures of a draft's phases to everybody who will see it, if they are said to be here, and no longer if they were.

    Those of an open challenge stay as they are: organisers show them phase by phase.
    """
    is_here = challenge.pictures_from is PicturesFrom.HERE
    if challenge.visibility is ChallengeVisibility.DRAFT and (is_here or was_here):
        phases = select(Phase.id).where(Phase.challenge_id == challenge.id)
        statement = update(PictureSource).where(PictureSource.phase_id.in_(phases))
        session.execute(statement.values(is_public=is_here))


def untrue(session: Session, challenge: Challenge) -> tuple[str, ...]:
    """Say what is not so in the answer, for each phase; nothing without an answer, or before there are phases."""
    phases = challenges.phases_of(session, challenge.code)
    if challenge.pictures_from is PicturesFrom.HERE:
        return tuple(found for each in phases for found in _not_here(session, each))
    if challenge.pictures_from is PicturesFrom.FILES:
        present = files.load_present(session, challenge)
        return tuple(
            f"{each.image_set}: no file that has arrived offers its images"
            for each in phases
            if not _is_offered(each, present)
        )
    return ()


def packed(session: Session, phases: Sequence[PhaseView]) -> tuple[str, ...]:
    """Name the image sets whose pictures are offered as an archive, whatever is said of them."""
    offered = select(PictureSource.phase_id).where(
        PictureSource.offers_archive, PictureSource.archive_key.is_not(None)
    )
    found = set(session.scalars(offered.where(PictureSource.phase_id.in_([each.id for each in phases]))))
    return tuple(each.image_set for each in phases if each.id in found and each.publishes_images)


def _not_here(session: Session, phase: PhaseView) -> Iterator[str]:
    source = session.scalar(select(PictureSource).where(PictureSource.phase_id == phase.id))
    if source is None:
        yield f"{phase.image_set}: there are no images here"
    elif not phase.publishes_images:
        yield f"{phase.image_set}: only organisers see its images; show them to everybody at the end of /pictures/{phase.challenge}/{phase.image_set}"
    elif not source.offers_archive:
        yield f"{phase.image_set}: its images are not offered as an archive; offer it at the end of /pictures/{phase.challenge}/{phase.image_set}"
    elif source.archive_problem:
        yield f"{phase.image_set}: the archive of its images cannot be made: {source.archive_problem}"
    elif source.archive_key is None:
        yield f"{phase.image_set}: a worker is making the archive of its images"


def _is_offered(phase: PhaseView, present: list[OfferedFile]) -> bool:
    return any(
        each.row.key is not None
        and each.row.kind in (FileKind.IMAGES, FileKind.BOTH)
        and each.image_set in (None, phase.image_set)
        for each in present
    )
