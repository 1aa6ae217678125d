"""The tables that ground truth consists of."""

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from .annotations import BoxConvention
from .arrays import Flags, Floats, Integers, Labels
from .description import UNKNOWN_SIDE
from .label_maps import LabelRuns, Masks, Wholes


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
        start, end = (each.astype(np.int64, copy=False) for each in (masks.start, masks.end))
        return replace(self, run_start=start, run_end=end, run_first=masks.first)

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


PARTS: Final = ("head", "hand", "foot")
"""The parts of a person, in the order in which `Parts.kind` counts them."""


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Every annotated object, by image and within an image in the order of its annotation, which decides ties.

    image: int32 (n,), into `Lists.images`; name: int16 (n,), into the description's classes;
    boxes: float64 (n, 4), left, top, right, bottom by `Tables.convention`; the flags: bool (n,).
    """

    image: Integers
    name: NDArray[np.int16]
    boxes: Floats
    difficult: Flags
    truncated: Flags
    occluded: Flags
    group_of: Flags


def labels_of(objects: Objects, classes: int, images: int) -> Labels:
    """What the label files say of each class and image, from the objects of the first `images` images.

    Returns int8 (classes, images): 1 where there is a positive, 0 where there are difficult objects only, -1 where there is none.
    """
    labels = np.full((classes, images), -1, np.int8)
    here = objects.image < images
    for hard, label in ((True, 0), (False, 1)):
        rows = here & (objects.difficult == hard)
        labels[objects.name[rows], objects.image[rows]] = label
    return labels


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Every annotated part of a person: owner int32 (m,), into Objects; kind int8 (m,), into PARTS; boxes (m, 4)."""

    owner: Integers
    kind: Labels
    boxes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ActionLabels:
    """Who does what: the lines of the actions' label files, in their order, which decides ties.

    action: int8 (k,), into the description's actions; owner: int32 (k,), into Objects; label: int8 (k,), 1, 0 or -1.
    """

    action: Labels
    owner: Integers
    label: Labels


@dataclass(frozen=True, slots=True)
class Lists:
    """Which challenge this is, and what its image sets list.

    images: every annotated image, those of the Main set first and in its order; main: how many these are;
    persons and acting: image and 1-based object as in `Description` (object 0: a whole image, as 2007 lists them);
    class_numbers: what COCO's files call each class, in their order; none where classes are called by their names.
    """

    dataset: str
    image_set: str
    classes: tuple[str, ...]
    actions: tuple[str, ...]
    images: tuple[str, ...]
    main: int
    segmentation: tuple[str, ...]
    persons: tuple[tuple[str, int], ...]
    acting: tuple[tuple[str, int], ...]
    class_numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What is annotated.

    sizes: int32 (images, 2), width and height; labels: int8 (classes, main), 1 there is such an object in the image,
    0 only difficult ones, -1 none; masks: one for each image of the Segmentation set, or none at all; convention: that of
    the boxes of objects and parts; verified: int32 (k, 2), images and classes where an image-level label says whether the
    class is there, None where every class is annotated in every image; coco: the same objects as COCO's annotation has them, where it came from
    there.
    """

    sizes: Integers
    labels: Labels
    objects: Objects
    parts: Parts
    acts: ActionLabels
    masks: LabelRuns
    convention: BoxConvention = BoxConvention.INCLUSIVE
    verified: Integers | None = None
    coco: CocoTable | None = None

    @property
    def has_size(self) -> Flags:
        """Whether the size of an image is known: bool (images,)."""
        known: Flags = self.sizes[:, 0] != UNKNOWN_SIDE
        return known
