"""What was to be reached, and what was."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Reads = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure with its goal: `is_met` is none for a figure that has none, or was not measured."""

    what: str
    before: str
    goal: str
    measured: str
    is_met: bool | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A goal before it is measured: at most this much, or at least where `more_is_better`."""

    what: str
    goal: str
    limit: float
    before: str = ""
    unit: str = "{:.2g} ms"
    more_is_better: bool = False

    def measured(self, value: float, note: str = "") -> Goal:
        """The goal with its figure."""
        is_met = value >= self.limit if self.more_is_better else value <= self.limit
        return Goal(self.what, self.before, self.goal, self.unit.format(value) + note, is_met)


GROWTH: Final = 1.3  # times what a page costs with 1,000 runs
