"""A picture with what is drawn over it, as pages and programs see it."""

from dataclasses import dataclass

from app.editions.schemas import PhaseView
from app.overlays.schemas import DrawnRun
from app.pictures.schemas import PictureView
from app.viewer.rules import Label, Panel


@dataclass(frozen=True, slots=True)
class OfferedRun:
    """A method that can be drawn over pictures, and whether it is."""

    run: DrawnRun
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class OfferedCompetition:
    """A competition whose predictions can be drawn, and whether they are."""

    number: int
    title: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ViewerPage:
    """A picture with what is drawn over it.

    before, after: the images beside it in the order of the image sets; withheld: why nothing is drawn; threshold: the lowest
    confidence that is shown, None for the first ten of each method; lowest, highest: of all confidences on the page.
    """

    phase: PhaseView
    picture: PictureView
    before: str | None
    after: str | None
    withheld: str | None
    competitions: tuple[OfferedCompetition, ...]
    runs: tuple[OfferedRun, ...]
    panels: tuple[Panel, ...]
    legend: tuple[Label, ...]
    threshold: float | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """What an address asks to be drawn over a picture."""

    competition: int | None = None
    runs: tuple[int, ...] = ()
    threshold: float | None = None
