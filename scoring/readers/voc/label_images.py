"""Label images of a development kit: indexed PNG files, and the colours in which they show labels."""

import io
from typing import Final

import numpy as np

from scoring.data.arrays import Bytes
from scoring.errors import Rule

LABELS: Final = 256
"""How many labels a palette can have."""


def label_colours(count: int = LABELS) -> bytes:
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


class MaskError(ValueError):
    """A file is not a label image that the development kits could read."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.rule = rule


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
                raise MaskError(Rule(f"expected an indexed PNG of 8 bits, found one of mode {image.mode}"))
            return np.asarray(image, dtype=np.uint8)
    except UnidentifiedImageError as error:
        raise MaskError(
            Rule("this is not a PNG that can be read")
        ) from error  # its own words name an address
    except Image.DecompressionBombError as error:
        raise MaskError(Rule("this is not a PNG that can be read: it has too many pixels")) from error
    except (OSError, SyntaxError) as error:
        raise MaskError(Rule("this is not a PNG that can be read: it is damaged or cut off")) from error
