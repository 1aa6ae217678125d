"""Confidences of images or persons."""

from dataclasses import dataclass
from typing import Self

from scoring.data.arrays import Flags, Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class ClassConfidences:
    """The lines of a file in its order: subject int32 (n,), its place in the set; confidence float64 (n,), finite."""

    subject: Integers
    confidence: Floats

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.subject)

    def where(self, mask: Flags, /) -> Self:
        """Only the lines that the mask selects."""
        return type(self)(self.subject[mask], self.confidence[mask])
