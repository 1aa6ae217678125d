"""Masks from run lengths, as numbers and as COCO's compressed texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from scoring.data.arrays import Flags
from scoring.data.masks import Masks, Wholes

_MORE, _NEGATIVE, _DIGIT, _BITS = 0x20, 0x10, 0x1F, 5
_MOST_DIGITS: Final = 8
"""Of a run length: 40 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class DecodedMasks:
    """Masks; and which of them cover every pixel of their image once, bool (n,). The others are empty."""

    masks: Masks
    valid: Flags


def masks_of_counts(counts: Sequence[Sequence[int]], height: Wholes, width: Wholes) -> DecodedMasks:
    """Masks from run lengths, background and mask in turn, beginning with background.

    height, width: int64 (n,), of the images.

    >>> found = masks_of_counts([[1, 2, 1], [7]], np.array([2, 2]), np.array([2, 2]))
    >>> found.masks.area.tolist(), found.valid.tolist()
    ([2, 0], [True, False])
    """
    lengths = np.fromiter(map(len, counts), np.int64, len(counts))
    flat = np.fromiter(chain.from_iterable(counts), np.int64, int(lengths.sum()))
    return _decoded(flat, lengths, height, width)


def masks_of_texts(texts: Sequence[bytes], height: Wholes, width: Wholes) -> DecodedMasks:
    """Masks from COCO's compressed run lengths; height, width: int64 (n,), of the images.

    Source: pycocotools 2.0.11, maskApi.c, rleFrString.

    >>> found = masks_of_texts([b"121", b"1 1"], np.array([2, 2]), np.array([2, 2]))
    >>> found.masks.area.tolist(), found.valid.tolist()
    ([2, 0], [True, False])
    """
    sound = _are_numbers(texts)
    if not sound.all():
        texts = [text if fine else b"" for text, fine in zip(texts, sound, strict=True)]
    code = _codes(texts)
    last = np.flatnonzero((code & _MORE) == 0)
    digits = np.diff(last, prepend=-1)
    begins = last - digits + 1
    shift = _BITS * (np.arange(len(code)) - np.repeat(begins, digits))
    values = np.add.reduceat((code & _DIGIT) << shift, begins) if len(begins) else begins
    values -= np.where(code[last] & _NEGATIVE, 1 << (_BITS * digits), 0)
    lengths = np.bincount(_owners(texts)[last], minlength=len(texts))
    return _decoded(_summed(values, lengths), lengths, height, width)


def _codes(texts: Sequence[bytes]) -> Wholes:
    return np.frombuffer(b"".join(texts), np.uint8).astype(np.int64) - 48


def _owners(texts: Sequence[bytes]) -> Wholes:
    return np.repeat(np.arange(len(texts)), np.fromiter(map(len, texts), np.int64, len(texts)))


def _are_numbers(texts: Sequence[bytes]) -> Flags:
    """Texts of the 64 letters in which no number is unfinished or too long."""
    code, owner = _codes(texts), _owners(texts)
    last_of_text = np.append(owner[1:] != owner[:-1], True)[: len(code)]
    wrong = (code < 0) | (code > 63) | (last_of_text & (code & _MORE > 0))
    since = np.cumsum((code & _MORE) == 0)
    if len(code) > _MOST_DIGITS:
        wrong[_MOST_DIGITS:] |= since[_MOST_DIGITS:] == since[:-_MOST_DIGITS]
    found: Flags = np.bincount(owner[wrong], minlength=len(texts)) == 0
    return found


def _summed(differences: Wholes, lengths: Wholes) -> Wholes:
    """From the fourth on, a number is stored as its difference from the last but one."""
    at = _places(lengths)
    found = differences.copy()
    for parity in (1, 2):
        chosen = np.flatnonzero((at % 2 == parity % 2) & (at > 0))
        sums = np.cumsum(differences[chosen])
        begins = np.flatnonzero(at[chosen] == parity)
        before = sums[begins] - differences[chosen[begins]]
        found[chosen] = sums - np.repeat(before, np.diff(np.append(begins, len(chosen))))
    return found


def _places(lengths: Wholes) -> Wholes:
    """0, 1, 2 … for each length."""
    found: Wholes = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return found


def _decoded(counts: Wholes, lengths: Wholes, height: Wholes, width: Wholes) -> DecodedMasks:
    owner = np.repeat(np.arange(len(lengths)), lengths)
    total = np.zeros(len(lengths), np.int64)
    np.add.at(total, owner, counts)
    unfit = np.bincount(owner[(counts < 0) | (counts > 1 << (_BITS * _MOST_DIGITS))], minlength=len(lengths))
    valid = (total == height * width) & (unfit == 0)
    if not valid.all():
        counts, lengths = counts[valid[owner]], np.where(valid, lengths, 0)
        owner = owner[valid[owner]]
        total = np.where(valid, total, 0)
    ends = np.cumsum(counts) - (np.cumsum(total) - total)[owner]
    inside = np.flatnonzero(_places(lengths) % 2)
    first = np.concatenate([[0], np.cumsum(lengths // 2)])
    return DecodedMasks(Masks(ends[inside] - counts[inside], ends[inside], first, height), valid)
