"""The images of a phase, to be found by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from scoring.description import Description, Image


@dataclass(frozen=True, slots=True, eq=False)
class ImageIndex:
    """The images of a description; made once and used for all files.

    places: where in the description an image stands; sizes: float64 (images, 2), width and height in pixels;
    names: the same as a type for the reader of tables.
    """

    title: str
    images: tuple[Image, ...]
    places: Mapping[bytes, int]
    sizes: NDArray[np.float64]
    names: pl.Enum

    @classmethod
    def of(cls, description: Description) -> Self:
        """The index of a description's images."""
        images = description.images
        return cls(
            title=f"{description.dataset} {description.image_set}",
            images=images,
            places={image.id.encode(): place for place, image in enumerate(images)},
            sizes=np.array([(image.width, image.height) for image in images], np.float64).reshape(-1, 2),
            names=pl.Enum([image.id for image in images]),
        )
