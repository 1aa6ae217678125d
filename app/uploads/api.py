"""Uploads for programs: one raw stream, or pieces that resume."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from app.access import Action
from app.editions import service as editions
from app.uploads import service
from app.uploads.schemas import Announced, NewUpload, UploadView
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api", tags=["uploads"], dependencies=[requires(Action.UPLOAD)])

Filename = Annotated[
    str, Query(min_length=1, max_length=255, description="name of the archive, e.g. results.tar.gz")
]
Competitions = Annotated[
    list[int] | None, Query(description="meant for this competition alone; files of others are then problems")
]
Length = Annotated[int | None, Header(alias="Content-Length", ge=0, include_in_schema=False)]
Offset = Annotated[int, Header(ge=0, alias="Upload-Offset", description="where the upload stands")]


@router.put("/editions/{edition}/{image_set}/uploads", status_code=201)
async def send(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    filename: Filename,
    competition: Competitions = None,
    length: Length = None,
) -> UploadView:
    """Send an archive as the body of one request; the answer is its validation report.

    Should the stream break off, the upload can be resumed like one that was begun with `POST`.
    """
    told = Announced(filename, length, competitions=competition)
    phase = await run_in_threadpool(editions.phase_page, platform, edition, image_set)
    number = await run_in_threadpool(service.begin, platform, actor, phase, told)
    upload = await run_in_threadpool(service.find, platform, actor, number)
    await service.receive(platform, upload, 0, request.stream(), last=True)
    return await service.finish(platform, actor, number)


@router.post("/editions/{edition}/{image_set}/uploads", status_code=201)
def begin(
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    new: NewUpload,
    response: Response,
) -> UploadView:
    """Announce an archive that will come in pieces."""
    phase = editions.phase_page(platform, edition, image_set)
    number = service.begin(
        platform, actor, phase, Announced(new.filename, new.size, new.sha256, new.competitions)
    )
    response.headers["Location"] = f"/api/uploads/{number}"
    return service.find(platform, actor, number)


@router.patch("/uploads/{upload_id}")
async def resume(
    request: Request, platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID, offset: Offset
) -> UploadView:
    """Send the next piece; after the last one the answer holds the validation report."""
    upload = await run_in_threadpool(service.find, platform, actor, upload_id)
    await service.receive(platform, upload, offset, request.stream())
    return await service.finish(platform, actor, upload_id)


@router.head("/uploads/{upload_id}")
def where(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> Response:
    """Where an upload stands, in the header Upload-Offset."""
    upload = service.find(platform, actor, upload_id)
    return Response(headers={"Upload-Offset": str(upload.received), "Cache-Control": "no-store"})


@router.get("/uploads/{upload_id}")
def report(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> UploadView:
    """An upload with its validation report."""
    return service.find(platform, actor, upload_id)


@router.post("/uploads/{upload_id}/check")
async def check(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> UploadView:
    """Check an upload whose check was cut short; harmless otherwise."""
    return await service.finish(platform, actor, upload_id)
