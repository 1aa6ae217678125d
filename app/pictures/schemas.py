"""The pictures of a phase as an import, pages and programs see them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from app.models import ImageMode

SHORT_SIDE: Final = 150  # of a thumbnail on a page, in CSS pixels, where the size of the picture is not known


@dataclass(frozen=True, slots=True)
class PictureFile:
    """An image of a phase and the file that shows it.

    width, height: in pixels as annotated, None where the annotation does not say; file: below the folder, None without one;
    size: in bytes; changed: when, in nanoseconds; problem: why the file cannot be shown.
    """

    name: str
    width: int | None
    height: int | None
    file: str | None = None
    size: int = 0
    changed: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class FilledBatch:
    """Pictures that are made together: their number among the batches, and the position of the first."""

    number: int
    first: int
    files: tuple[PictureFile, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import did with the pictures of a tree; problems: a sentence for each file that cannot be shown, the first few."""

    mode: ImageMode
    folder: Path
    images: int
    files: int
    changed: int  # pictures that are made again
    problems: tuple[str, ...]
    more_problems: int


@dataclass(frozen=True, slots=True)
class SourceView:
    """The pictures of a phase as its organisers see them; made: how many can be shown."""

    mode: ImageMode
    folder: str
    is_public: bool
    draws_truth: bool
    problem: str | None
    images: int
    made: int
    refused: int


@dataclass(frozen=True, slots=True)
class PictureView:
    """A picture; version: of what was made of it, None before; problem: why there is nothing to show."""

    position: int
    name: str
    width: int | None
    height: int | None
    version: str | None
    problem: str | None

    @property
    def shown_size(self) -> tuple[int, int]:
        """Width and height of its thumbnail on a page, in CSS pixels, so that nothing moves when it arrives."""
        if not self.width or not self.height:
            return SHORT_SIDE * 4 // 3, SHORT_SIDE
        scale = min(SHORT_SIDE / self.height, 3 * SHORT_SIDE / self.width)  # of a panorama, too
        return max(1, round(scale * self.width)), max(1, round(scale * self.height))


class PictureRules(BaseModel):
    """Who sees the pictures of a held-out phase."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    is_public: Annotated[bool, Field(description="everybody sees the pictures, without annotation")] = False
    draws_truth: Annotated[
        bool,
        Field(
            description="organisers see the hidden annotation drawn, which is then kept where the web server reads it"
        ),
    ] = False
    reason: Annotated[str, Field(min_length=3, max_length=1000, description="why; it is recorded")]
