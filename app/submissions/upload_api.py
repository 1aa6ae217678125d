"""JSON API: uploads by the tus protocol, or as one raw stream for curl."""

import uuid
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from app.core.access import Action, Actor
from app.core.errors import (
    RemovedError,
)
from app.core.rate_limits import Limited
from app.platform import Platform
from app.submissions import receiving
from app.submissions import uploads as views
from app.submissions.uploads import (
    UploadMetadata,
    UploadPage,
    UploadView,
)
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires
from app.web.error_responses import TUS_VERSION
from app.web.route_marks import Body, marked
from app.web.tus import (
    PIECE_TYPE,
    TUS,
    TUS_EXTENSIONS,
    ContentType,
    DeclaredSize,
    Incoming,
    Length,
    StartOfPiece,
    removed,
)

router = APIRouter(prefix="/api/v1", tags=["uploads"])

UPLOAD, READ, CHANGE = map(requires, (Action.UPLOAD, Action.READ_UPLOAD, Action.CHANGE_UPLOAD))


Filename = Annotated[
    str, Query(min_length=1, max_length=255, description="name of the archive, e.g. results.tar.gz")
]
Competitions = Annotated[
    list[int] | None, Query(description="only for these competitions; files of others are problems then")
]
Metadata = Annotated[
    str,
    Header(
        alias="Upload-Metadata",
        description="`filename`, and optionally `sha256` (hexadecimal, of the whole archive) and "
        "`competitions` (such as 3,4), each with its value in Base64",
    ),
]


@router.options(
    "/challenges/{challenge}/{image_set}/uploads",  # noqa: FAST003 - one response for all addresses
    status_code=204,
    dependencies=[requires(Action.READ_PUBLIC)],
    include_in_schema=False,
)
@router.options(
    "/uploads/{upload_id}",
    status_code=204,
    dependencies=[requires(Action.READ_PUBLIC)],
    include_in_schema=False,
)
def options(platform: ThePlatform) -> Response:
    """The supported version and extensions of the tus protocol."""
    headers = {
        "Tus-Resumable": TUS_VERSION,
        "Tus-Version": TUS_VERSION,
        "Tus-Extension": TUS_EXTENSIONS,
        "Tus-Max-Size": str(platform.settings.max_upload),
    }
    return Response(status_code=204, headers=headers)


@router.post(
    "/challenges/{challenge}/{image_set}/uploads",
    status_code=201,
    dependencies=[UPLOAD, TUS, limited(Limited.UPLOAD)],
)
@marked(takes=Body.ARCHIVE)
async def create(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    length: Length = None,
    metadata: Metadata = "",
    content_type: ContentType = "",
) -> Response:
    """Create an upload (tus). The Location header is its URL. The body may contain its first bytes."""
    new = UploadMetadata.of_headers(length, metadata)
    upload = await run_in_threadpool(receiving.create_upload, platform, actor, (challenge, image_set), new)
    if content_type == PIECE_TYPE:
        await receiving.receive(platform, upload, 0, request.stream())
        upload = await receiving.finish(platform, actor, upload.id)
    return _incoming(upload).created()


def _incoming(upload: UploadView) -> Incoming:
    about = {"filename": upload.filename, "sha256": upload.expected_sha256 or ""}
    return Incoming(
        f"/api/v1/uploads/{upload.id}",
        upload.size,
        upload.received,
        upload.expires_at,
        {key: value for key, value in about.items() if value},
    )


@router.patch("/uploads/{upload_id}", status_code=204, dependencies=[CHANGE, TUS])
@marked(takes=Body.ARCHIVE)
async def append(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    upload_id: uuid.UUID,
    start: StartOfPiece,
) -> Response:
    """Send the next bytes (tus). After the last ones, the archive is checked before the response is sent."""
    upload = await run_in_threadpool(_stored, platform, actor, upload_id, Action.CHANGE_UPLOAD)
    await receiving.receive(platform, upload, start, request.stream())
    return _incoming(await receiving.finish(platform, actor, upload_id)).appended()


def _stored(platform: Platform, actor: Actor, upload_id: uuid.UUID, action: Action) -> UploadView:
    """Return an upload whose bytes have not been removed."""
    upload = views.get_upload(platform, actor, upload_id, action)
    if upload.is_removed:
        raise RemovedError("the bytes of this upload have been removed; send the archive again")
    return upload


@router.head("/uploads/{upload_id}", response_class=Response, dependencies=[READ])
def where(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> Response:
    """How many bytes of an upload have arrived (tus), in the Upload-Offset header."""
    upload = _stored(platform, actor, upload_id, Action.READ_UPLOAD)
    return replace(_incoming(upload), received=receiving.offset_of(platform, upload)).where()


@router.delete("/uploads/{upload_id}", status_code=204, dependencies=[CHANGE])
def remove(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> Response:
    """Delete an unconfirmed upload and its bytes (tus)."""
    receiving.delete_upload(platform, actor, upload_id)
    return removed()


@router.put(
    "/challenges/{challenge}/{image_set}/uploads",
    status_code=201,
    dependencies=[UPLOAD, limited(Limited.UPLOAD)],
)
@marked(takes=Body.ARCHIVE)
async def send(
    request: Request,
    response: Response,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    filename: Filename,
    size: DeclaredSize,
    competition: Competitions = None,
) -> UploadView:
    """Send an archive as the body of one request. The response is its validation report.

    If the stream breaks off, the upload can be resumed with tus.
    """
    metadata = UploadMetadata(filename, size, competitions=competition)
    upload = await receiving.send(platform, actor, (challenge, image_set), metadata, request.stream())
    response.headers["Location"] = f"/api/v1/uploads/{upload.id}"
    return upload


@router.get("/uploads", dependencies=[requires(Action.READ_OWN)])
def uploads(platform: ThePlatform, actor: CurrentActor, after: str | None = None) -> UploadPage:
    """Your team's uploads, newest first, 50 per page. For the next page, pass `next` as `after`."""
    return views.my_uploads(platform, actor, after)


@router.get("/uploads/{upload_id}", dependencies=[READ])
def upload(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> UploadView:
    """An upload with its validation report."""
    return views.get_upload(platform, actor, upload_id)


@router.post("/uploads/{upload_id}/check", dependencies=[CHANGE, limited(Limited.UPLOAD)])
async def check(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> UploadView:
    """Check an upload whose check was interrupted or could not start (`state` is `received`); otherwise do nothing."""
    return await receiving.check(platform, actor, upload_id)
