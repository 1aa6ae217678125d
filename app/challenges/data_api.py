"""JSON API: the data of a challenge, and the files that organisers offer: tus, or one raw stream for curl."""

import uuid
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from app.challenges import data_page, file_changes, files, pictures_from
from app.challenges.data_page import DataPage
from app.challenges.file_changes import DataUploadView, FileFacts, OrganisedFile, OrganisedFiles
from app.challenges.files import DownloadLog, FileView
from app.challenges.pictures_from import ParticipantsPictures
from app.core.access import Action
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires
from app.web.route_marks import Body, marked
from app.web.transfers import CONTENT_RESPONSES, ByteRange, IfRange, content_response
from app.web.tus import (
    TUS,
    DeclaredSize,
    Incoming,
    Length,
    StartOfPiece,
    parse_metadata,
    parse_sha256,
    parse_size,
    removed,
)

router = APIRouter(prefix="/api/v1", tags=["data"])

READ, ORGANISE = map(requires, (Action.READ_PUBLIC, Action.ORGANISE))

Reason = Annotated[str, Query(min_length=1, max_length=1000, description="recorded in the audit log")]
Metadata = Annotated[
    str,
    Header(
        alias="Upload-Metadata", description="optionally `sha256` (hexadecimal) of the whole file, in Base64"
    ),
]


@router.get("/challenges/{challenge}/data", dependencies=[READ])
def data(platform: ThePlatform, actor: CurrentActor, challenge: str) -> DataPage:
    """The files of a challenge, and what the server makes for every phase."""
    return data_page.data_page(platform, actor, challenge)


@router.get(
    "/challenges/{challenge}/data/{file_id}/content",
    response_class=Response,
    responses={
        **CONTENT_RESPONSES,
        307: {"description": "the address of a bucket that has it, for 15 minutes"},
    },
    dependencies=[READ, limited(Limited.VIEW)],
)
@marked(sends_file=True)
def content(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    file_id: int,
    byte_range: ByteRange = None,
    if_range: IfRange = None,
) -> Response:
    """Download a file, whole or a range of bytes."""
    found = files.start_download(platform, actor, challenge, file_id)
    return content_response(found, byte_range, if_range)


@router.get("/organise/challenges/{challenge}/data", dependencies=[ORGANISE])
def organised(platform: ThePlatform, actor: CurrentActor, challenge: str) -> OrganisedFiles:
    """All files of a challenge, also those whose bytes have not arrived, and the space that they use."""
    return file_changes.organised_files(platform, actor, challenge)


@router.put("/organise/challenges/{challenge}/pictures-from", status_code=204, dependencies=[ORGANISE])
def say_pictures(
    platform: ThePlatform, actor: CurrentActor, challenge: str, new: ParticipantsPictures
) -> None:
    """Say where participants get the images; the checklist of a draft names what of it is not so."""
    pictures_from.change(platform, actor, challenge, new)


@router.get("/organise/challenges/{challenge}/data/downloads", dependencies=[ORGANISE])
def downloads(
    platform: ThePlatform, actor: CurrentActor, challenge: str, before: Before = None
) -> DownloadLog:
    """Who has downloaded which version of a file under which version of the terms, newest first."""
    return file_changes.download_log(platform, actor, challenge, before)


@router.post("/organise/challenges/{challenge}/data", status_code=201, dependencies=[ORGANISE])
def add(
    response: Response, platform: ThePlatform, actor: CurrentActor, challenge: str, facts: FileFacts
) -> OrganisedFile:
    """Add a file without its bytes; send them to the address in the Location header, followed by /content or /uploads."""
    file_id = file_changes.add_file(platform, actor, challenge, facts)
    response.headers["Location"] = f"/api/v1/organise/challenges/{challenge}/data/{file_id}"
    return file_changes.organised_file(platform, actor, challenge, file_id)


@router.get("/organise/challenges/{challenge}/data/{file_id}", dependencies=[ORGANISE])
def file(
    platform: ThePlatform, actor: CurrentActor, challenge: str, file_id: int, before: Before = None
) -> OrganisedFile:
    """A file with its downloads, newest first."""
    return file_changes.organised_file(platform, actor, challenge, file_id, before)


@router.put("/organise/challenges/{challenge}/data/{file_id}", dependencies=[ORGANISE])
def change(
    platform: ThePlatform, actor: CurrentActor, challenge: str, file_id: int, facts: FileFacts
) -> OrganisedFile:
    """Change what is said about a file, its dates and who may download it."""
    file_changes.change_file(platform, actor, challenge, file_id, facts)
    return file_changes.organised_file(platform, actor, challenge, file_id)


@router.delete("/organise/challenges/{challenge}/data/{file_id}", status_code=204, dependencies=[ORGANISE])
def delete(
    platform: ThePlatform, actor: CurrentActor, challenge: str, file_id: int, reason: Reason
) -> Response:
    """Delete a file and its bytes. Its old addresses answer 410."""
    file_changes.delete_file(platform, actor, challenge, file_id, reason)
    return Response(status_code=204)


@router.put(
    "/organise/challenges/{challenge}/data/{file_id}/content",
    dependencies=[ORGANISE, limited(Limited.UPLOAD)],
)
@marked(takes=Body.DATA_FILE)
async def send(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    file_id: int,
    size: DeclaredSize,
) -> FileView:
    """Send the bytes of a file, or of its next version, as the body of one request."""
    return await file_changes.send(platform, actor, challenge, file_id, size, request.stream())


@router.post(
    "/organise/challenges/{challenge}/data/{file_id}/uploads",
    status_code=201,
    dependencies=[ORGANISE, TUS, limited(Limited.UPLOAD)],
)
def create(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    file_id: int,
    length: Length = None,
    metadata: Metadata = "",
) -> Response:
    """Start to send the bytes of a file, or of its next version, by tus. The Location header is the upload's URL."""
    size, sha256 = parse_size(length or "", "Upload-Length"), parse_metadata(metadata).get("sha256", "")
    upload = file_changes.start_upload(platform, actor, challenge, file_id, size, parse_sha256(sha256))
    return _incoming(upload).created()


def _incoming(upload: DataUploadView) -> Incoming:
    return Incoming(f"/api/v1/organise/data-uploads/{upload.id}", upload.size, upload.received)


@router.head("/organise/data-uploads/{data_upload_id}", response_class=Response, dependencies=[ORGANISE])
def where(platform: ThePlatform, actor: CurrentActor, data_upload_id: uuid.UUID) -> Response:
    """How many bytes of an upload have arrived (tus), in the Upload-Offset header."""
    return _incoming(file_changes.get_upload(platform, actor, data_upload_id)).where()


@router.patch("/organise/data-uploads/{data_upload_id}", status_code=204, dependencies=[ORGANISE, TUS])
@marked(takes=Body.DATA_FILE)
async def append(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    data_upload_id: uuid.UUID,
    start: StartOfPiece,
) -> Response:
    """Send the next bytes (tus). After the last ones, they become the new version of the file."""
    upload = await run_in_threadpool(file_changes.get_upload, platform, actor, data_upload_id)
    end = await file_changes.receive(platform, actor, upload, start, request.stream())
    return replace(_incoming(upload), received=end).appended()


@router.delete("/organise/data-uploads/{data_upload_id}", status_code=204, dependencies=[ORGANISE])
def cancel(platform: ThePlatform, actor: CurrentActor, data_upload_id: uuid.UUID) -> Response:
    """Delete an unfinished upload and its bytes (tus)."""
    file_changes.cancel_upload(platform, actor, data_upload_id)
    return removed()
