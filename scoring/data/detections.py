"""Detections: boxes with a confidence."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Flags
from scoring.data.boxes import BoxConvention


@dataclass(frozen=True, slots=True, eq=False)
class ClassDetections:
    """The detections of one class, in the order in which they were given, which decides ties.

    image: int32 (n,), index into Description.images; confidence: float64 (n,), finite;
    boxes: float64 (n, 4), left, top, right, bottom in pixels as given, finite, possibly outside the image or inverted;
    convention: what these four numbers mean.
    """

    image: NDArray[np.int32]
    confidence: NDArray[np.float64]
    boxes: NDArray[np.float64]
    convention: BoxConvention = BoxConvention.INCLUSIVE

    def __len__(self) -> int:
        """The number of detections."""
        return len(self.image)

    def where(self, mask: Flags, /) -> Self:
        """The detections that the mask selects."""
        return type(self)(self.image[mask], self.confidence[mask], self.boxes[mask], self.convention)
