"""The names under which stores keep things."""

import re
import uuid

KEY = re.compile(r"(?P<digest>[0-9a-f]{64})(-(?P<upload>[0-9a-f]{32}))?")
UPLOAD_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def checked_key(key: str) -> str:
    """The key itself; raises ValueError for a text that could be a path.

    >>> checked_key("../../etc/passwd")
    Traceback (most recent call last):
    ValueError: a key is a sha256 in hexadecimal digits, or one and an upload, not '../../etc/passwd'
    """
    if not KEY.fullmatch(key):
        raise ValueError(f"a key is a sha256 in hexadecimal digits, or one and an upload, not {key!r}")
    return key


def content_key(sha256: str, upload_id: uuid.UUID | None) -> str:
    """The key of a content: of an upload's own one, or of one that everybody shares who stores the same bytes.

    >>> content_key("ab" * 32, uuid.UUID(int=7))[60:]
    'abab-00000000000000000000000000000007'
    """
    return sha256 if upload_id is None else f"{sha256}-{upload_id.hex}"


def digest_of(key: str) -> str:
    """The sha256 of the content under a key.

    >>> digest_of(content_key("ab" * 32, uuid.UUID(int=7))) == "ab" * 32
    True
    """
    return key[:64]


def has_digest(key: str, sha256: str) -> bool:
    """Whether the key of a content says that it has this sha256."""
    return digest_of(key) == sha256


def owner_of(key: str) -> uuid.UUID | None:
    """Which upload a content belongs to, if to one.

    >>> owner_of(content_key("ab" * 32, uuid.UUID(int=7))).int, owner_of("ab" * 32)
    (7, None)
    """
    found = KEY.fullmatch(key)
    return uuid.UUID(found["upload"]) if found and found["upload"] else None


def is_upload_id(name: str) -> bool:
    """Whether a name is that of an upload, and not of something that a person or a file system put there.

    >>> is_upload_id("7f3c2a51-9d4e-4b8a-b1c0-2f6e8d9a7c35"), is_upload_id("lost+found")
    (True, False)
    """
    return UPLOAD_ID.fullmatch(name) is not None
