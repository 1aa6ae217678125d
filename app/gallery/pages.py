"""Pictures of a phase, and what organisers choose about them."""

from typing import Annotated

from fastapi import APIRouter, Form, Header, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ValidationError

from app.access import Action
from app.errors import RangeError
from app.forms import field_errors
from app.gallery import service
from app.gallery.queries import Window
from app.gallery.schemas import StoredPicture
from app.pictures import service as pictures
from app.pictures.rules import PAGE
from app.pictures.schemas import PictureRules
from app.uploads.rules import parse_range
from app.web import CurrentActor, ThePlatform, render, requires

router = APIRouter(prefix="/pictures", dependencies=[requires(Action.READ_PUBLIC)])
organising = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])

A_YEAR = 365 * 24 * 3600

After = Annotated[int, Query(ge=-1, lt=1 << 31, description="show those after this position")]
Before = Annotated[int | None, Query(ge=0, lt=1 << 31, description="show those before this position")]
Beginning = Annotated[str, Query(max_length=100, description="how the names begin")]
Version = Annotated[str, Query(max_length=40, description="of what was made; with it the answer may be kept")]
Range = Annotated[str | None, Header(alias="Range")]


@router.get("/{edition}/{image_set}")
def of_phase(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    after: After = -1,
    before: Before = None,
    name: Beginning = "",
) -> Response:
    """The pictures of a phase, a page of them."""
    window = Window(after, before, PAGE)
    page = service.pictures_page(platform, actor, edition, image_set, name.strip(), window)
    return render(request, "gallery/pictures.html", page=page, form={}, problems={})


@router.get("/{edition}/{image_set}/{name}/thumbnail.jpg")
def thumbnail(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    name: str,
    v: Version = "",
    byte_range: Range = None,
) -> Response:
    """A picture, small."""
    found = service.stored_picture(platform, actor, edition, image_set, name, pictures.THUMBNAILS)
    return answer(request, found, v, byte_range)


@router.get("/{edition}/{image_set}/{name}/picture.jpg")
def picture(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    name: str,
    v: Version = "",
    byte_range: Range = None,
) -> Response:
    """A picture, at most 1280 pixels wide and high."""
    found = service.stored_picture(platform, actor, edition, image_set, name, pictures.VIEWS)
    return answer(request, found, v, byte_range)


def answer(
    request: Request,
    found: StoredPicture,
    version: str,
    byte_range: str | None,
    media_type: str = "image/jpeg",
) -> Response:
    """The bytes, some of them, or 304; who names the version of a public picture that is there may keep it for a year."""
    lasting = f"public, max-age={A_YEAR}, immutable" if version == found.version else "public, no-cache"
    headers = {
        "ETag": found.etag,
        "Cache-Control": lasting if found.is_public else "no-store",
        "Accept-Ranges": "bytes",
        "Content-Disposition": "inline",
        **({} if found.is_public else {"Vary": "Cookie, Authorization"}),
    }
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    if found.etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    if request.headers.get("if-range") not in (None, found.etag):
        byte_range = None
    size = len(found.content)
    try:
        part = parse_range(byte_range, size)
    except ValueError:
        raise RangeError(size) from None
    if part is None:
        return Response(found.content, headers=headers, media_type=media_type)
    headers["Content-Range"] = f"bytes {part[0]}-{part[1]}/{size}"
    return Response(found.content[part[0] : part[1] + 1], 206, headers=headers, media_type=media_type)


class RulesForm(BaseModel):
    """The fields as the browser sends them; `PictureRules` says which are good."""

    is_public: bool = False
    draws_truth: bool = False
    reason: str = ""


@organising.post("/phases/{phase_id}/pictures")
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    form: Annotated[RulesForm, Form()],
) -> Response:
    """Set who sees the pictures of a held-out phase."""
    try:
        service.change(platform, actor, phase_id, PictureRules.model_validate(form.model_dump()))
    except ValidationError as error:
        phase = service.organised(platform, actor, phase_id)
        page = service.pictures_page(platform, actor, phase.edition, phase.image_set, "", Window())
        problems = dict(field_errors(error))
        return render(
            request, "gallery/pictures.html", code=422, page=page, form=form.model_dump(), problems=problems
        )
    return _back(platform, actor, phase_id)


@organising.post("/phases/{phase_id}/pictures/retry")
def try_again(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Have the pictures made that are not made yet."""
    service.try_again(platform, actor, phase_id)
    return _back(platform, actor, phase_id)


def _back(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    phase = service.organised(platform, actor, phase_id)
    return RedirectResponse(f"/pictures/{phase.edition}/{phase.image_set}#organise", status_code=303)
