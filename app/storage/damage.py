"""Noticing that stored bytes have changed, by their hash, while they are read."""

import io
from typing import TYPE_CHECKING, BinaryIO

from app.errors import StorageDamagedError
from app.storage.failures import storage_errors
from app.storage.names import digest_of
from app.storage.protocol import Catalogue, Storage

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MiB = 1 << 20


def verified(stream: BinaryIO, key: str, catalogue: Catalogue) -> BinaryIO:
    """A stream of a whole content, whose end raises StorageDamagedError where the bytes before it were not those of the key."""
    return io.BufferedReader(_Verified(stream, key, catalogue), MiB)


class _Verified(io.RawIOBase):
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
