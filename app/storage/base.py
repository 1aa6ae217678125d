"""The interface of all stores, and what they share: keys, errors, and verification of content against its hash."""

import errno
import hashlib
import io
import re
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from app.core.errors import ChecksumError, StorageDamagedError, StorageFullError, StorageUnavailableError
from app.core.units import MiB

if TYPE_CHECKING:
    import hmac

    from _typeshed import WriteableBuffer


NewDigest = Callable[[], "hashlib._Hash | hmac.HMAC"]  # noqa: SLF001 - the type of sha256()

DIGEST: Final = 64  # characters with which a key begins
KEY = re.compile(r"(?P<digest>[0-9a-f]{64})(-(?P<owner>[0-9a-f]{32}))?")
UPLOAD_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def checked_key(key: str) -> str:
    """Return the key. Raises ValueError for text that is not a key and could be a path.

    >>> checked_key("../../etc/passwd")
    Traceback (most recent call last):
    ValueError: a key is a sha256 in hexadecimal digits, or one and an owner, not '../../etc/passwd'
    """
    if not KEY.fullmatch(key):
        raise ValueError(f"a key is a sha256 in hexadecimal digits, or one and an owner, not {key!r}")
    return key


def content_key(sha256: str, owner: uuid.UUID | None) -> str:
    """Return the key of content: its sha256, followed by its owner if it belongs to one.

    >>> content_key("ab" * 32, uuid.UUID(int=7))[60:]
    'abab-00000000000000000000000000000007'
    """
    return sha256 if owner is None else f"{sha256}-{owner.hex}"


def digest_of(key: str) -> str:
    """Return the sha256 in a key.

    >>> digest_of(content_key("ab" * 32, uuid.UUID(int=7))) == "ab" * 32
    True
    """
    return key[:DIGEST]


def owner_of(key: str) -> uuid.UUID | None:
    """Return the owner in a key; None for shared content.

    >>> owner_of(content_key("ab" * 32, uuid.UUID(int=7))).int, owner_of("ab" * 32)
    (7, None)
    """
    found = KEY.fullmatch(key)
    return uuid.UUID(found["owner"]) if found and found["owner"] else None


def is_upload_id(name: str) -> bool:
    """Whether a name is that of an upload, rather than of something that a person or the file system put there.

    >>> is_upload_id("7f3c2a51-9d4e-4b8a-b1c0-2f6e8d9a7c35"), is_upload_id("lost+found")
    (True, False)
    """
    return UPLOAD_ID.fullmatch(name) is not None


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn OSError into the errors that every store raises."""
    try:
        yield
    except OSError as error:
        kind = StorageFullError if error.errno in FULL else StorageUnavailableError
        raise kind(str(error)) from error


@dataclass(frozen=True, slots=True)
class StoredContent:
    """Permanently stored content; `key` starts with the sha256 of its bytes, which is an HMAC in private storage."""

    key: str
    size: int
    stored_at: datetime


@dataclass(frozen=True, slots=True)
class Partial:
    """An upload that is still in progress, or what a finished one has left behind."""

    upload_id: uuid.UUID
    size: int
    changed_at: datetime


def _ignore_damage(_key: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the rest of the server knows about a store; by default nothing.

    has_contents: whether anything was stored before. new_digest: creates hash objects for keys. note_damage: called with
    the key of content whose bytes no longer match it.
    """

    has_contents: Callable[[], bool] = bool  # bool() is False
    new_digest: NewDigest = hashlib.sha256
    note_damage: Callable[[str], None] = _ignore_damage


@dataclass(frozen=True, slots=True)
class Storage(ABC):
    """Immutable contents, and partial uploads that become contents.

    A content is never replaced by another, and it survives a power cut once its key has been returned. Any number of
    processes may call any method concurrently. Every method raises StorageUnavailableError while the store is unavailable,
    and StorageFullError when it is out of space. Reading bytes that have changed raises StorageDamagedError; storing the
    right ones again repairs the content. Stores at the same location compare equal, so that reads can be cached.

    piece_size: how many bytes each `append` should add; the last one may add fewer. largest_content: in bytes; None for any.
    """

    piece_size: int = field(default=MiB, kw_only=True)
    largest_content: int | None = field(default=None, kw_only=True)
    catalogue: Catalogue = field(default=Catalogue(), compare=False, kw_only=True)

    @property
    def new_digest(self) -> NewDigest:
        """The factory of hash objects for keys."""
        return self.catalogue.new_digest

    @abstractmethod
    def append(self, upload_id: uuid.UUID, offset: int, stream: BinaryIO) -> int:
        """Append all of the seekable `stream` to a partial upload that ends at `offset`; return the new end.

        Raises OffsetError if the upload ends elsewhere, ConflictError if another process is writing to it or it is
        complete. Bytes appended before an error are kept.
        """

    @abstractmethod
    def length(self, upload_id: uuid.UUID) -> int:
        """Return the number of bytes received of a partial upload; 0 if it is unknown."""

    @abstractmethod
    def commit(self, upload_id: uuid.UUID, size: int, sha256: str | None = None) -> str:
        """Store a partial upload of `size` bytes and return its key; nothing can be appended to it afterwards.

        The key is unique to this upload, even if another has the same bytes, and is never reused after the content is
        deleted. The bytes of the partial upload stay until `discard`, so that a commit can be repeated after a crash.
        Raises OffsetError if the size differs, ChecksumError if the content does not have this `sha256`.
        """

    @abstractmethod
    def discard(self, upload_id: uuid.UUID) -> None:
        """Remove a partial upload if it exists."""

    def put(self, content: bytes | Path, owner: uuid.UUID | None = None) -> str:
        """Store `content`, or the content of a file, and return its key, which includes the owner if there is one."""
        with self.draft() as draft:
            if isinstance(content, Path):
                shutil.copyfile(content, draft)
            else:
                draft.write_bytes(content)
            key = content_key(self._digest(draft), owner)
            self._store(draft, key)
        return key

    def put_back(self, content: Path, key: str) -> None:
        """Store the content of a verified file under the key that it had in another store."""
        with self.draft() as draft:
            shutil.copyfile(content, draft)
            self._store(draft, key)

    def open(self, key: str, start: int = 0) -> BinaryIO:
        """Open a content as a stream that begins at the byte `start`.

        A stream from byte 0 is verified: reading to its end raises StorageDamagedError if the bytes are not those that were
        stored.
        """
        stream = self._open(key, start)
        return stream if start else io.BufferedReader(_Verified(stream, key, self.catalogue), MiB)

    def presigned(self, key: str, filename: str, lifetime: timedelta) -> str | None:  # noqa: ARG002 - for stores that can
        """Return an address from which anyone can download a content for a while, saved under this name.

        None if the store has no server of its own.
        """
        return None

    @abstractmethod
    def materialise(self, key: str) -> AbstractContextManager[Path]:
        """Provide a file with this content inside the block; child processes can read it.

        Raises StorageDamagedError, at the latest at the end of the block and in place of the block's own error. Do not use
        anything computed from the file before that.
        """

    @abstractmethod
    def draft(self) -> AbstractContextManager[Path]:
        """Provide a path to write content for `put`, also from a child process; removed at the end of the block.

        An OSError inside the block becomes a storage error.
        """

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Whether the content is stored."""

    @abstractmethod
    def size(self, key: str) -> int:
        """Return the size of a content in bytes."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove a content if it exists."""

    @abstractmethod
    def contents(self) -> Iterator[StoredContent]:
        """Iterate over all contents, in no particular order."""

    @abstractmethod
    def partials(self) -> Iterator[Partial]:
        """Iterate over all partial uploads, in no particular order."""

    @abstractmethod
    def sweep(self, age: timedelta) -> int:
        """Remove what crashes left behind longer than `age` ago: drafts and half-written contents. Return how many."""

    @abstractmethod
    def check(self) -> None:
        """Raise StorageUnavailableError if the store cannot be written to and read."""

    @abstractmethod
    def _open(self, key: str, start: int) -> BinaryIO:
        """Open a content at `start` without verification."""

    @abstractmethod
    def _store(self, path: Path, key: str) -> None:
        """Store a complete file under its key permanently, unless the content exists and is intact."""

    def _store_upload(self, path: Path, upload_id: uuid.UUID, sha256: str | None) -> str:
        """Store the file of a complete upload and return its key. Raises ChecksumError if its hash differs from `sha256`."""
        digest = self._digest(path)
        if sha256 not in (None, digest):
            raise ChecksumError(expected=sha256 or "", found=digest)
        key = content_key(digest, upload_id)
        self._store(path, key)
        return key

    def _digest(self, path: Path) -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, self.new_digest).hexdigest()


class _Verified(io.RawIOBase):
    """A stream of a whole content that raises StorageDamagedError at its end if the bytes do not match the key."""

    def __init__(self, stream: BinaryIO, key: str, catalogue: Catalogue) -> None:
        self._stream, self._key, self._catalogue = stream, key, catalogue
        self._digest = catalogue.new_digest()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        with storage_errors():
            block = self._stream.read(len(view))
        view[: len(block)] = block
        self._digest.update(block)
        if not block and self._digest.hexdigest() != digest_of(self._key):
            self._catalogue.note_damage(self._key)
            raise StorageDamagedError(self._key)
        return len(block)

    def close(self) -> None:
        self._stream.close()
        super().close()


def verify(store: Storage, key: str) -> None:
    """Read a content completely. Raises StorageDamagedError, or StorageUnavailableError if it cannot be read."""
    with store.open(key) as stream:
        while stream.read(MiB):
            pass


def is_intact(store: Storage, key: str) -> bool:
    """Whether a content has the bytes that were stored. Raises StorageUnavailableError if it cannot be read."""
    try:
        verify(store, key)
    except StorageDamagedError:
        return False
    return True
