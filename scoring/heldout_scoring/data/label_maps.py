"""Label maps, the class of each pixel of an image, and binary masks."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, Rule, from_extra, plural
from .arrays import (
    Bytes,
    Flags,
    Floats,
    Integers,
    Names,
    PerImage,
    Places,
    as_array,
    as_floats,
    as_list,
    as_named,
    as_names,
    assert_lengths,
    kind_of,
    rows_of_dicts,
    shape_of,
    some_of,
)


@dataclass(frozen=True, slots=True, eq=False)
class LabelMap:
    """The labels of an image, uint8 (height, width), 0 for the background.

    grey: whether the file held grey values instead of palette indices; recoloured: whether its palette differs from the kits';
    moved: a label that has the kits' colour of another one, and that other one, where this is so of all colours in the image.
    """

    image: str
    labels: Bytes
    grey: bool
    recoloured: bool
    moved: tuple[int, int] | None = None


VOID: Final = 255
"""The label of pixels that are not counted: borders, and objects too difficult to label."""

_SPREAD: Final = {"L;2": 85, "L;4": 17}
"""By what Pillow multiplies the values of grey images of fewer than 8 bits."""

BACKGROUND: Final = "background"
"""The label of pixels without an object, which is scored like a class."""

HOW_LABELS_COUNT: Final = f"0 is the background, k the k-th class, {VOID} void"
_OTHER_NAMES: Final = frozenset({BACKGROUND, "bg"})
_OF_VOID: Final = frozenset({"void", "ignore", "ignored", "unlabeled", "unlabelled"})


def is_background(name: str) -> bool:
    """Whether a name is one that people give to what is no object.

    >>> is_background("__background__"), is_background("cat")
    (True, False)
    """
    return _plain(name) in _OTHER_NAMES


def is_void(name: str) -> bool:
    """Whether a name is one that people give to pixels that are not counted.

    >>> is_void("__ignore__"), is_void("cat")
    (True, False)
    """
    return _plain(name) in _OF_VOID


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


def misnamed(classes: Sequence[str]) -> Rule | None:
    """Why names cannot be those of the labels from 1 on; None if they can.

    None of them is the background, and the first is not void, as where a list of names begins with label 0.

    >>> misnamed(["background", "cat"])
    "'background' is no class: 0 is the background, k the k-th class, 255 void; leave it out"
    >>> misnamed(["cat", "dog"])
    """
    wrong = list(filter(is_background, classes))
    wrong += filter(is_void, classes[:1])
    return Rule(f"'{{}}' is no class: {HOW_LABELS_COUNT}; leave it out", wrong[0]) if wrong else None


def beyond_classes(labels: Bytes, classes: int) -> Rule | None:
    """What is wrong with a label image for so many classes; None if each of its labels is one of them, the background or void.

    >>> beyond_classes(np.array([[0, 7]], np.uint8), 2)
    'expected labels from 0 to 2, and 255, found 7: 0 is the background, k the k-th class, 255 void'
    """
    most = int(labels[labels != VOID].max(initial=0))
    if most <= classes:
        return None
    return Rule(f"expected labels from 0 to {classes}, and {VOID}, found {{}}: {HOW_LABELS_COUNT}", most)


@dataclass(frozen=True, slots=True, eq=False)
class LabelRuns:
    """Label images of different sizes, kept as runs of equal labels along their rows.

    sizes: int32 (n, 2), width and height; first: int64 (n + 1), where an image's runs begin;
    labels: uint8 (runs,); lengths: int32 (runs,).
    """

    sizes: Integers
    first: Places
    labels: Bytes
    lengths: Integers

    @classmethod
    def of(cls, images: Sequence[Bytes]) -> Self:
        """The label images, each uint8 (height, width).

        >>> LabelRuns.of([np.array([[0, 0, 255], [255, 1, 1]], np.uint8)])[0].tolist()
        [[0, 0, 255], [255, 1, 1]]
        """
        runs = [_runs_of(image.ravel()) for image in images]
        return cls(
            np.array([image.shape[::-1] for image in images], np.int32).reshape(-1, 2),
            np.cumsum([0, *(len(labels) for labels, _ in runs)], dtype=np.int64),
            np.concatenate([labels for labels, _ in runs]) if runs else np.empty(0, np.uint8),
            np.concatenate([lengths for _, lengths in runs]) if runs else np.empty(0, np.int32),
        )

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: int) -> Bytes:
        labels, lengths = self.runs(index)
        width, height = self.sizes[index]
        return np.repeat(labels, lengths).reshape(height, width)

    def runs(self, index: int) -> tuple[Bytes, Integers]:
        """Labels and lengths of an image's runs."""
        runs = slice(self.first[index], self.first[index + 1])
        return self.labels[runs], self.lengths[runs]


@dataclass(frozen=True, slots=True, eq=False)
class LabelMaps:
    """A label map for each image: labels uint8 (height, width), 0 the background and k the k-th class."""

    images: tuple[str, ...]
    labels: tuple[Bytes, ...]

    def __repr__(self) -> str:
        """How many there are."""
        return f"LabelMaps({plural(len(self), 'image')})"

    def __len__(self) -> int:
        """The number of images."""
        return len(self.images)

    @classmethod
    def from_arrays(cls, labels: Sequence[Any], *, images: Sequence[str] | None = None) -> Self:
        """Label maps from whole numbers of any type, (height, width) each; sizes may differ from image to image.

        images: their names, by default "0", "1" and so on. Raises DataError for another shape or type, and for numbers that are
        not from 0 to 255.

        >>> LabelMaps.from_arrays([[[0, 1], [1, 255]]], images=["a"]).labels[0].dtype
        dtype('uint8')
        """
        maps = as_list("labels", labels)
        names = as_names("images", list(map(str, range(len(maps)))) if images is None else images)
        if len(names) != len(maps):
            raise DataError(f"expected a label map for each of {len(names)} images, found {len(maps)}")
        return cls(names, tuple(_as_labels(name, each) for name, each in zip(names, maps, strict=True)))


def _as_labels(image: str, labels: Any) -> Bytes:
    array = as_array(labels)
    if array.ndim != 2 or not array.size:
        raise DataError(
            f"expected labels of the image '{image}' with shape (height, width), found {array.shape}"
        )
    if array.dtype.kind not in "iub":
        raise DataError(
            f"expected whole numbers as the labels of the image '{image}', found {kind_of(array)}"
        )
    if not 0 <= array.min() <= array.max() <= VOID:
        raise DataError(
            f"expected labels from 0 to 255 in the image '{image}', found {array.min()} to {array.max()}"
        )
    return np.ascontiguousarray(array, np.uint8)


def _runs_of(labels: Bytes) -> tuple[Bytes, Integers]:
    starts = np.flatnonzero(np.concatenate(([True], labels[1:] != labels[:-1])))
    return labels[starts], np.diff(starts, append=labels.size).astype(np.int32)


Wholes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Masks:
    """Binary masks of several images; pixels are counted from 0 down the columns, the leftmost column first.

    start, end: int64 or int32 (r,), runs of pixels of the masks, end excluded, of each mask in rising order; first: int64
    (n + 1,), where the runs of each mask begin, and how many there are; height: int64 (n,), of the image.
    """

    start: Wholes
    end: Wholes
    first: Wholes
    height: Wholes

    def __len__(self) -> int:
        return len(self.height)

    @property
    def area(self) -> Wholes:
        """Pixels of each mask: int64 (n,)."""
        covered = np.concatenate([[0], np.cumsum(self.end - self.start)])
        found: Wholes = covered[self.first[1:]] - covered[self.first[:-1]]
        return found

    @property
    def boxes(self) -> Floats:
        """Left, top, width and height of the smallest box around each mask, 0 of an empty one: float64 (n, 4).

        Source: pycocotools 2.0.11, maskApi.c, rleToBbox.
        """
        mask = np.repeat(np.arange(len(self)), np.diff(self.first))
        height = self.height[mask]
        left, top = np.divmod(self.start, height)
        right, bottom = np.divmod(self.end - 1, height)
        over = left < right  # a run that goes on in the next column touches the bottom and the top
        low, high = (
            np.where(over, 0, np.minimum(top, bottom)),
            np.where(over, height - 1, np.maximum(top, bottom)),
        )
        found = np.zeros((len(self), 4))
        some = np.flatnonzero(np.diff(self.first))
        begins = self.first[some]
        if len(some):
            found[some, 0] = np.minimum.reduceat(np.minimum(left, right), begins)
            found[some, 1] = np.minimum.reduceat(low, begins)
            found[some, 2] = np.maximum.reduceat(np.maximum(left, right), begins) - found[some, 0] + 1
            found[some, 3] = np.maximum.reduceat(high, begins) - found[some, 1] + 1
        return found

    @classmethod
    def of_runs(cls, start: Wholes, end: Wholes, mask: Wholes, height: Wholes) -> "Masks":
        """Masks of runs; mask: int64 (r,), the mask that each run belongs to, rising."""
        return cls(start, end, np.searchsorted(mask, np.arange(len(height) + 1)), height)


def masks_of_arrays(arrays: Sequence[Flags]) -> Masks:
    """Masks of bool arrays (height, width), each of its own size.

    >>> masks_of_arrays([np.array([[False, True], [True, True]])]).start.tolist()
    [1]
    """
    edges = [np.flatnonzero(np.diff(each.T.ravel(), prepend=False, append=False)) for each in arrays]
    counts = [len(each) // 2 for each in edges]
    bounds = np.concatenate([np.empty(0, np.int64), *edges])
    height = np.array([len(each) for each in arrays], np.int64)
    return Masks(bounds[::2], bounds[1::2], np.cumsum([0, *counts]), height)


def join_masks(parts: list[Masks]) -> Masks:
    """All masks of several, one after the other.

    >>> whole = masks_of_arrays([np.ones((2, 2), np.bool_)])
    >>> join_masks([whole, whole]).area.tolist()
    [4, 4]
    """
    runs = np.cumsum([0, *(len(part.start) for part in parts)])
    return Masks(
        np.concatenate([np.empty(0, np.int64), *(part.start for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.end for part in parts)]),
        np.concatenate(
            [*(part.first[:-1] + before for part, before in zip(parts, runs, strict=False)), runs[-1:]]
        ),
        np.concatenate([np.empty(0, np.int64), *(part.height for part in parts)]),
    )


@dataclass(slots=True)
class MaskCollector:
    """Joins masks as they come, without a second copy of them; wide: whether an image has too many pixels for 32 bits.

    >>> collector = MaskCollector(wide=False)
    >>> collector.add(masks_of_arrays([np.ones((2, 2), np.bool_)]))
    >>> collector.add(masks_of_arrays([np.eye(2, dtype=np.bool_)]))
    >>> collector.masks.area.tolist()
    [4, 2]
    """

    wide: bool
    _start: bytearray = field(default_factory=bytearray)
    _end: bytearray = field(default_factory=bytearray)
    _counts: list[Wholes] = field(default_factory=list)
    _height: list[Wholes] = field(default_factory=list)

    def add(self, masks: Masks) -> None:
        """Put some masks behind the others."""
        self._start += masks.start.astype(self._type).tobytes()
        self._end += masks.end.astype(self._type).tobytes()
        self._counts.append(np.diff(masks.first))
        self._height.append(masks.height)

    @property
    def _type(self) -> type[np.int64 | np.int32]:
        return np.int64 if self.wide else np.int32

    @property
    def masks(self) -> Masks:
        """All of them; no more can be added from then on."""
        nothing = np.zeros(1, np.int64)
        return Masks(
            np.frombuffer(self._start, self._type),
            np.frombuffer(self._end, self._type),
            np.cumsum(np.concatenate([nothing, *self._counts])),
            np.concatenate([nothing[:0], *self._height]),
        )


def take_masks(masks: Masks, which: Places) -> Masks:
    """These masks, in this order; which: intp (k,), places of masks, each any number of times.

    >>> masks = masks_of_arrays([np.ones((2, 2), np.bool_), np.eye(2, dtype=np.bool_)])
    >>> take_masks(masks, np.array([1])).area.tolist()
    [2]
    """
    counts = np.diff(masks.first)[which]
    first = np.concatenate([[0], np.cumsum(counts)])
    runs = np.arange(first[-1]) + np.repeat(masks.first[which] - first[:-1], counts)
    return Masks(masks.start[runs], masks.end[runs], first, masks.height[which])


@dataclass(frozen=True, slots=True, eq=False)
class InstanceMasks:
    """Detected objects of any image and class with their masks, in the order in which equal scores rank.

    image: int32 (n,), into images; label: int32 (n,), into classes; score: float64 (n,), finite, larger is more confident;
    masks: for each a bool (height, width) of its image's size.
    """

    image: Integers
    label: Integers
    score: Floats
    masks: tuple[Flags, ...]
    images: tuple[str, ...]
    classes: tuple[str, ...]

    def __repr__(self) -> str:
        """How many there are, and which classes."""
        return f"InstanceMasks({len(self)} in {plural(len(self.images), 'image')}, classes: {some_of(self.classes)})"

    def __len__(self) -> int:
        """The number of detections."""
        return len(self.score)

    @classmethod
    def from_arrays(
        cls,
        image: Any,
        label: Any,
        score: Any,
        masks: Iterable[Any],
        *,
        images: Sequence[str] | None = None,
        classes: Names | None = None,
    ) -> Self:
        """Detections from a column each, arrays or lists; image and label as in `Detections.from_arrays`.

        masks: a bool array (height, width) for each detection, or one of 0 and 1, such as an array (n, height, width) where all
        images have one size, or run lengths as pycocotools has them, `{"size": [height, width], "counts": …}`. Raises DataError
        for anything else, such as polygons and masks of probabilities, for NaN, and for names that are none of `images` or
        `classes`.

        >>> found = InstanceMasks.from_arrays(["a"], ["cat"], [0.5], np.ones((1, 4, 6), np.uint8))
        >>> found.masks[0].shape, found.masks[0].dtype
        ((4, 6), dtype('bool'))
        """
        images_named, labels = as_named("image", image, images), as_named("label", label, classes)
        scores, drawn = as_floats("score", score), tuple(map(_as_mask, as_list("masks", masks)))
        assert_lengths(image=images_named.place, label=labels.place, score=scores, masks=drawn)
        return cls(images_named.place, labels.place, scores, drawn, images_named.names, labels.names)

    @classmethod
    def from_dicts(cls, entries: PerImage, *, images: Sequence[str] | None = None, **options: Any) -> Self:
        """Detections from a mapping with `masks`, `scores` and `labels` for each image, as torchmetrics takes them.

        entries: as for `Detections.from_dicts`; options: as for `from_arrays`. Raises DataError as `from_arrays` does.

        >>> one = {"masks": np.ones((1, 4, 6), bool), "scores": [0.5], "labels": ["cat"]}
        >>> InstanceMasks.from_dicts([one])
        InstanceMasks(1 in 1 image, classes: cat)
        """
        rows = rows_of_dicts(entries, images, ("masks", "scores", "labels"))
        masks, scores, labels = map(rows.column, ("masks", "scores", "labels"))
        return cls.from_arrays(rows.image, labels, scores, masks, images=rows.images, **options)


def _as_mask(values: Any) -> Flags:
    if isinstance(values, Mapping):
        from ..readers.coco_json.masks import array_of_runs  # noqa: PLC0415 - rests on this module

        values = array_of_runs(values)
    array = as_array(values)
    if array.ndim != 2:
        hint = ", of which masks[:, 0] takes the axis away" if array.ndim == 3 and len(array) == 1 else ""
        raise DataError(f"expected masks of shape (height, width), found one of {shape_of(array)}{hint}")
    if not array.size:
        raise DataError(f"expected masks of at least one pixel, found one of {shape_of(array)}")
    if array.dtype.kind not in "fiub":
        raise DataError(f"expected masks of 0 and 1, or of type bool, found one of {kind_of(array)}")
    found: Flags = array != 0
    if not np.array_equal(found, array):
        hint = "; of probabilities take `masks > 0.5`" if array.dtype.kind == "f" else ""
        hint = "; take `masks > 0`" if set(np.unique(array).tolist()) <= {0, 255} else hint
        raise DataError(
            f"expected masks of 0 and 1, found one with values from {array.min()} to {array.max()}{hint}"
        )
    return found


def label_colours(count: int = VOID + 1) -> bytes:
    """The palette of the development kits for the labels from 0 to count - 1: a byte each of red, green and blue.

    A label's bits are assigned to red, green and blue in turn, lowest bit first, each of which is filled from its highest bit,
    so that neighbours in number look different. Source: VOClabelcolormap.m of the kits.

    >>> label_colours(4).hex(" ", 3)
    '000000 800000 008000 808000'
    """
    return bytes(_channel(label >> channel) for label in range(count) for channel in range(3))


def _channel(bits: int) -> int:
    """Every third bit from the lowest on, the first of them the highest of the channel."""
    return sum((bits >> 3 * place & 1) << 7 - place for place in range(3))


LABEL_COLOURS: Final = label_colours()
"""The colours of all 256 labels; 255, void, is the colour of bone."""


def moved_colour(labels: Bytes, palette: bytes, classes: int) -> tuple[int, int] | None:
    """A label of an indexed image that has the kits' colour of another one, and that other one; None if not all colours are the kits'.

    labels: uint8 of any shape; palette: three bytes of each index; classes: how many there are.

    >>> moved_colour(np.array([[0, 1]], np.uint8), bytes([0, 0, 0, 0, 128, 0]), 2)
    (1, 2)
    """
    kit = {LABEL_COLOURS[3 * label : 3 * label + 3]: label for label in (*range(classes + 1), VOID)}
    used = np.flatnonzero(np.bincount(labels.ravel(), minlength=1)).tolist()
    meant = {label: kit.get(palette[3 * label : 3 * label + 3]) for label in used}
    if None in meant.values():
        return None
    return next(((label, other) for label, other in meant.items() if other not in (None, label)), None)


DAMAGED: Final = Rule("this is not a PNG that can be read: it is damaged or cut off")


class MaskError(DataError):
    """A file is not a label image that the development kits could read."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.rule = rule


def read_label_image(data: bytes) -> Bytes:
    """The labels of an indexed or grey PNG, uint8 (height, width): the indices, whatever the palette says.

    Raises MaskError for anything else.

    >>> from heldout_scoring import labels_to_png
    >>> read_label_image(labels_to_png(np.array([[0, 7, 255]], np.uint8))).tolist()
    [[0, 7, 255]]
    """
    with from_extra("files"):
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - only where an image is decoded

    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            if image.mode not in {"P", "L"}:
                raise MaskError(  # noqa: TRY301 - as every other problem
                    Rule(f"expected an indexed PNG of 8 bits, found one of mode {image.mode}")
                )
            if not image.tile:
                raise MaskError(DAMAGED)  # noqa: TRY301 - as every other problem
            spread = _SPREAD.get(str(image.tile[0].args), 1)
            return np.asarray(image, dtype=np.uint8) // np.uint8(spread)
    except UnidentifiedImageError as error:
        raise MaskError(
            Rule("this is not a PNG that can be read")
        ) from error  # its own words name an address
    except Image.DecompressionBombError as error:
        raise MaskError(Rule("this is not a PNG that can be read: it has too many pixels")) from error
    except MaskError:
        raise
    except (OSError, SyntaxError, ValueError) as error:  # as for text that unpacks to megabytes
        raise MaskError(DAMAGED) from error
