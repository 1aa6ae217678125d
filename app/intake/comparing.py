"""How annotation differs from the version that the boards of a phase show: counts alone, and names of classes."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.intake.findings import labelled, row_hashes
from app.intake.reports import (
    ClassChanges,
    Renamed,
    Shift,
    VersionComparison,
    VersionDiff,
    without_words,
)
from heldout_scoring import BoxConvention, GroundTruth, iou_matrix
from heldout_scoring.stored import to_plain

SAME: Final = (
    0.5  # IoU from which two boxes are of one object, and share from which two names are of one class
)
BY_NUMBER: Final = ("COCO", "LVIS")  # data sets whose results name classes by category id
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Hashes = NDArray[np.uint64]
Pairs = list[tuple[int, int]]


def compare(before: GroundTruth, after: GroundTruth, key: str, phase: str, version: int) -> VersionComparison:
    """Compare a version of a phase with the annotation of the image set `key` that may replace it.

    Objects are counted in images that both have, and are the same if their boxes overlap by an IoU of 0.5 or more, those that overlap
    most first. Two classes are one, renamed, if COCO's files give them one number, or if half of their objects or images are the same.
    """
    return _compare(before, after, key, phase, version)[0]


def _compare(
    before: GroundTruth, after: GroundTruth, key: str, phase: str, version: int
) -> tuple[VersionComparison, "_Changed"]:
    images = _Common.of(before.lists.images, after.lists.images)
    renamed = _renamed(before, after, images)
    names, renewed = dict(renamed), {name for _, name in renamed}
    gone = [name for name in _only_in(before, after) if name not in names]
    new = [name for name in _only_in(after, before) if name not in renewed]
    classes = _Common.of([names.get(name, name) for name in before.lists.classes], after.lists.classes)
    changed = _changed_objects(before, after, images, classes)
    objects = changed.counts
    of_coco = before.tables.coco is not None and after.tables.coco is not None
    numbers = dict(zip(before.lists.classes, before.lists.class_numbers, strict=False))
    later = dict(zip(after.lists.classes, after.lists.class_numbers, strict=False))
    comparison = VersionComparison(
        set=key,
        phase=phase,
        version=version,
        images_gone=len(_images_gone(before, after)),
        images_new=len(_images_gone(after, before)),
        images_resized=_resized(before, after, images),
        persons_gone=_persons_gone(before, after),
        classes_gone=tuple(gone),
        classes_new=tuple(new),
        classes_renamed=tuple(Renamed(one, other) for one, other in renamed),
        classes_renumbered=tuple(
            name for name, number in numbers.items() if later.get(names.get(name, name), number) != number
        ),
        by_number=before.lists.dataset in BY_NUMBER,
        moved=objects["moved"],
        relabelled=objects["relabelled"],
        added=objects["added"],
        removed=objects["removed"],
        marked=_changed_marks_of_coco(before, after, images, classes) if of_coco else objects["marked"],
        redrawn=_redrawn(before, after, images, classes),
        flagged=_flagged(before, after, images, classes),
        labels=_changed_labels(before, after, classes) + _changed_statements(before, after, images, classes),
        label_images=_changed_label_images(before, after, classes),
        parts=_changed_rows(_parts(before, images.place_before), _parts(after, images.place_after)),
        actions=_changed_rows(_actions(before, images.place_before), _actions(after, images.place_after)),
    )
    return comparison, changed


def version_diff(before: Path, after: Path, phase: str, version: int) -> bytes:
    """Compare two versions of a phase in a child process. Returns the JSON of a `VersionDiff`; version: of `before`."""
    with without_words():
        one, other = GroundTruth.open(before), GroundTruth.open(after)
        comparison, changed = _compare(one, other, "", phase, version)
        found = VersionDiff(comparison, tuple(_changes_by_class(one, other, changed)), _shift(changed))
        return json.dumps(to_plain(found)).encode()


@dataclass(frozen=True, slots=True)
class ChangedBox:
    """An object that changed: its class and edges before, which are empty for a new one, and afterwards."""

    before: str = ""
    old: tuple[float, ...] = ()
    after: str = ""
    new: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedImage:
    """An image whose labels changed, of this size. classes: what it shows now and did not, and the reverse, in words."""

    image: str
    width: int | None
    height: int | None
    boxes: tuple[ChangedBox, ...] = ()
    classes: tuple[str, ...] = ()


def changed_images(before: GroundTruth, after: GroundTruth) -> list[ChangedImage]:
    """What changed in each image that both versions have, in the order of the later one; only images where anything did."""
    images = _Common.of(before.lists.images, after.lists.images)
    classes = _Common.of(before.lists.classes, after.lists.classes)
    changed = _changed_objects(before, after, images, classes)
    boxes: dict[int, list[ChangedBox]] = {}
    for one, other in (changed.moved, changed.relabelled, changed.marked):
        for row in range(len(one.image)):
            box = ChangedBox(*_drawn(before, one, row), *_drawn(after, other, row))
            boxes.setdefault(int(one.image[row]), []).append(box)
    for row in range(len(changed.removed.image)):
        box = ChangedBox(*_drawn(before, changed.removed, row))
        boxes.setdefault(int(changed.removed.image[row]), []).append(box)
    for row in range(len(changed.added.image)):
        box = ChangedBox("", (), *_drawn(after, changed.added, row))
        boxes.setdefault(int(changed.added.image[row]), []).append(box)
    words = _classes_of_images(before, after, classes)
    found = []
    for place, number in enumerate(images.place_after.tolist()):
        name = after.lists.images[place]
        if number in boxes or name in words:
            width, height = (
                after.tables.sizes[place].tolist() if after.tables.has_size[place] else (None, None)
            )
            found.append(
                ChangedImage(name, width, height, tuple(boxes.get(number, ())), tuple(words.get(name, ())))
            )
    return found


def _drawn(truth: GroundTruth, objects: "_Objects", row: int) -> tuple[str, tuple[float, ...]]:
    return truth.lists.classes[int(objects.own[row])], tuple(objects.edges[row].tolist())


def _classes_of_images(before: GroundTruth, after: GroundTruth, classes: "_Common") -> dict[str, list[str]]:
    """How classes of images changed, where no box tells: by image, such as `cat: no, now yes`."""
    if len(before.tables.objects.image) or len(after.tables.objects.image):
        return {}
    says = {1: "yes", 0: "difficult", -1: "no"}
    places = {name: place for place, name in enumerate(before.lists.images[: before.lists.main])}
    rows = {number: row for row, number in enumerate(classes.place_before.tolist()) if number >= 0}
    found: dict[str, list[str]] = {}
    for place, name in enumerate(after.lists.images[: after.lists.main]):
        if name not in places:
            continue
        for row, number in enumerate(classes.place_after.tolist()):
            if number < 0:
                continue
            one = int(before.tables.labels[rows[number], places[name]])
            other = int(after.tables.labels[row, place])
            if one != other:
                found.setdefault(name, []).append(
                    f"{after.lists.classes[row]}: {says[one]}, now {says[other]}"
                )
    return found


def _changes_by_class(before: GroundTruth, after: GroundTruth, changed: "_Changed") -> Iterator[ClassChanges]:
    """Yield what became of the objects of each class that any did, in the order of the later version."""

    def of(objects: _Objects, truth: GroundTruth) -> Counter[str]:
        return Counter(truth.lists.classes[own] for own in objects.own.tolist())

    counts = {
        "moved": of(changed.moved[1], after),
        "marked": of(changed.marked[1], after),
        "added": of(changed.added, after),
        "gained": of(changed.relabelled[1], after),
        "removed": of(changed.removed, before),
        "lost": of(changed.relabelled[0], before),
    }
    for name in dict.fromkeys((*after.lists.classes, *before.lists.classes)):
        found = {what: count[name] for what, count in counts.items()}
        if any(found.values()):
            yield ClassChanges(name, **found)


def _shift(changed: "_Changed") -> Shift | None:
    """How far boxes moved; None if none did."""
    one, other = (each.edges for each in changed.moved)
    if not len(one):
        return None
    distances = np.abs(one - other).max(axis=1)
    sides = np.minimum(one[:, 2:], other[:, 2:]) - np.maximum(one[:, :2], other[:, :2])
    common = sides.clip(0).prod(axis=1)
    areas = [(each[:, 2:] - each[:, :2]).prod(axis=1) for each in (one, other)]
    overlaps = common / (areas[0] + areas[1] - common)
    return Shift(
        median=float(np.median(distances)),
        largest=float(distances.max()),
        median_iou=float(np.median(overlaps)),
        lowest_iou=float(overlaps.min()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Common:
    """Names that two lists have; place_before, place_after: the number of each name of a list among these, -1 for the others."""

    count: int
    place_before: Integers
    place_after: Integers

    @classmethod
    def of(cls, before: Sequence[str], after: Sequence[str]) -> "_Common":
        known = set(before)
        number = {name: place for place, name in enumerate(name for name in after if name in known)}
        return cls(
            len(number),
            np.array([number.get(name, -1) for name in before], np.int64),
            np.array([number.get(name, -1) for name in after], np.int64),
        )


def _images_gone(before: GroundTruth, after: GroundTruth) -> set[str]:
    """The images that a list of one annotation has, and the same list of the other has not."""
    one, other = before.lists, after.lists
    return (
        (set(one.images) - set(other.images))
        | (set(one.images[: one.main]) - set(other.images[: other.main]))
        | (set(one.segmentation) - set(other.segmentation))
    )


def _persons_gone(before: GroundTruth, after: GroundTruth) -> int:
    """The persons of images that stay, whose layout or actions are no longer annotated."""
    images = set(after.lists.images)
    gone = {
        person
        for one, other in (
            (before.lists.persons, after.lists.persons),
            (before.lists.acting, after.lists.acting),
        )
        for person in set(one) - set(other)
        if person[0] in images
    }
    return len(gone)


def _resized(before: GroundTruth, after: GroundTruth, images: _Common) -> int:
    one = np.empty((images.count, 2), np.int64)
    other = np.empty((images.count, 2), np.int64)
    for target, sizes, place in (
        (one, before.tables.sizes, images.place_before),
        (other, after.tables.sizes, images.place_after),
    ):
        target[place[place >= 0]] = sizes[place >= 0]
    return int(np.count_nonzero((one != other).any(axis=1)))


# classes


def _only_in(one: GroundTruth, other: GroundTruth) -> dict[str, int]:
    """The classes that one annotation has and the other has not, with their places."""
    known = set(other.lists.classes)
    return {name: place for place, name in enumerate(one.lists.classes) if name not in known}


def _renamed(before: GroundTruth, after: GroundTruth, images: _Common) -> list[tuple[str, str]]:
    """The classes that have another name, with it."""
    gone, new = _only_in(before, after), _only_in(after, before)
    if not gone or not new:
        return []
    found: list[tuple[str, str]] = []
    numbers = dict(zip(before.lists.class_numbers, before.lists.classes, strict=False))
    for number, name in zip(after.lists.class_numbers, after.lists.classes, strict=False):
        if name in new and numbers.get(number) in gone:
            found.append((numbers[number], name))
    shares = sorted(
        (
            (-share, one, other)
            for one, other, share in _shares(before, after, images, (gone, new))
            if share >= SAME
        )
    )
    taken, given = {one for one, _ in found}, {other for _, other in found}
    for _, one, other in shares:
        if one not in taken and other not in given:
            found.append((one, other))
            taken.add(one)
            given.add(other)
    return found


Places = dict[str, int]  # of classes


def _shares(
    before: GroundTruth, after: GroundTruth, images: _Common, names: tuple[Places, Places]
) -> Iterator[tuple[str, str, float]]:
    """Yield pairs of classes, one that is gone and one that is new, with the share of what is the same in both."""
    gone, new = ({place: name for name, place in each.items()} for each in names)
    has_objects = len(before.tables.objects.image) and len(after.tables.objects.image)
    shared = _objects_shared if has_objects else _images_shared
    one, other, both = shared(before, after, images, names)
    for (a, b), count in both.items():
        yield gone[a], new[b], count / max(one[a], other[b])


Shared = tuple[Integers, Integers, Counter[tuple[int, int]]]


def _objects_shared(
    before: GroundTruth, after: GroundTruth, images: _Common, names: tuple[Places, Places]
) -> Shared:
    """The objects of each class in common images, and how many overlap, by pairs of classes that only one annotation has."""
    one, other = (
        _Objects.of(truth, place)
        for truth, place in ((before, images.place_before), (after, images.place_after))
    )
    first, second = (
        each.taken(np.isin(each.label, list(places.values())))
        for each, places in zip((one, other), names, strict=True)
    )
    both = Counter(
        (int(first.label[a]), int(second.label[b])) for a, b in _paired(first, second, lambda _a, _b: True)
    )
    return _counts(one.label, before), _counts(other.label, after), both


def _images_shared(
    before: GroundTruth, after: GroundTruth, _images: _Common, names: tuple[Places, Places]
) -> Shared:
    """The same of the images that show each class, where no object is annotated."""
    common = set(before.lists.images) & set(after.lists.images)
    counts: list[Integers] = []
    shown: list[dict[str, list[int]]] = []  # classes that only one annotation has, by image
    for truth, places in zip((before, after), names, strict=True):
        known = labelled(truth)
        which = np.array([name in common for name in known.images], np.bool_)[known.image]
        counts.append(_counts(known.label[which], truth))
        which &= np.isin(known.label, list(places.values()))
        of_image: dict[str, list[int]] = {}
        for image, label in zip(known.image[which].tolist(), known.label[which].tolist(), strict=True):
            of_image.setdefault(known.images[image], []).append(label)
        shown.append(of_image)
    one, other = shown
    both = Counter(pair for image, labels in one.items() for pair in product(labels, other.get(image, ())))
    return counts[0], counts[1], both


def _counts(labels: Integers, truth: GroundTruth) -> Integers:
    return np.bincount(labels, minlength=len(truth.lists.classes)).astype(np.int64)


# objects


@dataclass(frozen=True, slots=True, eq=False)
class _Objects:
    """Objects in common images.

    edges: half-open; marks: difficult and group of; flags: truncated and occluded; own: the place of the class in its annotation.
    """

    image: Integers
    label: Integers
    edges: Floats
    marks: Flags
    flags: Flags
    own: Integers

    @classmethod
    def of(cls, truth: GroundTruth, images: Integers, classes: Integers | None = None) -> "_Objects":
        """The objects of an annotation; classes: the number of each class, -1 for those that stay apart from the others."""
        objects = truth.tables.objects
        image = images[objects.image] if len(images) else objects.image.astype(np.int64)
        label = own = objects.name.astype(np.int64)
        if classes is not None and len(classes):
            label = np.where(classes[label] >= 0, classes[label], -1 - label)
        edges = truth.tables.convention.convert(objects.boxes, BoxConvention.HALF_OPEN)
        marks = np.column_stack([objects.difficult, objects.group_of])
        flags = np.column_stack([objects.truncated, objects.occluded])
        return cls(image, label, edges, marks, flags, own).taken(image >= 0)

    def taken(self, which: Any) -> "_Objects":
        """Some of these."""
        columns = (self.image, self.label, self.edges, self.marks, self.flags, self.own)
        return _Objects(*(each[which] for each in columns))


@dataclass(frozen=True, slots=True, eq=False)
class _Changed:
    """What became of the objects in common images; of pairs, the objects before and after."""

    moved: tuple[_Objects, _Objects]
    marked: tuple[_Objects, _Objects]
    relabelled: tuple[_Objects, _Objects]
    removed: _Objects
    added: _Objects

    @property
    def counts(self) -> Counter[str]:
        """How many of each."""
        pairs = {"moved": self.moved, "marked": self.marked, "relabelled": self.relabelled}
        single = {"removed": self.removed, "added": self.added}
        objects = {name: one for name, (one, _) in pairs.items()} | single
        return Counter({name: len(each.image) for name, each in objects.items()})


def _changed_objects(before: GroundTruth, after: GroundTruth, images: _Common, classes: _Common) -> _Changed:
    """Find what became of the objects in common images."""
    one = _Objects.of(before, images.place_before, classes.place_before)
    other = _Objects.of(after, images.place_after, classes.place_after)
    # a class that only one annotation has is no class of the other
    other = replace(other, label=np.where(other.label < 0, other.label - (1 << 20), other.label))
    one, other = _without_equal(one, other)
    same = _paired(one, other, lambda a, b: bool(one.label[a] == other.label[b]))
    same_edges = [(a, b) for a, b in same if np.array_equal(one.edges[a], other.edges[b])]
    moved = sorted(set(same) - set(same_edges))
    left, new = _rest(one, [a for a, _ in same]), _rest(other, [b for _, b in same])
    relabelled = _paired(left, new, lambda _a, _b: True)
    return _Changed(
        moved=_pairs(one, other, moved),
        marked=_pairs(one, other, same_edges),
        relabelled=_pairs(left, new, relabelled),
        removed=_rest(left, [a for a, _ in relabelled]),
        added=_rest(new, [b for _, b in relabelled]),
    )


def _flagged(before: GroundTruth, after: GroundTruth, images: _Common, classes: _Common) -> int:
    """The objects with the same class, box and marks that changed in being truncated or occluded."""
    both = (
        _Objects.of(before, images.place_before, classes.place_before),
        _Objects.of(after, images.place_after, classes.place_after),
    )
    rows = [np.column_stack([each.image, each.label, each.marks]) for each in both]
    same = [row_hashes(row, each.edges) for row, each in zip(rows, both, strict=True)]
    whole = [
        row_hashes(np.column_stack([row, each.flags]), each.edges)
        for row, each in zip(rows, both, strict=True)
    ]
    equal = [np.count_nonzero(~_unmatched(*hashes)[0]) for hashes in (same, whole)]
    return int(equal[0] - equal[1])


def _rest(objects: _Objects, without: list[int]) -> _Objects:
    return objects.taken(np.setdiff1d(np.arange(len(objects.image)), without))


def _pairs(one: _Objects, other: _Objects, pairs: Pairs) -> tuple[_Objects, _Objects]:
    places = np.array(pairs, np.int64).reshape(-1, 2)
    return one.taken(places[:, 0]), other.taken(places[:, 1])


def _without_equal(one: _Objects, other: _Objects) -> tuple[_Objects, _Objects]:
    """The objects that have no equal in the other annotation."""
    left = _unmatched(
        *(
            row_hashes(np.column_stack([each.image, each.label, each.marks]), each.edges)
            for each in (one, other)
        )
    )
    return one.taken(left[0]), other.taken(left[1])


def _paired(one: _Objects, other: _Objects, may: Callable[[int, int], bool]) -> Pairs:
    """Pair objects of an image whose IoU is 0.5 or more, those that overlap most first. may: which objects can be a pair."""
    found: Pairs = []
    of_image: dict[int, list[int]] = {}
    for number, image in enumerate(other.image.tolist()):
        of_image.setdefault(image, []).append(number)
    mine: dict[int, list[int]] = {}
    for number, image in enumerate(one.image.tolist()):
        if image in of_image:
            mine.setdefault(image, []).append(number)
    for image, rows in mine.items():
        columns = of_image[image]
        overlap = iou_matrix(one.edges[rows], other.edges[columns])
        first, second = np.nonzero(overlap >= SAME)
        taken_first: set[int] = set()
        taken_second: set[int] = set()
        for place in np.argsort(-overlap[first, second], kind="stable").tolist():
            a, b = rows[first[place]], columns[second[place]]
            if a not in taken_first and b not in taken_second and may(a, b):
                taken_first.add(a)
                taken_second.add(b)
                found.append((a, b))
    return found


def _unmatched(one: Hashes, other: Hashes) -> tuple[Flags, Flags]:
    """Which of these have no equal among the others; of several equal ones, each other takes one."""
    _, numbers = np.unique(np.concatenate([one, other]), return_inverse=True)
    first, second = numbers[: len(one)], numbers[len(one) :]
    most = len(numbers) + 1
    counts = np.bincount(first, minlength=most), np.bincount(second, minlength=most)
    return _rank(first) >= counts[1][first], _rank(second) >= counts[0][second]


def _rank(groups: Integers) -> Integers:
    """How many of the same group stand before each."""
    order = np.argsort(groups, kind="stable")
    ordered, places = groups[order], np.arange(len(groups))
    is_first = np.ones(len(groups), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    rank = np.empty(len(groups), np.int64)
    rank[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return rank


def _changed_rows(one: Hashes, other: Hashes) -> int:
    """How many rows changed, were added or removed: the larger number of those without an equal."""
    left = _unmatched(one, other)
    return int(max(np.count_nonzero(left[0]), np.count_nonzero(left[1])))


# COCO's objects: what they have besides boxes


def _coco_rows(truth: GroundTruth, images: Integers, classes: Integers) -> tuple[Flags, Hashes]:
    """Which of COCO's objects both annotations can have, and a hash of image, class and box of each of these."""
    table = truth.tables.coco
    assert table is not None
    which = (images[table.image] >= 0) & (classes[table.label] >= 0)
    place = np.column_stack([images[table.image[which]], classes[table.label[which]]])
    return which, row_hashes(place, table.boxes[which])


def _changed_marks_of_coco(before: GroundTruth, after: GroundTruth, images: _Common, classes: _Common) -> int:
    """The objects with the same box, but another area, or another answer to whether they are a crowd."""

    def marks(truth: GroundTruth, which: Flags) -> Hashes:
        table = truth.tables.coco
        assert table is not None
        return row_hashes(np.column_stack([table.area[which], table.crowd[which]]))

    return _changed_beside_boxes(before, after, (images, classes), marks)


def _redrawn(before: GroundTruth, after: GroundTruth, images: _Common, classes: _Common) -> int:
    """The objects with the same box, but another mask."""

    def masks(truth: GroundTruth, which: Flags) -> Hashes:
        table = truth.tables.coco
        assert table is not None
        if table.run_first is None or table.run_start is None or table.run_end is None:
            return np.zeros(int(np.count_nonzero(which)), np.uint64)
        runs = row_hashes(np.column_stack([table.run_start, table.run_end]))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(runs, dtype=np.uint64)])
        found: Hashes = (sums[table.run_first[1:]] - sums[table.run_first[:-1]])[which]
        return found

    return _changed_beside_boxes(before, after, (images, classes), masks)


def _changed_beside_boxes(
    before: GroundTruth,
    after: GroundTruth,
    common: tuple[_Common, _Common],
    more: Callable[[GroundTruth, Flags], Hashes],
) -> int:
    if before.tables.coco is None or after.tables.coco is None:
        return 0
    images, classes = common
    one, one_rows = _coco_rows(before, images.place_before, classes.place_before)
    other, other_rows = _coco_rows(after, images.place_after, classes.place_after)
    same_boxes = np.count_nonzero(~_unmatched(one_rows, other_rows)[0])
    whole = (one_rows * _ODD + more(before, one), other_rows * _ODD + more(after, other))
    return int(same_boxes - np.count_nonzero(~_unmatched(*whole)[0]))


_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


# labels, label images, parts, actions


def _changed_labels(before: GroundTruth, after: GroundTruth, classes: _Common) -> int:
    """The labels of images of the Main set that changed, of classes that both have."""
    images = _Common.of(before.lists.images[: before.lists.main], after.lists.images[: after.lists.main])
    tables = []
    for truth, of_classes, of_images in (
        (before, classes.place_before, images.place_before),
        (after, classes.place_after, images.place_after),
    ):
        table = np.zeros((classes.count, images.count), np.int8)
        rows, columns = np.nonzero(of_classes >= 0)[0], np.nonzero(of_images >= 0)[0]
        if len(rows) and len(columns):
            taken = truth.tables.labels[np.ix_(rows, columns)]
            table[np.ix_(of_classes[rows], of_images[columns])] = taken
        tables.append(table)
    return int(np.count_nonzero(tables[0] != tables[1]))


def _changed_statements(before: GroundTruth, after: GroundTruth, images: _Common, classes: _Common) -> int:
    """What image-level labels say, and what LVIS says of classes in images."""

    def rows(truth: GroundTruth, of_images: Integers, of_classes: Integers) -> Hashes:
        federation = truth.tables.coco.federation if truth.tables.coco else None
        known = [truth.tables.verified] if truth.tables.verified is not None else []
        known += [federation.negative, federation.inexhaustive] if federation else []
        found = [
            np.column_stack([np.full(len(each), kind), of_images[each[:, 0]], of_classes[each[:, 1]]])
            for kind, each in enumerate(known)
        ]
        table = np.concatenate(found) if found else np.empty((0, 3), np.int64)
        return row_hashes(table[(table[:, 1:] >= 0).all(axis=1)])

    return _changed_rows(
        rows(before, images.place_before, classes.place_before),
        rows(after, images.place_after, classes.place_after),
    )


def _changed_label_images(before: GroundTruth, after: GroundTruth, classes: _Common) -> int:
    """The label images of which any pixel changed; those of one annotation alone do not count."""
    one, other = before.tables.masks, after.tables.masks
    places = {name: place for place, name in enumerate(after.lists.segmentation)}
    if not len(one) or not len(other):
        return 0
    looks = [_lookup(classes.place_before, apart=False), _lookup(classes.place_after, apart=True)]
    changed = 0
    for place, name in enumerate(before.lists.segmentation):
        if name in places:
            runs = [
                (
                    masks.sizes[at],
                    look[masks.labels[masks.first[at] : masks.first[at + 1]]],
                    masks.lengths[masks.first[at] : masks.first[at + 1]],
                )
                for masks, at, look in ((one, place, looks[0]), (other, places[name], looks[1]))
            ]
            changed += not all(map(np.array_equal, *runs))
    return changed


def _lookup(classes: Integers, *, apart: bool) -> NDArray[np.int64]:
    """What each label of a label image is in both annotations; a class of one annotation alone is different from all others."""
    found = np.arange(256, dtype=np.int64)
    known = classes[:255]
    of_one = 1000 + np.arange(len(known)) + 1000 * apart
    found[1 : len(known) + 1] = np.where(known >= 0, 1 + known, of_one)
    return found


def _parts(truth: GroundTruth, images: Integers) -> Hashes:
    """The parts of persons in common images, each with the box of its person."""
    parts, objects = truth.tables.parts, truth.tables.objects
    if not len(parts.owner):
        return np.empty(0, np.uint64)
    image = images[objects.image[parts.owner]]
    boxes = np.column_stack([objects.boxes[parts.owner], parts.boxes])
    rows = np.column_stack([image, parts.kind])
    return row_hashes(rows[image >= 0], boxes[image >= 0])


def _actions(truth: GroundTruth, images: Integers) -> Hashes:
    """The labels of actions of persons in common images."""
    acts, objects = truth.tables.acts, truth.tables.objects
    if not len(acts.owner):
        return np.empty(0, np.uint64)
    image = images[objects.image[acts.owner]]
    rows = np.column_stack([image, acts.action, acts.label])
    return row_hashes(rows[image >= 0], objects.boxes[acts.owner][image >= 0])
