"""Label images of a development kit: indexed PNG files."""

import io

import numpy as np

from scoring.data.arrays import Bytes


class MaskError(ValueError):
    """A file is not a label image that the development kits could read."""


def read_label_image(data: bytes) -> Bytes:
    """The labels of an indexed or grey PNG, uint8 (height, width): the indices, whatever the palette says.

    Raises MaskError for anything else.

    >>> from scoring import labels_to_png
    >>> read_label_image(labels_to_png(np.array([[0, 7, 255]], np.uint8))).tolist()
    [[0, 7, 255]]
    """
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - only where an image is decoded

    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            if image.mode not in {"P", "L"}:
                raise MaskError(f"expected an indexed PNG of 8 bits, found one of mode {image.mode}")
            return np.asarray(image, dtype=np.uint8)
    except UnidentifiedImageError as error:
        raise MaskError("this is not a PNG that can be read") from error  # its own words name an address
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise MaskError(f"this is not a PNG that can be read: {error}") from error
