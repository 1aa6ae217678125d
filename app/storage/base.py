"""What every store promises, and what all of them do alike: keys, errors, and the comparison of what is read with its hash."""

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
from typing import TYPE_CHECKING, BinaryIO

from app.core.errors import ChecksumError, StorageDamagedError, StorageFullError, StorageUnavailableError

if TYPE_CHECKING:
    import hmac

    from _typeshed import WriteableBuffer

MiB = 1 << 20

NewDigest = Callable[[], "hashlib._Hash | hmac.HMAC"]  # noqa: SLF001 - the type of sha256()

KEY = re.compile(r"(?P<digest>[0-9a-f]{64})(-(?P<owner>[0-9a-f]{32}))?")
UPLOAD_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def checked_key(key: str) -> str:
    """The key itself; raises ValueError for a text that could be a path.

    >>> checked_key("../../etc/passwd")
    Traceback (most recent call last):
    ValueError: a key is a sha256 in hexadecimal digits, or one and an owner, not '../../etc/passwd'
    """
    if not KEY.fullmatch(key):
        raise ValueError(f"a key is a sha256 in hexadecimal digits, or one and an owner, not {key!r}")
    return key


def content_key(sha256: str, owner: uuid.UUID | None) -> str:
    """The key of a content: its sha256, with the owner that has it alone if there is one.

    >>> content_key("ab" * 32, uuid.UUID(int=7))[60:]
    'abab-00000000000000000000000000000007'
    """
    return sha256 if owner is None else f"{sha256}-{owner.hex}"


def digest_of(key: str) -> str:
    """The sha256 of the content under a key.

    >>> digest_of(content_key("ab" * 32, uuid.UUID(int=7))) == "ab" * 32
    True
    """
    return key[:64]


def owner_of(key: str) -> uuid.UUID | None:
    """The owner that has a content alone, if there is one.

    >>> owner_of(content_key("ab" * 32, uuid.UUID(int=7))).int, owner_of("ab" * 32)
    (7, None)
    """
    found = KEY.fullmatch(key)
    return uuid.UUID(found["owner"]) if found and found["owner"] else None


def is_upload_id(name: str) -> bool:
    """Whether a name is that of an upload, and not of something that a person or a file system put there.

    >>> is_upload_id("7f3c2a51-9d4e-4b8a-b1c0-2f6e8d9a7c35"), is_upload_id("lost+found")
    (True, False)
    """
    return UPLOAD_ID.fullmatch(name) is not None


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn errors of files into those that every store raises."""
    try:
        yield
    except OSError as error:
        kind = StorageFullError if error.errno in FULL else StorageUnavailableError
        raise kind(str(error)) from error


@dataclass(frozen=True, slots=True)
class Content:
    """Something stored for good; `key` begins with the sha256 of its bytes, which in private storage is a keyed one."""

    key: str
    size: int
    stored_at: datetime


@dataclass(frozen=True, slots=True)
class Partial:
    """An upload whose bytes are still arriving, or were left behind by one that ended."""

    upload_id: uuid.UUID
    size: int
    changed_at: datetime


def _note_nowhere(_key: str) -> None:
    """Nobody keeps a list of damaged contents."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What is known of a store's contents elsewhere; by default nothing but their keys.

    has_contents: whether something was stored before. new_digest: makes the hash objects whose digest a key begins with.
    note_damage: takes the key of a content that turned out to have another one.
    """

    has_contents: Callable[[], bool] = bool  # bool() is False
    new_digest: NewDigest = hashlib.sha256
    note_damage: Callable[[str], None] = _note_nowhere


@dataclass(frozen=True, slots=True)
class Storage(ABC):
    """Immutable contents, and partial uploads that become contents.

    A content is never replaced by another, and once its key was returned it survives a power cut. Any number of processes
    may call any method at the same time. Every method raises StorageUnavailableError while the store is away, and
    StorageFullError when it has no space. Bytes that have changed since they were stored raise StorageDamagedError; storing
    the right ones again repairs them. Stores at the same place are equal, so that what was read from one can be cached.

    piece_size: how many bytes one `append` should bring; the last may bring fewer.
    """

    piece_size: int = field(default=MiB, kw_only=True)
    catalogue: Catalogue = field(default=Catalogue(), compare=False, kw_only=True)

    @property
    def new_digest(self) -> NewDigest:
        """Makes the hash objects whose digest a key begins with."""
        return self.catalogue.new_digest

    @abstractmethod
    def append(self, upload_id: uuid.UUID, offset: int, stream: BinaryIO) -> int:
        """Add all of `stream`, which can seek, to a partial upload that ends at `offset`; returns the new end.

        Raises OffsetError when the end is elsewhere, ConflictError when another process has the upload or it is
        complete. What was added before an error stays.
        """

    @abstractmethod
    def length(self, upload_id: uuid.UUID) -> int:
        """How many bytes of a partial upload have arrived; 0 for an unknown one."""

    @abstractmethod
    def commit(self, upload_id: uuid.UUID, size: int, sha256: str | None = None) -> str:
        """Store a partial upload of `size` bytes under a key of its own; no byte can be added to it any more.

        The key is that of no other upload with the same bytes, and never used again after the content was deleted.
        The bytes of the partial upload stay until `discard`, so that a commit can be repeated after a crash.
        Raises OffsetError for another size, ChecksumError when the content is not the one with this `sha256`.
        """

    @abstractmethod
    def discard(self, upload_id: uuid.UUID) -> None:
        """Remove a partial upload, if it is there."""

    def put(self, content: bytes | Path, owner: uuid.UUID | None = None) -> str:
        """Store `content`, or the content of a file, under its key: one of this owner alone, where one is given."""
        with self.draft() as draft:
            if isinstance(content, Path):
                shutil.copyfile(content, draft)
            else:
                draft.write_bytes(content)
            key = content_key(self._digest(draft), owner)
            self._store(draft, key)
        return key

    def put_back(self, content: Path, key: str) -> None:
        """Store the content of a file, which was compared with its hash, under the key that it had in another store."""
        with self.draft() as draft:
            shutil.copyfile(content, draft)
            self._store(draft, key)

    def open(self, key: str, start: int = 0) -> BinaryIO:
        """A stream of a content from the byte `start` on.

        One from the first byte is verified: whoever reads it to its end gets StorageDamagedError in place of that end if the
        bytes are not those that were stored.
        """
        stream = self._open(key, start)
        return stream if start else io.BufferedReader(_Verified(stream, key, self.catalogue), MiB)

    @abstractmethod
    def materialise(self, key: str) -> AbstractContextManager[Path]:
        """A file with this content for the length of the block, which a child process can read.

        Raises StorageDamagedError, at the latest at the end of the block and in place of what the block raises: nothing that
        came of the file may be used before.
        """

    @abstractmethod
    def draft(self) -> AbstractContextManager[Path]:
        """A path where something to `put` can be written, also by a child process; removed at the end of the block.

        Errors of the operating system inside the block become those of storage.
        """

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Whether a content is stored."""

    @abstractmethod
    def size(self, key: str) -> int:
        """Bytes of a content."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove a content, if it is there."""

    @abstractmethod
    def contents(self) -> Iterator[Content]:
        """Every content of the store, in no particular order."""

    @abstractmethod
    def partials(self) -> Iterator[Partial]:
        """Every partial upload of the store, in no particular order."""

    @abstractmethod
    def sweep(self, age: timedelta) -> int:
        """Remove drafts and half-written contents that a crash left behind longer ago than `age`; how many."""

    @abstractmethod
    def check(self) -> None:
        """Raise StorageUnavailableError when the store cannot be written to and read."""

    @abstractmethod
    def _open(self, key: str, start: int) -> BinaryIO:
        """The bytes of a content from `start` on, as they are."""

    @abstractmethod
    def _store(self, path: Path, key: str) -> None:
        """Store a complete file under its key for good, unless the content is there and intact."""

    def _store_upload(self, path: Path, upload_id: uuid.UUID, sha256: str | None) -> str:
        """Store the file of a complete upload under its key; raises ChecksumError if another one was declared."""
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
    """A whole content, whose end raises StorageDamagedError where the bytes before it were not those of the key."""

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
    """Read a content to its end. Raises StorageDamagedError, and StorageUnavailableError where it cannot be read."""
    with store.open(key) as stream:
        while stream.read(MiB):
            pass


def is_intact(store: Storage, key: str) -> bool:
    """Whether a content has the bytes that were stored. Raises StorageUnavailableError where it cannot be read."""
    try:
        verify(store, key)
    except StorageDamagedError:
        return False
    return True
