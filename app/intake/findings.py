"""What is valid in a data set and perhaps not meant: small classes, boxes outside, images in two sets, what tells the class.

Everything here counts. Of hidden annotation it names pictures and classes, never both together.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from pathlib import Path, PurePosixPath
from typing import Any, Final
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from app.images.matching import path_of
from app.intake.formats.image_sets import says_train, words_of
from app.intake.formats.pictures import pictures_of
from app.intake.formats.reading import CLASS_FOLDERS, COCO, VOC, AnnotatedSet
from app.intake.reports import HIDDEN, IMAGES, PUBLIC
from app.intake.unpacking import SentPicture, Unpacked
from heldout_scoring import BoxConvention, Entry, GroundTruth, Problem, Problems, Rule
from heldout_scoring.data.label_maps import is_background, is_void

MOST_NAMED: Final = 5  # pictures or classes in a sentence
_NO_LABELS: Final = ("nan", "none", "null", "n/a", "na", "-", "?")
_NUMBERED: Final = re.compile(r"(.*\w)[-_ .]\d{1,3}")
_JOINTS: Final = re.compile(r"[|;,/+&]")  # between classes in one cell
WIDE: Final = 0.2  # half an interval that is worth a warning
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PhasePicture:
    """A picture of a phase of the challenge. digest: of its content."""

    digest: bytes
    image_set: str
    is_public: bool  # the annotation of the phase
    file: str


def add_findings(
    unpacked: Unpacked,
    sets: Mapping[str, Sequence[AnnotatedSet]],
    of_phases: Sequence[PhasePicture],
    *,
    is_whole: bool = True,
) -> None:
    """Add warnings to the problems of each role.

    of_phases: the pictures that the challenge has already; is_whole: whether hidden annotation was read without problems; what could
    not be read does not count.
    """
    named = {name for some in sets.values() for each in some for name in each.truth.lists.classes}
    found = [
        (role, each, pictures_of(unpacked, each) if unpacked.pictures else {})
        for role, some in sets.items()
        for each in some
    ]
    _add_like_names(unpacked, sets)
    _add_joined_names(unpacked, sets)
    _add_no_classes(unpacked, sets)
    _add_numbered_names(unpacked, sets)
    for role, each, _ in found:
        problems = unpacked.problems[role]
        for problem in _of_boxes(each):
            problems.warn(problem)
        for problem in _of_lists(each):
            problems.warn(problem)
        if role == HIDDEN and is_whole and not says_train(each.name):
            for problem in _of_classes(each, named):
                problems.warn(problem)
    _add_same_pictures(unpacked.problems[IMAGES], found, of_phases)


def add_clues(unpacked: Unpacked, sets: Sequence[AnnotatedSet]) -> None:
    """Add warnings of what predicts the class in hidden sets."""
    for each in sets:
        for problem in _of_clues(each, pictures_of(unpacked, each) if unpacked.pictures else {}):
            unpacked.problems[HIDDEN].warn(problem)


def some_of(names: Sequence[str]) -> str:
    """The first few names, and how many more there are.

    >>> some_of(["a", "b"]), some_of([str(number) for number in range(8)])
    ('a, b', '0, 1, 2, 3, 4 and 3 more')
    """
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


# classes


def half_interval(count: int) -> float:
    """Half the 95 % interval of a share that rests on this many objects, where it is widest: 1.96 √(¼ / count).

    >>> round(half_interval(24), 3), round(half_interval(100), 3)
    (0.2, 0.098)
    """
    return 1.96 * sqrt(0.25 / count)


def _of_classes(found: AnnotatedSet, named: set[str]) -> Iterator[Problem]:
    """Classes without an object, and those with few. named: the classes of all sets."""
    lists, objects = found.truth.lists, found.truth.tables.objects
    if len(objects.name):
        unit = "objects"
        rows = (objects.image < lists.main) & ~objects.difficult
        counts = np.bincount(objects.name[rows], minlength=len(lists.classes))
    else:
        unit = "images"
        counts = np.bincount(labelled(found.truth).label, minlength=len(lists.classes))
    known = dict(zip(lists.classes, counts.tolist(), strict=True))
    empty = sorted(name for name in named if not known.get(name))
    if empty:
        message = f"{found.name} has no {unit} of {some_of(empty)}, which nobody can score then"
        yield Problem("class-without-objects", Rule(message), found.source)
    small = sorted(
        (count, name) for name, count in known.items() if count and half_interval(count) >= WIDE - 1e-3
    )
    if small:
        listed = some_of(
            [
                f"{name} ({count} {unit if count > 1 else unit[:-1]}: ± {100 * half_interval(count):.0f})"
                for count, name in small
            ]
        )
        message = (
            f"{len(small):,} of {len(known):,} classes of {found.name} are so small that their 95 % interval will be about ± 20 "
            f"points or more: {listed}; reckoned as 1.96 √(¼ / {unit})"
        )
        yield Problem("small-class", Rule(message), found.source)


def _add_like_names(unpacked: Unpacked, sets: Mapping[str, Sequence[AnnotatedSet]]) -> None:
    """Warn of classes of one or several sets whose names read alike, which are probably one class."""
    names_of = {
        role: {name for each in some for name in each.truth.lists.classes} for role, some in sets.items()
    }
    alike: dict[str, list[str]] = {}
    for name in sorted({name for some in names_of.values() for name in some}):
        alike.setdefault("".join(normalize("NFKC", name).casefold().split()), []).append(name)
    for names in alike.values():
        if len(names) > 1:
            role = PUBLIC if names_of.get(HIDDEN, set()).isdisjoint(names) else HIDDEN
            listed = ", ".join(["{}"] * len(names))
            words = (
                f"the names of {len(names)} classes differ in case, blanks, width or composed letters alone: {listed}; if they are "
                "one class, give it one name in the annotation"
            )
            unpacked.problems[role].warn(Problem("like-names", Rule(words, *names)))


def _add_joined_names(unpacked: Unpacked, sets: Mapping[str, Sequence[AnnotatedSet]]) -> None:
    """Warn of classes whose names seem to be lists of classes, as of a cell with several labels: each part is in another name, too."""
    names_of = {
        role: {name for each in some for name in each.truth.lists.classes} for role, some in sets.items()
    }
    parts = {
        name: {part.strip() for part in _JOINTS.split(name)}
        for name in {name for some in names_of.values() for name in some}
    }
    counts = Counter(part for some in parts.values() for part in some)
    joined = sorted(
        name
        for name, some in parts.items()
        if (len(some) > 1 and min(counts[each] for each in some) > 1)
        or (len(name.split()) > 1 and parts.keys() >= {*name.split()})
    )
    if joined:
        role = PUBLIC if names_of.get(HIDDEN, set()).isdisjoint(joined) else HIDDEN
        count = (
            "the name of 1 class seems" if len(joined) == 1 else f"the names of {len(joined):,} classes seem"
        )
        words = f"{count} to be a list of classes, such as {{}}; if images have several labels, give each a row, or each class a column of 0 and 1"
        unpacked.problems[role].warn(Problem("joined-names", Rule(words, joined[0])))


def _add_no_classes(unpacked: Unpacked, sets: Mapping[str, Sequence[AnnotatedSet]]) -> None:
    """Warn of classes whose names programs and people give to the background, to what is not counted, and where there is no label."""
    for role, some in sets.items():
        names = sorted({name for each in some for name in each.truth.lists.classes})
        odd = [
            each
            for each in names
            if is_background(each) or is_void(each) or each.lower() in _NO_LABELS or each.startswith("#")
        ]
        if odd:
            count = "1 class has a name" if len(odd) == 1 else f"{len(odd):,} classes have names"
            words = f"{count} of what is no class, such as {{}}: background, what is not counted, or a label that is missing; ignore it among the classes"
            unpacked.problems[role].warn(Problem("no-class-name", Rule(words, odd[0])))


def _add_numbered_names(unpacked: Unpacked, sets: Mapping[str, Sequence[AnnotatedSet]]) -> None:
    """Warn of classes that differ in a number at their ends alone and that no image has twice: numbers of objects, as for labelme."""
    for role, some in sets.items():
        for each in some:
            classes, objects = each.truth.lists.classes, each.truth.tables.objects
            alike: dict[str, list[int]] = {}
            for place, name in enumerate(classes):
                if found := _NUMBERED.fullmatch(name):
                    alike.setdefault(found[1], []).append(place)
            pairs = objects.image.astype(np.int64) * len(classes) + objects.name
            twice = {
                pair % len(classes)
                for pair, count in zip(*np.unique(pairs, return_counts=True), strict=True)
                if count > 1
            }
            numbered = [
                classes[place]
                for places in alike.values()
                if len(places) > 1 and twice.isdisjoint(places)
                for place in places
            ]
            if numbered and len(objects.name):
                words = f"{len(numbered):,} classes differ in a number at the end alone, such as {{}} and {{}}, and no image has two objects of one: if these number objects, give all of a class one name in the annotation"
                unpacked.problems[role].warn(Problem("like-names", Rule(words, *numbered[:2]), each.source))


def _of_lists(found: AnnotatedSet) -> Iterator[Problem]:
    """A warning where the lists of classes of a kit and the objects of its annotation files contradict each other."""
    if found.layout != VOC:
        return
    labels, objects = found.truth.tables.labels, found.truth.tables.objects
    shown = np.zeros(labels.shape, np.bool_)
    is_listed = objects.image < labels.shape[1]
    shown[objects.name[is_listed], objects.image[is_listed]] = True
    count = int(((labels < 0) & shown).sum() + ((labels > 0) & ~shown).sum())
    if not (count and shown.any()):
        return
    words = (
        f"in {count:,} of {labels.size:,} pairs of a class and an image of {found.name} the lists of classes say 1 where there is no object, or -1 where "
        "there is one; classification counts as lists say, detection by objects"
    )
    yield Problem("other-labels", Rule(words), found.source)


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """The images of a set, and which class is in which: pairs of places."""

    images: tuple[str, ...]
    image: Integers
    label: Integers


def labelled(truth: GroundTruth) -> Labelled:
    """The images that show each class, by the labels of the Main set or, without any, by label images."""
    lists, masks = truth.lists, truth.tables.masks
    if (truth.tables.labels == 1).any():
        label, image = np.nonzero(truth.tables.labels == 1)
        return Labelled(lists.images[: lists.main], image.astype(np.int64), label.astype(np.int64))
    of_run = np.repeat(np.arange(len(masks)), np.diff(masks.first))
    seen = (masks.labels >= 1) & (masks.labels <= len(lists.classes))
    pairs = np.unique(of_run[seen] * 256 + masks.labels[seen])
    return Labelled(lists.segmentation, pairs // 256, pairs % 256 - 1)


def add_other_numbers(
    unpacked: Unpacked, sets: Mapping[str, Sequence[AnnotatedSet]], phases: Mapping[str, Mapping[str, int]]
) -> None:
    """Warn of classes that have one category id here and another elsewhere, so that who trains on one is wrong on the other.

    phases: the category ids of the classes of each phase that the challenge has.
    """
    known = [
        (role, each, dict(zip(each.truth.lists.classes, each.truth.lists.class_numbers, strict=False)))
        for role, some in sets.items()
        for each in some
    ]
    for place, (role, found, numbers) in enumerate(known):
        others: dict[str, Mapping[str, int]] = {
            f"{each.name} ({each.source})": theirs for _, each, theirs in known[:place]
        }
        others |= {f"the phase {name} of this challenge": theirs for name, theirs in phases.items()}
        for where, theirs in others.items():
            differing = [name for name in numbers if theirs.get(name, numbers[name]) != numbers[name]]
            if differing:
                listed = some_of([f"{name} ({numbers[name]} and {theirs[name]})" for name in differing])
                message = (
                    f"{len(differing):,} of {len(numbers):,} classes of {found.name} have another category id in {where}: {listed};"
                    " results have to use the ids of their image set"
                )
                unpacked.problems[role].warn(Problem("other-numbers", Rule(message), found.source))


# boxes


def _of_boxes(found: AnnotatedSet) -> Iterator[Problem]:
    """Boxes beyond their image, without an area, that stand twice, or that seem to be meant by another convention."""
    lists, tables = found.truth.lists, found.truth.tables
    objects = tables.objects
    if not len(objects.boxes):
        return
    sides = tables.sizes[objects.image].astype(np.float64)
    edges = tables.convention.convert(objects.boxes, BoxConvention.HALF_OPEN)
    meant = other_convention(edges, sides, tables.convention)
    if meant:
        yield Problem("box-convention", Rule(meant), found.source)
    is_inclusive = tables.convention is BoxConvention.INCLUSIVE
    wide = (
        ("is one pixel wide or high", "are one pixel wide or high")
        if is_inclusive
        else ("has no area", "have no area")
    )
    what_of = {  # of one box, and of several
        "box-outside": (
            "reaches beyond its image by more than a pixel",
            "reach beyond their image by more than a pixel",
        ),
        "duplicate-box": (
            "stands there twice, with the same class and the same numbers",
            "stand there twice, with the same class and the same numbers",
        ),
        "flat-box": (
            f"ends where it begins, so that it {wide[0]}",
            f"end where they begin, so that they {wide[1]}",
        ),
        "share-box": (
            "lies between 0 and 1, so that it seems to be shares of width and height; expected are pixels",
            "lie between 0 and 1, so that they seem to be shares of width and height; expected are pixels",
        ),
    }
    for code, which in _odd_boxes(found.truth).items():
        if count := int(np.count_nonzero(which)):
            images = [found.called(lists.images[place]) for place in np.unique(objects.image[which]).tolist()]
            first = int(np.argmax(which))
            numbers = " ".join(f"{number:g}" for number in objects.boxes[first].tolist())
            message = (
                f"{count:,} of {len(objects.boxes):,} boxes {what_of[code][count > 1]}: images {some_of(images)}; the first is "
                f"{_place_of(found, first)}, {{}}"
            )
            yield Problem(code, Rule(message, numbers), found.source)
    area = None if tables.coco is None else tables.coco.area
    if area is not None and (area <= 1).all() and ((edges[:, 2:] - edges[:, :2]) > 1).all(axis=1).any():
        message = f"the area of all {len(area):,} objects is 0 or 1 at most, by which COCO's protocols take them for small; expected are pixels"
        yield Problem("no-areas", Rule(message), found.source)


def _odd_boxes(truth: GroundTruth) -> Mapping[str, NDArray[np.bool_]]:
    """Which boxes may not be meant, by the code of the warning."""
    tables, objects = truth.tables, truth.tables.objects
    sides = tables.sizes[objects.image].astype(np.float64)
    edges = tables.convention.convert(objects.boxes, BoxConvention.HALF_OPEN)
    within = ((objects.boxes >= 0) & (objects.boxes <= 1)).all(axis=1)
    return {
        "box-outside": ((edges[:, :2] < -1) | (edges[:, 2:] > sides + 1)).any(axis=1),
        "duplicate-box": _stands_twice(np.column_stack([objects.image, objects.name]), objects.boxes),
        "flat-box": (objects.boxes[:, 2:] <= objects.boxes[:, :2]).any(axis=1),
        "share-box": within & (objects.boxes % 1 != 0).any(axis=1),
    }


def images_of_odd_boxes(truth: GroundTruth) -> tuple[str, ...]:
    """The images that warnings of boxes name first, one of each kind."""
    image = truth.tables.objects.image
    if not len(image):
        return ()
    firsts = [image[int(np.argmax(which))] for which in _odd_boxes(truth).values() if which.any()]
    return tuple(dict.fromkeys(truth.lists.images[place] for place in firsts))


def _place_of(found: AnnotatedSet, row: int) -> str:
    """Where a box stands in its file, or at least in its image; row: in the table of objects."""
    image, coco = found.truth.tables.objects.image, found.truth.tables.coco
    if found.layout == COCO and coco is not None and not found.ignored:
        place = int(np.argsort(coco.image, kind="stable")[row])
        return str(Entry(f"annotations[{place}]", (found.ids[place] or None) if found.ids else None))
    number = "an object" if found.ignored else f"object {row - int(np.searchsorted(image, image[row])) + 1}"
    return f"{number} of {found.called(found.truth.lists.images[image[row]])}"


def row_hashes(*tables: NDArray[Any]) -> NDArray[np.uint64]:
    """A hash of 64 bits of each row of tables that stand side by side, because ten million rows have to fit in memory."""
    found = np.zeros(len(tables[0]), np.uint64)
    for column in (column for table in tables for column in table.T):
        found ^= (column.astype(np.float64) + 0.0).view(np.uint64)
        found *= np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


def _stands_twice(*tables: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows are like an earlier one."""
    found = row_hashes(*tables)
    order = np.argsort(found, kind="stable")
    same = np.zeros(len(found), np.bool_)
    same[order[1:]] = found[order[1:]] == found[order[:-1]]
    return same


@dataclass(frozen=True, slots=True)
class BoxFacts:
    """How many boxes there are, begin at the first pixel or before it, and end at the last pixel or behind it."""

    boxes: int
    at_first: int
    before_first: int
    at_last: int
    behind_last: int  # by one pixel

    @classmethod
    def of(cls, edges: Floats, sides: Floats) -> "BoxFacts":
        """Count boxes, given by edges, at the sides of their images, whose sizes may be unknown."""
        count = np.count_nonzero
        return cls(
            len(edges),
            int(count((edges[:, :2] == 0).any(axis=1))),
            int(count((edges[:, :2] == -1).any(axis=1))),
            int(count((edges[:, 2:] == sides).any(axis=1))),
            int(count((edges[:, 2:] == sides + 1).any(axis=1))),
        )


def convention_of(truth: GroundTruth) -> str:
    """How boxes are read, and what speaks for it; empty without boxes."""
    tables = truth.tables
    if not len(tables.objects.boxes):
        return ""
    edges = tables.convention.convert(tables.objects.boxes, BoxConvention.HALF_OPEN)
    facts = BoxFacts.of(edges, tables.sizes[tables.objects.image].astype(np.float64))
    words = (
        "pixels counted from 1, the last ones included"
        if tables.convention is BoxConvention.INCLUSIVE
        else "edges counted from 0, as in COCO's JSON"
    )
    seen = [
        f"{count:,} {what}"
        for count, what in (
            (facts.at_first, "at the left or upper edge of their image"),
            (facts.before_first, "with their beginning one pixel outside their image"),
            (facts.at_last, "at the right or lower edge"),
            (facts.behind_last, "with their end one pixel outside"),
        )
        if count
    ]
    return f"Boxes are read as {words}." + (f" Of {facts.boxes:,}, {', '.join(seen)}." if seen else "")


def other_convention(edges: Floats, sides: Floats, convention: BoxConvention) -> str | None:
    """Say that boxes seem to be meant otherwise than they are read, with the evidence; None if nothing speaks for it.

    edges: (n, 4), as read, from 0; sides: (n, 2), width and height of their images.
    """
    facts = BoxFacts.of(edges, sides)
    if convention is BoxConvention.INCLUSIVE:
        if not facts.before_first:
            return None
        said = (
            f"boxes are read as pixels counted from 1, but {facts.before_first:,} of {facts.boxes:,} begin at 0, so they seem to "
            "be counted from 0"
        )
        if facts.at_last:
            return (
                f"{said}; {facts.at_last:,} end at the width or height of their image, so the last numbers are edges: add 1 to left "
                "and top"
            )
        return f"{said}; none ends at the width or height of its image: add 1 to all four numbers"
    third_and_fourth = edges[:, 2:] - edges[:, :2]
    beyond = int(np.count_nonzero((edges[:, 2:] > sides + 1).any(axis=1)))
    if (
        (third_and_fourth > edges[:, :2]).all()
        and (third_and_fourth <= sides).all()
        and beyond * 5 >= len(edges)
    ):
        return (
            f"'bbox' is read as left, top, width and height, but {beyond:,} of {facts.boxes:,} boxes reach beyond their image then, "
            "and the last two numbers are larger than the first two in all of them: they seem to be right and bottom"
        )
    if facts.behind_last and not facts.at_first and not facts.before_first:
        return (
            f"boxes are read as counted from 0, but none of {facts.boxes:,} begins at 0, and {facts.behind_last:,} end one pixel "
            "behind their image: they seem to be counted from 1; take 1 from left and top"
        )
    return None


# the same picture in two sets


Found = tuple[str, AnnotatedSet, Mapping[str, SentPicture]]


def _add_same_pictures(problems: Problems, found: Sequence[Found], of_phases: Sequence[PhasePicture]) -> None:
    """Warn of pictures that a hidden set shares with another set, has twice, or shares with another phase, and of those that a public
    set shares with what methods are trained on.
    """
    contents = [
        (role, each.name, {picture.digest: picture.path.name for picture in pictures.values()}, pictures)
        for role, each, pictures in found
    ]
    for (role, name, one, _), (other_role, other_name, other, _) in combinations(contents, 2):
        leaks = HIDDEN in (role, other_role) or _is_trained_on(name, other_name)
        if leaks and (shared := sorted(one.keys() & other.keys())):
            pairs = sorted(
                one[digest] if one[digest] == other[digest] else f"{one[digest]} = {other[digest]}"
                for digest in shared
            )
            problems.warn(_same(len(shared), f"in {name} ({role}) and in {other_name} ({other_role})", pairs))
    bare = [(role, each.name, _files_without(each, pictures)) for role, each, pictures in found]
    for (role, name, bare_of), (other_role, other_name, bare_of_other) in combinations(bare, 2):
        leaks = HIDDEN in (role, other_role) or _is_trained_on(name, other_name)
        if leaks and (both := sorted(bare_of & bare_of_other)):
            count = "1 image has" if len(both) == 1 else f"{len(both):,} images have"
            words = f"{count} a file of one name in {name} ({role}) and in {other_name} ({other_role}), and no image file to compare: {some_of(both)}"
            problems.warn(Problem("same-picture", words))
    for role, name, one, pictures in contents:
        counts = Counter(dict.fromkeys(one, 0))
        counts.update(picture.digest for picture in pictures.values())
        repeated = sorted(one[digest] for digest, count in counts.items() if count > 1)
        if role == HIDDEN and repeated:
            problems.warn(_same(len(repeated), f"in {name} twice or more under different names", repeated))
        elsewhere: dict[str, list[str]] = {}
        for each in of_phases:
            is_leak = each.image_set != name and (role == HIDDEN or not each.is_public)
            if is_leak and each.digest in one:
                elsewhere.setdefault(each.image_set, []).append(one[each.digest])
        for image_set, files in sorted(elsewhere.items()):
            where = f"in {name} and in the phase {image_set} of this challenge"
            problems.warn(_same(len(files), where, sorted(files)))


def _is_trained_on(name: str, other: str) -> bool:
    """Whether methods are trained on one of two public sets and scored on the other; a trainval has the images of both."""
    return says_train(name) != says_train(other) and "trainval" not in words_of(name) + words_of(other)


def _files_without(found: AnnotatedSet, pictures: Mapping[str, SentPicture]) -> set[str]:
    """What the files of images are called whose pictures were not sent."""
    described = found.truth.description
    images = (each.id for each in (*described.images, *described.further) if each.id not in pictures)
    return {str(path_of(found.files.get(image, image))) for image in images}


def _same(count: int, where: str, names: Sequence[str]) -> Problem:
    pictures = "1 image is" if count == 1 else f"{count:,} images are"
    return Problem("same-picture", f"{pictures} {where}, byte for byte: {some_of(names)}")


# what tells the class


BLOCK: Final = 10  # images that stand together in an order
LEAST_SAVED: Final = 10  # images
LEAST_SHARE: Final = 0.25  # of the errors of who knows nothing
SIGMAS: Final = 3.0  # times the square root of these errors
_DIGITS: Final = re.compile(r"\d+")
_NUMBER_AT_END: Final = re.compile(r"[\W_]*\d*$")


@dataclass(frozen=True, slots=True)
class Clue:
    """How well something other than the pixels tells whether an image shows a class.

    name: of the class; wrong: images about which one errs who knows it; base: who knows nothing; classes: of how many it tells.
    """

    name: str
    wrong: int
    base: int
    classes: int


def find_clue(groups: Integers, known: Labelled, classes: Sequence[str]) -> Clue | None:
    """Say which class the groups of images tell best; None if they tell none.

    For each image the other images of its group vote on whether it shows a class. Without the groups one would say "no" for a
    class that is in less than half of the images. A class is told if the vote makes fewer of these errors by a quarter, by ten
    images, and by three times the square root of their number: never by chance in the sets of VOC.
    """
    number, size = int(groups.max(initial=-1)) + 1, len(known.images)
    members = np.bincount(groups, minlength=number)
    pairs, counts = np.unique(groups[known.image] * len(classes) + known.label, return_counts=True)
    group, label = pairs // len(classes), pairs % len(classes)
    others = members[group] - 1
    missed = np.where(2 * (counts - 1) <= others, counts, 0)
    false = np.where(2 * counts > others, members[group] - counts, 0)
    wrong = np.bincount(label, weights=missed + false, minlength=len(classes))
    total = np.bincount(known.label, minlength=len(classes))
    base = np.minimum(total, size - total)
    saved = base - wrong
    told = (saved >= LEAST_SHARE * base) & (saved >= LEAST_SAVED) & (saved >= SIGMAS * np.sqrt(base))
    if not told.any():
        return None
    best = int(np.argmax(np.where(told, saved / np.maximum(base, 1), -1)))
    return Clue(classes[best], int(wrong[best]), int(base[best]), int(np.count_nonzero(told)))


def _of_clues(found: AnnotatedSet, pictures: Mapping[str, SentPicture]) -> Iterator[Problem]:
    known, classes = labelled(found.truth), found.truth.lists.classes
    if not len(known.image):
        return
    told: set[str] = set()
    for what, groups in _clues(found, known, pictures, len(classes)):
        clue = None if what in told else find_clue(groups, known, classes)
        if clue is not None:
            told.add(what)
            more = (
                f"; it is like that for {clue.classes:,} of {len(classes):,} classes"
                if clue.classes > 1
                else ""
            )
            message = (
                f"{what} of the images of {found.name} predict the class: by them alone one is wrong about {clue.name} in {clue.wrong:,} of "
                f"{len(known.images):,} images, by a guess in {clue.base:,}{more}"
            )
            yield Problem("predicts-class", Rule(message), found.source)


def _clues(
    found: AnnotatedSet, known: Labelled, pictures: Mapping[str, SentPicture], classes: int
) -> Iterator[tuple[str, Integers]]:
    """What is known of images besides their pixels, as the group of every image; of names and order in several ways."""
    files = (
        found.files if found.truth.lists.class_numbers else {}
    )  # others' images have names, which everybody sees
    names = [PurePosixPath(files.get(image, image)).stem for image in known.images]
    place = np.arange(len(names))
    yield "the names", _grouped([_NUMBER_AT_END.sub("", name) for name in names])
    yield "the names", _grouped([_DIGITS.sub("0", name) for name in names])
    yield "the numbers in the names", _in_blocks([_number(name) for name in names])
    yield "the names", _grouped([str(len(name)) for name in names])
    yield "the order", place // BLOCK
    yield "the order", place % max(classes, 1)
    sent = [pictures.get(image) for image in known.images]
    if any(sent):
        if found.layout != CLASS_FOLDERS:  # whose folders nobody sees
            yield "the folders", _grouped([each.folder if each else "" for each in sent])
        yield "the time stamps", _in_blocks([each.modified if each else None for each in sent])
        yield "the EXIF data (camera, program)", _grouped([each.camera if each else "" for each in sent])
        yield "the EXIF dates", _grouped([each.taken if each else "" for each in sent])
        yield "the widths and heights", _grouped([str(each.size) if each else "" for each in sent])
        yield "the file sizes", _in_blocks([each.length if each else None for each in sent])
        yield "the file types", _grouped([each.path.suffix.lower() if each else "" for each in sent])


def _grouped(values: Sequence[str]) -> Integers:
    """The same number for the same value."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def _in_blocks(values: Sequence[float | None]) -> Integers:
    """The same number for the same or neighbouring values, and for all that are unknown."""
    known = np.array([np.nan if value is None else value for value in values], np.float64)
    first = np.searchsorted(np.sort(known), known)  # of those like it; unknown ones stand last
    return first.astype(np.int64) // BLOCK


def _number(name: str) -> float | None:
    """The last number in a name.

    >>> _number("2008_000008"), _number("cat")
    (8.0, None)
    """
    found = _DIGITS.findall(name)
    return float(found[-1][-15:]) if found else None


# the pictures that the challenge has already


def read_phase_pictures(path: Path) -> tuple[PhasePicture, ...]:
    """Read what `written` wrote; nothing if there is no such file."""
    if not path.exists():
        return ()
    with path.open() as lines:
        rows = [json.loads(line) for line in lines]
    return tuple(
        PhasePicture(bytes.fromhex(digest), image_set, is_public, file)
        for digest, image_set, is_public, file in rows
    )


def written(picture: PhasePicture) -> str:
    r"""Return a line of JSON about a picture of a phase, one line whatever its name contains.

    >>> written(PhasePicture(bytes(2), "val", True, "a\u2028b.jpg"))
    '["0000", "val", true, "a\\u2028b.jpg"]\n'
    """
    return json.dumps([picture.digest.hex(), picture.image_set, picture.is_public, picture.file]) + "\n"
