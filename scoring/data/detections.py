"""Detections: boxes with a confidence."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Flags


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """The lines of one class's file, in the order of the file.

    image: int32 (n,), index into Description.images; confidence: float64 (n,), finite;
    boxes: float64 (n, 4), left, top, right, bottom in pixels as given, finite, possibly outside the image or inverted.
    """

    image: NDArray[np.int32]
    confidence: NDArray[np.float64]
    boxes: NDArray[np.float64]

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.image)

    def where(self, mask: Flags, /) -> Self:
        """Only the lines that the mask selects."""
        return type(self)(self.image[mask], self.confidence[mask], self.boxes[mask])
