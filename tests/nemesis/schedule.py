"""When which faults happen, drawn only from a seed so that a night can be repeated."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

BETWEEN = (0.5, 3.0)  # seconds from the start of one fault to the start of the next
SHORTEST = 0.3  # duration of a lasting fault in seconds


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: the resources it uses exclusively, and its longest duration."""

    name: str
    takes: str
    longest: float = 0.0  # seconds; zero for an instantaneous fault


@dataclass(frozen=True, slots=True)
class Planned:
    """A fault at a time in seconds since the start; `choice` in [0, 1) picks one of several processes."""

    at: float
    lasts: float
    name: str
    choice: float

    def __str__(self) -> str:
        lasting = f" for {self.lasts:.1f} s" if self.lasts else ""
        return f"{self.at:6.1f} s  {self.name}{lasting}"


def schedule(seed: int, seconds: float, kinds: Mapping[str, Kind]) -> tuple[Planned, ...]:
    """Faults that all end before `seconds`; each kind occurs once before any is repeated."""
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
