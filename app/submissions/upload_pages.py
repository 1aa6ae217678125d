"""Pages: a plain form's archive, the list of uploads, and what can be done with one."""

import uuid
from typing import Annotated

from fastapi import APIRouter, File, Request, UploadFile
from fastapi.responses import RedirectResponse, Response

from app.challenges import challenges
from app.core.access import Action
from app.core.errors import MalformedError
from app.core.rate_limits import Limited
from app.submissions import receiving, uploads
from app.submissions.uploads import UploadMetadata
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.route_marks import Body, marked
from app.web.transfers import chunks_of

router = APIRouter()

UPLOAD, READ, CHANGE = map(requires, (Action.UPLOAD, Action.READ_UPLOAD, Action.CHANGE_UPLOAD))

Sent = Annotated[UploadFile | str | None, File()]  # text if a program forgot to attach a file


@router.post("/challenges/{challenge}/{image_set}/submit", dependencies=[UPLOAD, limited(Limited.UPLOAD)])
@marked(takes=Body.ARCHIVE)
async def send(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    archive: Sent = None,
) -> Response:
    """Receive an archive from a plain form, check it, and show its report."""
    if archive is None or isinstance(archive, str) or not archive.filename:
        raise MalformedError("Choose an archive first")
    metadata = UploadMetadata(archive.filename, archive.size or 0)
    upload = await receiving.send(platform, actor, (challenge, image_set), metadata, chunks_of(archive))
    return RedirectResponse(f"/uploads/{upload.id}", status_code=303)


@router.get("/uploads", dependencies=[requires(Action.READ_OWN)])
@marked(in_views=True)
def mine(request: Request, platform: ThePlatform, actor: CurrentActor, after: str | None = None) -> Response:
    """List the team's uploads with the actions possible on each."""
    page = uploads.my_uploads(platform, actor, after)
    open_phases = () if page.uploads else challenges.open_phases(platform, actor)
    return render(request, "uploads/mine.html", page=page, open_phases=open_phases)


@router.post("/uploads/{upload_id}/check", dependencies=[CHANGE, limited(Limited.UPLOAD)])
async def check(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> Response:
    """Check an upload whose check was interrupted."""
    await receiving.check(platform, actor, upload_id)
    return RedirectResponse(f"/uploads/{upload_id}", status_code=303)


@router.post("/uploads/{upload_id}/delete", dependencies=[CHANGE])
@marked(done="The upload is deleted.")
def remove(platform: ThePlatform, actor: CurrentActor, upload_id: uuid.UUID) -> Response:
    """Delete an unconfirmed upload."""
    receiving.delete_upload(platform, actor, upload_id)
    return RedirectResponse("/uploads", status_code=303)


@router.get("/uploads/{upload_id}/archive", dependencies=[requires(Action.READ_ARCHIVE)])
def archive(upload_id: uuid.UUID) -> Response:
    """Redirect to the stored archive."""
    return RedirectResponse(f"/api/v1/uploads/{upload_id}/archive", status_code=303)
