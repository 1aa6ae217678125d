"""Annotated objects: as annotators wrote them in an image, and as the tables of all images that ground truth consists of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .arrays import Flags, Floats, Integers, Labels
from .description import UNKNOWN_SIDE
from .label_maps import LabelRuns, Masks, Wholes


class BoxConvention(StrEnum):
    """Whether the right and bottom of a box are its last pixels or the edges behind them.

    INCLUSIVE: left, top, right, bottom are pixels that belong to the box, and the first pixel of an image is 1, so that a
    box is right - left + 1 pixels wide. Source: PASCAL VOC development kits.
    HALF_OPEN: the four numbers are edges without a width, and the image begins at the edge 0, so that a box is
    right - left wide. Source: COCO, Open Images, torchvision.
    """

    INCLUSIVE = "inclusive"
    HALF_OPEN = "half-open"

    def convert(self, boxes: Floats, target: "BoxConvention") -> Floats:
        """The same areas in another convention; the array itself where that is this one.

        boxes: float64 (..., 4), left, top, right, bottom. Returns float64 (..., 4).

        >>> BoxConvention.HALF_OPEN.convert(np.array([[0.0, 0.0, 10.0, 5.0]]), BoxConvention.INCLUSIVE).tolist()
        [[1.0, 1.0, 10.0, 5.0]]
        """
        if target is self:
            return boxes
        shift: Floats = np.array([1.0, 1.0, 0.0, 0.0])
        converted: Floats = boxes + (shift if target is BoxConvention.INCLUSIVE else -shift)
        return converted


def as_convention(value: BoxConvention | str | None) -> BoxConvention:
    """The convention of this name. Raises DataError, which says what each name means, for anything else.

    >>> as_convention("half-open")
    <BoxConvention.HALF_OPEN: 'half-open'>
    """
    try:
        return BoxConvention(str(value))
    except ValueError:
        found = "none" if value is None else repr(value)
        raise DataError(
            "expected 'half-open' (right - left is the width, as in COCO and torchvision) or 'inclusive' "
            f"(right and bottom are the last pixels of the box, as in VOC) as 'convention', found {found}"
        ) from None


@dataclass(frozen=True, slots=True)
class Box:
    """The left, top, right and bottom of a box in pixels, by the convention of its `Annotation`."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Part:
    """A head, hand or foot of a person."""

    name: str
    box: Box


@dataclass(frozen=True, slots=True)
class AnnotatedObject:
    """An annotated object: its class, its box, its flags, and the parts of a person.

    group_of: whether the box is drawn around several objects, as Open Images and COCO's crowds have it.
    """

    name: str
    box: Box
    difficult: bool = False
    truncated: bool = False
    occluded: bool = False
    group_of: bool = False
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Annotation:
    """An image's size in pixels, and its objects in the order of the file, which decides ties.

    oddities: sentences on fields that are read otherwise than one may think;
    convention: that of the boxes of objects and parts; verified: the classes that image-level labels say are in the image or
    are not, None where every class is annotated.
    """

    width: int
    height: int
    objects: tuple[AnnotatedObject, ...]
    convention: BoxConvention = BoxConvention.INCLUSIVE
    verified: frozenset[str] | None = None
    oddities: tuple[str, ...] = ()


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
    is 0. run_start, run_end, run_first: the masks as runs of pixels, int32 or int64 (r,), (r,) and int64 (m + 1,), counted down the columns;
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


@dataclass(frozen=True, slots=True)
class Act:
    """A line of an action's label file: is the 1-based object of the image doing it (1), not (-1), or hard to tell (0)?"""

    action: str
    image: str
    number: int
    label: int


def objects_of(annotations: Sequence[Annotation], classes: Sequence[str]) -> Objects:
    """The objects of the images, in this order."""
    rows = [(image, thing) for image, annotation in enumerate(annotations) for thing in annotation.objects]
    things = [thing for _, thing in rows]
    number = {name: place for place, name in enumerate(classes)}
    return Objects(
        image=np.array([image for image, _ in rows], np.int32),
        name=np.array([number[thing.name] for thing in things], np.int16),
        boxes=_boxes([thing.box for thing in things]),
        difficult=np.array([thing.difficult for thing in things], np.bool_),
        truncated=np.array([thing.truncated for thing in things], np.bool_),
        occluded=np.array([thing.occluded for thing in things], np.bool_),
        group_of=np.array([thing.group_of for thing in things], np.bool_),
    )


def parts_of(annotations: Sequence[Annotation]) -> Parts:
    """The parts of the images' objects; `owner` counts objects as `objects_of` does."""
    things = [thing for annotation in annotations for thing in annotation.objects]
    rows = [(owner, part) for owner, thing in enumerate(things) for part in thing.parts]
    return Parts(
        owner=np.array([owner for owner, _ in rows], np.int32),
        kind=np.array([PARTS.index(part.name) for _, part in rows], np.int8),
        boxes=_boxes([part.box for _, part in rows]),
    )


def action_labels_of(
    acts: Sequence[Act], actions: Sequence[str], annotations: Mapping[str, Annotation]
) -> ActionLabels:
    """The acts as a table, in their order; `annotations` in the order in which `objects_of` saw them."""
    counts = [len(annotation.objects) for annotation in annotations.values()]
    before = dict(zip(annotations, np.cumsum([0, *counts[:-1]]).tolist(), strict=True)) if annotations else {}
    number = {name: place for place, name in enumerate(actions)}
    return ActionLabels(
        action=np.array([number[act.action] for act in acts], np.int8),
        owner=np.array([before[act.image] + act.number - 1 for act in acts], np.int32),
        label=np.array([act.label for act in acts], np.int8),
    )


def sizes_of(annotations: Sequence[Annotation]) -> Integers:
    """Widths and heights, int32 (n, 2)."""
    return np.array([(a.width, a.height) for a in annotations], np.int32).reshape(-1, 2)


def _boxes(boxes: Sequence[Box]) -> Floats:
    corners = [(box.left, box.top, box.right, box.bottom) for box in boxes]
    return np.array(corners, np.float64).reshape(-1, 4)
