"""A store in a bucket of an S3-compatible service that knows conditional writes.

There is no lock; instead every object is written once. The bytes of a partial upload are pieces named by their offset, so
of two writers at one offset the service lets one through.
"""

import hashlib
import io
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from app.errors import ChecksumError, ConflictError, OffsetError, StorageUnavailableError
from app.storage.bucket import PART, Bucket
from app.storage.damage import is_intact, verified
from app.storage.failures import storage_errors
from app.storage.names import checked_key, content_key, is_upload_id
from app.storage.protocol import Catalogue, Content, NewDigest, Partial

MiB = 1 << 20

SEAL = "sealed"
SCRATCH = "heldout-scratch-"


@dataclass(frozen=True, slots=True)
class _Progress:
    """The pieces of a partial upload that follow each other without a gap."""

    pieces: tuple[tuple[int, str], ...]  # where each ends, and the name of its object
    is_sealed: bool

    @property
    def end(self) -> int:
        return self.pieces[-1][0] if self.pieces else 0


@dataclass(frozen=True, slots=True)
class S3Storage:
    """Contents are objects `content/<key>`, pieces `incoming/<upload>/<offset>`."""

    bucket: Bucket
    piece_size: int = PART
    catalogue: Catalogue = field(default=Catalogue(), compare=False)

    @property
    def new_digest(self) -> NewDigest:
        """As the catalogue says."""
        return self.catalogue.new_digest

    def append(self, upload_id: uuid.UUID, offset: int, stream: BinaryIO) -> int:
        """Write the stream as a piece; the service refuses the second writer at an offset."""
        progress = self._progress(upload_id)
        if progress.is_sealed:
            raise ConflictError("another request has completed or removed this upload")
        if offset != progress.end:
            raise OffsetError(progress.end)
        size = stream.seek(0, io.SEEK_END)
        if size and not self.bucket.create(f"incoming/{upload_id}/{offset:016d}", stream):
            raise OffsetError(self.length(upload_id))
        return offset + size

    def length(self, upload_id: uuid.UUID) -> int:
        """Where the last piece ends."""
        return self._progress(upload_id).end

    def commit(self, upload_id: uuid.UUID, size: int, sha256: str | None = None) -> str:
        """Seal the upload, copy its pieces into a file, and store that file: what is hashed is what is stored."""
        progress = self._progress(upload_id)
        ends = [end for end, _ in progress.pieces]
        if size not in ends or (size != progress.end and not progress.is_sealed):
            raise OffsetError(progress.end)
        self.bucket.create(f"incoming/{upload_id}/{SEAL}", io.BytesIO())
        with self.draft() as draft:
            self._download([name for _, name in progress.pieces[: ends.index(size) + 1]], draft)
            digest = self._digest(draft)
            if sha256 not in (None, digest):
                raise ChecksumError(expected=sha256 or "", found=digest)
            key = content_key(digest, upload_id)
            self._store(draft, key)
        return key

    def discard(self, upload_id: uuid.UUID) -> None:
        """Delete the pieces, the seal last: after a crash in between the upload still takes no bytes."""
        for each in self.bucket.objects(f"incoming/{upload_id}/"):
            self.bucket.delete(each.name)

    def put(self, content: bytes | Path, upload_id: uuid.UUID | None = None) -> str:
        """Write it unless it is there."""
        with self.draft() as draft:
            with storage_errors():
                if isinstance(content, Path):
                    shutil.copyfile(content, draft)
                else:
                    draft.write_bytes(content)
            key = content_key(self._digest(draft), upload_id)
            self._store(draft, key)
        return key

    def put_back(self, content: Path, key: str) -> None:
        """Write it unless it is there."""
        self._store(content, key)

    def open(self, key: str, start: int = 0) -> BinaryIO:
        """The body of the response, or what verifies it; errors while it is read are errors of storage, too."""
        body = self.bucket.open(_content(key), start)
        return body if start else verified(body, key, self.catalogue)

    @contextmanager
    def materialise(self, key: str) -> Iterator[Path]:
        """A download, verified before the block."""
        with self.draft() as draft:
            with self.open(key) as stream, storage_errors(), draft.open("wb") as file:
                shutil.copyfileobj(stream, file, MiB)
            yield draft

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A path in a folder of the machine's temporary files that nobody else can read."""
        with storage_errors():
            folder = tempfile.mkdtemp(prefix=SCRATCH)
        try:
            with storage_errors():
                yield Path(folder, "draft")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def exists(self, key: str) -> bool:
        """Whether the object is there."""
        return self.bucket.size(_content(key)) is not None

    def size(self, key: str) -> int:
        """The size of the object."""
        size = self.bucket.size(_content(key))
        if size is None:
            raise StorageUnavailableError(f"there is no content {key} in {self.bucket.name}")
        return size

    def delete(self, key: str) -> None:
        """Delete the object."""
        self.bucket.delete(_content(key))

    def contents(self) -> Iterator[Content]:
        """One for each object below `content/`."""
        for each in self.bucket.objects("content/"):
            yield Content(each.name.removeprefix("content/"), each.size, each.changed_at)

    def partials(self) -> Iterator[Partial]:
        """One for each upload below `incoming/`."""
        for name, found in groupby(self.bucket.objects("incoming/"), lambda each: each.name.split("/")[1]):
            objects = list(found)
            if is_upload_id(name):
                changed_at = max(each.changed_at for each in objects)
                yield Partial(uuid.UUID(name), sum(each.size for each in objects), changed_at)

    def sweep(self, age: timedelta) -> int:
        """Abort old multipart uploads, and remove old drafts of this machine and what a check could not delete any more."""
        before = datetime.now(UTC) - age
        removed = self.bucket.abort_uploads(before)
        for each in self.bucket.objects("check/"):
            if each.changed_at < before:
                self.bucket.delete(each.name)
                removed += 1
        for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
            with suppress(OSError):
                if folder.stat().st_mtime < time.time() - age.total_seconds():
                    shutil.rmtree(folder)
                    removed += 1
        return removed

    def check(self) -> None:
        """Write an object twice: the second time must be refused, or this service cannot be used."""
        name = f"check/{uuid.uuid4()}"
        self.bucket.create(name, io.BytesIO(b"check"))
        was_replaced = self.bucket.create(name, io.BytesIO(b"check"))
        self.bucket.delete(name)
        if was_replaced:
            raise StorageUnavailableError("the S3 service ignores If-None-Match, which uploads depend on")

    def _progress(self, upload_id: uuid.UUID) -> _Progress:
        end, pieces, is_sealed = 0, [], False
        for each in self.bucket.objects(f"incoming/{upload_id}/"):
            name = each.name.rpartition("/")[2]
            if name == SEAL:
                is_sealed = True
            elif int(name) == end:
                end += each.size
                pieces.append((end, each.name))
        return _Progress(tuple(pieces), is_sealed)

    def _download(self, names: list[str], path: Path) -> None:
        with storage_errors(), path.open("wb") as file:
            for name in names:
                with self.bucket.open(name) as stream:
                    shutil.copyfileobj(stream, file, MiB)

    def _digest(self, path: Path) -> str:
        with storage_errors(), path.open("rb") as file:
            return hashlib.file_digest(file, self.new_digest).hexdigest()

    def _store(self, path: Path, key: str) -> None:
        """Write a file to its key, unless the content is there and intact."""
        if self.exists(key):
            if is_intact(self, key):
                return
            self.delete(key)
        with storage_errors(), path.open("rb") as file:
            is_new = self.bucket.create(_content(key), file)
        if not is_new and not self.exists(key):
            raise StorageUnavailableError(f"another request that wrote content {key} has failed")


def _content(key: str) -> str:
    return f"content/{checked_key(key)}"
