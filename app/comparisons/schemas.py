"""Comparisons of methods as pages and programs see them."""

from dataclasses import dataclass

from app.analyses.schemas import ClassErrors
from app.exhibits.schemas import ClassValue
from app.figures.shapes import Drawing, Figure


@dataclass(frozen=True, slots=True)
class Difference:
    """A method's score minus the reference's, in [-1, 1], with its 95 % interval.

    p_value: two-sided; holm: the same corrected for all tests of its table; None where there is none. Without the details
    of a phase only the difference of the shown values is there.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    holm: float | None = None


@dataclass(frozen=True, slots=True)
class PairDifference:
    """The difference of two methods' means; one, other: places of the methods."""

    one: int
    other: int
    difference: Difference


@dataclass(frozen=True, slots=True)
class ClassDifferences:
    """A class: its differences from the reference, for each method but the reference."""

    name: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class ImageDifference:
    """An image: what was to be found there, and what each method has missed, and found though it is not there."""

    image: str
    positives: int
    missed: tuple[int, ...]
    false: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a paired bootstrap says of methods, the first of which is the reference.

    pairs: every pair of means; classes: each class, against the reference; images: those whose errors differ most, first.
    """

    replicates: int
    pairs: tuple[PairDifference, ...]
    classes: tuple[ClassDifferences, ...]
    images: tuple[ImageDifference, ...]


@dataclass(frozen=True, slots=True)
class Drawings:
    """The figures of a comparison, as far as the reader may see what they show."""

    drawn: str | None  # the class whose curves are drawn
    curves: Figure | None
    scores: Figure | None
    differences: Drawing | None
    errors: Figure | None


@dataclass(frozen=True, slots=True)
class ComparedMethod:
    """A method with what the reader sees of its result on the board."""

    id: int
    name: str
    title: str
    team: str
    submission: int
    run: int
    mean: float | None
    low: float | None
    high: float | None
    classes: tuple[ClassValue, ...]
    errors: (
        ClassErrors | None
    )  # of all classes together; none before they are computed, and where the task has none


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method that can be chosen."""

    id: int
    name: str
    mean: float | None


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Two to five methods of a board side by side; with fewer, only what can be chosen."""

    edition: str
    edition_title: str
    image_set: str
    competition: int
    title: str
    measure: str
    methods: tuple[ComparedMethod, ...]
    classes: tuple[str, ...]
    statistics: Statistics | None
    is_computed: bool  # the statistics of every method are there, or will never be shown
    obstacle: str | None  # why these results have no statistics in common
    withheld: str | None  # what the reader does not see, and until when
    beyond_public: bool
    candidates: tuple[Candidate, ...] = ()  # the chosen ones and the best others
    has_more: bool = False  # others stand on the board
    draws_images: bool = False  # each has a page, with annotation and predictions drawn over it

    @property
    def value_of(self) -> dict[tuple[int, str], ClassValue]:
        """By method and class, what it scored."""
        return {(method.id, each.name): each for method in self.methods for each in method.classes}
