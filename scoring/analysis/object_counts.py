"""The number of images and objects of each class."""

from dataclasses import dataclass

import numpy as np

from scoring.data.ground_truth import GroundTruth


@dataclass(frozen=True, slots=True)
class Count:
    """The images with an object that is not difficult, such objects, and the difficult ones."""

    name: str
    images: int
    objects: int
    difficult: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counts of each class, and the totals; `total.images` are all images of the set."""

    rows: tuple[Count, ...]
    total: Count


def count_objects(truth: GroundTruth) -> Statistics:
    """Count images and objects of each class in the Main set.

    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> near, far = AnnotatedObject("cat", Box(1, 1, 9, 9)), AnnotatedObject("cat", Box(9, 1, 9, 2), difficult=True)
    >>> truth = truth_of_boxes({"a": Annotation(50, 40, (near, far))}, dataset="own", image_set="val")
    >>> count_objects(truth).rows
    (Count(name='cat', images=1, objects=1, difficult=1),)
    """
    objects, main, names = truth.tables.objects, truth.lists.main, truth.lists.classes
    in_main = objects.image < main
    counted, difficult = in_main & ~objects.difficult, in_main & objects.difficult
    per_class = np.bincount(objects.name[counted], minlength=len(names)).tolist()
    difficult_per_class = np.bincount(objects.name[difficult], minlength=len(names)).tolist()
    pairs = np.sort(objects.name[counted].astype(np.int64) * main + objects.image[counted])
    distinct = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
    images = np.bincount(distinct // max(main, 1), minlength=len(names)).tolist()
    rows = tuple(map(Count, names, images, per_class, difficult_per_class))
    return Statistics(rows, Count("total", main, sum(per_class), sum(difficult_per_class)))
