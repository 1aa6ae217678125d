"""JSON API: data sets of organisers: their bytes by tus, or as one raw stream for curl; reading, applying, deleting."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Header, Path, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from app.core.access import Action
from app.core.errors import BadRequestError, MalformedError
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.intake import applying, intakes, receiving
from app.intake.applying import Application
from app.intake.intakes import IntakeFileView, IntakeList, IntakeView
from app.intake.reports import Audience
from app.intake.table_choices import TableRequest
from app.models import IntakeRole
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires
from app.web.route_marks import Body, marked
from app.web.tus import (
    PIECE_TYPE,
    TUS,
    ContentType,
    DeclaredSize,
    Incoming,
    Length,
    StartOfPiece,
    parse_metadata,
    parse_size,
    removed,
)

router = APIRouter(prefix="/api/v1/organise", tags=["data sets"])

ORGANISE = requires(Action.ORGANISE)

Metadata = Annotated[
    str,
    Header(
        alias="Upload-Metadata",
        description="`filename`, and `role`: images, public or hidden (annotation), each in Base64",
    ),
]
Checksum = Annotated[str | None, Header(alias="Upload-Checksum", include_in_schema=False)]
Name = Annotated[str, Path(min_length=1, max_length=255, description="name of the file, e.g. test.zip")]


class FolderFile(BaseModel):
    """An archive or a folder below the import folder of the workers."""

    role: IntakeRole
    path: Annotated[str, Field(min_length=1, max_length=1000)]


class Audiences(BaseModel):
    """Who may see the annotation of image sets; those that are left out stay as they are."""

    audiences: Annotated[tuple[Audience, ...], Field(max_length=200)]


@router.get("/challenges/{challenge}/data-sets", dependencies=[ORGANISE])
def data_sets(
    platform: ThePlatform, actor: CurrentActor, challenge: str, before: Before = None
) -> IntakeList:
    """The data sets that were sent for a challenge, newest first, fifty at a time."""
    return intakes.intakes_of(platform, actor, challenge, before)


@router.post("/challenges/{challenge}/data-sets", status_code=201, dependencies=[ORGANISE])
def start(response: Response, platform: ThePlatform, actor: CurrentActor, challenge: str) -> IntakeView:
    """Start a data set; send its files to the address in the Location header, followed by /files."""
    found = intakes.start(platform, actor, challenge)
    response.headers["Location"] = f"/api/v1/organise/data-sets/{found.id}"
    return found


@router.get("/data-sets/{intake_id}", dependencies=[ORGANISE])
def data_set(platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID) -> IntakeView:
    """A data set with its files, its progress and the report."""
    return intakes.get_intake(platform, actor, intake_id)


@router.delete("/data-sets/{intake_id}", status_code=204, dependencies=[ORGANISE])
def delete(platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID) -> Response:
    """Delete a data set and its bytes. What it became stays."""
    intakes.delete_intake(platform, actor, intake_id)
    return Response(status_code=204)


@router.post("/data-sets/{intake_id}/read", status_code=202, dependencies=[ORGANISE])
def read(platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID) -> IntakeView:
    """Have a worker read a data set; its state says when the report is there."""
    intakes.read(platform, actor, intake_id)
    return intakes.get_intake(platform, actor, intake_id)


@router.put("/data-sets/{intake_id}/audiences", status_code=202, dependencies=[ORGANISE])
def answer_audiences(
    platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID, answers: Audiences
) -> IntakeView:
    """Answer who may see the annotation of image sets that were sent as public. Hidden annotation stays hidden."""
    intakes.answer_audiences(platform, actor, intake_id, answers.audiences)
    return intakes.get_intake(platform, actor, intake_id)


@router.post("/data-sets/{intake_id}/cancel", dependencies=[ORGANISE])
def cancel(platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID) -> IntakeView:
    """Stop the worker that reads a data set. Its files stay."""
    intakes.cancel(platform, actor, intake_id)
    return intakes.get_intake(platform, actor, intake_id)


@router.post("/data-sets/{intake_id}/apply", status_code=202, dependencies=[ORGANISE])
def apply(
    platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID, application: Application
) -> IntakeView:
    """Make an image set of a data set a phase, or the next version of a phase's ground truth."""
    applying.request_application(platform, actor, intake_id, application)
    return intakes.get_intake(platform, actor, intake_id)


@router.post("/data-sets/{intake_id}/tables", status_code=202, dependencies=[ORGANISE])
def choose_tables(
    platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID, choice: TableRequest
) -> IntakeView:
    """Say what the columns of tables hold or how they are encoded, and have a worker read the data set again."""
    intakes.choose_tables(platform, actor, intake_id, choice)
    return intakes.get_intake(platform, actor, intake_id)


@router.post("/data-sets/{intake_id}/folder", status_code=201, dependencies=[ORGANISE])
def add_from_folder(
    platform: ThePlatform, actor: CurrentActor, intake_id: uuid.UUID, file: FolderFile
) -> IntakeView:
    """Add an archive or a folder that is in the import folder of the workers; for admins."""
    intakes.add_from_folder(platform, actor, intake_id, file.role, file.path)
    return intakes.get_intake(platform, actor, intake_id)


@router.put(
    "/data-sets/{intake_id}/files/{role}/{name}",
    status_code=201,
    dependencies=[ORGANISE, limited(Limited.UPLOAD)],
)
@marked(takes=Body.DATA_SET_FILE)
async def send(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    intake_id: uuid.UUID,
    role: IntakeRole,
    name: Name,
    size: DeclaredSize,
) -> IntakeFileView:
    """Send a file as the body of one request; one with the same role and name is replaced.

    It is encrypted for the workers as it arrives.
    """
    return await receiving.send(platform, actor, intake_id, (role, name, size), request.stream())


@router.post(
    "/data-sets/{intake_id}/files",
    status_code=201,
    dependencies=[ORGANISE, TUS, limited(Limited.UPLOAD)],
)
@marked(takes=Body.DATA_SET_FILE)
async def create(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    intake_id: uuid.UUID,
    length: Length = None,
    metadata: Metadata = "",
    content_type: ContentType = "",
    checksum: Checksum = None,
) -> Response:
    """Start to send a file by tus. The Location header is its URL. The body may contain its first bytes."""
    _refuse_checksum(checksum)
    known = parse_metadata(metadata)
    new = (_role(known.get("role", "")), known.get("filename", ""), parse_size(length or "", "Upload-Length"))
    file = await run_in_threadpool(intakes.add_file, platform, actor, intake_id, *new)
    end = await receiving.receive(platform, file, 0, request.stream()) if content_type == PIECE_TYPE else 0
    return _incoming(file, end).created()


def _refuse_checksum(checksum: str | None) -> None:
    """Refuse hashes: those of hidden annotation would settle guesses at it."""
    if checksum is not None:
        raise BadRequestError(
            "Upload-Checksum: this server computes no hash of what is encrypted for its workers"
        )


def _role(text: str) -> IntakeRole:
    try:
        return IntakeRole(text)
    except ValueError:
        expected = ", ".join(IntakeRole)
        raise MalformedError(f"Upload-Metadata: expected {expected} as role, found {text!r}") from None


def _incoming(file: IntakeFileView, end: int) -> Incoming:
    return Incoming(f"/api/v1/organise/data-set-files/{file.id}", file.size, end)


@router.head("/data-set-files/{intake_file_id}", response_class=Response, dependencies=[ORGANISE])
def where(platform: ThePlatform, actor: CurrentActor, intake_file_id: uuid.UUID) -> Response:
    """How many bytes of a file are stored (tus), in the Upload-Offset header."""
    file = intakes.get_file(platform, actor, intake_file_id)
    return _incoming(file, file.received).where()


@router.patch("/data-set-files/{intake_file_id}", status_code=204, dependencies=[ORGANISE, TUS])
@marked(takes=Body.DATA_SET_FILE)
async def append(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    intake_file_id: uuid.UUID,
    start: StartOfPiece,
    checksum: Checksum = None,
) -> Response:
    """Send the next bytes (tus). They are encrypted for the workers as they arrive."""
    _refuse_checksum(checksum)
    file = await run_in_threadpool(intakes.get_file, platform, actor, intake_file_id)
    end = await receiving.receive(platform, file, start, request.stream())
    return _incoming(file, end).appended()


@router.delete("/data-set-files/{intake_file_id}", status_code=204, dependencies=[ORGANISE])
def remove(platform: ThePlatform, actor: CurrentActor, intake_file_id: uuid.UUID) -> Response:
    """Remove a file and its bytes (tus)."""
    intakes.remove_file(platform, actor, intake_file_id)
    return removed()
