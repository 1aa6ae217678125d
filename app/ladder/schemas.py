"""Comparisons with a team's best result."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rung:
    """The run whose mean a team sees for its latest results, and that mean."""

    run_id: int
    mean: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a new result was compared with (None: it is the first) and the run whose mean is shown for it."""

    best: Rung | None
    shown_run_id: int
