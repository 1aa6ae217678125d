"""Signs that valid results are not what their authors mean, from public facts alone: the images, their sizes, the classes, and how
many objects of each class a public image set has.

A warning never keeps results from being scored. Each threshold is far from what the detectors do whose results we know.
"""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Flags, Floats
from ..data.description import PublicCounts
from ..errors import Problem, shown

Sizes = NDArray[np.int64] | Floats
"""Width and height of images, (n, 2)."""

FEWEST: Final = 10
"""Predictions below which nothing is said: so few may be like anything."""
_MOST_PIXELS: Final = 1.0
"""Coordinates up to this are no pixels but shares of a side."""
_BEYOND: Final = 0.05
"""The share of an image's side by which boxes of real detectors do not extend beyond it."""
_MANY_WRONG: Final = 0.1
"""The share of boxes that end before they begin, or far beyond their image, from which a cause is looked for."""
_ALMOST_ALL: Final = 0.98
"""The share of boxes that have to lie in their images in another form, so that it is asked for."""
_MANY_EMPTY: Final = 0.25
"""The share of images without a prediction, from which it is mentioned."""
_MOST_CLASSES: Final = 0.8
"""The share of classes that have to have predictions, so that images without one mean something."""
_MOST_FOREIGN: Final = 0.5
"""The share of predictions in unknown images from which another image set seems to be meant."""
_FEWEST_CLASSES: Final = 5
_FAR_SHARES: Final = 0.4
"""The share of predictions that are in other classes than those of a public image set, from which it is mentioned."""
_BEYOND_EQUAL: Final = 0.1
"""By how much that share exceeds the one of classes that are equally frequent, as they are in lists of all images and in dense boxes."""
_FEWEST_OF_A_SIZE: Final = 100
"""Boxes below which nothing is said of the part of their images that they fill."""
_FEWEST_IMAGES: Final = 20
_SMALLER: Final = 2 / 3
"""The share of width and height that boxes in pixels of a smaller image fill at most; a quarter of those of known detectors stay in it."""
_AT_AN_EDGE: Final = 0.02
"""The share of boxes that begin at the left edge, and at the top, where boxes fill their image, or a corner of it."""
_ROUNDING: Final = 2  # pixels by which a box may miss the edge of its image
_SHOWN: Final = 5  # classes in one sentence


@dataclass(frozen=True, slots=True)
class Example:
    """One prediction that a warning is about; line: counted from 1, None in JSON; place: its path in JSON, "" in lines of text."""

    file: str
    line: int | None
    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Crowd:
    """Groups of predictions of which the protocol counts only the most confident ones.

    groups: how many of what, as in "3 images"; kept: predictions that count in each; largest: predictions in the largest one;
    example: that one, in words.
    """

    groups: str
    kept: int
    largest: int
    example: str


@dataclass(slots=True)
class Signs:
    """What is counted over the files of one competition, for warnings.

    boxes: how many were looked at, refused ones among them; far: of these that reach far beyond their image; largest: absolute
    coordinate. in_corner: boxes that end in the upper left part of their image, where those in pixels of a smaller image are;
    at_left, at_top: that begin at an edge. suspects: boxes of files in which another form was looked for; of these narrow and flat: whose right edge is left of
    the left one, whose bottom is above the top; wrong: that are either, or reach far; forms: that lie in their image in each. seen: bool (images,), which have a prediction, None where nobody counted; faulty: whether some predictions are refused;
    constant: the confidence of each class whose predictions all have this one, and their number; counts: predictions of each class;
    foreign: predictions in images of no known name; example: of a box; crowd: None where every prediction counts.
    """

    boxes: int = 0
    far: int = 0
    largest: float = 0.0
    in_corner: int = 0
    at_left: int = 0
    at_top: int = 0
    suspects: int = 0
    narrow: int = 0
    flat: int = 0
    wrong: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    seen: Flags | None = None
    faulty: bool = False
    constant: dict[str, tuple[int, float]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    foreign: int = 0
    example: Example | None = None
    crowd: Crowd | None = None

    def join(self, other: "Signs") -> None:
        """Add what was counted of other files of the same competition."""
        self.boxes += other.boxes
        self.far += other.far
        self.in_corner += other.in_corner
        self.at_left += other.at_left
        self.at_top += other.at_top
        self.suspects += other.suspects
        self.narrow += other.narrow
        self.flat += other.flat
        self.wrong += other.wrong
        self.forms += other.forms
        self.faulty |= other.faulty
        self.largest = max(self.largest, other.largest)
        if other.seen is not None:
            self.seen = other.seen if self.seen is None else self.seen | other.seen
        self.constant |= other.constant
        self.counts |= other.counts
        self.foreign += other.foreign
        self.example = self.example or other.example
        self.crowd = self.crowd or other.crowd

    @property
    def form(self) -> str | None:
        """The form that boxes seem to have been written in, two if they fit as well; None if they are right or fit none."""
        if self.suspects < FEWEST or self.wrong < _MANY_WRONG * self.suspects:
            return None
        most = max(self.forms.values(), default=0)
        fitting = [name for name, count in self.forms.items() if count == most >= _ALMOST_ALL * self.suspects]
        return " or ".join(fitting[:2]) or None

    @property
    def reach_far(self) -> bool:
        """Whether many boxes reach far beyond their image, further than those of a detector that does not clip them."""
        return self.boxes >= FEWEST and self.far >= _MANY_WRONG * self.boxes

    @property
    def are_in_a_corner(self) -> bool:
        """Whether boxes reach the left and upper edge of their images and never the others, as in pixels of a smaller image."""
        images = 0 if self.seen is None else int(np.count_nonzero(self.seen))
        if self.boxes < _FEWEST_OF_A_SIZE or images < _FEWEST_IMAGES or self.are_shares:
            return False
        at_edges = min(self.at_left, self.at_top) >= _AT_AN_EDGE * self.boxes
        return at_edges and self.in_corner >= _ALMOST_ALL * self.boxes

    @property
    def are_shares(self) -> bool:
        """Whether no coordinate is larger than 1, as if they were shares of the image's sides."""
        return self.boxes >= FEWEST and 0 < self.largest <= _MOST_PIXELS


CORNERS: Final = "left, top, right, bottom"
SIDES: Final = "left, top, width, height"
_CENTRE: Final = "centre x, centre y, width, height"
_ORDERS: Final = {
    CORNERS: [0, 1, 2, 3],
    "left, right, top, bottom": [0, 2, 1, 3],
    "right, bottom, left, top": [2, 3, 0, 1],
    "left, bottom, right, top (or is y counted upwards)": [0, 3, 2, 1],
    "right, top, left, bottom": [2, 1, 0, 3],
    "top, left, bottom, right": [1, 0, 3, 2],
}
"""Where the left, top, right and bottom edge stand in other orders of corners."""


def corners_as(form: str, boxes: Floats) -> Floats:
    """The left, top, right and bottom edges of boxes that are written in a form, which is a key of `_ORDERS` or has sides.

    boxes and result: float (n, 4); boxes with a side below one pixel, which no detector finds, become not a number.

    >>> corners_as(SIDES, np.array([[10.0, 20, 30, 40]])).tolist()
    [[10.0, 20.0, 40.0, 60.0]]
    """
    if form in _ORDERS:
        return boxes[:, _ORDERS[form]]
    place, sides = boxes[:, :2], np.where(boxes[:, 2:] >= 1, boxes[:, 2:], np.nan)
    start = place - sides / 2 if form == _CENTRE else place
    return np.concatenate([start, start + sides], axis=1)


def lie_inside(corners: Floats, sizes: Sizes) -> Flags:
    """Which boxes end after they begin, in their image or not far beyond it: bool (n,).

    corners: float (n, 4), left, top, right and bottom in pixels; sizes: (n, 2), width and height of each box's image, 0 where they are
    not known, which are taken for infinite. A twentieth of a side and two pixels beyond an edge do not count.

    >>> lie_inside(np.array([[30.0, 20, 90, 80], [30.0, 20, 10, 10]]), np.array([[100, 100], [100, 100]]))
    array([ True, False])
    """
    left, top, right, bottom = corners.T
    inside: Flags = (right >= left) & (bottom >= top) & ~far_beyond(corners, sizes)
    return inside


def count_forms(boxes: Floats, sizes: Sizes, *, but: str, confidence: Floats | None = None) -> Counter[str]:
    """How many boxes lie in their image in each form but that in which they were read.

    boxes: float (n, 4) as written; sizes: as in `lie_inside`; confidence: of boxes in lines, float (n,), to look for lines that end
    with it, too, as numbers from 0 to 1.

    >>> count_forms(np.array([[10.0, 90, 20, 60]]), np.array([[100, 100]]), but=CORNERS)["left, right, top, bottom"]
    1
    """
    forms = (*_ORDERS, SIDES, _CENTRE)
    found = Counter[str]()
    for form in forms:
        if form != but:
            found[form] = int(np.count_nonzero(lie_inside(corners_as(form, boxes), sizes)))
    if confidence is not None:
        moved = np.concatenate([confidence[:, np.newaxis], boxes[:, :3]], axis=1)
        is_last = (boxes[:, 3] >= 0) & (boxes[:, 3] <= 1)
        for form in (CORNERS, SIDES, _CENTRE):
            inside = lie_inside(corners_as(form, moved), sizes) & is_last
            found[f"{form}, confidence"] = int(np.count_nonzero(inside))
    return found


def count_corners(signs: Signs, corners: Floats, sizes: Sizes) -> None:
    """Count boxes for `Signs.are_in_a_corner`; corners and sizes: as in `lie_inside`.

    >>> signs = Signs()
    >>> count_corners(signs, np.array([[1.0, 20, 60, 50], [30.0, 2, 90, 80]]), np.array([[100, 100], [100, 100]]))
    >>> signs.in_corner, signs.at_left, signs.at_top
    (1, 1, 1)
    """
    known = (sizes > 0).all(axis=1)
    ends = (corners[:, 2:] <= _SMALLER * sizes + _ROUNDING).all(axis=1) & known
    begins = corners[:, :2] <= _BEYOND * sizes + _ROUNDING
    signs.in_corner = int(np.count_nonzero(ends))
    signs.at_left, signs.at_top = (int(np.count_nonzero(each)) for each in begins.T)


def far_beyond(corners: Floats, sizes: Sizes) -> Flags:
    """Which boxes reach more than a twentieth of a side, and two pixels, beyond their image: bool (n,).

    corners: float (n, 4), left, top, right and bottom in pixels; sizes: (n, 2), width and height of each box's image in pixels, 0 where
    they are not known: no box is beyond these.

    >>> far_beyond(np.array([[60.0, 20, 99, 80], [60.0, 20, 120, 80]]), np.array([[100, 100], [100, 100]]))
    array([False,  True])
    """
    sides = np.where(sizes > 0, sizes, np.inf)
    most = sides * _BEYOND + _ROUNDING
    left, top, right, bottom = corners.T
    across, down = most.T
    beyond: Flags = ~((left >= -across) & (top >= -down))
    beyond |= ~((right <= sides[:, 0] + across) & (bottom <= sides[:, 1] + down))
    return beyond


def renumbered(given: frozenset[int], categories: Sequence[int]) -> str | None:
    """How category ids seem to be counted that are not those of a phase; None where nothing fits.

    given: the ids of some detections, at least one of which the phase does not have; categories: those of the phase, rising. Fewer than
    three different ids fit anything, so that nothing is said of them.

    >>> renumbered(frozenset(range(12)), range(1, 13))
    'from 0'
    >>> renumbered(frozenset({1, 2, 4}), [1, 2, 3, 5])
    'from 1 without gaps'
    """
    number = len(categories)
    if len(given) < 3:
        return None
    ways = {
        "from 0": range(number),
        "from 1 without gaps": range(1, number + 1),
        "from one less": [each - 1 for each in categories],
        "from one more": [each + 1 for each in categories],
    }
    return next(
        (way for way, ids in ways.items() if given <= set(ids) and list(ids) != list(categories)), None
    )


def numbers_in_words(numbers: Sequence[int]) -> str:
    """Rising numbers as a message has them.

    >>> numbers_in_words([1, 2, 3]), numbers_in_words([1, 2, 5])
    ('1 to 3', '1 to 5 with gaps')
    """
    gaps = " with gaps" if numbers[-1] - numbers[0] >= len(numbers) else ""
    return f"{numbers[0]} to {numbers[-1]}{gaps}"


def box_form(signs: Signs, name: str, *, expected: str) -> Problem | None:
    """What is said of boxes that seem to be written in another form than the expected one; None if they do not.

    name: of the competition, as in "comp3".
    """
    form = signs.form
    if form is None:
        return None
    full = f"confidence, {expected}" if "confidence" in form else expected
    sides = [word for word, count in (("right < left", signs.narrow), ("bottom < top", signs.flat)) if count]
    message = (
        f"{_share_of_boxes(signs.wrong, signs.suspects, name)} "
        f"{'have ' + ' or '.join(sides) if sides else 'reach far beyond their image'}. "
        f"Did you write {form}? Expected: {full}"
    )
    return _about(signs.example, "box-form", message, found=form, expected=full)


def _share_of_boxes(count: int, total: int, name: str) -> str:
    return f"{name}: {'most' if 2 * count > total else 'many'} boxes ({count:,} of {total:,})"


def line_at(data: bytes, row: int, file: str) -> Example:
    r"""The line of a text file that a prediction is read from, if every line before is valid or blank; row: counted from 0.

    >>> line_at(b"\n000001 0.5\n000002 0.6\n", 1, "a.txt")
    Example(file='a.txt', line=3, text='000002 0.6', place='')
    """
    lines = ((number, line.strip()) for number, line in enumerate(io.BytesIO(data), 1))
    number, line = next(islice(((number, line) for number, line in lines if line), row, None))
    return Example(file, number, shown(line))


def warnings_of(signs: Signs, name: str, *, images: int, classes: int) -> list[Problem]:
    """The warnings about one competition but those on the form of boxes.

    name: of the competition, as in "comp3"; images, classes: how many the phase has.
    """
    return [
        *_on_coordinates(signs, name),
        *_on_images(signs, name, images, classes),
        *_on_confidences(signs, name),
    ]


def foreign_images(first: Problem, foreign: int, total: int, images: int) -> Problem:
    """The problem that stands for a line about each of many predictions in images that the phase does not have.

    first: one of these lines; foreign: how many there are, of so many predictions in all; images: how many the phase has.
    """
    message = (
        f"{foreign:,} of the {total:,} predictions that were read are in images that are none of the {images:,} of this image set: "
        f"are they for another one? The first: {first.message}"
    )
    return Problem("other-images", message, first.file, first.line, first.found, first.expected, first.text)


def mostly_foreign(foreign: int, total: int) -> bool:
    """Whether so many of all predictions are in unknown images that another image set seems to be meant."""
    return foreign >= max(FEWEST, _MOST_FOREIGN * total)


def renumbered_categories(
    first: Problem, way: str, given: Sequence[int], categories: Sequence[int]
) -> Problem:
    """The problem that stands for a line about each detection of a category that the phase does not have.

    first: one of these lines; way: how ids seem to be counted, as `renumbered` says it; given and categories: ids, rising.
    """
    expected = numbers_in_words(categories)
    message = (
        f"category ids are {numbers_in_words(given)}, as if they were counted {way}; the {len(categories)} categories have the ids "
        f"{expected}, so that every other detection would be scored as another class. The first: {first.message}"
    )
    return Problem(
        "renumbered-categories", message, first.file, found=numbers_in_words(given), expected=expected
    )


def highest_is_missing(counts: Mapping[int, int], name: str, known: Mapping[int, str]) -> Problem | None:
    """A warning where only the highest category id has no detection, as if ids were counted from one less; else None.

    counts: detections by category id; known: the names of all categories by their ids, rising.
    """
    *others, last = known
    enough = len(known) >= _FEWEST_CLASSES and sum(counts.values()) >= FEWEST * len(known)
    if not enough or counts.get(last) or not all(counts.get(each) for each in others):
        return None
    message = (
        f"{name}: the highest category id, {last} ('{known[last]}'), has no detection, while all {len(others)} others have, "
        f"such as {others[0]} ('{known[others[0]]}') with {counts[others[0]]:,}: are ids counted from {others[0] - 1}?"
    )
    return Problem(
        "shifted-categories", message, found=numbers_in_words(others), expected=numbers_in_words([*known])
    )


def unlike_public_set(counts: Mapping[str, int], name: str, public: PublicCounts) -> Problem | None:
    """A warning where the shares of classes are far from those of a public image set, as if the classes were in another order; else None.

    counts: predictions of each class, of which those without any are left out; name: of the competition, as in "comp3".
    """
    known = dict(public.objects)
    names = [each for each in known if counts.get(each)]
    found = np.array([counts[each] for each in names], np.float64)
    expected = np.array([known[each] for each in names], np.float64)
    if len(names) < _FEWEST_CLASSES or min(found.sum(), expected.sum()) < FEWEST * len(names):
        return None
    shares, usual = found / found.sum(), expected / expected.sum()
    far, equal = _distance(shares, usual), _distance(np.full(len(names), 1 / len(names)), usual)
    if far < max(_FAR_SHARES, equal + _BEYOND_EQUAL):
        return None
    first = int(np.argmax(np.abs(shares - usual)))
    message = (
        f"{name}: the shares of the classes are far from those in {public.image_set}, whose annotation is public: "
        f"'{names[first]}' has {shares[first]:.0%} of the {int(found.sum()):,} predictions and {usual[first]:.0%} of the "
        f"{int(expected.sum()):,} objects there; {far:.0%} of the predictions would have to be of another class. "
        "Are the classes in another order?"
    )
    return Problem(
        "class-shares", message, found=f"{shares[first]:.0%}", expected=f"about {usual[first]:.0%}"
    )


def _distance(shares: Floats, others: Floats) -> float:
    """The share that has to be moved to make these shares the others: between 0 and 1."""
    return float(np.abs(shares - others).sum() / 2)


def _on_coordinates(signs: Signs, name: str) -> list[Problem]:
    if signs.reach_far and signs.form is None:
        expected = "pixels of the image itself"
        message = (
            f"{_share_of_boxes(signs.far, signs.boxes, name)} reach far beyond their image. "
            f"Are they in pixels of a resized image? Expected: {expected}"
        )
        return [_about(signs.example, "far-boxes", message, found=f"{signs.far}", expected=expected)]
    if signs.are_in_a_corner and signs.form is None:
        expected = "pixels of the image itself"
        message = (
            f"{_share_of_boxes(signs.in_corner, signs.boxes, name)} end within the left {_SMALLER:.0%} and the upper {_SMALLER:.0%} of their image. "
            f"Are they in pixels of a smaller image? Expected: {expected}"
        )
        return [Problem("corner-boxes", message, found=f"{signs.in_corner}", expected=expected)]
    if not signs.are_shares:
        return []
    message = (
        f"{name}: no coordinate of {signs.boxes:,} boxes is larger than {signs.largest:g}; expected pixels, not shares of the"
        " image's width and height"
    )
    return [_about(signs.example, "normalised-boxes", message, found=f"{signs.largest:g}", expected="pixels")]


def _on_images(signs: Signs, name: str, images: int, classes: int) -> list[Problem]:
    found: list[Problem] = []
    has_most = sum(map(bool, signs.counts.values())) >= _MOST_CLASSES * classes
    if signs.seen is not None and not signs.faulty and has_most and sum(signs.counts.values()) >= FEWEST:
        empty = images - int(np.count_nonzero(signs.seen))
        if empty >= max(_MANY_EMPTY * images, FEWEST):
            message = f"{name}: {empty:,} of {images:,} images have no prediction of any class"
            found.append(
                Problem("images-without-predictions", message, found=f"{empty:,}", expected=f"{images:,}")
            )
    if (crowd := signs.crowd) is not None:
        message = (
            f"{name}: more than {crowd.kept} predictions in {crowd.groups}, up to {crowd.largest:,} ({crowd.example}); "
            f"only the {crowd.kept} most confident ones count"
        )
        expected = f"at most {crowd.kept}"
        found.append(Problem("uncounted-predictions", message, found=str(crowd.largest), expected=expected))
    return found


def _on_confidences(signs: Signs, name: str) -> list[Problem]:
    constant = {key: each for key, each in signs.constant.items() if each[0] >= FEWEST}
    if not constant:
        return []
    first, (count, value) = next(iter(constant.items()))
    rest = [key for key in constant if key != first][: _SHOWN - 1]
    more = f", also {', '.join(rest)}" if rest else ""
    more += " …" if len(constant) > _SHOWN else ""
    message = (
        f"{name}: {len(constant)} of {len(signs.counts)} classes have a single confidence for all predictions, such as {first}: "
        f"{value:g} for all {count:,}{more}; results are ranked by it"
    )
    return [Problem("constant-confidence", message, found=f"{value:g}", expected="confidences that differ")]


def _about(example: Example | None, code: str, message: str, *, found: str, expected: str) -> Problem:
    if example is None:
        return Problem(code, message, found=found, expected=expected)
    place = f". An example is {example.place}" if example.place else ""
    return Problem(code, message + place, example.file, example.line, found, expected, example.text)
