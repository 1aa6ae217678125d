"""Reading the bytes of archives that are stored."""

import uuid
from collections.abc import Iterator

from app.access import Actor
from app.downloads.schemas import StoredArchive
from app.errors import NotFoundError
from app.platform import Platform
from app.storage import content_key
from app.uploads import service as uploads

MiB = 1 << 20


def archive(platform: Platform, actor: Actor, upload_id: uuid.UUID) -> StoredArchive:
    """The stored archive of an upload of the reader's team.

    Raises NotFoundError.
    """
    upload = uploads.get_upload(platform, actor, upload_id)
    if not upload.is_stored or upload.sha256 is None:
        raise NotFoundError(f"upload {upload_id} has no stored archive")
    key = content_key(upload.sha256, upload_id)
    return StoredArchive(key, upload.sha256, upload.filename, platform.archives.size(key))


def blocks(platform: Platform, key: str, first: int, last: int) -> Iterator[bytes]:
    """The bytes of a stored archive from `first` to `last`.

    The last of a whole archive follow only once all are known to be those that were stored: a download of other bytes breaks off.
    """
    with platform.archives.open(key, first) as content:
        before, rest = b"", last - first + 1
        while rest and (block := content.read(min(MiB, rest))):
            rest -= len(block)
            yield before
            before = block
        content.read(1)
        yield before
