"""Lists of images as pages and programs see them."""

from dataclasses import dataclass

from app.editions.schemas import PhaseView
from app.overlays.schemas import ExampleView
from app.pictures.schemas import PictureView


@dataclass(frozen=True, slots=True)
class ShownExample:
    """An example with its picture, none where there is no picture."""

    example: ExampleView
    picture: PictureView | None


@dataclass(frozen=True, slots=True)
class ExampleList:
    """Examples of one sort."""

    title: str
    meaning: str
    examples: tuple[ShownExample, ...]


@dataclass(frozen=True, slots=True)
class ExamplesPage:
    """Images that a result is good or bad at, of one class; lists are None where there are none, which `missing` explains."""

    phase: PhaseView
    title: str
    run_id: int | None
    method: str | None
    submission_id: int | None
    competition: int
    classes: tuple[str, ...]
    class_name: str | None
    lists: tuple[ExampleList, ...] | None
    competition_title: str
    missing: str | None = None
