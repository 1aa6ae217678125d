"""Label images: what class each pixel of an image has."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from PIL import Image, UnidentifiedImageError

from scoring.arrays import Bytes, Integers, Places

VOID: Final = 255
"""The label of pixels that are not judged: borders, and things too hard to tell."""


class MaskError(ValueError):
    """A file is not a label image that the development kits could read."""


def read_label_image(data: bytes) -> Bytes:
    """The labels of an indexed or grey PNG, uint8 (height, width): the indices, whatever the palette says.

    Raises MaskError for anything else.

    >>> from scoring import labels_to_png
    >>> read_label_image(labels_to_png(np.array([[0, 7, 255]], np.uint8))).tolist()
    [[0, 7, 255]]
    """
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            if image.mode not in {"P", "L"}:
                raise MaskError(f"expected an indexed PNG of 8 bits, found one of mode {image.mode}")
            return np.asarray(image, dtype=np.uint8)
    except UnidentifiedImageError as error:
        raise MaskError("this is not a PNG that can be read") from error  # its own words name an address
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise MaskError(f"this is not a PNG that can be read: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class Masks:
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

        >>> Masks.of([np.array([[0, 0, 255], [255, 1, 1]], np.uint8)])[0].tolist()
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
