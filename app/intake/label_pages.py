"""HTML pages: the labels of single images, corrected by organisers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field, ValidationError

from app.core.access import Action, Actor
from app.core.errors import FieldsError
from app.intake import corrections, label_edits, label_scenes
from app.intake.corrections import ConfirmedCorrections
from app.intake.image_labels import (
    FLAGS,
    SIDES,
    EditedBox,
    EditedClass,
    ImageLabels,
    problems_of,
)
from app.intake.label_api import NO_STORE, VIEW, Search, Start
from app.intake.label_edits import LabelCorrection
from app.intake.label_scenes import LabelSheet
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import Form, TheForm, field_errors

router = APIRouter(prefix="/organise/phases/{phase_id}", dependencies=[requires(Action.ORGANISE)])

EMPTY_BOXES: Final = 2  # rows for new boxes and classes, which work without scripts
EMPTY_CLASSES: Final = 3
LISTED: Final = 60  # classes up to which a box chooses from a list


@router.get("/labels")
def images(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    search: Search = "",
    start: Start = 0,
) -> Response:
    """List the images of a phase whose labels can be corrected."""
    view = label_scenes.images(platform, actor, phase_id, search, start)
    return render(request, "labels/images.html", view=view)


@router.get("/labels/{image}")
def labels(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, image: str
) -> Response:
    """Show an image with its labels, once a worker has made this scene for you, and the form that corrects them."""
    view = label_scenes.view(platform, actor, phase_id, image)
    response = _image(request, view)
    if "HX-Request" in request.headers and not view.is_waiting:  # the page that waited loads its script
        response.headers["HX-Refresh"] = "true"
    return response


def _image(request: Request, view: LabelSheet, form: Form | None = None) -> Response:
    rows = form.values["rows"] if form and "rows" in form.values else _rows(view)
    response = render(
        request,
        "labels/image.html",
        view=view,
        rows=rows,
        form=form or Form(),
        listed=len(view.classes) <= LISTED,
        flags=view.scene.flags if view.scene else FLAGS,
        names={field: _words(field) for field in (form or Form()).problems},
    )
    response.headers.update(NO_STORE)
    return response


def _rows(view: LabelSheet) -> dict[str, list[dict[str, Any]]]:
    """The rows of the form: what is shown, and empty ones."""
    shown = view.scene.shown if view.scene else ImageLabels()
    boxes = [
        each.model_dump() | {side: _written(getattr(each, side)) for side in SIDES} for each in shown.boxes
    ]
    classes = [each.model_dump() for each in shown.classes or ()]
    return {
        "boxes": [*boxes, *({} for _ in range(EMPTY_BOXES))],
        "classes": [*classes, *({} for _ in range(EMPTY_CLASSES))],
    }


def _written(number: float) -> str:
    """A number of pixels with all its digits, so that what is not changed stays the same.

    >>> _written(12.0), _written(38.67)
    ('12', '38.67')
    """
    return str(number).removesuffix(".0")


def _words(field: str) -> str:
    """What a page calls a field.

    >>> _words("box-3-right")
    'Box 3, right'
    """
    kind, _, rest = field.partition("-")
    return f"{kind.capitalize()} {rest.replace('-', ', ')}"


@router.post("/labels/{image}/scene", dependencies=[VIEW])
def show(platform: ThePlatform, actor: CurrentActor, phase_id: int, image: str) -> Response:
    """Have a worker show you the labels of an image, for ten minutes."""
    label_scenes.request(platform, actor, phase_id, image)
    return _to_image(phase_id, image)


def _to_image(phase_id: int, image: str) -> Response:
    return RedirectResponse(f"/organise/phases/{phase_id}/labels/{quote(image, safe='')}", status_code=303)


def _to_corrections(phase_id: int) -> Response:
    return RedirectResponse(f"/organise/phases/{phase_id}/corrections", status_code=303)


@router.get("/labels/{image}/picture")
def picture(platform: ThePlatform, actor: CurrentActor, phase_id: int, image: str) -> Response:
    """Return the picture of a scene, while it is there."""
    content = label_scenes.picture(platform, actor, phase_id, image)
    return Response(content, media_type="image/jpeg", headers=NO_STORE)


@router.post("/labels/{image}")
def correct(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, image: str, form: TheForm
) -> Response:
    """Correct the labels of an image, to be applied later with others."""
    view = label_scenes.view(platform, actor, phase_id, image)
    with form.showing_errors():
        label_edits.save(platform, actor, phase_id, image, _read(form, view))
        return _to_corrections(phase_id)
    return _image(request, view, form)


def _read(form: Form, view: LabelSheet) -> LabelCorrection:
    """Read the rows of the form; empty and removed ones are left out. Raises FieldsError with all that is wrong."""
    boxes, classes = list(_sent(form, "box")), list(_sent(form, "class"))
    form.values["rows"] = {
        "boxes": [row for _, row in boxes] + [{}] * EMPTY_BOXES,
        "classes": [row for _, row in classes] + [{}] * EMPTY_CLASSES,
    }
    problems: dict[str, str] = {}
    found_boxes: dict[int, EditedBox] = {}
    found_classes: dict[int, EditedClass] = {}
    for place, row in boxes:
        if row["removed"] or not any(row[name] for name in ("number", "class_name", *SIDES)):
            continue
        fields = {"number": row["number"] or None, "class_name": row["class_name"]}
        fields |= {name: row[name] for name in (*SIDES, *FLAGS)}
        with _telling(problems, f"box-{place}"):
            found_boxes[place] = EditedBox.model_validate(fields)
    for place, row in classes:
        if row["class_name"] and not row["removed"]:
            with _telling(problems, f"class-{place}"):
                fields = {name: row[name] for name in ("class_name", "difficult")}
                found_classes[place] = EditedClass.model_validate(fields)
    labels: dict[str, Any] = {"boxes": tuple(found_boxes.values()), "version": form.read(_Version).version}
    if form.text("has-classes"):
        labels["classes"] = tuple(found_classes.values())
    with _telling(problems, ""):
        found = LabelCorrection(**labels)
        places = {"box": tuple(found_boxes), "class": tuple(found_classes)}
        for field, text in problems_of(found, frozenset(view.classes), view.scene).items():
            if field or not problems:  # what is invalid is not missing
                problems[_shown_at(field, places)] = text
        if not problems:
            return found
    raise FieldsError(problems)


@contextmanager
def _telling(problems: dict[str, str], where: str) -> Iterator[None]:
    """Note what is invalid in the block by the field of the form."""
    try:
        yield
    except ValidationError as error:
        for name, text in field_errors(error).items():
            field = "class" if name == "class_name" else name
            problems[f"{where}-{field}" if where else ""] = text


class _Version(BaseModel):
    """The version that the form is about."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]


def _shown_at(field: str, places: Mapping[str, Sequence[int]]) -> str:
    """The field of the form for that of the labels, which have no rows for what is removed."""
    kind, _, rest = field.partition("-")
    if not rest:
        return field
    row, _, name = rest.partition("-")
    return f"{kind}-{places[kind][int(row) - 1]}-{name}"


def _sent(form: Form, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows that were sent, by their numbers."""
    for number in count(1):
        if f"{kind}-{number}-class" not in form.sent:
            break
        row: dict[str, Any] = {
            name: form.text(f"{kind}-{number}-{name}").strip() for name in ("number", *SIDES)
        }
        row["class_name"] = form.text(f"{kind}-{number}-class").strip()
        row |= {name: bool(form.text(f"{kind}-{number}-{name}")) for name in (*FLAGS, "removed")}
        yield number, row


@router.post("/labels/{image}/take-back")
def take_back(platform: ThePlatform, actor: CurrentActor, phase_id: int, image: str) -> Response:
    """Take your correction of an image back."""
    label_edits.take_back(platform, actor, phase_id, image)
    return _to_corrections(phase_id)


@router.get("/corrections")
def waiting(request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """List the images that you have corrected, and what that changes."""
    return _corrections(request, platform, actor, phase_id, Form())


def _corrections(request: Request, platform: Platform, actor: Actor, phase_id: int, form: Form) -> Response:
    view = corrections.view(platform, actor, phase_id)
    return render(request, "labels/corrections.html", view=view, form=form)


@router.post("/corrections/preview", dependencies=[VIEW])
def preview(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, form: TheForm
) -> Response:
    """Have a worker find what your corrections change, for you alone."""
    with form.showing_errors():
        corrections.request_preview(platform, actor, phase_id)
        return _to_corrections(phase_id)
    return _corrections(request, platform, actor, phase_id, form)


@router.post("/corrections/apply")
def apply(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, form: TheForm
) -> Response:
    """Apply your corrections once you know what they change: a worker makes the next version."""
    with form.showing_errors():
        corrections.apply(platform, actor, phase_id, form.read(ConfirmedCorrections))
        return RedirectResponse(f"/organise/phases/{phase_id}/ground-truth", status_code=303)
    return _corrections(request, platform, actor, phase_id, form)
