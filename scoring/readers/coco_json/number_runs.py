"""Numbers in a text, checked without looking at one after the other."""

import re
from collections.abc import Iterator
from itertools import product
from string import ascii_letters
from typing import Final

import numpy as np

EXPONENT: Final = b"\x01"  # stands for the letter of an exponent; JSON does not have it
_NUMERIC: Final = b"0123456789.+-" + EXPONENT
_TO_FLAGS: Final = bytes(byte in _NUMERIC for byte in range(256))
_TO_ZERO: Final = bytes(0 if byte in _NUMERIC else byte for byte in range(256))
_TO_LINES: Final = bytes.maketrans(b"}" + EXPONENT, b"\ne")
_NOT_IN_LINES: Final = b'_[]{": \t\r\n' + ascii_letters.encode()

_KINDS: Final = (b"123456789", b"0", b"-", b"+", b".", b"eE", b",", b"\n")
_DIGIT, _NULL, _MINUS, _PLUS, _DOT, _E, _COMMA, _LINE = range(len(_KINDS))
_TO_KINDS: Final = bytes(
    next((kind for kind, members in enumerate(_KINDS) if byte in members), 15) for byte in range(256)
)


def _pairs() -> Iterator[tuple[int, int]]:
    """What may follow each other in lines of numbers, each after a comma."""
    digits = (_DIGIT, _NULL)
    yield from product(digits, (*digits, _DOT, _E, _COMMA, _LINE))
    yield from product((_DOT, _MINUS, _PLUS), digits)
    yield from product((_E,), (*digits, _MINUS, _PLUS))
    yield from product((_COMMA,), (*digits, _MINUS))
    yield _LINE, _COMMA


_IN_ORDER: Final = bytes(first << 4 | second for first, second in _pairs())
_LEADING_ZERO: Final = re.compile(rb",-?0[0-9]")


def skeleton_of(text: bytes) -> bytes:
    r"""The text with one byte, of 0, in place of each run of digits, signs and points.

    >>> skeleton_of(b"[12, -3]")
    b'[\x00, \x00]'
    """
    inside = np.frombuffer(text.translate(_TO_FLAGS), np.uint8)
    is_no_first = inside[1:] <= inside[:-1]
    marked = text[:1].translate(_TO_ZERO) + (np.frombuffer(text, np.uint8)[1:] * is_no_first).tobytes()
    return marked.translate(None, _NUMERIC)


def mark_exponents(text: bytes) -> bytes:
    """The text with the letter of each exponent replaced by a byte that belongs to the number.

    >>> skeleton_of(mark_exponents(b'{"e": 1e5}')) == skeleton_of(b'{"e": 7}')
    True
    """
    marked = np.frombuffer(text, np.uint8).copy()
    is_digit = marked[:-1] - np.uint8(ord("0")) < 10
    marked[1:][is_digit & ((marked[1:] | 0x20) == ord("e"))] = EXPONENT[0]
    return marked.tobytes()


def lines_of(text: bytes) -> bytes:
    r"""The numbers of records, each after a comma and every record in a line, where exponents are marked.

    >>> lines_of(b', {"id": 7}, {"id": 8}')
    b',7\n,8\n'
    """
    return text.translate(_TO_LINES, _NOT_IN_LINES)


def keep_to_json(lines: bytes) -> bool:
    r"""Whether numbers are as JSON has them where a parser of CSV is more patient: signs, leading zeros, digits around points.

    lines: every number after a comma, records ended by line feeds. What no parser takes for a number is not looked for.

    >>> [keep_to_json(b"," + text + b"\n") for text in (b"-0.5", b"1e-05", b"+1", b"01", b".5", b"5.", b"-.5")]
    [True, True, False, False, False, False, False]
    """
    kinds = np.frombuffer(lines.translate(_TO_KINDS), np.uint8)
    pairs = (kinds[:-1] << 4) | kinds[1:]
    return not pairs.tobytes().translate(None, _IN_ORDER) and _LEADING_ZERO.search(lines) is None
