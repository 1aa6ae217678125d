"""How much binary masks overlap, and masks from run lengths and polygons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from ..data.arrays import Flags, Floats, Places
from ..data.label_maps import Masks, Wholes

_MASK: Final = 40
"""The bit at which the number of a mask stands in a key, above a pixel of an image of at most 2⁴⁰ pixels."""
_AT_ONCE: Final = 1 << 18
"""Runs that are looked up in one go."""


def mask_intersections(masks: Masks, one: Places, other: Places) -> Wholes:
    """How many pixels masks have in common, pair by pair: intp (p,) and (p,) give int64 (p,).

    >>> from heldout_scoring.metrics.masks import masks_of_counts
    >>> masks = masks_of_counts([[0, 4], [1, 2, 1]], np.array([2, 2]), np.array([2, 2])).masks
    >>> mask_intersections(masks, np.array([0]), np.array([1])).item()
    2
    """
    runs = np.diff(masks.first)
    swapped = runs[one] > runs[other]
    few, many = np.where(swapped, other, one), np.where(swapped, one, other)
    covered = np.concatenate([[0], np.cumsum(masks.end - masks.start)])
    keys = (np.repeat(np.arange(len(masks)), runs) << _MASK) | masks.start
    result = np.zeros(len(one), np.int64)
    for part in _parts(runs[few]):
        counts = runs[few[part]]
        offsets = np.cumsum(counts) - counts
        run = np.arange(counts.sum()) + np.repeat(masks.first[few[part]] - offsets, counts)
        within = np.repeat(many[part], counts)
        shared = sum(
            sign * _covered_before(masks, keys, covered, within, pixel[run])
            for sign, pixel in ((1, masks.end), (-1, masks.start))
        )
        some = np.flatnonzero(counts)
        if len(some):
            result[np.arange(len(one))[part][some]] = np.add.reduceat(shared, offsets[some])
    return result


def _covered_before(masks: Masks, keys: Wholes, covered: Wholes, mask: Places, pixel: Wholes) -> Wholes:
    """How many pixels of the mask lie before a pixel."""
    after = np.searchsorted(keys, (mask << _MASK) | pixel, side="right")
    run = np.maximum(after - 1, 0)
    begun = covered[run] - covered[masks.first[mask]] + np.minimum(pixel, masks.end[run]) - masks.start[run]
    return np.where(after > masks.first[mask], begun, 0)


def _parts(counts: Wholes) -> Iterator[slice]:
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
        yield slice(begin, end)
        begin = end


def mask_iou(masks: Masks, one: Places, other: Places, crowd: Flags) -> Floats:
    """IoU of masks, pair by pair; where the other is a crowd, the share of the first mask that lies in it.

    one, other: intp (p,), crowd: bool (p,). Returns float64 (p,) in [0, 1], and 0 for empty masks.
    Source: pycocotools 2.0.11, maskApi.c, rleIou.

    >>> from heldout_scoring.metrics.masks import masks_of_counts
    >>> masks = masks_of_counts([[0, 4], [1, 2, 1]], np.array([2, 2]), np.array([2, 2])).masks
    >>> mask_iou(masks, np.array([0]), np.array([1]), np.array([False])).tolist()
    [0.5]
    """
    boxes, area = masks.boxes, masks.area
    result = np.zeros(len(one))
    ours, theirs = boxes[one], boxes[other]
    low, high = (
        np.maximum(ours[:, :2], theirs[:, :2]),
        np.minimum(ours[:, :2] + ours[:, 2:], theirs[:, :2] + theirs[:, 2:]),
    )
    near = np.flatnonzero((low < high).all(axis=1))
    one, other = one[near], other[near]
    shared = mask_intersections(masks, one, other)
    union = np.where(crowd[near], area[one], area[one] + area[other] - shared)
    result[near] = shared / np.where(shared > 0, union, 1)
    return result


_MORE, _NEGATIVE, _DIGIT, _BITS = 0x20, 0x10, 0x1F, 5
_MOST_DIGITS: Final = 8
"""Of a run length: 40 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class DecodedMasks:
    """Masks; and which of them cover every pixel of their image once, bool (n,). The others are empty."""

    masks: Masks
    valid: Flags


def masks_of_counts(counts: Sequence[Sequence[int]], height: Wholes, width: Wholes) -> DecodedMasks:
    """Masks from run lengths, background and mask in turn, beginning with background.

    height, width: int64 (n,), of the images.

    >>> found = masks_of_counts([[1, 2, 1], [7]], np.array([2, 2]), np.array([2, 2]))
    >>> found.masks.area.tolist(), found.valid.tolist()
    ([2, 0], [True, False])
    """
    lengths = np.fromiter(map(len, counts), np.int64, len(counts))
    flat = np.fromiter(chain.from_iterable(counts), np.int64, int(lengths.sum()))
    return _decoded(flat, lengths, height, width)


def masks_of_texts(texts: Sequence[bytes], height: Wholes, width: Wholes) -> DecodedMasks:
    """Masks from COCO's compressed run lengths; height, width: int64 (n,), of the images.

    Source: pycocotools 2.0.11, maskApi.c, rleFrString.

    >>> found = masks_of_texts([b"121", b"1 1"], np.array([2, 2]), np.array([2, 2]))
    >>> found.masks.area.tolist(), found.valid.tolist()
    ([2, 0], [True, False])
    """
    sound = _are_numbers(texts)
    if not sound.all():
        texts = [text if fine else b"" for text, fine in zip(texts, sound, strict=True)]
    code = _codes(texts)
    last = np.flatnonzero((code & _MORE) == 0)
    digits = np.diff(last, prepend=-1)
    begins = last - digits + 1
    shift = _BITS * (np.arange(len(code)) - np.repeat(begins, digits))
    values = np.add.reduceat((code & _DIGIT) << shift, begins) if len(begins) else begins
    values -= np.where(code[last] & _NEGATIVE, 1 << (_BITS * digits), 0)
    lengths = np.bincount(_owners(texts)[last], minlength=len(texts))
    return _decoded(_summed(values, lengths), lengths, height, width)


def _codes(texts: Sequence[bytes]) -> Wholes:
    return np.frombuffer(b"".join(texts), np.uint8).astype(np.int64) - 48


def _owners(texts: Sequence[bytes]) -> Wholes:
    return np.repeat(np.arange(len(texts)), np.fromiter(map(len, texts), np.int64, len(texts)))


def _are_numbers(texts: Sequence[bytes]) -> Flags:
    """Texts of the 64 letters in which no number is unfinished or too long."""
    code, owner = _codes(texts), _owners(texts)
    last_of_text = np.append(owner[1:] != owner[:-1], True)[: len(code)]
    wrong = (code < 0) | (code > 63) | (last_of_text & (code & _MORE > 0))
    since = np.cumsum((code & _MORE) == 0)
    if len(code) > _MOST_DIGITS:
        wrong[_MOST_DIGITS:] |= since[_MOST_DIGITS:] == since[:-_MOST_DIGITS]
    found: Flags = np.bincount(owner[wrong], minlength=len(texts)) == 0
    return found


def _summed(differences: Wholes, lengths: Wholes) -> Wholes:
    """From the fourth on, a number is stored as its difference from the last but one."""
    at = _places(lengths)
    found = differences.copy()
    for parity in (1, 2):
        chosen = np.flatnonzero((at % 2 == parity % 2) & (at > 0))
        sums = np.cumsum(differences[chosen])
        begins = np.flatnonzero(at[chosen] == parity)
        before = sums[begins] - differences[chosen[begins]]
        found[chosen] = sums - np.repeat(before, np.diff(np.append(begins, len(chosen))))
    return found


def _places(lengths: Wholes) -> Wholes:
    """0, 1, 2 … for each length."""
    found: Wholes = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return found


def _decoded(counts: Wholes, lengths: Wholes, height: Wholes, width: Wholes) -> DecodedMasks:
    owner = np.repeat(np.arange(len(lengths)), lengths)
    total = np.zeros(len(lengths), np.int64)
    np.add.at(total, owner, counts)
    unfit = np.bincount(owner[(counts < 0) | (counts > 1 << (_BITS * _MOST_DIGITS))], minlength=len(lengths))
    valid = (total == height * width) & (unfit == 0)
    if not valid.all():
        counts, lengths = counts[valid[owner]], np.where(valid, lengths, 0)
        owner = owner[valid[owner]]
        total = np.where(valid, total, 0)
    ends = np.cumsum(counts) - (np.cumsum(total) - total)[owner]
    inside = np.flatnonzero(_places(lengths) % 2)
    first = np.concatenate([[0], np.cumsum(lengths // 2)])
    return DecodedMasks(Masks(ends[inside] - counts[inside], ends[inside], first, height), valid)


_SCALE: Final = 5
"""How many points the official program puts on a pixel's side."""
_OBJECT: Final = 40
"""The bit at which the number of a polygon or an object stands in a key, above a pixel."""


def masks_of_polygons(objects: Sequence[Sequence[Sequence[float]]], height: Wholes, width: Wholes) -> Masks:
    """What the polygons of each object cover together, x and y in turn, of an image of this size: int64 (n,).

    The official program walks along each side in steps of a fifth of a pixel and notes where it passes from the third
    point of a pixel to the next; only these crossings are worked out here, with the same roundings.
    Source: pycocotools 2.0.11, maskApi.c, rleFrPoly.

    >>> square = [[0.0, 0.0, 2.0, 0.0, 2.0, 2.0, 0.0, 2.0]]
    >>> masks_of_polygons([square], np.array([4]), np.array([4])).area.tolist()
    [4]
    """
    owner = np.repeat(np.arange(len(objects)), np.fromiter(map(len, objects), np.int64, len(objects)))
    polygons = list(chain.from_iterable(objects))
    if not polygons:
        nothing = np.empty(0, np.int64)
        return Masks.of_runs(nothing, nothing, nothing, height)
    sides = _sides(polygons)
    polygon, pixel = _crossings(sides, height[owner], width[owner])
    keys = np.sort((polygon << _OBJECT) | pixel, kind="stable")  # fast where long runs rise or fall
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    times = np.diff(first, append=len(keys))
    edges = keys[first[times % 2 == 1]]  # what is crossed twice is not crossed
    polygon, pixel = edges >> _OBJECT, edges & ((1 << _OBJECT) - 1)
    return _united(owner[polygon[::2]], pixel[::2], pixel[1::2], height)


_Sides = tuple[Wholes, Wholes, Wholes, Wholes, Wholes]


def _sides(polygons: Sequence[Sequence[float]]) -> _Sides:
    """Each side of each polygon from left to right if it is rather flat, and else from top to bottom.

    Number of the polygon, then x and y of both ends in fifths of a pixel.
    """
    counts = np.fromiter(map(len, polygons), np.int64, len(polygons)) // 2
    points = np.fromiter(chain.from_iterable(polygons), np.float64, 2 * counts.sum()).reshape(-1, 2)
    corners = np.trunc(_SCALE * points + 0.5).astype(np.int64)
    following = np.arange(1, len(corners) + 1)
    ends = np.cumsum(counts)
    following[ends - 1] = ends - counts
    begin, end = corners, corners[following]
    width, height = np.abs(end - begin).T
    turned = np.where(width >= height, begin[:, 0] > end[:, 0], begin[:, 1] > end[:, 1])[:, None]
    begin, end = np.where(turned, end, begin), np.where(turned, begin, end)
    return np.repeat(np.arange(len(counts)), counts), begin[:, 0], begin[:, 1], end[:, 0], end[:, 1]


def _crossings(sides: _Sides, height: Wholes, width: Wholes) -> tuple[Wholes, Wholes]:
    """Where sides pass from the third point of a column to the next: numbers of polygons, and the pixels below."""
    polygon, left, _, right, _ = sides
    low, high = np.minimum(left, right), np.maximum(left, right)
    first = np.maximum(-((2 - low) // _SCALE), 0)
    last = np.minimum((high - 3) // _SCALE, width[polygon] - 1)
    counts = np.maximum(last - first + 1, 0)
    side = np.repeat(np.arange(len(polygon)), counts)
    column = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
    row = _rows(_SCALE * column + 2, *(each[side] for each in sides[1:]))
    polygon, tall = polygon[side], height[polygon[side]]
    pixel = np.ceil(np.clip((row + 0.5) / _SCALE - 0.5, 0, tall)).astype(np.int64)
    return polygon, column * tall + pixel


def _rows(point: Wholes, left: Wholes, top: Wholes, right: Wholes, bottom: Wholes) -> Wholes:
    """How high the upper one of two neighbouring points of a side is, the left one of which is at `point`."""
    width, height = np.abs(right - left), np.abs(bottom - top)
    flat = width >= height
    slope = np.where(flat, bottom - top, right - left) / np.maximum(np.where(flat, width, height), 1)
    at = point - left
    heights = [np.trunc(top + slope * step + 0.5).astype(np.int64) for step in (at, at + 1)]
    return np.where(flat, np.minimum(*heights), top + _steps(point, left, slope, height) - 1)


def _steps(point: Wholes, left: Wholes, slope: Floats, height: Wholes) -> Wholes:
    """After how many steps downwards a steep side has passed from one of the points to its neighbour."""
    with np.errstate(divide="ignore", invalid="ignore"):
        guess = np.nan_to_num((point + 0.5 - left) / slope, posinf=0, neginf=0)
    steps: Wholes = np.clip(np.floor(guess).astype(np.int64) - 1, 1, np.maximum(height, 1))

    def has_passed(step: Wholes) -> Flags:
        x = np.trunc(left + slope * step + 0.5)
        return np.where(slope > 0, x > point, x <= point)

    for _ in range(4):
        steps += ~has_passed(steps)
    return steps


def _united(owner: Wholes, start: Wholes, end: Wholes, height: Wholes) -> Masks:
    """Runs of each object that may overlap, as runs that do not."""
    begins, ends = (owner << _OBJECT) | start, (owner << _OBJECT) | end
    keys = np.concatenate([begins << 1, (ends << 1) | 1])  # where a run ends another may begin
    keys.sort(kind="stable")
    depth = np.cumsum(1 - 2 * (keys & 1))
    opens = np.flatnonzero((depth == 1) & (keys & 1 == 0))
    closes = np.flatnonzero(depth == 0)
    where = (1 << _OBJECT) - 1
    return Masks.of_runs(
        (keys[opens] >> 1) & where, (keys[closes] >> 1) & where, keys[opens] >> (_OBJECT + 1), height
    )
