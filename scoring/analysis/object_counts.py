"""How many images and objects of each class a set has: the table that every edition's documentation prints."""

from dataclasses import dataclass

import numpy as np

from scoring.data.ground_truth import GroundTruth


@dataclass(frozen=True, slots=True)
class Count:
    """A row: images with at least one object that counts, objects that count, and the difficult ones apart."""

    name: str
    images: int
    objects: int
    difficult: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """The table: a row for each class, and the totals, whose images are all of the set."""

    rows: tuple[Count, ...]
    total: Count


def count_objects(truth: GroundTruth) -> Statistics:
    """Count what is annotated in the images of the Main set.

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
