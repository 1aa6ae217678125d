"""Ground truth from annotations: rows of Python objects become columns of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.annotations import Annotation, Box, BoxConvention
from ..data.arrays import Floats, Integers
from ..data.label_maps import LabelRuns
from ..data.tables import PARTS, ActionLabels, Lists, Objects, Parts, Tables, labels_of
from ..data.truth import GroundTruth
from ..errors import DataError


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


def truth_of_boxes(
    annotations: Mapping[str, Annotation],
    *,
    dataset: str,
    image_set: str,
    classes: Sequence[str] | None = None,
) -> GroundTruth:
    """Ground truth for detection and classification from the annotation of each image, in this order.

    classes: None stands for the objects' own, in alphabetical order. Boxes are stored in the convention of the annotations.
    Image-level labels of other classes are left out. Raises DataError for an object of another class, for annotations of
    different conventions, and where only some have image-level labels.

    >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="own", image_set="val", classes=["cat"])
    >>> truth.description.images, truth.description.classes
    ((Image(id='a', width=50, height=40),), ('cat',))
    """
    pages = list(annotations.values())
    found = sorted({thing.name for page in pages for thing in page.objects})
    known = tuple(found if classes is None else classes)
    if others := [name for name in found if name not in known]:
        raise DataError(f"'{others[0]}' is none of the classes {', '.join(known)}")
    conventions = sorted({page.convention for page in pages}) or [BoxConvention.INCLUSIVE]
    if len(conventions) > 1:
        raise DataError(f"expected boxes of one convention, found {' and '.join(conventions)}")
    objects = objects_of(pages, known)
    lists = Lists(
        dataset=dataset,
        image_set=image_set,
        classes=known,
        actions=(),
        images=tuple(annotations),
        main=len(pages),
        segmentation=(),
        persons=(),
        acting=(),
    )
    tables = Tables(
        sizes=sizes_of(pages),
        labels=labels_of(objects, len(known), len(pages)),
        objects=objects,
        parts=parts_of(pages),
        acts=action_labels_of([], (), annotations),
        masks=LabelRuns.of([]),
        convention=conventions[0],
        verified=_verified(pages, known),
    )
    return GroundTruth.of(lists, tables)


def _verified(pages: Sequence[Annotation], classes: Sequence[str]) -> Integers | None:
    """The table of image-level labels, int32 (k, 2)."""
    labelled = [page.verified for page in pages if page.verified is not None]
    if not labelled:
        return None
    if len(labelled) < len(pages):
        raise DataError("expected image-level labels for all images or for none")
    number = {name: place for place, name in enumerate(classes)}
    rows = [
        (image, number[name])
        for image, names in enumerate(labelled)
        for name in sorted(names)
        if name in number
    ]
    return np.array(rows, np.int32).reshape(-1, 2)
