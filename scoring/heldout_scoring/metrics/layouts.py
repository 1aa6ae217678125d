"""Matching of layouts, or of their parts, to the persons of the Layout set."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..data.annotations import PARTS, BoxConvention
from ..data.arrays import Floats, Integers, Labels, Places
from ..data.layouts import PERSON, UNLISTED, WHOLE_IMAGE, LayoutTable
from ..data.matches import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE, RankedPredictions
from ..data.predictions import ClassDetections
from ..data.truth import GroundTruth
from .matching import ClassObjects, IoU, match_pascal
from .ranking import rank


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
    >>> from heldout_scoring import AnnotatedObject, Annotation, Box, Part, truth_of_boxes
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
    return truth.tables.convention.convert(boxes, BoxConvention.INCLUSIVE)


def _ground_truth(place: Places, places: int, boxes: Floats) -> ClassObjects:
    count = np.bincount(place, minlength=places).astype(np.int32)
    none = np.zeros(len(boxes), np.bool_)
    return ClassObjects(
        (np.cumsum(count) - count).astype(np.int32), count, boxes, difficult=none, group_of=none
    )


WHOLE: Final = ("person",)
"""The classes of rules that match layouts as a whole."""

MatchLayouts = Callable[[LayoutTable, LayoutPersons, IoU, float], tuple[RankedPredictions, ...]]
"""Matches layouts, or their parts kind by kind, and ranks them; the number is the IoU threshold of a part."""


def match_parts(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Match part by part, by the rules of VOC2010 to VOC2012.

    Only the most confident layout of each person counts, and none of a person who is not in the set. Its parts are matched
    as detections of their kind within this person, in the order of the file, with the confidence of the layout.
    Source: VOC2012 development kit, VOCevallayout_pr.m.

    >>> from heldout_scoring.metrics.matching import iou_inclusive
    >>> from heldout_scoring.metrics.matching import ClassObjects
    >>> head, first, easy = np.array([[1.0, 1, 9, 9]]), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> person = ClassObjects(first, first + 1, head, easy, easy)
    >>> layouts = LayoutTable(first, np.array([0.9]), head, np.array([0, 1]), first, head)
    >>> found = match_parts(layouts, LayoutPersons(False, first, person, first, first, head), iou_inclusive, 0.5)
    >>> [(each.class_name, each.positives, each.outcomes.tolist()) for each in found]
    [('head', 1, [1]), ('hand', 0, []), ('foot', 0, [])]
    """
    order = rank(layouts.confidence)
    order = order[layouts.person[order] != UNLISTED]
    _, firsts = np.unique(layouts.person[order], return_index=True)
    owner, rows = _parts_in(layouts, order[np.sort(firsts)])
    ranked = []
    for kind, name in enumerate(PARTS):
        mine = layouts.kind[rows] == kind
        person, confidence = layouts.person[owner[mine]], layouts.confidence[owner[mine]]
        ground_truth = people.parts_of(kind)
        matched = match_pascal(
            ClassDetections(person, confidence, layouts.parts[rows[mine]]), ground_truth, iou, iou_threshold
        )
        # already in the order of confidence, which matching therefore leaves as it is
        ranked.append(
            RankedPredictions(
                name, ground_truth.positives, people.image[person], confidence, matched.outcomes
            )
        )
    return tuple(ranked)


def match_persons_2008(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Match whole layouts as the program of VOC2008 does, with its two bugs.

    Layouts rank in the order of the file, whatever their confidence, and those of persons with a single part are always
    false positives. Otherwise as `match_persons_2008_corrected`. Source: VOC2008 development kit, VOCevallayout.m.

    >>> from heldout_scoring.metrics.matching import iou_inclusive
    >>> from heldout_scoring.metrics.matching import ClassObjects
    >>> head, first, easy = np.array([[1.0, 1, 9, 9]]), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> person = ClassObjects(first, first + 1, head, easy, easy)
    >>> layouts = LayoutTable(first, np.array([0.9]), head, np.array([0, 1]), first, head)
    >>> people = LayoutPersons(False, first, person, first, first, head)
    >>> match_persons_2008(layouts, people, iou_inclusive, 0.5)[0].outcomes.tolist()
    [0]
    """
    matching = _Matching(layouts, people, iou, iou_threshold, min_parts=2)
    return _match_by_number(matching, np.arange(len(layouts)))


def match_persons_2008_corrected(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Match whole layouts as VOC2008 documents it.

    A layout is a true positive if it has as many parts of each kind as the person, and every part of either has an IoU of at
    least `iou_threshold` with one of its kind of the other. Further layouts of a person are false positives; those of persons
    who are not in the set are ignored.

    >>> from heldout_scoring.metrics.matching import iou_inclusive
    >>> from heldout_scoring.metrics.matching import ClassObjects
    >>> head, first, easy = np.array([[1.0, 1, 9, 9]]), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> person = ClassObjects(first, first + 1, head, easy, easy)
    >>> layouts = LayoutTable(first, np.array([0.9]), head, np.array([0, 1]), first, head)
    >>> people = LayoutPersons(False, first, person, first, first, head)
    >>> match_persons_2008_corrected(layouts, people, iou_inclusive, 0.5)[0].outcomes.tolist()
    [1]
    """
    return _match_by_number(_Matching(layouts, people, iou, iou_threshold), rank(layouts.confidence))


def match_boxed_persons_2007(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Match whole layouts as the program of VOC2007 does, with its bug.

    Layouts of persons with a single part are always false positives. Otherwise as `match_boxed_persons_2007_corrected`. Source: VOC2007 development kit, VOCevallayout.m.

    >>> from heldout_scoring.metrics.matching import iou_inclusive
    >>> from heldout_scoring.metrics.matching import ClassObjects
    >>> head, first, easy = np.array([[1.0, 1, 9, 9]]), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> person = ClassObjects(first, first + 1, head, easy, easy)
    >>> layouts = LayoutTable(first, np.array([0.9]), head, np.array([0, 1]), first, head)
    >>> people = LayoutPersons(True, first, person, first, first, head)
    >>> match_boxed_persons_2007(layouts, people, iou_inclusive, 0.5)[0].outcomes.tolist()
    [0]
    """
    return _match_by_box(_Matching(layouts, people, iou, iou_threshold, min_parts=2))


def match_boxed_persons_2007_corrected(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Match whole layouts as VOC2007 documents it.

    A layout belongs to the person of its image, difficult or not, whose box has the largest IoU with its own, if that is at
    least `iou_threshold`. The most confident layout of a person is a true positive if its parts fit as in
    `match_persons_2008_corrected`; all others are false positives.

    >>> from heldout_scoring.metrics.matching import iou_inclusive
    >>> from heldout_scoring.metrics.matching import ClassObjects
    >>> head, first, easy = np.array([[1.0, 1, 9, 9]]), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> person = ClassObjects(first, first + 1, head, easy, easy)
    >>> layouts = LayoutTable(first, np.array([0.9]), head, np.array([0, 1]), first, head)
    >>> people = LayoutPersons(True, first, person, first, first, head)
    >>> match_boxed_persons_2007_corrected(layouts, people, iou_inclusive, 0.5)[0].outcomes.tolist()
    [1]
    """
    return _match_by_box(_Matching(layouts, people, iou, iou_threshold))


@dataclass(frozen=True, slots=True, eq=False)
class _Matching:
    """Layouts and persons that are matched; min_parts: persons with fewer have no true positive."""

    layouts: LayoutTable
    people: LayoutPersons
    iou: IoU
    iou_threshold: float
    min_parts: int = 1

    def fits(self, layout: int, person: int) -> bool:
        """Whether the parts of the layout fit those of the person."""
        layouts, people = self.layouts, self.people
        predicted = slice(layouts.first[layout], layouts.first[layout + 1])
        annotated = slice(*np.searchsorted(people.owner, (person, person + 1)))
        kinds, true_kinds = layouts.kind[predicted], people.kind[annotated]
        if len(true_kinds) < self.min_parts or not np.array_equal(np.sort(kinds), np.sort(true_kinds)):
            return False
        overlap = self.iou(layouts.parts[predicted][:, None], people.parts[annotated][None])
        same = (overlap >= self.iou_threshold) & (kinds[:, None] == true_kinds)
        return bool(same.any(axis=0).all() and same.any(axis=1).all())

    def person_of(self, layout: int) -> int | None:
        """The person whose box has the largest IoU with that of the layout, if it is large enough."""
        persons, line = self.people.persons, self.layouts.person[layout]
        first, count = persons.first[line], persons.count[line]
        overlap = self.iou(self.layouts.boxes[layout], persons.boxes[first : first + count])
        best = int(np.argmax(overlap)) if count else 0  # the first of them in an exact tie
        return int(first) + best if count and overlap[best] >= self.iou_threshold else None

    def ranked(self, order: Places, outcomes: Labels) -> tuple[RankedPredictions, ...]:
        """The outcomes, int8 (n,), as the ranking of one class."""
        person = self.layouts.person[order]
        image: Integers = np.zeros(
            len(order), np.int32
        )  # a layout of no person is ignored, whatever its image
        image[person != UNLISTED] = self.people.image[person[person != UNLISTED]]
        confidence = self.layouts.confidence[order]
        return (RankedPredictions(WHOLE[0], self.people.persons.positives, image, confidence, outcomes),)


def _match_by_number(matching: _Matching, order: Places) -> tuple[RankedPredictions, ...]:
    """Match layouts that name their person by number."""
    outcomes, found = np.full(len(order), FALSE_POSITIVE, np.int8), set[int]()
    for place, layout in enumerate(order.tolist()):
        person = int(matching.layouts.person[layout])
        if person == UNLISTED:
            outcomes[place] = IGNORED
        elif person not in found and matching.fits(layout, person):
            outcomes[place] = TRUE_POSITIVE
            found.add(person)
    return matching.ranked(order, outcomes)


def _match_by_box(matching: _Matching) -> tuple[RankedPredictions, ...]:
    """Match layouts that name their person by a box."""
    order = rank(matching.layouts.confidence)
    outcomes, taken = np.full(len(order), FALSE_POSITIVE, np.int8), set[int]()
    for place, layout in enumerate(order.tolist()):
        person = matching.person_of(layout)
        if person is not None and person not in taken:
            outcomes[place] = TRUE_POSITIVE if matching.fits(layout, person) else FALSE_POSITIVE
            taken.add(person)
    return matching.ranked(order, outcomes)


def _parts_in(layouts: LayoutTable, order: Places) -> tuple[Places, Places]:
    """The parts of these layouts, in this order: the layout of each, and its row; both intp (k,)."""
    count = np.diff(layouts.first)[order]
    before = np.cumsum(count) - count
    owner = np.repeat(order, count)
    return owner, np.arange(len(owner)) - np.repeat(before, count) + layouts.first[owner]
