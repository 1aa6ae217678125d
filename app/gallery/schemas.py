"""Pictures as pages and programs see them."""

from dataclasses import dataclass

from app.editions.schemas import PhaseView
from app.pictures.schemas import PictureView, SourceView


@dataclass(frozen=True, slots=True)
class PicturesPage:
    """Some pictures of a phase, in the order of its image sets.

    being_made: how many are still to be made; beginning: what their names begin with; previous, next: the position to look before, or after, for the other pages; source:
    for organisers; is_public: everybody sees them.
    """

    phase: PhaseView
    pictures: tuple[PictureView, ...]
    total: int
    made: int
    being_made: int
    beginning: str
    previous: int | None
    next: int | None
    is_public: bool
    source: SourceView | None


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """A picture as it is sent: JPEG, the name of its bytes, and who may keep it."""

    content: bytes
    etag: str
    version: str
    is_public: bool


@dataclass(frozen=True, slots=True)
class Representative:
    """A picture that stands for a task of a phase: where it leads, and its thumbnail with its size in CSS pixels."""

    task: str
    address: str
    thumbnail: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class ImageRow:
    """A picture of a phase for programs; addresses are None where there is nothing to show, and the problem says why."""

    name: str
    width: int | None
    height: int | None
    thumbnail: str | None
    picture: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class ImageList:
    """Some pictures of a phase; next: the address of those that follow."""

    edition: str
    image_set: str
    total: int
    made: int
    images: tuple[ImageRow, ...]
    next: str | None
