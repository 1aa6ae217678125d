"""A table of every attacker against every disclosure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from app.models import Disclosure
from tests.security.attackers import boosting, boxes, climbing, curves, painting, ranks, timing, together
from tests.security.attackers.server import Server, Setting
from tests.security.attackers.world import Labels, draw, recovered

Attack = Callable[[Server, np.random.Generator], Labels]

ATTACKS: Final[dict[str, Attack]] = {
    "curve decoding": curves.attack,
    "solving for ranks": ranks.attack,
    "single boxes": boxes.attack,
    "painting": painting.attack,
    "boosting by majority": boosting.attack,
    "climbing": climbing.attack,
    "three tasks at once": together.attack,
    "timing": timing.attack,
}

WITH_INTERVALS: Final = ("single boxes", "boosting by majority", "three tasks at once")
"""The attackers that learn from confidence intervals and group letters if these are shown."""

ROWS: Final = {
    "full": Setting(Disclosure.FULL),
    "classes": Setting(Disclosure.CLASSES),
    "classes, complete results": Setting(Disclosure.CLASSES, only_complete=True),
    "mean": Setting(Disclosure.MEAN),
    "ladder": Setting(Disclosure.LADDER),
    "at close": Setting(Disclosure.AT_CLOSE),
}

BOUNDS: Final = {
    "classes": 0.05,
    "classes, complete results": 0.05,
    "mean": 0.01,
    "ladder": 0.01,
    "at close": 0.0,
}
"""The largest share of labels that a team of one may recover in a year."""


@dataclass(frozen=True)
class Size:
    """How large the worlds are, and how many."""

    images: int = 1000
    classes: int = 20
    seeds: int = 20


@dataclass(frozen=True)
class Cell:
    """The share of all labels that an attacker recovers under a row, for each seed."""

    row: str
    attack: str
    accounts: int
    shares: tuple[float, ...]
    intervals: bool = False

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(np.mean(self.shares))

    @property
    def largest(self) -> float:
        """Over the seeds."""
        return max(self.shares)


def measure(row: str, attack: str, accounts: int, size: Size, *, intervals: bool = False) -> Cell:
    """Run an attacker against a row on the worlds of all seeds."""
    setting = replace(ROWS[row], accounts=accounts, intervals=intervals)
    shares = []
    for seed in range(size.seeds):
        world = draw(seed, size.images, size.classes)
        guess = ATTACKS[attack](Server(world, setting, seed), np.random.default_rng(seed + 1000))
        shares.append(recovered(world, guess))
    return Cell(row, attack, accounts, tuple(shares), intervals)


def cells(accounts: int, size: Size, rows: Iterable[str] = ROWS) -> Iterator[Cell]:
    """Every attacker against these rows, with this number of accounts."""
    for row in rows:
        for attack in ATTACKS:
            yield measure(row, attack, accounts, size)


def cells_with_intervals(size: Size) -> Iterator[Cell]:
    """What these attackers recover with one account if intervals in whole percents and group letters are also shown."""
    for row in ("classes", "classes, complete results", "mean", "ladder"):
        for attack in WITH_INTERVALS:
            yield measure(row, attack, 1, size, intervals=True)


def gains(found: Sequence[Cell]) -> str:
    """How much more attackers recover with one account, intervals and letters, as a table in percent of all labels.

    Compared on the same seeds: the mean, and the largest.
    """
    known = {(each.row, each.attack, each.intervals): each.shares for each in found if each.accounts == 1}
    lines = ["| disclosure | " + " | ".join(WITH_INTERVALS) + " |", "|---|" + "--:|" * len(WITH_INTERVALS)]
    for row in dict.fromkeys(each.row for each in found if each.intervals):
        more = [
            [
                after - before
                for before, after in zip(known[row, attack, False], known[row, attack, True], strict=False)
            ]
            for attack in WITH_INTERVALS
        ]
        shown = " | ".join(f"{100 * float(np.mean(each)):+.2f} ({100 * max(each):+.2f})" for each in more)
        lines.append(f"| `{row}` | {shown} |")
    return "\n".join(lines)


def markdown(found: Sequence[Cell], accounts: int) -> str:
    """The cells with this number of accounts as a table: percent of all labels, the mean over seeds and the largest."""
    lines = ["| disclosure | " + " | ".join(ATTACKS) + " |", "|---|" + "--:|" * len(ATTACKS)]
    found = [each for each in found if each.accounts == accounts and not each.intervals]
    for row in dict.fromkeys(each.row for each in found):
        values = [
            next(each for each in found if (each.row, each.attack) == (row, attack)) for attack in ATTACKS
        ]
        shown = " | ".join(f"{100 * each.mean:.2f} ({100 * each.largest:.2f})" for each in values)
        lines.append(f"| `{row}` | {shown} |")
    return "\n".join(lines)
