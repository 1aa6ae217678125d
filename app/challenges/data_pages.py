"""Pages: the data of a challenge for everyone, and the forms with which organisers offer files."""

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from app.challenges import data_page, file_changes, files
from app.challenges.file_changes import FileFacts, OrganisedFile, OrganisedFiles
from app.core.access import Action
from app.core.errors import ConflictError, MalformedError
from app.core.names import shown_name
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.models import Audience, FileKind
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, render_shared, requires
from app.web.forms import FormWithFile, SentForm, field_errors, file_of, values_of
from app.web.transfers import ByteRange, IfRange, chunks_of, content_response

router = APIRouter()

READ, ORGANISE = map(requires, (Action.READ_PUBLIC, Action.ORGANISE))
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
UTC_INPUT: Final = "%Y-%m-%dT%H:%M"


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


@router.get("/challenges/{challenge}/data/{file_id}", dependencies=[READ, limited(Limited.VIEW)])
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
    return _list(request, file_changes.organised_files(platform, actor, challenge), {}, NOTHING)


def _list(
    request: Request,
    page: OrganisedFiles,
    form: Mapping[str, Any],
    problems: Mapping[str, str],
    code: int = 422,
) -> Response:
    return render(
        request,
        "data/organise.html",
        code=code if problems else 200,
        page=page,
        form=form,
        problems=problems,
        kinds=tuple(FileKind),
        audiences=tuple(Audience),
    )


@router.post("/organise/challenges/{challenge}/data", dependencies=[ORGANISE, limited(Limited.UPLOAD)])
async def add(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: FormWithFile
) -> Response:
    """Add a file with its bytes, or without them if they come later."""
    form = values_of(sent, FileFacts)
    file = file_of(sent, "file")
    here = f"/organise/challenges/{quote(challenge)}/data"
    try:
        facts = FileFacts.model_validate(_times(form))
        if sent.get("later"):
            file_id = await run_in_threadpool(file_changes.add_file, platform, actor, challenge, facts)
            return RedirectResponse(f"{here}/{file_id}#bytes", status_code=303)
        if file is None:
            raise MalformedError("choose one", field="file")  # noqa: TRY301 - as every other problem
        named = facts.model_copy(update={"name": facts.name or shown_name(file.filename or "")})
        await file_changes.add_with_content(
            platform, actor, challenge, named, file.size or 0, chunks_of(file)
        )
    except (ValidationError, MalformedError, ConflictError) as error:
        page = await run_in_threadpool(file_changes.organised_files, platform, actor, challenge)
        return _list(request, page, form, _problems(error), _code(error))
    return RedirectResponse(here, status_code=303)


def _times(form: Mapping[str, Any]) -> dict[str, Any]:
    """Take the dates of a form as UTC."""
    times = {name: form[name] and f"{form[name]}Z" for name in ("available_from", "available_until")}
    return {**form, **times}


def _problems(error: ValidationError | MalformedError | ConflictError) -> Mapping[str, str]:
    """Return the problems of a form by field; of those of a whole form, the field is empty."""
    if isinstance(error, ValidationError):
        return field_errors(error)
    if isinstance(error, ConflictError):
        return {"name": str(error)}
    return error.by_field


def _code(error: Exception) -> int:
    return 409 if isinstance(error, ConflictError) else 422


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
    page = file_changes.organised_file(platform, actor, challenge, file_id, before)
    return _file(request, page, _form_of(page), NOTHING)


def _form_of(page: OrganisedFile) -> dict[str, Any]:
    facts = file_changes.facts_of(page.file)
    dates = {
        name: f"{date:{UTC_INPUT}}" if date else ""
        for name, date in (
            ("available_from", facts.available_from),
            ("available_until", facts.available_until),
        )
    }
    return facts.model_dump(mode="json") | {"image_set": facts.image_set or ""} | dates


def _file(
    request: Request,
    page: OrganisedFile,
    form: Mapping[str, Any],
    problems: Mapping[str, str],
    code: int = 422,
) -> Response:
    return render(
        request,
        "data/file.html",
        code=code if problems else 200,
        page=page,
        form=form,
        problems=problems,
        kinds=tuple(FileKind),
        audiences=tuple(Audience),
    )


@router.post("/organise/challenges/{challenge}/data/{file_id}", dependencies=[ORGANISE])
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    file_id: int,
    sent: SentForm,
) -> Response:
    """Change what is said about a file, its dates and who may download it."""
    form = values_of(sent, FileFacts)
    try:
        facts = FileFacts.model_validate(_times(form))
        file_changes.change_file(platform, actor, challenge, file_id, facts)
    except (ValidationError, MalformedError, ConflictError) as error:
        page = file_changes.organised_file(platform, actor, challenge, file_id)
        return _file(request, page, form, _problems(error), _code(error))
    return RedirectResponse(f"/organise/challenges/{challenge}/data/{file_id}", status_code=303)


@router.post(
    "/organise/challenges/{challenge}/data/{file_id}/content",
    dependencies=[ORGANISE, limited(Limited.UPLOAD)],
)
async def replace(
    platform: ThePlatform, actor: CurrentActor, challenge: str, file_id: int, sent: FormWithFile
) -> Response:
    """Replace the bytes of a file; its address and its name stay."""
    file = file_of(sent, "file")
    if file is None:
        raise MalformedError("Choose a file first")
    await file_changes.send(platform, actor, challenge, file_id, file.size or 0, chunks_of(file))
    return RedirectResponse(f"/organise/challenges/{challenge}/data/{file_id}", status_code=303)


@router.post("/organise/data-uploads/{data_upload_id}/delete", dependencies=[ORGANISE])
def cancel_upload(platform: ThePlatform, actor: CurrentActor, data_upload_id: uuid.UUID) -> Response:
    """Delete what has arrived of a new version of a file."""
    upload = file_changes.get_upload(platform, actor, data_upload_id)
    file_changes.cancel_upload(platform, actor, data_upload_id)
    return RedirectResponse(
        f"/organise/challenges/{quote(upload.challenge)}/data/{upload.file_id}", status_code=303
    )


@router.post("/organise/challenges/{challenge}/data/{file_id}/delete", dependencies=[ORGANISE])
def delete(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    file_id: int,
    reason: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Delete a file."""
    file_changes.delete_file(platform, actor, challenge, file_id, reason)
    return RedirectResponse(f"/organise/challenges/{challenge}/data", status_code=303)
