"""JSON API: stored archives, whole or by byte ranges."""

import re
import uuid
from collections.abc import Iterator
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse

from app.core.access import Action
from app.core.errors import NotFoundError, RangeError
from app.platform import Platform
from app.storage import content_key
from app.submissions import uploads
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["uploads"])

MiB = 1 << 20


@router.get(
    "/uploads/{upload_id}/archive",
    response_class=Response,
    responses={code: {"content": {"application/octet-stream": {}}} for code in (200, 206)},
    dependencies=[requires(Action.READ_UPLOAD)],
)
def archive(
    platform: ThePlatform,
    actor: CurrentActor,
    upload_id: uuid.UUID,
    byte_range: Annotated[str | None, Header(alias="Range")] = None,
    if_range: Annotated[str | None, Header(alias="If-Range")] = None,
) -> Response:
    """Download the archive as stored, whole or a range of bytes."""
    upload = uploads.get_upload(platform, actor, upload_id)
    if not upload.is_stored or upload.sha256 is None:
        raise NotFoundError(f"upload {upload_id} has no stored archive")
    key = content_key(upload.sha256, upload_id)
    size = platform.archives.size(key)
    headers = {
        "Content-Disposition": attachment(upload.filename),
        "Accept-Ranges": "bytes",
        "ETag": f'"{upload.sha256}"',
        "Cache-Control": "no-store",
    }
    try:
        part = parse_range(byte_range if if_range in (None, headers["ETag"]) else None, size)
    except ValueError:
        raise RangeError(size) from None
    first, last = part or (0, size - 1)
    headers["Content-Length"] = str(last - first + 1)
    if part is not None:
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    content = _blocks(platform, key, first, last)
    return StreamingResponse(
        content, 206 if part else 200, headers=headers, media_type="application/octet-stream"
    )


def _blocks(platform: Platform, key: str, first: int, last: int) -> Iterator[bytes]:
    """Yield the bytes of a stored archive from `first` to `last`.

    The last bytes of a whole archive follow only after verification: a download of corrupt bytes breaks off.
    """
    with platform.archives.open(key, first) as content:
        before, rest = b"", last - first + 1
        while rest and (block := content.read(min(MiB, rest))):
            rest -= len(block)
            yield before
            before = block
        content.read(1)
        yield before


def parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and last byte of a request for a single range; None for the whole content.

    Raises ValueError for a range outside the content.

    >>> parse_range("bytes=0-99", 1000), parse_range("bytes=-1", 1000), parse_range(None, 1000)
    ((0, 99), (999, 999), None)
    """
    found = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", (header or "").strip(), re.ASCII)
    if found is None or found[0] == "bytes=-":
        return None  # several ranges or another unit: the whole content is a valid response
    first, last = found[1], found[2]
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last), size - 1) if first and last else size - 1
    if start > end:
        raise ValueError(f"bytes {start} to {end}")
    return start, end


def attachment(filename: str) -> str:
    """Return a `Content-Disposition` that saves a file under this name, whatever characters it contains.

    >>> print(attachment('a "b" ü.zip'))
    attachment; filename="a _b_ _.zip"; filename*=UTF-8''a%20%22b%22%20%C3%BC.zip
    """
    plain = re.sub(r"[^A-Za-z0-9 ._()+-]", "_", filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
