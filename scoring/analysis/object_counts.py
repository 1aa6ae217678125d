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
    objects, main = truth.tables.objects, truth.lists.main
    rows = []
    for number, name in enumerate(truth.lists.classes):
        here = (objects.name == number) & (objects.image < main)
        plain = here & ~objects.difficult
        images = len(np.unique(objects.image[plain]))
        difficult = int(np.count_nonzero(here & objects.difficult))
        rows.append(Count(name, images, int(np.count_nonzero(plain)), difficult))
    total = Count("total", main, sum(row.objects for row in rows), sum(row.difficult for row in rows))
    return Statistics(tuple(rows), total)
