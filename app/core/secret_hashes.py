"""Hashes of random tokens."""

import hashlib


def hash_of_token(token: str) -> bytes:
    """Return the hash under which a session, API or link token is stored.

    >>> len(hash_of_token("secret"))
    32
    """
    # a token has at least 178 random bits, so one round of a plain hash is enough
    return hashlib.sha256(token.encode()).digest()
