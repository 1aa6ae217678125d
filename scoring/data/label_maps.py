"""Label maps: the class of each pixel of an image."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from scoring.data.arrays import Bytes, Integers, Places
from scoring.data.checking import DataError, as_array, as_list, as_names, kind_of
from scoring.errors import Rule


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

BACKGROUND: Final = "background"
"""The label of pixels without an object, which is scored like a class."""

HOW_LABELS_COUNT: Final = f"0 is the background, k the k-th class, {VOID} void"
_OTHER_NAMES: Final = frozenset({BACKGROUND, "bg"})
_OF_VOID: Final = frozenset({"void", "ignore", "unlabeled", "unlabelled"})


def is_background(name: str) -> bool:
    """Whether a name is one that people give to what is no object.

    >>> is_background("__background__"), is_background("cat")
    (True, False)
    """
    return _plain(name) in _OTHER_NAMES


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
    wrong += classes[:1] if _OF_VOID.intersection(map(_plain, classes[:1])) else []
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
        return f"LabelMaps({len(self)} images)"

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
