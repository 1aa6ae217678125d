"""The annotated persons of a Layout set, to which layouts are matched."""

from dataclasses import dataclass

import numpy as np

from scoring.data.arrays import Floats, Integers, Labels, Places
from scoring.data.boxes import BoxConvention, convert_boxes
from scoring.data.ground_truth import GroundTruth
from scoring.data.layouts import PERSON, WHOLE_IMAGE
from scoring.metrics.matching import ClassObjects


@dataclass(frozen=True, slots=True, eq=False)
class LayoutPersons:
    """The lines of a Layout set and their persons: one for each line, or where the set lists images all in the image.

    boxed: whether the set lists images; image: int32 (lines,), into `GroundTruth.lists.images`; persons: by line, those that
    are no positives as difficult; owner: intp (m,), the person of each part, rising; kind: int8 (m,), into `PARTS`;
    parts: float64 (m, 4), the boxes of the parts, inclusive pixels.
    """

    boxed: bool
    image: Integers
    persons: ClassObjects
    owner: Places
    kind: Labels
    parts: Floats

    def parts_of(self, kind: int) -> ClassObjects:
        """The parts of a kind by person, all of them positives."""
        rows = self.kind == kind
        return _ground_truth(self.owner[rows], len(self.persons.boxes), self.parts[rows])


def persons_of_layout_set(truth: GroundTruth) -> LayoutPersons:
    """The persons of the ground truth's Layout set.

    Where the set lists images, persons who are difficult or have no parts are no positives.
    Source: VOC2007 development kit, VOCevallayout.m.

    >>> from dataclasses import replace
    >>> from scoring import AnnotatedObject, Annotation, Box, Part, truth_of_boxes
    >>> person = AnnotatedObject("person", Box(1, 1, 30, 30), parts=(Part("head", Box(5, 1, 9, 6)),))
    >>> truth = truth_of_boxes({"a": Annotation(50, 40, (person,))}, dataset="VOC2012", image_set="val")
    >>> persons_of_layout_set(replace(truth, lists=replace(truth.lists, persons=(("a", 1),)))).parts.tolist()
    [[5.0, 1.0, 9.0, 6.0]]
    """
    lists, objects = truth.lists, truth.tables.objects
    places = {image: place for place, image in enumerate(lists.images)}
    image = np.array([places[name] for name, _ in lists.persons], np.int32)
    number = np.array([number for _, number in lists.persons], np.intp)
    boxed = bool(np.any(number == WHOLE_IMAGE))
    if boxed:
        line_of = np.full(len(lists.images), -1)
        line_of[image] = np.arange(len(image))
        rows = np.flatnonzero(line_of[objects.image] >= 0)
        rows = rows[objects.name[rows] == _number_of_persons(lists.classes)]
        rows = rows[np.argsort(line_of[objects.image[rows]], kind="stable")]
        line = line_of[objects.image[rows]]
    else:
        rows, line = np.searchsorted(objects.image, image) + number - 1, np.arange(len(image))
    owner, kind, parts = _parts_of(truth, rows)
    partless = ~np.isin(np.arange(len(rows)), owner)
    not_positive = (objects.difficult[rows] | partless) if boxed else np.zeros(len(rows), np.bool_)
    persons = _ground_truth(line, len(image), _pixels(truth, objects.boxes[rows]))
    persons = ClassObjects(persons.first, persons.count, persons.boxes, not_positive, persons.group_of)
    return LayoutPersons(boxed, image, persons, owner, kind, parts)


def _number_of_persons(classes: tuple[str, ...]) -> int:
    return classes.index(PERSON) if PERSON in classes else len(classes)


def _parts_of(truth: GroundTruth, rows: Places) -> tuple[Places, Labels, Floats]:
    """Owner, kind and box of the parts of these objects, by owner, which counts as `rows` does."""
    parts = truth.tables.parts
    person_of = np.full(len(truth.tables.objects.image), -1)
    person_of[rows] = np.arange(len(rows))
    owner = person_of[parts.owner]
    chosen = np.flatnonzero(owner >= 0)
    chosen = chosen[np.argsort(owner[chosen], kind="stable")]
    return owner[chosen], parts.kind[chosen], _pixels(truth, parts.boxes[chosen])


def _pixels(truth: GroundTruth, boxes: Floats) -> Floats:
    """Boxes in the convention of the layout rules, whatever that of the ground truth."""
    return convert_boxes(boxes, truth.tables.convention, BoxConvention.INCLUSIVE)


def _ground_truth(place: Places, places: int, boxes: Floats) -> ClassObjects:
    count = np.bincount(place, minlength=places).astype(np.int32)
    none = np.zeros(len(boxes), np.bool_)
    return ClassObjects(
        (np.cumsum(count) - count).astype(np.int32), count, boxes, difficult=none, group_of=none
    )
