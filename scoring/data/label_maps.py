"""Label maps: the class of each pixel of an image."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from scoring.data.arrays import Bytes, Integers, Places


@dataclass(frozen=True, slots=True, eq=False)
class LabelMap:
    """The labels of an image, uint8 (height, width), 0 for the background.

    grey: are they grey values instead of indices? recoloured: do the indices have other colours than the kits give them?
    """

    image: str
    labels: Bytes
    grey: bool
    recoloured: bool


VOID: Final = 255
"""The label of pixels that are not judged: borders, and things too hard to tell."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelMaps:
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

        >>> LabelMaps.of([np.array([[0, 0, 255], [255, 1, 1]], np.uint8)])[0].tolist()
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


def _runs_of(labels: Bytes) -> tuple[Bytes, Integers]:
    starts = np.flatnonzero(np.concatenate(([True], labels[1:] != labels[:-1])))
    return labels[starts], np.diff(starts, append=labels.size).astype(np.int32)
