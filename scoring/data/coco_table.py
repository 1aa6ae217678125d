"""Annotation as COCO's files have it, to the bit: what half-open edges would round."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Flags, Floats, Integers

Wholes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CocoTable:
    """Every annotated object in the order of the annotation file, which decides ties.

    image, label: int32 (m,), into the images and the classes of `Lists`; boxes: float64 (m, 4), left, top, width, height in
    pixels as annotated; area: float64 (m,), as annotated; crowd: bool (m,); unnumbered: bool (m,), annotations whose id
    is 0. run_start, run_end, run_first: the masks as runs of pixels, int64 (r,), (r,) and (m + 1,), counted down the columns;
    None where objects have no masks.
    """

    image: Integers
    label: Integers
    boxes: Floats
    area: Floats
    crowd: Flags
    unnumbered: Flags
    run_start: Wholes | None = None
    run_end: Wholes | None = None
    run_first: Wholes | None = None

    @property
    def has_masks(self) -> bool:
        """Whether the objects have masks."""
        return self.run_first is not None
