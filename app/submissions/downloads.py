"""JSON API: stored archives, whole or by byte ranges."""

import uuid

from fastapi import APIRouter, Response

from app.core.access import Action
from app.core.errors import NotFoundError
from app.storage import content_key
from app.submissions import uploads
from app.web.dependencies import CurrentActor, ThePlatform, requires
from app.web.transfers import CONTENT_RESPONSES, ByteRange, IfRange, StoredFile, content_response

router = APIRouter(prefix="/api/v1", tags=["uploads"])


@router.get(
    "/uploads/{upload_id}/archive",
    response_class=Response,
    responses=CONTENT_RESPONSES,
    dependencies=[requires(Action.READ_ARCHIVE)],
)
def archive(
    platform: ThePlatform,
    actor: CurrentActor,
    upload_id: uuid.UUID,
    byte_range: ByteRange = None,
    if_range: IfRange = None,
) -> Response:
    """Download the archive as stored, whole or a range of bytes."""
    upload = uploads.get_upload(platform, actor, upload_id, Action.READ_ARCHIVE)
    if not upload.is_stored or upload.sha256 is None:
        raise NotFoundError(f"upload {upload_id} has no stored archive")
    key = content_key(upload.sha256, upload_id)
    content = StoredFile(platform.archives, key, platform.archives.size(key), upload.filename, upload.sha256)
    return content_response(content, byte_range, if_range)
