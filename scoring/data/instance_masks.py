"""Detections with masks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers
from scoring.data.checking import (
    DataError,
    Names,
    as_array,
    as_floats,
    as_list,
    as_named,
    assert_lengths,
    kind_of,
    shape_of,
    some_of,
)


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
        return f"InstanceMasks({len(self)} in {len(self.images)} images, classes: {some_of(self.classes)})"

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
        images have one size. Raises DataError for anything else, such as run lengths and masks of probabilities, for NaN, and
        for names that are none of `images` or `classes`.

        >>> found = InstanceMasks.from_arrays(["a"], ["cat"], [0.5], np.ones((1, 4, 6), np.uint8))
        >>> found.masks[0].shape, found.masks[0].dtype
        ((4, 6), dtype('bool'))
        """
        images_named, labels = as_named("image", image, images), as_named("label", label, classes)
        scores, drawn = as_floats("score", score), tuple(map(_as_mask, as_list("masks", masks)))
        assert_lengths(image=images_named.place, label=labels.place, score=scores, masks=drawn)
        return cls(images_named.place, labels.place, scores, drawn, images_named.names, labels.names)


def _as_mask(values: Any) -> Flags:
    if isinstance(values, Mapping):
        raise DataError(
            f"expected masks of shape (height, width), found a mapping with {some_of([*map(str, values)])}: "
            "run lengths are read by `evaluate_coco` and `GroundTruth.from_coco`"
        )
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
