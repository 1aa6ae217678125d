"""Pages: the data of a challenge for everyone, and the forms with which organisers offer files."""

import uuid
from typing import Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from app.challenges import data_page, file_changes, files, kits, pictures_from
from app.challenges.file_changes import FileFacts, OrganisedFile
from app.challenges.pictures_from import ParticipantsPictures
from app.core.access import Action, Actor
from app.core.errors import FieldsError, MalformedError
from app.core.names import shown_name
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.models import Audience, FileKind
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, render_shared, requires
from app.web.forms import LONGEST_REASON, Form, FormWithFile, TheForm
from app.web.route_marks import Body, marked
from app.web.transfers import ByteRange, IfRange, chunks_of, content_response
from app.web.zones import in_form

router = APIRouter()

READ, ORGANISE = map(requires, (Action.READ_PUBLIC, Action.ORGANISE))
CHOICES: Final[dict[str, Any]] = {"kinds": tuple(FileKind), "audiences": tuple(Audience)}


@router.get("/challenges/{challenge}/data", dependencies=[READ])
def data(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Show the files of a challenge, and what the server makes for every phase."""

    def read() -> dict[str, Any]:
        page = data_page.data_page(platform, actor, challenge)
        return {"page": page, "phases": data_page.phases_of(platform, challenge)}

    if actor.is_logged_in:
        return render(request, "data/data.html", **read())
    return render_shared(request, "data/data.html", challenge, read)


@router.get("/challenges/{challenge}/data/SHA256SUMS", dependencies=[READ])
def checksums(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Download the SHA-256 of every file that the reader may download, as `sha256sum -c` reads it."""
    headers = {"Content-Disposition": 'attachment; filename="SHA256SUMS"', "Cache-Control": "no-store"}
    return PlainTextResponse(data_page.checksums(platform, actor, challenge), headers=headers)


@router.get("/challenges/{challenge}/kit.tar.gz", dependencies=[READ, limited(Limited.VIEW)])
@marked(sends_file=True)
def kit(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    byte_range: ByteRange = None,
    if_range: IfRange = None,
) -> Response:
    """Download the development kit of a challenge, whole or a range of bytes."""
    return content_response(kits.start_download(platform, actor, challenge, None), byte_range, if_range)


@router.get(
    "/challenges/{challenge}/{image_set}/annotation.tar.gz", dependencies=[READ, limited(Limited.VIEW)]
)
@marked(sends_file=True)
def annotation(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    byte_range: ByteRange = None,
    if_range: IfRange = None,
) -> Response:
    """Download the public annotation of a phase, whole or a range of bytes."""
    found = kits.start_download(platform, actor, challenge, image_set)
    return content_response(found, byte_range, if_range)


@router.get("/challenges/{challenge}/data/{file_id}", dependencies=[READ, limited(Limited.VIEW)])
@marked(sends_file=True, in_views=False)
def download(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    file_id: int,
    byte_range: ByteRange = None,
    if_range: IfRange = None,
) -> Response:
    """Download a file of a challenge, whole or a range of bytes."""
    found = files.start_download(platform, actor, challenge, file_id)
    return content_response(found, byte_range, if_range)


@router.get("/organise/challenges/{challenge}/data", dependencies=[ORGANISE])
def organise(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """List the files of a challenge for its organisers, with the form for another one."""
    return _list(request, platform, actor, challenge, Form())


def _list(request: Request, platform: Platform, actor: Actor, challenge: str, form: Form) -> Response:
    page = file_changes.organised_files(platform, actor, challenge)
    form.fill(page.pictures.form)
    return render(request, "data/organise.html", page=page, form=form, **CHOICES)


@router.post("/organise/challenges/{challenge}/pictures-from", dependencies=[ORGANISE])
@marked(done="Saved: where participants get the images.")
def say_pictures(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Say where participants get the pictures."""
    with form.showing_errors():
        pictures_from.change(platform, actor, challenge, form.read(ParticipantsPictures))
        return RedirectResponse(f"/organise/challenges/{quote(challenge)}/data#pictures", status_code=303)
    return _list(request, platform, actor, challenge, form)


@router.post("/organise/challenges/{challenge}/data", dependencies=[ORGANISE, limited(Limited.UPLOAD)])
@marked(takes=Body.DATA_FILE)
async def add(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: FormWithFile
) -> Response:
    """Add a file with its bytes, or without them if they come later."""
    here = f"/organise/challenges/{quote(challenge)}/data"
    with form.showing_errors(conflict="name"):
        facts, file = form.read(FileFacts), form.file("file")
        if form.text("later"):
            file_id = await run_in_threadpool(file_changes.add_file, platform, actor, challenge, facts)
            return RedirectResponse(f"{here}/{file_id}#bytes", status_code=303)
        if file is None:
            raise FieldsError({"file": "choose one"})
        named = facts.model_copy(update={"name": facts.name or shown_name(file.filename or "")})
        await file_changes.add_with_content(
            platform, actor, challenge, named, file.size or 0, chunks_of(file)
        )
        return RedirectResponse(here, status_code=303)
    return await run_in_threadpool(_list, request, platform, actor, challenge, form)


@router.get("/organise/challenges/{challenge}/data/{file_id}", dependencies=[ORGANISE])
def file(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    file_id: int,
    before: Before = None,
) -> Response:
    """Show a file for its organisers: the forms that change it, and who has downloaded it."""
    return _file(request, file_changes.organised_file(platform, actor, challenge, file_id, before), Form())


def _file(request: Request, page: OrganisedFile, form: Form) -> Response:
    facts = file_changes.facts_of(page.file)
    dates = {name: in_form(getattr(facts, name)) for name in ("available_from", "available_until")}
    form.fill(facts.model_dump(mode="json") | {"image_set": facts.image_set or ""} | dates)
    return render(request, "data/file.html", page=page, form=form, **CHOICES)


@router.post("/organise/challenges/{challenge}/data/{file_id}", dependencies=[ORGANISE])
@marked(done="The changes are saved.")
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    file_id: int,
    form: TheForm,
) -> Response:
    """Change what is said about a file, its dates and who may download it."""
    with form.showing_errors(conflict="name"):
        file_changes.change_file(platform, actor, challenge, file_id, form.read(FileFacts))
        return RedirectResponse(f"/organise/challenges/{challenge}/data/{file_id}", status_code=303)
    return _file(request, file_changes.organised_file(platform, actor, challenge, file_id), form)


@router.post(
    "/organise/challenges/{challenge}/data/{file_id}/content",
    dependencies=[ORGANISE, limited(Limited.UPLOAD)],
)
@marked(takes=Body.DATA_FILE)
async def replace(
    platform: ThePlatform, actor: CurrentActor, challenge: str, file_id: int, form: FormWithFile
) -> Response:
    """Replace the bytes of a file; its address and its name stay."""
    file = form.file("file")
    if file is None:
        raise MalformedError("Choose a file first")
    await file_changes.send(platform, actor, challenge, file_id, file.size or 0, chunks_of(file))
    return RedirectResponse(f"/organise/challenges/{challenge}/data/{file_id}", status_code=303)


@router.post("/organise/data-uploads/{data_upload_id}/delete", dependencies=[ORGANISE])
@marked(done="The upload is deleted.")
def cancel_upload(platform: ThePlatform, actor: CurrentActor, data_upload_id: uuid.UUID) -> Response:
    """Delete what has arrived of a new version of a file."""
    upload = file_changes.get_upload(platform, actor, data_upload_id)
    file_changes.cancel_upload(platform, actor, data_upload_id)
    return RedirectResponse(
        f"/organise/challenges/{quote(upload.challenge)}/data/{upload.file_id}", status_code=303
    )


@router.post("/organise/challenges/{challenge}/data/{file_id}/delete", dependencies=[ORGANISE])
@marked(done="The file is deleted.")
def delete(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    file_id: int,
    form: TheForm,
) -> Response:
    """Delete a file."""
    with form.showing_errors():
        file_changes.delete_file(platform, actor, challenge, file_id, form.text("reason", LONGEST_REASON))
        return RedirectResponse(f"/organise/challenges/{challenge}/data", status_code=303)
    return _file(request, file_changes.organised_file(platform, actor, challenge, file_id), form)
