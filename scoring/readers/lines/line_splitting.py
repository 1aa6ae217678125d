"""A block of text as lines: where they are, and which have the right number of fields."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Flags
from scoring.readers.lines.grammar import LONGEST_LINE

_TAB_TO_BLANK = bytes.maketrans(b"\t", b" ")
_PIECE: Final = 1 << 17  # bytes that stay in a processor's own cache
_LINE_FEED, _BLANK, _DELETE = ord("\n"), ord(" "), 0x7F

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines of a block.

    starts and tidy_starts: where each begins in the block and in the same text with single blanks, and where the last
    one ends, (n + 1,); regular: the places of lines of printable ASCII with the right number of fields, which are not
    too long; blank: bool (n,), lines without any field.
    """

    block: bytes
    tidy: bytes
    starts: Places
    tidy_starts: Places
    regular: Places
    blank: Flags

    @classmethod
    def of(cls, block: bytes, fields: int) -> Self:
        """Split a block whose lines should have this many fields."""
        block = block if block.endswith(b"\n") else block + b"\n"
        tidy = with_single_blanks(block, keep_blank_lines=True)
        starts = _starts(block)
        tidy_starts = starts if tidy is block else _starts(tidy)
        text = np.frombuffer(tidy, np.uint8)
        strange = ((text < _BLANK) & (text != _LINE_FEED)) | (text >= _DELETE)
        fair = (np.diff(starts) <= LONGEST_LINE + 1) & (_count(strange, tidy_starts) == 0)
        blank = fair & (np.diff(tidy_starts) == 1)
        regular = fair & ~blank & (_count(text == _BLANK, tidy_starts) == fields - 1)
        return cls(block, tidy, starts, tidy_starts, np.flatnonzero(regular), blank)

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.blank)

    def raw(self, place: int) -> bytes:
        """One line as it was written, with its end."""
        return self.block[self.starts[place] : self.starts[place + 1]]

    def text(self, mask: Flags) -> bytes:
        """The selected lines as they were written."""
        return _selected(self.block, self.starts, mask)

    def regular_text(self) -> bytes:
        """The regular lines with single blanks."""
        mask = np.zeros(len(self), np.bool_)
        mask[self.regular] = True
        return _selected(self.tidy, self.tidy_starts, mask)


def line_ends(text: bytes) -> Flags:
    """Which bytes end a line."""
    ends: Flags = np.frombuffer(text, np.uint8) == _LINE_FEED
    return ends


def has_long_line(block: bytes) -> bool:
    """Is any line longer than LONGEST_LINE?"""
    half = LONGEST_LINE // 2
    halves = np.frombuffer(block, np.uint8, len(block) // half * half).reshape(-1, half)
    # a longer line would have one of these pieces to itself; the only smaller printable character is a tab
    if (halves.min(axis=1) == _LINE_FEED).all():
        return False
    start = 0
    while len(block) - start > LONGEST_LINE:
        start = block.rfind(b"\n", start, start + LONGEST_LINE + 1) + 1
        if start == 0:
            return True
    return False


def with_single_blanks(block: bytes, *, keep_blank_lines: bool = False) -> bytes:
    """The same lines with fields separated by one blank, and no blanks around them; the block itself if it is so already.

    Without keep_blank_lines there are no blank lines, and none at the end of lines that had to be changed.
    """
    if _is_tidy(block, keep_blank_lines=keep_blank_lines):
        return block
    text = block.translate(_TAB_TO_BLANK)
    pairs = ((b"  ", b" "), (b" \n", b"\n"), (b"\n ", b"\n"))
    for pair, single in pairs if keep_blank_lines else (*pairs, (b"\n\n", b"\n")):
        while pair in text:
            text = text.replace(pair, single)
    return text.lstrip(b" ") if keep_blank_lines else text.strip(b" \n")


def _is_tidy(block: bytes, *, keep_blank_lines: bool) -> bool:
    """Whether no blank is beside another one or a line end; looked up in one pass, where replacing takes several."""
    if b"\t" in block or block[:1] == b" " or block[-1:] == b" ":
        return False
    if not keep_blank_lines and block[:1] == b"\n":
        return False
    text = np.frombuffer(block, np.uint8)
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE + 1]  # one byte of the next piece, for a pair may stand across
        gaps, ends = piece == _BLANK, piece == _LINE_FEED
        either = gaps | ends
        pairs = either[:-1] & either[1:]
        if keep_blank_lines:
            pairs &= gaps[:-1] | gaps[1:]
        if pairs.any():
            return False
    return True


def _starts(text: bytes) -> Places:
    return np.concatenate([[0], np.flatnonzero(line_ends(text)) + 1])


def _count(mask: Flags, starts: Places) -> NDArray[np.int32]:
    """How many bytes of each line the mask selects."""
    if not mask.any():
        return np.zeros(len(starts) - 1, np.int32)
    counts: NDArray[np.int32] = np.add.reduceat(mask, starts[:-1], dtype=np.int32)
    return counts


def _selected(text: bytes, starts: Places, mask: Flags) -> bytes:
    return text if mask.all() else np.frombuffer(text, np.uint8)[np.repeat(mask, np.diff(starts))].tobytes()
