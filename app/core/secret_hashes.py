"""Hashes of tokens that are random already."""

import hashlib


def hash_of_token(token: str) -> bytes:
    """How a token of a session, a program or a link is stored.

    >>> len(hash_of_token("secret"))
    32
    """
    # a token is 178 random bits or more, so one round of a plain hash is enough
    return hashlib.sha256(token.encode()).digest()
