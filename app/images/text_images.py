"""Images that organisers send for the texts of their challenge: decoded and written anew, and served from this server alone."""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Actor, require_challenge
from app.core.errors import FieldsError, NotFoundError
from app.core.names import Visible
from app.images.covers import made_anew
from app.images.decoding import make_text_image
from app.images.pictures import StoredPicture
from app.models import Challenge, TextImage
from app.platform import Platform

MOST: Final = 50  # of a challenge
_MADE: Final = re.compile(rb"(\d{1,4}) (\d{1,4})\n", re.ASCII)


class NewTextImage(BaseModel):
    """What organisers say about an image for their texts."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    shows: Annotated[
        str,
        Field(min_length=1, max_length=200, description="what it shows, for people who do not see it"),
        Visible,
    ]


@dataclass(frozen=True, slots=True)
class TextImageView:
    """An image for the texts of a challenge. markdown: what shows it in a text."""

    name: str
    address: str
    alt: str
    markdown: str


def text_images(platform: Platform, actor: Actor, code: str) -> tuple[TextImageView, ...]:
    """Return the images of a challenge that this person organises, the newest first. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        of_challenge = select(TextImage.name, TextImage.alt).where(TextImage.challenge_id == challenge.id)
        rows = session.execute(of_challenge.order_by(TextImage.added_at.desc(), TextImage.name)).all()
    return tuple(_view(challenge.code, *row) for row in rows)


def _view(code: str, name: str, alt: str) -> TextImageView:
    address = f"/challenges/{quote(code)}/text-images/{name}"
    words = re.sub(r"([\[\]\\])", r"\\\1", alt)
    return TextImageView(name, address, alt, f"![{words}]({address})")


def add(platform: Platform, actor: Actor, code: str, new: NewTextImage, data: bytes | None) -> None:
    """Add an image, made anew from a file. The same image again only changes what it shows.

    Raises NotFoundError, ForbiddenError, and MalformedError if the file is not an image or there are too many.
    """
    with platform.transaction() as session:
        require_challenge(session, actor, code, lock=True)  # an archived one refuses before the file is read
    if data is None:
        raise FieldsError({"image": "choose one"})
    made = made_anew(make_text_image, data, "image")
    size = _MADE.match(made)
    if size is None:
        raise FieldsError({"image": "this image cannot be decoded"})
    content = made[size.end() :]
    name = f"{sha256(content).hexdigest()[:16]}-{int(size[1])}x{int(size[2])}.jpg"
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        row = session.get(TextImage, (challenge.id, name))
        if row is None:
            _check_count(session, challenge)
            row = TextImage(challenge_id=challenge.id, name=name, content=content)
            session.add(row)
        row.alt = new.shows
        _record(session, actor, challenge, {"added": name, "alt": row.alt})


def _check_count(session: Session, challenge: Challenge) -> None:
    count = select(func.count()).select_from(TextImage).where(TextImage.challenge_id == challenge.id)
    if session.scalars(count).one() >= MOST:
        raise FieldsError({"image": f"a challenge has at most {MOST} images for its texts; remove one first"})


def remove(platform: Platform, actor: Actor, code: str, name: str) -> None:
    """Remove an image; texts that name it show its words. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        row = session.get(TextImage, (challenge.id, name))
        if row is None:
            raise NotFoundError(f"there is no image {name!r}")
        session.delete(row)
        _record(session, actor, challenge, {"removed": name})


def _record(session: Session, actor: Actor, challenge: Challenge, after: dict[str, str]) -> None:
    subject = f"challenge {challenge.id}"
    audit.record(session, actor.user_id, "text-image.change", subject, challenge_id=challenge.id, after=after)


def stored(platform: Platform, code: str, name: str) -> StoredPicture:
    """Return an image as JPEG; its name says which. Raises NotFoundError."""
    statement = (
        select(TextImage.content).join(Challenge).where(Challenge.code == code, TextImage.name == name)
    )
    with platform.transaction() as session:
        content = session.scalar(statement)
    if content is None:
        raise NotFoundError(f"there is no image {name!r}")
    return StoredPicture(content, name, is_public=True)
