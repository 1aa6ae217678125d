"""Annotation as COCO's files have it, to the bit: what half-open edges would round."""

from dataclasses import dataclass, replace
from typing import Self

from scoring.data.arrays import Flags, Floats, Integers, Labels
from scoring.data.masks import Masks, Wholes


@dataclass(frozen=True, slots=True, eq=False)
class Federation:
    """What is known of classes in images where not every class is annotated, as LVIS has it.

    negative, inexhaustive: int32 (k, 2), pairs of an image and a class that is not in it, or of which not every object
    is annotated; frequency: int8 (classes,), 0 for a rare class, 1 for a common, 2 for a frequent one.
    """

    negative: Integers
    inexhaustive: Integers
    frequency: Labels


@dataclass(frozen=True, slots=True, eq=False)
class CocoTable:
    """Every annotated object in the order of the annotation file, which decides ties.

    image, label: int32 (m,), into the images and the classes of `Lists`; boxes: float64 (m, 4), left, top, width, height in
    pixels as annotated; area: float64 (m,), as annotated; crowd: bool (m,); unnumbered: bool (m,), annotations whose id
    is 0. run_start, run_end, run_first: the masks as runs of pixels, int64 (r,), (r,) and (m + 1,), counted down the columns;
    None where objects have no masks. The last three as in `Federation`, None where every class is annotated in every image.
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
    negative: Integers | None = None
    inexhaustive: Integers | None = None
    frequency: Labels | None = None

    def with_masks(self, masks: Masks) -> Self:
        """The same objects with these masks, one of each."""
        return replace(self, run_start=masks.start, run_end=masks.end, run_first=masks.first)

    @property
    def has_masks(self) -> bool:
        """Whether the objects have masks."""
        return self.run_first is not None

    @property
    def federation(self) -> Federation | None:
        """What the annotation of LVIS says of classes in images; None where it is not LVIS."""
        if self.negative is None or self.inexhaustive is None or self.frequency is None:
            return None
        return Federation(self.negative, self.inexhaustive, self.frequency)
