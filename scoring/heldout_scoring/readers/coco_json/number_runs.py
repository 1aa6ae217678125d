"""Numbers in a text, checked without looking at one after the other."""

import re
from string import ascii_letters
from types import MappingProxyType
from typing import Final

import numpy as np

EXPONENT: Final = b"/"
"""Stands for the letter of an exponent: no record of numbers has it, and no byte but the comma lies between it and digits."""
_NUMERIC: Final = b"0123456789.+-" + EXPONENT
_LOWEST: Final = np.uint8(min(_NUMERIC))
_RANGE: Final = np.uint8(max(_NUMERIC) - min(_NUMERIC))
_TO_LINES: Final = bytes.maketrans(b"}" + EXPONENT, b"\ne")
_NOT_IN_LINES: Final = b'_[]{": \t\r\n' + ascii_letters.encode()

_KINDS: Final = (b"123456789", b"0", b"-", b"+", b".", b"eE", b",", b"\n")
_DIGIT, _NULL, _MINUS, _PLUS, _DOT, _E, _COMMA, _LINE = (1 << kind for kind in range(len(_KINDS)))
_DIGITS: Final = _DIGIT | _NULL
_FOLLOWING: Final = MappingProxyType(
    {
        _DIGIT: _DIGITS | _DOT | _E | _COMMA | _LINE,
        _NULL: _DIGITS | _DOT | _E | _COMMA | _LINE,
        _MINUS: _DIGITS,
        _PLUS: _DIGITS,
        _DOT: _DIGITS,
        _E: _DIGITS | _MINUS | _PLUS,
        _COMMA: _DIGITS | _MINUS,
        _LINE: _COMMA,
    }
)
"""What may follow each kind of byte in lines of numbers, each after a comma; kinds are bits."""
_TO_KINDS: Final = bytes(
    next((1 << kind for kind, members in enumerate(_KINDS) if byte in members), 0) for byte in range(256)
)
_TO_FOLLOWING: Final = bytes(_FOLLOWING.get(kind, 0) for kind in _TO_KINDS)
_LEADING_ZERO: Final = re.compile(rb",-?0[0-9]")


def skeleton_of(text: bytes) -> bytes:
    r"""The text with one byte, of 0, in place of each run of digits, signs and points.

    >>> skeleton_of(b"[12, -3]")
    b'[\x00, \x00]'
    """
    marked = bytearray(text)
    values = np.frombuffer(marked, np.uint8)
    is_number = (values - _LOWEST <= _RANGE) & (values != ord(","))
    is_no_first = is_number[1:] <= is_number[:-1]
    values[1:] *= is_no_first.view(np.uint8)
    values[:1] *= ~is_number[:1]
    return bytes(marked.translate(None, _NUMERIC))


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
    kinds, following = (
        np.frombuffer(lines.translate(table), np.uint8) for table in (_TO_KINDS, _TO_FOLLOWING)
    )
    if not (kinds[1:] & following[:-1]).all():
        return False
    begins = kinds[:-2] & (_COMMA | _MINUS)
    is_leading_zero = (begins != 0) & (kinds[1:-1] == _NULL) & ((kinds[2:] & _DIGITS) != 0)
    return not is_leading_zero.any() or _LEADING_ZERO.search(lines) is None
