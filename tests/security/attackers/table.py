"""Every attacker against every disclosure, as a table."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.models import Disclosure
from tests.security.attackers import boosting, boxes, curves, painting, ranks, timing
from tests.security.attackers.server import Server, Setting
from tests.security.attackers.world import Labels, draw, recovered

Attack = Callable[[Server, np.random.Generator], Labels]

ATTACKS: Final[dict[str, Attack]] = {
    "curve decoding": curves.attack,
    "solving for ranks": ranks.attack,
    "single boxes": boxes.attack,
    "painting": painting.attack,
    "boosting by majority": boosting.attack,
    "timing": timing.attack,
}

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
    """What an attacker recovers under a row: mean and largest share of all labels over the seeds."""

    row: str
    attack: str
    accounts: int
    mean: float
    largest: float


def measure(row: str, attack: str, accounts: int, size: Size) -> Cell:
    """Run an attacker against a row on worlds of all seeds."""
    setting = ROWS[row]
    setting = Setting(setting.disclosure, only_complete=setting.only_complete, accounts=accounts)
    shares = []
    for seed in range(size.seeds):
        world = draw(seed, size.images, size.classes)
        guess = ATTACKS[attack](Server(world, setting, seed), np.random.default_rng(seed + 1000))
        shares.append(recovered(world, guess))
    return Cell(row, attack, accounts, float(np.mean(shares)), max(shares))


def cells(accounts: int, size: Size, rows: Iterable[str] = ROWS) -> Iterator[Cell]:
    """Every attacker against these rows, with so many accounts."""
    for row in rows:
        for attack in ATTACKS:
            yield measure(row, attack, accounts, size)


def markdown(found: Sequence[Cell], accounts: int) -> str:
    """The cells of so many accounts as a table: percent of all labels, the mean over seeds and the largest."""
    lines = ["| disclosure | " + " | ".join(ATTACKS) + " |", "|---|" + "--:|" * len(ATTACKS)]
    for row in dict.fromkeys(each.row for each in found if each.accounts == accounts):
        values = [
            next(each for each in found if (each.row, each.attack, each.accounts) == (row, attack, accounts))
            for attack in ATTACKS
        ]
        shown = " | ".join(f"{100 * each.mean:.2f} ({100 * each.largest:.2f})" for each in values)
        lines.append(f"| `{row}` | {shown} |")
    return "\n".join(lines)
