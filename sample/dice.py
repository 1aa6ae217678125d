"""Pseudo-random draws that are the same on every machine."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, SeedSequence

T = TypeVar("T")
Floats = npt.NDArray[np.float64]


class Dice:
    """Draws from PCG64's raw stream, which numpy promises to keep; what its generators make of it may change.

    >>> Dice(2012, 7).count(1, 6) == Dice(2012, 7).count(1, 6)
    True
    """

    __slots__ = ("_bits",)

    def __init__(self, *seed: int) -> None:
        self._bits = PCG64(SeedSequence(seed))

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        return (int(self._bits.random_raw()) >> 11) * 2.0**-53

    def between(self, low: float, high: float) -> float:
        """Return a number in [low, high)."""
        return low + (high - low) * self.unit()

    def count(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + int(self.unit() * (high - low + 1))

    def chance(self, share: float) -> bool:
        """Return true in this share of all throws."""
        return self.unit() < share

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options, each as likely as the next."""
        return options[int(self.unit() * len(options))]

    def bell(self) -> float:
        """Return a number of mean 0 and deviation 1, within ±6."""
        return float(self.bells(1)[0])

    def bells(self, count: int) -> Floats:
        """Return float (count,) of mean 0 and deviation 1; sums of twelve units, so that no libm has a say."""
        raw = np.asarray(self._bits.random_raw(12 * count), dtype=np.uint64)
        units: Floats = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
        sums: Floats = units.reshape(count, 12).cumsum(axis=1)[:, -1] - 6.0
        return sums
