"""Annotations put into tables: rows of Python objects become columns of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scoring.data.annotations import Annotation, Box
from scoring.data.arrays import Floats, Integers, Labels
from scoring.data.tables import PARTS, ActionLabels, Objects, Parts


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


def labels_of(objects: Objects, classes: int, images: int) -> Labels:
    """What the label files say of each class and image, from the objects of the first `images` images.

    int8 (classes, images): 1 there is one, 0 only difficult ones, -1 none.
    """
    labels = np.full((classes, images), -1, np.int8)
    here = objects.image < images
    for hard, label in ((True, 0), (False, 1)):
        rows = here & (objects.difficult == hard)
        labels[objects.name[rows], objects.image[rows]] = label
    return labels


def _boxes(boxes: Sequence[Box]) -> Floats:
    corners = [(box.left, box.top, box.right, box.bottom) for box in boxes]
    return np.array(corners, np.float64).reshape(-1, 4)
