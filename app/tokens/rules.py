"""What an API token looks like: a prefix that scanners of leaked secrets know, random characters, a checksum."""

import secrets
import string
import zlib
from datetime import timedelta
from typing import Final

PREFIX = "hld_"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM, CHECKSUM = 30, 6  # characters; 30 of 62 are 178 bits
LIFETIMES = (7, 30, 90, 365)  # days
DEFAULT_LIFETIME: Final = 90
MAX_ACTIVE = 50  # of one person
NOTED_EVERY = timedelta(minutes=1)  # how exactly the last use is known


def new_token() -> str:
    """A token, `hld_` with 36 letters and digits.

    >>> is_token(new_token())
    True
    """
    body = PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM))
    return body + _checksum(body)


def is_token(text: str) -> bool:
    """Whether this can be a token at all: what was cut or mistyped is known without asking the database.

    >>> is_token("hld_mistyped")
    False
    """
    body, checksum = text[:-CHECKSUM], text[-CHECKSUM:]
    is_shaped = len(text) == len(PREFIX) + RANDOM + CHECKSUM and text.startswith(PREFIX) and text.isascii()
    return is_shaped and checksum == _checksum(body)


def _checksum(body: str) -> str:
    """CRC-32 in base 62, as GitHub's tokens have it."""
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(CHECKSUM):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits
