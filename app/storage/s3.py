"""A store in a bucket of an S3-compatible service that supports conditional writes.

There are no locks; instead, every object is written only once. A partial upload consists of pieces named by their offset, so
the service accepts only one of two writers at the same offset.
"""

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
from typing import TYPE_CHECKING, Any, BinaryIO

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from app.core.errors import ConflictError, OffsetError, StorageFullError, StorageUnavailableError
from app.core.names import attachment
from app.core.units import MiB
from app.storage.base import (
    Partial,
    Storage,
    StoredContent,
    checked_key,
    is_intact,
    is_upload_id,
    storage_errors,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from botocore.response import StreamingBody
    from mypy_boto3_s3 import S3Client


FULL = {"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage"}
SEAL = "sealed"
SCRATCH = "heldout-scratch-"


class PresentError(Exception):
    """An object with this name exists or is being written."""


@dataclass(frozen=True, slots=True)
class Account:
    """The endpoint and credentials of a service; without keys, the configuration of the machine applies."""

    endpoint: str | None
    region: str
    access_key: str | None
    secret_key: str | None


@dataclass(frozen=True, slots=True)
class Object:
    """An object below a prefix; `name` is what follows the prefix."""

    name: str
    size: int
    changed_at: datetime


def client_of(account: Account) -> "S3Client":
    """Return a client that threads may share; it does not connect yet."""
    return boto3.client(
        "s3",
        endpoint_url=account.endpoint,
        region_name=account.region,
        aws_access_key_id=account.access_key,
        aws_secret_access_key=account.secret_key,
        config=Config(
            connect_timeout=3,
            read_timeout=9,  # a service that does not respond costs two of them, as long as a silent database
            retries={"mode": "standard", "total_max_attempts": 2},
            max_pool_connections=32,
            signature_version="s3v4",  # also of addresses that are given to people
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",  # only AWS supports the newer ones
            response_checksum_validation="when_required",
        ),
    )


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket, or the part of it under a prefix, which ends with a slash or is empty."""

    name: str
    prefix: str
    client: "S3Client" = field(hash=False, compare=False, repr=False)

    def create(self, name: str, stream: BinaryIO) -> bool:
        """Write all of `stream` to a new object; return False if one with this name exists already."""
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        try:
            with storage_errors(), _s3_errors():
                self.client.put_object(**self._at(name), Body=stream, ContentLength=size, IfNoneMatch="*")
        except PresentError:
            return False
        return True

    def open(self, name: str, start: int = 0) -> BinaryIO:
        """Open an object at `start`."""
        part: dict[str, Any] = {"Range": f"bytes={start}-"} if start else {}
        with _s3_errors():
            response = self.client.get_object(**self._at(name), **part)
        return io.BufferedReader(_Body(response["Body"]), MiB)

    def size(self, name: str) -> int | None:
        """Return the size of an object; None if it does not exist."""
        try:
            with _s3_errors():
                return self.client.head_object(**self._at(name))["ContentLength"]
        except FileNotFoundError:
            return None

    def presigned(self, name: str, disposition: str, lifetime: timedelta) -> str:
        """Return an address from which an object can be downloaded for a while; a browser saves it, whatever its type."""
        response = {
            "ResponseContentDisposition": disposition,
            "ResponseContentType": "application/octet-stream",
            "ResponseCacheControl": "no-store",
        }
        with _s3_errors():
            return self.client.generate_presigned_url(
                "get_object", Params={**self._at(name), **response}, ExpiresIn=int(lifetime.total_seconds())
            )

    def delete(self, name: str) -> None:
        """Delete an object if it exists."""
        with _s3_errors():
            self.client.delete_object(**self._at(name))

    def objects(self, start: str) -> Iterator[Object]:
        """Iterate over the objects whose names start with `start`, in order of their names."""
        with _s3_errors():
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.name, Prefix=self.prefix + start
            )
            for page in pages:
                for each in page.get("Contents", ()):
                    name = each["Key"].removeprefix(self.prefix)
                    yield Object(name, each["Size"], each["LastModified"])

    def _at(self, name: str) -> dict[str, Any]:
        return {"Bucket": self.name, "Key": self.prefix + name}


@contextmanager
def _s3_errors() -> Iterator[None]:
    """Turn errors of the service and the network into errors of storage, PresentError and FileNotFoundError."""
    try:
        yield
    except ClientError as error:
        raise _translated(error) from error
    except BotoCoreError as error:
        raise StorageUnavailableError(str(error)) from error


def _translated(error: ClientError) -> Exception:
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if status in (409, 412):
        return PresentError(str(error))
    if status == 404 and error.operation_name == "HeadObject":
        return FileNotFoundError(str(error))
    kind = (
        StorageFullError
        if status == 507 or error.response["Error"]["Code"] in FULL
        else StorageUnavailableError
    )
    return kind(str(error))


class _Body(io.RawIOBase):
    """The body of a response as a file."""

    def __init__(self, body: "StreamingBody") -> None:
        self._body = body

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        with _s3_errors():
            block = self._body.read(len(view))
        view[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._body.close()
        super().close()


@dataclass(frozen=True, slots=True)
class _Progress:
    """The contiguous pieces of a partial upload."""

    pieces: tuple[tuple[int, str], ...]  # the end of each, and the name of its object
    is_sealed: bool

    @property
    def end(self) -> int:
        return self.pieces[-1][0] if self.pieces else 0


@dataclass(frozen=True, slots=True)
class S3Storage(Storage):
    """Stores contents as objects `content/<key>`, pieces as `incoming/<upload>/<offset>`."""

    bucket: Bucket
    piece_size: int = field(default=16 * MiB, kw_only=True)

    def append(self, upload_id: uuid.UUID, offset: int, stream: BinaryIO) -> int:
        """Write the stream as a piece; the service rejects the second writer at an offset."""
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
        """Return the end of the last piece."""
        return self._progress(upload_id).end

    def commit(self, upload_id: uuid.UUID, size: int, sha256: str | None = None) -> str:
        """Seal the upload, copy its pieces into a file, then hash and store that file."""
        progress = self._progress(upload_id)
        ends = [end for end, _ in progress.pieces]
        if size not in ends or (size != progress.end and not progress.is_sealed):
            raise OffsetError(progress.end)
        self.bucket.create(f"incoming/{upload_id}/{SEAL}", io.BytesIO())
        with self.draft() as draft:
            self._download([name for _, name in progress.pieces[: ends.index(size) + 1]], draft)
            return self._store_upload(draft, upload_id, sha256)

    def discard(self, upload_id: uuid.UUID) -> None:
        """Delete the pieces, the seal last: after a crash in between, the upload still accepts no bytes."""
        for each in self.bucket.objects(f"incoming/{upload_id}/"):
            self.bucket.delete(each.name)

    def presigned(self, key: str, filename: str, lifetime: timedelta) -> str | None:
        """Return a signed address at the service, without a request to it."""
        return self.bucket.presigned(_content(key), attachment(filename), lifetime)

    @contextmanager
    def materialise(self, key: str) -> Iterator[Path]:
        """Provide a download, verified before the block."""
        with self.draft() as draft:
            with self.open(key) as stream, storage_errors(), draft.open("wb") as file:
                shutil.copyfileobj(stream, file, MiB)
            yield draft

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """Provide a path in a temporary folder that no other user can read."""
        with storage_errors():
            folder = tempfile.mkdtemp(prefix=SCRATCH)
        try:
            with storage_errors():
                yield Path(folder, "draft")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def exists(self, key: str) -> bool:
        """Whether the object exists."""
        return self.bucket.size(_content(key)) is not None

    def size(self, key: str) -> int:
        """Return the size of the object."""
        size = self.bucket.size(_content(key))
        if size is None:
            raise StorageUnavailableError(f"content {key} does not exist in {self.bucket.name}")
        return size

    def delete(self, key: str) -> None:
        """Delete the object."""
        self.bucket.delete(_content(key))

    def contents(self) -> Iterator[StoredContent]:
        """Iterate over the objects in `content/`."""
        for each in self.bucket.objects("content/"):
            yield StoredContent(each.name.removeprefix("content/"), each.size, each.changed_at)

    def partials(self) -> Iterator[Partial]:
        """Iterate over the uploads in `incoming/`."""
        for name, found in groupby(self.bucket.objects("incoming/"), lambda each: each.name.split("/")[1]):
            objects = list(found)
            if is_upload_id(name):
                changed_at = max(each.changed_at for each in objects)
                yield Partial(uuid.UUID(name), sum(each.size for each in objects), changed_at)

    def sweep(self, age: timedelta) -> int:
        """Remove old drafts of this machine, and leftovers of checks."""
        before, removed = datetime.now(UTC) - age, 0
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
        """Write an object twice: the service must reject the second write, or it cannot be used."""
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

    def _open(self, key: str, start: int) -> BinaryIO:
        return self.bucket.open(_content(key), start)

    def _store(self, path: Path, key: str) -> None:
        """Write a file to its key, unless the content exists and is intact."""
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
