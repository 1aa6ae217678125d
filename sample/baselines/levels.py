"""What the baselines of a task share: their name, their levels, and how they predict."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sample.baselines.archives import ResultFile
from sample.dice import Dice
from sample.truth import Truth

LETTERS = ("S", "M", "L")  # small, medium and large disturbance
OTHER_DATA_EASE = 0.88  # with other training data allowed, the disturbance is this much of what it is without


@dataclass(frozen=True, slots=True)
class Task:
    """What a prediction is for: a competition of an image set, and how much of the disturbance it gets."""

    truth: Truth
    competition: int
    ease: float

    @property
    def image_set(self) -> str:
        """The name of the image set."""
        return self.truth.image_set


@dataclass(frozen=True, slots=True)
class Level:
    """One strength of disturbance: what it is called, what it does, and the function that does it."""

    title: str
    description: str
    predict: Callable[[Task, Dice], Iterable[ResultFile]]


@dataclass(frozen=True, slots=True)
class Family:
    """The three baselines of a task, for its two competitions: given data alone, any data."""

    name: str
    competitions: tuple[int, int]
    levels: tuple[Level, Level, Level]


def description_of(what: str) -> str:
    """Return a description that says plainly where the predictions come from."""
    return (
        f"A baseline computed from the ground truth, not a method that looks at images: {what} "
        "In the competition that allows other training data it is disturbed slightly less."
    )


def confidence(value: float) -> str:
    """Return a confidence kept inside (0, 1), with six decimals."""
    return f"{min(max(value, 0.0005), 0.9995):.6f}"
