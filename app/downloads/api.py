"""Stored archives for programs, in ranges of bytes."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse

from app.access import Action
from app.downloads import service
from app.errors import RangeError
from app.uploads.rules import attachment, parse_range
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["uploads"])


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
    """The archive as it is stored; a range of bytes can be asked for."""
    found = service.archive(platform, actor, upload_id)
    headers = {
        "Content-Disposition": attachment(found.filename),
        "Accept-Ranges": "bytes",
        "ETag": f'"{found.sha256}"',
        "Cache-Control": "no-store",
    }
    if if_range not in (None, headers["ETag"]):
        byte_range = None
    try:
        part = parse_range(byte_range, found.size)
    except ValueError:
        raise RangeError(found.size) from None
    first, last = part or (0, found.size - 1)
    headers["Content-Length"] = str(last - first + 1)
    if part is not None:
        headers["Content-Range"] = f"bytes {first}-{last}/{found.size}"
    content = service.blocks(platform, found.key, first, last)
    return StreamingResponse(
        content, 206 if part else 200, headers=headers, media_type="application/octet-stream"
    )
