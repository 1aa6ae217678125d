"""Identifiers of images and categories in COCO's files."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from scoring.data.description import UNKNOWN_SIDE, Description
from scoring.readers.coco_json.fields import Identifiers


@dataclass(frozen=True, slots=True, eq=False)
class CocoNumbers:
    """The identifiers of images and categories.

    images: int64 (images,), categories: int64 (classes,), both rising; sizes: int64 (images, 2), width and height of the
    images in pixels, 0 where they are not known.
    """

    images: Identifiers
    categories: Identifiers
    sizes: Identifiers

    @classmethod
    def of(cls, description: Description) -> Self:
        """The identifiers of a description; none where it does not come from COCO's JSON.

        >>> from scoring.data.description import Image
        >>> phase = Description("COCO", "val", ("cat",), (), (Image("42", 640, 480),), class_numbers=(17,))
        >>> CocoNumbers.of(phase).images.tolist(), CocoNumbers.of(phase).categories.tolist()
        ([42], [17])
        """
        listed = description.images if description.class_numbers else ()
        sizes = np.array([(image.width, image.height) for image in listed], np.int64).reshape(-1, 2)
        return cls(
            images=np.array([int(image.id) for image in listed], np.int64),
            categories=np.array(description.class_numbers, np.int64),
            sizes=np.where(sizes == UNKNOWN_SIDE, 0, sizes),
        )
