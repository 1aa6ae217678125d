"""Objects in a bucket of an S3-compatible service: each is written once and never replaced."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from app.errors import StorageFullError, StorageUnavailableError
from app.storage.failures import storage_errors

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from botocore.response import StreamingBody
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

MiB = 1 << 20

PART = 16 * MiB  # of a multipart upload, which may have 10,000 of them
FULL = {"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage"}


class PresentError(Exception):
    """An object of this name exists, or is being written at this moment."""


@dataclass(frozen=True, slots=True)
class Account:
    """Where a service is, and who we are there; without keys the configuration of the machine counts."""

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
    """A client, which threads may share; it opens no connection yet."""
    return boto3.client(
        "s3",
        endpoint_url=account.endpoint,
        region_name=account.region,
        aws_access_key_id=account.access_key,
        aws_secret_access_key=account.secret_key,
        config=Config(
            connect_timeout=3,
            read_timeout=9,  # a service that goes silent costs two of them, as long as a silent database
            retries={"mode": "standard", "total_max_attempts": 2},
            max_pool_connections=32,
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",  # other services than the first do not know the newer ones
            response_checksum_validation="when_required",
        ),
    )


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket, or the part of one below a prefix that ends with a slash or is empty."""

    name: str
    prefix: str
    client: "S3Client" = field(hash=False, compare=False, repr=False)

    def create(self, name: str, stream: BinaryIO) -> bool:
        """Write all of `stream` to an object; false where one of this name exists already."""
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        try:
            with storage_errors(), _s3_errors():
                if size > PART:
                    self._create_in_parts(name, stream)
                else:
                    self.client.put_object(**self._at(name), Body=stream, ContentLength=size, IfNoneMatch="*")
        except PresentError:
            return False
        return True

    def _create_in_parts(self, name: str, stream: BinaryIO) -> None:
        target = self._at(name)
        target["UploadId"] = self.client.create_multipart_upload(**target)["UploadId"]
        parts: list[CompletedPartTypeDef] = []
        try:
            while block := stream.read(PART):
                number = len(parts) + 1
                tag = self.client.upload_part(**target, PartNumber=number, Body=block)["ETag"]
                parts.append({"PartNumber": number, "ETag": tag})
            self.client.complete_multipart_upload(**target, MultipartUpload={"Parts": parts}, IfNoneMatch="*")
        except BaseException:
            with suppress(ClientError, BotoCoreError):
                self.client.abort_multipart_upload(**target)
            raise

    def open(self, name: str, start: int = 0) -> BinaryIO:
        """The bytes of an object from `start` on."""
        part: dict[str, Any] = {"Range": f"bytes={start}-"} if start else {}
        with _s3_errors():
            response = self.client.get_object(**self._at(name), **part)
        return io.BufferedReader(_Body(response["Body"]), MiB)

    def size(self, name: str) -> int | None:
        """The size of an object, if there is one."""
        try:
            with _s3_errors():
                return self.client.head_object(**self._at(name))["ContentLength"]
        except FileNotFoundError:
            return None

    def delete(self, name: str) -> None:
        """Delete an object, if there is one."""
        with _s3_errors():
            self.client.delete_object(**self._at(name))

    def objects(self, start: str) -> Iterator[Object]:
        """The objects whose names begin so, in the order of their names."""
        with _s3_errors():
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.name, Prefix=self.prefix + start
            )
            for page in pages:
                for each in page.get("Contents", ()):
                    name = each["Key"].removeprefix(self.prefix)
                    yield Object(name, each["Size"], each["LastModified"])

    def abort_uploads(self, before: datetime) -> int:
        """Abort multipart uploads that were started before; how many."""
        count = 0
        with _s3_errors():
            pages = self.client.get_paginator("list_multipart_uploads").paginate(
                Bucket=self.name, Prefix=self.prefix
            )
            for each in (upload for page in pages for upload in page.get("Uploads", ())):
                if each["Initiated"] < before:
                    self.client.abort_multipart_upload(
                        Bucket=self.name, Key=each["Key"], UploadId=each["UploadId"]
                    )
                    count += 1
        return count

    def _at(self, name: str) -> dict[str, Any]:
        return {"Bucket": self.name, "Key": self.prefix + name}


@contextmanager
def _s3_errors() -> Iterator[None]:
    """Turn errors of the service and the network into errors of storage, PresentError and FileNotFoundError."""
    try:
        yield
    except ClientError as error:
        raise _meaning_of(error) from error
    except BotoCoreError as error:
        raise StorageUnavailableError(str(error)) from error


def _meaning_of(error: ClientError) -> Exception:
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
