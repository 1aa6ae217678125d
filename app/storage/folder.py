"""A store in a folder, on a local disk or on a volume shared by several machines."""

import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from app.core.errors import ConflictError, OffsetError, StorageUnavailableError
from app.core.units import MiB
from app.storage.base import (
    Partial,
    Storage,
    StoredContent,
    checked_key,
    is_intact,
    is_upload_id,
    storage_errors,
    verify,
)

SEALED = ".sealed"  # suffix of a partial upload that accepts no more bytes
DRAFT = ".draft"
LOCK_SECONDS = 10.0  # a commit of 2 GiB holds its lock for about 2 seconds


@dataclass(frozen=True, slots=True)
class FolderStorage(Storage):
    """Stores contents in `content/ab/abcd…`, partial uploads and drafts in `incoming`.

    If both folders are missing although the catalogue has contents, they are not created: the volume is not mounted.
    """

    root: Path

    def append(self, upload_id: uuid.UUID, offset: int, stream: BinaryIO) -> int:
        """Append under a lock on the file; its length is read while the lock is held."""
        with storage_errors(), self._writable(upload_id, create=offset == 0) as file:
            end = _length(file)
            if offset != end:
                raise OffsetError(end)
            while block := stream.read(MiB):
                rest = memoryview(block)
                while rest:  # bytes written before the disk is full are kept and counted
                    written = file.write(rest) or 0
                    rest, end = rest[written:], end + written
            return end

    def length(self, upload_id: uuid.UUID) -> int:
        """Return the size of the file."""
        with storage_errors():
            self._expect_mounted()
            for path in (self._sealed(upload_id), self._partial(upload_id)):
                try:
                    return path.stat().st_size
                except FileNotFoundError:
                    continue
            return 0

    def commit(self, upload_id: uuid.UUID, size: int, sha256: str | None = None) -> str:
        """Seal the file, hash it and link it to its final path, all under the lock of `append`.

        Sealing is a rename: a process that opened the file earlier and gets the lock later sees that the file has moved.
        """
        with storage_errors(), self._completed(upload_id) as file:
            if _length(file) != size:
                raise OffsetError(_length(file))
            sealed = self._sealed(upload_id)
            if not sealed.exists():
                self._partial(upload_id).rename(sealed)
            return self._store_upload(sealed, upload_id, sha256)

    def discard(self, upload_id: uuid.UUID) -> None:
        """Remove the file; content committed from it stays."""
        with storage_errors():
            self._partial(upload_id).unlink(missing_ok=True)
            self._sealed(upload_id).unlink(missing_ok=True)

    @contextmanager
    def materialise(self, key: str) -> Iterator[Path]:
        """Provide the file itself, without a copy; verified after the block, to notice changes during it, too."""
        path = self._path(key)
        with storage_errors():
            path.stat()
        try:
            yield path
        finally:
            verify(self, key)

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """Provide a path next to the partial uploads, on the same disk as the contents."""
        with storage_errors():
            path = self._incoming() / f"{uuid.uuid4()}{DRAFT}"
        try:
            with storage_errors():  # the block writes to this disk
                yield path
        finally:
            with storage_errors():
                path.unlink(missing_ok=True)

    def exists(self, key: str) -> bool:
        """Whether the file exists."""
        with storage_errors():
            self._expect_mounted()
            return self._path(key).exists()

    def size(self, key: str) -> int:
        """Return the size of the file."""
        with storage_errors():
            return self._path(key).stat().st_size

    def delete(self, key: str) -> None:
        """Remove the file."""
        with storage_errors():
            self._expect_mounted()
            self._path(key).unlink(missing_ok=True)

    def contents(self) -> Iterator[StoredContent]:
        """Iterate over the files in `content`."""
        for path in self._files(self.root / "content", "*/*"):
            with storage_errors():
                found = _stat(path)
            if found is not None:
                yield StoredContent(path.name, found.st_size, _changed_at(found))

    def partials(self) -> Iterator[Partial]:
        """Iterate over the files of uploads in `incoming`."""
        for path in self._files(self.root / "incoming", "*"):
            with storage_errors():
                found = _stat(path)
            if found is not None and path.suffix in ("", SEALED) and is_upload_id(path.stem):
                yield Partial(uuid.UUID(path.stem), found.st_size, _changed_at(found))

    def sweep(self, age: timedelta) -> int:
        """Remove old drafts."""
        before, removed = datetime.now(UTC) - age, 0
        for path in self._files(self.root / "incoming", f"*{DRAFT}"):
            with storage_errors():
                found = _stat(path)
                if found is not None and _changed_at(found) < before:
                    path.unlink(missing_ok=True)
                    removed += 1
        return removed

    def check(self) -> None:
        """Write a file, read it and remove it."""
        with self.draft() as draft, storage_errors():
            draft.write_bytes(b"check")
            draft.read_bytes()

    def _path(self, key: str) -> Path:
        return self.root / "content" / key[:2] / checked_key(key)

    def _expect_mounted(self) -> None:
        """Raise StorageUnavailableError if the store should have contents but its folder is empty.

        That is the mount point of an unmounted volume; anything written there would vanish when the volume is mounted.
        """
        folders = (self.root / "incoming", self.root / "content")
        if not any(map(_stat, folders)) and self.catalogue.has_contents():
            raise StorageUnavailableError(
                f"the folder {self.root} is empty, though contents were stored there: is its volume mounted? "
                f"If they are lost for good, create the folder {folders[0]}"
            )

    def _incoming(self) -> Path:
        """The folder where everything is written first."""
        self._expect_mounted()
        folder = self.root / "incoming"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def _partial(self, upload_id: uuid.UUID) -> Path:
        return self.root / "incoming" / str(upload_id)

    def _sealed(self, upload_id: uuid.UUID) -> Path:
        return self.root / "incoming" / f"{upload_id}{SEALED}"

    @contextmanager
    def _writable(self, upload_id: uuid.UUID, *, create: bool) -> Iterator[FileIO]:
        """Open and lock the file of an upload that accepts bytes."""
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0)
        path = self._incoming() / str(upload_id)
        if self._sealed(upload_id).exists():  # checked again below, under the lock
            raise ConflictError("another request has completed or removed this upload")
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            raise OffsetError(0) from None
        with FileIO(descriptor, "ab") as file:
            _lock(file)
            if self._sealed(upload_id).exists() or not _is_at(file, path):
                raise ConflictError("another request has completed or removed this upload")
            yield file

    @contextmanager
    def _completed(self, upload_id: uuid.UUID) -> Iterator[FileIO]:
        """Open and lock the file of an upload, whether or not a commit has sealed it."""
        for path in (self._sealed(upload_id), self._partial(upload_id), self._sealed(upload_id)):
            try:
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            with FileIO(descriptor, "rb") as file:
                _lock(file)
                if _is_at(file, path):
                    yield file
                    return
        raise OffsetError(0)

    def _open(self, key: str, start: int) -> BinaryIO:
        with storage_errors():
            file = self._path(key).open("rb")
            file.seek(start)
            return file

    def _store(self, path: Path, key: str) -> None:
        """Flush the file and link it to its final path; existing content is replaced only if it is damaged."""
        with path.open("rb") as file:
            os.fchmod(file.fileno(), 0o400)  # immutable from now on
            os.fsync(file.fileno())
        target = self._path(key)
        for folder in (target.parent.parent, target.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            os.link(path, target)
        except FileExistsError:
            if not is_intact(self, key):
                with self.draft() as link:
                    os.link(path, link)
                    link.replace(target)
        for folder in (target.parent, target.parent.parent, self.root):
            # also if another process has just linked it, since it may not have flushed yet
            _flush(folder)

    def _files(self, folder: Path, pattern: str) -> Iterator[Path]:
        with storage_errors():
            self._expect_mounted()
            yield from folder.glob(pattern)


def _lock(file: FileIO) -> None:
    """Wait for the lock, but not forever: the process that holds it may be frozen."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise ConflictError("another request is writing to this upload") from None
            time.sleep(0.01)
        else:
            return


def _is_at(file: FileIO, path: Path) -> bool:
    found = _stat(path)
    return found is not None and os.path.samestat(found, os.fstat(file.fileno()))


def _length(file: FileIO) -> int:
    return os.fstat(file.fileno()).st_size


def _stat(path: Path) -> os.stat_result | None:
    """The status of a file; None if it does not exist."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _changed_at(found: os.stat_result) -> datetime:

    return datetime.fromtimestamp(found.st_mtime, UTC)


def _flush(folder: Path) -> None:
    """Flush the names in a folder to disk; without that, they may be lost in a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
