"""The form that takes an archive."""

import uuid
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, File, Request, UploadFile
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

import scoring
from app.access import Action
from app.editions import service as editions
from app.uploads import service
from app.uploads.schemas import Announced
from app.web import CurrentActor, ThePlatform, render, requires

router = APIRouter(dependencies=[requires(Action.UPLOAD)])

PIECE = 1 << 20

Sent = Annotated[UploadFile | str | None, File()]  # words where a program forgot to attach a file


@router.get("/editions/{edition}/{image_set}/submit")
def form(request: Request, platform: ThePlatform, edition: str, image_set: str) -> Response:
    """Where to drop an archive, and what it should hold."""
    return _form(request, platform, edition, image_set, (), 200)


def _form(
    request: Request,
    platform: ThePlatform,
    edition: str,
    image_set: str,
    problems: tuple[str, ...],
    code: int,
) -> Response:
    phase = editions.phase_page(platform, edition, image_set)
    return render(
        request,
        "submissions/submit.html",
        code=code,
        phase=phase,
        competitions=[one for one in scoring.competitions(phase.dataset) if scoring.is_scorable(one)],
        max_upload=platform.settings.max_upload,
        problems=problems,
    )


@router.post("/editions/{edition}/{image_set}/submit")
async def send(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    archive: Sent = None,
) -> Response:
    """Take an archive from a plain form, check it, and show its report."""
    if archive is None or isinstance(archive, str) or not archive.filename:
        return await run_in_threadpool(
            _form, request, platform, edition, image_set, ("choose an archive first",), 422
        )
    told = Announced(archive.filename, archive.size)
    phase = await run_in_threadpool(editions.phase_page, platform, edition, image_set)
    number = await run_in_threadpool(service.begin, platform, actor, phase, told)
    upload = await run_in_threadpool(service.find, platform, actor, number)
    await service.receive(platform, upload, 0, _pieces(archive), last=True)
    await service.finish(platform, actor, number)
    return RedirectResponse(f"/uploads/{number}", status_code=303)


async def _pieces(archive: UploadFile) -> AsyncIterator[bytes]:
    while piece := await archive.read(PIECE):
        yield piece


@router.post("/uploads/{upload_id}/check")
async def check(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> Response:
    """Check an upload whose check was cut short."""
    await service.finish(platform, actor, upload_id)
    return RedirectResponse(f"/uploads/{upload_id}", status_code=303)
