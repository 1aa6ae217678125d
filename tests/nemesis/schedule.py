"""Which faults happen when: drawn from a seed alone, so that a night can be repeated."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

BETWEEN = (0.5, 3.0)  # seconds from the begin of a fault to that of the next
SHORTEST = 0.3  # seconds of a fault that lasts


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: what it takes, which no other fault may have meanwhile, and how long it lasts at most."""

    name: str
    takes: str
    longest: float = 0.0  # seconds; zero for what happens in a moment


@dataclass(frozen=True, slots=True)
class Planned:
    """A fault at a moment, in seconds since the begin; `choice` in [0, 1) picks one of several processes."""

    at: float
    lasts: float
    name: str
    choice: float

    def __str__(self) -> str:
        lasting = f" for {self.lasts:.1f} s" if self.lasts else ""
        return f"{self.at:6.1f} s  {self.name}{lasting}"


def schedule(seed: int, seconds: float, kinds: Mapping[str, Kind]) -> tuple[Planned, ...]:
    """Faults that all end before `seconds`; each kind comes once before any comes again."""
    chance, at, found = Random(seed), 0.0, list[Planned]()
    free_at: dict[str, float] = {}
    waiting: list[str] = []
    while (at := at + chance.uniform(*BETWEEN)) < seconds:
        if not waiting:
            waiting = chance.sample(sorted(kinds), len(kinds))
        name = next((one for one in waiting if free_at.get(kinds[one].takes, 0) <= at), None)
        choice, share = chance.random(), chance.random()
        if name is None:
            continue
        kind = kinds[name]
        lasts = SHORTEST + share * (kind.longest - SHORTEST) if kind.longest else 0.0
        if at + lasts > seconds:
            continue
        waiting.remove(name)
        free_at[kind.takes] = at + lasts + 1
        found.append(Planned(round(at, 2), round(lasts, 2), name, choice))
    return tuple(found)
