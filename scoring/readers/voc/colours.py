"""The colours in which the development kits show labels."""

from typing import Final

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
