"""The scores that figures of a board are drawn from."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class MethodScores:
    """A method on a board: values in [0, 1] by class in the order of the board, None where there is none."""

    name: str
    mean: float | None
    values: tuple[float | None, ...]
    date: datetime | None = None
    is_baseline: bool = False
    run_id: int = 0
    method_id: int = 0


@dataclass(frozen=True, slots=True)
class BoardScores:
    """A board: measure as in "AP (area)"; what: what columns are, "class" or "part"; methods: best first.

    baseline: the score of random rankings in each class, where it is known.
    """

    measure: str
    classes: tuple[str, ...]
    methods: tuple[MethodScores, ...]
    what: str = "class"
    baseline: tuple[float | None, ...] = ()
