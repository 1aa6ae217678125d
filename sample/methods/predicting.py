"""What the made-up methods share: what they predict for, what they mistake for what, and how hard an object is to find."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sample.annotations import Object
from sample.dice import Dice
from sample.methods.archives import ResultFile
from sample.truth import Truth

OTHER_DATA_EASE = 0.8  # with other training data allowed, a method errs this much of what it does without
# what looks alike from afar
SIMILAR: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ball": ("balloon",),
        "balloon": ("ball", "kite"),
        "bird": ("kite", "kite", "fish"),
        "boat": ("car", "house"),
        "car": ("boat",),
        "fish": ("bird",),
        "house": ("car", "boat"),
        "kite": ("bird", "bird", "balloon"),
        "person": ("tree",),
        "tree": ("person", "house"),
    }
)


@dataclass(frozen=True, slots=True)
class Task:
    """What a prediction is for: a competition of an image set, and how much of its errors a method makes in it."""

    truth: Truth
    competition: int
    ease: float

    @property
    def image_set(self) -> str:
        """The name of the image set."""
        return self.truth.image_set


Predict = Callable[[Task, Dice], Iterable[ResultFile]]


def side_of(thing: Object) -> float:
    """Return the side of a square as large as the box of an object, in pixels."""
    box = thing.box
    return math.sqrt((box.right - box.left + 1) * (box.bottom - box.top + 1))


def visibility_of(thing: Object) -> float:
    """Return how much of an object is seen, as far as the annotation tells: 1 in the open, less if it is hidden or cut off."""
    return max(0.2, 1.0 - 0.35 * thing.occluded - 0.2 * thing.truncated - 0.35 * thing.difficult)


def falling(value: float, half: float) -> float:
    """Return a share that falls from 1 to 0 as a value grows, and is a half at `half`.

    >>> falling(20.0, 20.0), falling(60.0, 20.0)
    (0.5, 0.1)
    """
    return half * half / (half * half + value * value)


def confidence(value: float) -> str:
    """Return a confidence kept inside (0, 1), with six decimals."""
    return f"{min(max(value, 0.0005), 0.9995):.6f}"
