"""Which layouts are right, or which of their parts: each is held against the persons of the Layout set."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring.data.arrays import Integers, Labels, Places
from scoring.data.detections import ClassDetections
from scoring.data.layouts import UNLISTED, LayoutTable
from scoring.data.tables import PARTS
from scoring.metrics.boxes import IoU
from scoring.metrics.matching import match_pascal
from scoring.metrics.persons import LayoutPersons
from scoring.metrics.ranking import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE, rank
from scoring.ranked_predictions import RankedPredictions

WHOLE: Final = ("person",)
"""What a layout is an answer about where all of its parts must be right."""

MatchLayouts = Callable[[LayoutTable, LayoutPersons, IoU, float], tuple[RankedPredictions, ...]]
"""Verdicts on layouts, or kind by kind on their parts; the number is the smallest overlap of a right box."""


def match_parts(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Verdicts part by part, by the rules of 2010 to 2012.

    The most confident layout of each person counts, others do not, nor do those of persons who are not in the set. Its
    parts are judged as detections of their kind in this person alone, in the order of the file, all as sure as
    the layout. Source: VOC2012 development kit, VOCevallayout_pr.m.

    >>> from scoring.metrics.boxes import iou_inclusive
    >>> from scoring.metrics.matching import ClassObjects
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
        # already in the order of confidence, which the judge therefore leaves as it is
        ranked.append(
            RankedPredictions(
                name, ground_truth.positives, people.image[person], confidence, matched.outcomes
            )
        )
    return tuple(ranked)


def match_persons_2008(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Verdicts on whole layouts by the program of 2008 with its two mistakes.

    It takes layouts in the order of the file, whatever their confidence, and nobody who has a single part can be found.
    Otherwise as `match_persons_2008_corrected`. Source: VOC2008 development kit, VOCevallayout.m.

    >>> from scoring.metrics.boxes import iou_inclusive
    >>> from scoring.metrics.matching import ClassObjects
    >>> head, first, easy = np.array([[1.0, 1, 9, 9]]), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> person = ClassObjects(first, first + 1, head, easy, easy)
    >>> layouts = LayoutTable(first, np.array([0.9]), head, np.array([0, 1]), first, head)
    >>> people = LayoutPersons(False, first, person, first, first, head)
    >>> match_persons_2008(layouts, people, iou_inclusive, 0.5)[0].outcomes.tolist()
    [0]
    """
    contest = _Contest(layouts, people, iou, iou_threshold, fewest=2)
    return _match_by_number(contest, np.arange(len(layouts)))


def match_persons_2008_corrected(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Verdicts on whole layouts as the program of 2008 was meant.

    A layout is right if it has as many parts of each kind as the person, and every part on both sides overlaps one of its
    kind enough. Once a person is found, later layouts are wrong; those of persons who are not in the set are ignored.

    >>> from scoring.metrics.boxes import iou_inclusive
    >>> from scoring.metrics.matching import ClassObjects
    >>> head, first, easy = np.array([[1.0, 1, 9, 9]]), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> person = ClassObjects(first, first + 1, head, easy, easy)
    >>> layouts = LayoutTable(first, np.array([0.9]), head, np.array([0, 1]), first, head)
    >>> people = LayoutPersons(False, first, person, first, first, head)
    >>> match_persons_2008_corrected(layouts, people, iou_inclusive, 0.5)[0].outcomes.tolist()
    [1]
    """
    return _match_by_number(_Contest(layouts, people, iou, iou_threshold), rank(layouts.confidence))


def match_boxed_persons_2007(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Verdicts on whole layouts by the program of 2007 with its mistake: nobody who has a single part can be found.

    Otherwise as `match_boxed_persons_2007_corrected`. Source: VOC2007 development kit, VOCevallayout.m.

    >>> from scoring.metrics.boxes import iou_inclusive
    >>> from scoring.metrics.matching import ClassObjects
    >>> head, first, easy = np.array([[1.0, 1, 9, 9]]), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> person = ClassObjects(first, first + 1, head, easy, easy)
    >>> layouts = LayoutTable(first, np.array([0.9]), head, np.array([0, 1]), first, head)
    >>> people = LayoutPersons(True, first, person, first, first, head)
    >>> match_boxed_persons_2007(layouts, people, iou_inclusive, 0.5)[0].outcomes.tolist()
    [0]
    """
    return _match_by_box(_Contest(layouts, people, iou, iou_threshold, fewest=2))


def match_boxed_persons_2007_corrected(
    layouts: LayoutTable, people: LayoutPersons, iou: IoU, iou_threshold: float
) -> tuple[RankedPredictions, ...]:
    """Verdicts on whole layouts as the program of 2007 was meant.

    A layout means the person of the image, difficult or not, whose box its own overlaps most, if enough. The first that
    means a person is right if its parts are, as in `match_persons_2008_corrected`; all others are wrong.

    >>> from scoring.metrics.boxes import iou_inclusive
    >>> from scoring.metrics.matching import ClassObjects
    >>> head, first, easy = np.array([[1.0, 1, 9, 9]]), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    >>> person = ClassObjects(first, first + 1, head, easy, easy)
    >>> layouts = LayoutTable(first, np.array([0.9]), head, np.array([0, 1]), first, head)
    >>> people = LayoutPersons(True, first, person, first, first, head)
    >>> match_boxed_persons_2007_corrected(layouts, people, iou_inclusive, 0.5)[0].outcomes.tolist()
    [1]
    """
    return _match_by_box(_Contest(layouts, people, iou, iou_threshold))


@dataclass(frozen=True, slots=True, eq=False)
class _Contest:
    """LayoutTable, persons, and when the parts of one are those of the other; fewest: parts of a person who can be found."""

    layouts: LayoutTable
    people: LayoutPersons
    iou: IoU
    iou_threshold: float
    fewest: int = 1

    def fits(self, layout: int, person: int) -> bool:
        """Are the layout's parts the person's?"""
        given, there = self.layouts, self.people
        mine = slice(given.first[layout], given.first[layout + 1])
        theirs = slice(*np.searchsorted(there.owner, (person, person + 1)))
        kinds, true_kinds = given.kind[mine], there.kind[theirs]
        if len(true_kinds) < self.fewest or not np.array_equal(np.sort(kinds), np.sort(true_kinds)):
            return False
        meet = self.iou(given.parts[mine][:, None], there.parts[theirs][None]) >= self.iou_threshold
        same = meet & (kinds[:, None] == true_kinds)
        return bool(same.any(axis=0).all() and same.any(axis=1).all())

    def meant(self, layout: int) -> int | None:
        """The person whose box the layout's own overlaps most, if enough."""
        persons, line = self.people.persons, self.layouts.person[layout]
        first, count = persons.first[line], persons.count[line]
        found = self.iou(self.layouts.boxes[layout], persons.boxes[first : first + count])
        best = int(np.argmax(found)) if count else 0  # the first of them in an exact tie
        return int(first) + best if count and found[best] >= self.iou_threshold else None

    def ranked(self, order: Places, outcomes: Labels) -> tuple[RankedPredictions, ...]:
        """The verdicts as those on one class."""
        person = self.layouts.person[order]
        image: Integers = np.zeros(len(order), np.int32)  # where a layout is of nobody it weighs nothing
        image[person != UNLISTED] = self.people.image[person[person != UNLISTED]]
        confidence = self.layouts.confidence[order]
        return (RankedPredictions(WHOLE[0], self.people.persons.positives, image, confidence, outcomes),)


def _match_by_number(contest: _Contest, order: Places) -> tuple[RankedPredictions, ...]:
    """Verdicts where a layout says by number whom it means."""
    outcomes, found = np.full(len(order), FALSE_POSITIVE, np.int8), set[int]()
    for place, layout in enumerate(order.tolist()):
        person = int(contest.layouts.person[layout])
        if person == UNLISTED:
            outcomes[place] = IGNORED
        elif person not in found and contest.fits(layout, person):
            outcomes[place] = TRUE_POSITIVE
            found.add(person)
    return contest.ranked(order, outcomes)


def _match_by_box(contest: _Contest) -> tuple[RankedPredictions, ...]:
    """Verdicts where a layout says by a box whom it means."""
    order = rank(contest.layouts.confidence)
    outcomes, taken = np.full(len(order), FALSE_POSITIVE, np.int8), set[int]()
    for place, layout in enumerate(order.tolist()):
        person = contest.meant(layout)
        if person is not None and person not in taken:
            outcomes[place] = TRUE_POSITIVE if contest.fits(layout, person) else FALSE_POSITIVE
            taken.add(person)
    return contest.ranked(order, outcomes)


def _parts_in(layouts: LayoutTable, order: Places) -> tuple[Places, Places]:
    """The parts of these layouts in this order: whose they are, and where they stand."""
    count = np.diff(layouts.first)[order]
    before = np.cumsum(count) - count
    owner = np.repeat(order, count)
    return owner, np.arange(len(owner)) - np.repeat(before, count) + layouts.first[owner]
