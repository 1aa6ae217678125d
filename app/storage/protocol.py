"""What every store can do, and what it promises."""

import hashlib
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    import hmac

NewDigest = Callable[[], "hashlib._Hash | hmac.HMAC"]  # noqa: SLF001 - the type of sha256()


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


class Storage(Protocol):
    """Immutable contents, and partial uploads that become contents.

    A content is never replaced by another, and once its key was returned it survives a power cut. Any number of processes
    may call any method at the same time. Every method raises StorageUnavailableError while the store is away, and
    StorageFullError when it has no space. Bytes that have changed since they were stored raise StorageDamagedError; storing
    the right ones again repairs them.
    """

    def __hash__(self) -> int:
        """Equal for stores at the same place, so that what was read from one can be cached."""

    @property
    def piece_size(self) -> int:
        """How many bytes one `append` should bring; the last may bring fewer."""

    @property
    def new_digest(self) -> NewDigest:
        """Makes the hash objects whose digest a key begins with."""

    def append(self, upload_id: uuid.UUID, offset: int, stream: BinaryIO) -> int:
        """Add all of `stream`, which can seek, to a partial upload that ends at `offset`; returns the new end.

        Raises OffsetError when the end is elsewhere, ConflictError when another process has the upload or it is
        complete. What was added before an error stays.
        """

    def length(self, upload_id: uuid.UUID) -> int:
        """How many bytes of a partial upload have arrived; 0 for an unknown one."""

    def commit(self, upload_id: uuid.UUID, size: int, sha256: str | None = None) -> str:
        """Store a partial upload of `size` bytes under a key of its own; no byte can be added to it any more.

        The key is that of no other upload with the same bytes, and never used again after the content was deleted.
        The bytes of the partial upload stay until `discard`, so that a commit can be repeated after a crash.
        Raises OffsetError for another size, ChecksumError when the content is not the one with this `sha256`.
        """

    def discard(self, upload_id: uuid.UUID) -> None:
        """Remove a partial upload, if it is there."""

    def put(self, content: bytes | Path, upload_id: uuid.UUID | None = None) -> str:
        """Store `content`, or the content of a file, under its key: one of this upload alone, where one is given."""

    def put_back(self, content: Path, key: str) -> None:
        """Store the content of a file, which was compared with its hash, under the key that it had in another store."""

    def open(self, key: str, start: int = 0) -> BinaryIO:
        """A stream of a content from the byte `start` on.

        One from the first byte is verified: whoever reads it to its end gets StorageDamagedError in place of that end if the
        bytes are not those that were stored.
        """

    def materialise(self, key: str) -> AbstractContextManager[Path]:
        """A file with this content for the length of the block, which a child process can read.

        Raises StorageDamagedError, at the latest at the end of the block and in place of what the block raises: nothing that
        came of the file may be used before.
        """

    def draft(self) -> AbstractContextManager[Path]:
        """A path where something to `put` can be written, also by a child process; removed at the end of the block.

        Errors of the operating system inside the block become those of storage.
        """

    def exists(self, key: str) -> bool:
        """Whether a content is stored."""

    def size(self, key: str) -> int:
        """Bytes of a content."""

    def delete(self, key: str) -> None:
        """Remove a content, if it is there."""

    def contents(self) -> Iterator[Content]:
        """Every content of the store, in no particular order."""

    def partials(self) -> Iterator[Partial]:
        """Every partial upload of the store, in no particular order."""

    def sweep(self, age: timedelta) -> int:
        """Remove drafts and half-written contents that a crash left behind longer ago than `age`; how many."""

    def check(self) -> None:
        """Raise StorageUnavailableError when the store cannot be written to and read."""
