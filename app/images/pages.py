"""HTML pages: images and their overlays; the image files; the settings of organisers."""

from math import isfinite
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.core.access import Action, Actor
from app.core.rate_limits import Limited
from app.images import archives, covers, label_reports, lists, pictures, text_images, viewer
from app.images.covers import NewPicture
from app.images.pictures import PAGE, PageRange, PictureRules, PictureSize, PicturesPage, StoredPicture
from app.images.text_images import NewTextImage
from app.images.viewer import ViewerChoice
from app.models import LabelProblem
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, mark_as_of, render, requires
from app.web.forms import Form, FormWithFile, TheForm
from app.web.route_marks import Body, marked
from app.web.transfers import LARGEST_PICTURE, ByteRange, IfRange, content_response

router = APIRouter()
READ = requires(Action.READ_PUBLIC)
ORGANISE = requires(Action.ORGANISE)
VIEW = limited(Limited.VIEW)

A_YEAR = 365 * 24 * 3600

After = Annotated[int, Query(ge=-1, lt=1 << 31, description="show images after this position")]
Before = Annotated[int | None, Query(ge=0, lt=1 << 31, description="show images before this position")]
Beginning = Annotated[str, Query(max_length=100, description="the beginning of the names")]
Version = Annotated[
    str, Query(max_length=40, description="version of the image; with it, the response can be cached")
]
Competition = Annotated[int | None, Query(description="the competition whose predictions are drawn")]
Runs = Annotated[
    list[int] | None, Query(max_length=20, description="runs whose predictions are drawn, at most five")
]
ClassName = Annotated[str | None, Query(max_length=100, description="the class whose images are listed")]


@router.get("/pictures/{challenge}/{image_set}", dependencies=[READ])
def of_phase(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    after: After = -1,
    before: Before = None,
    name: Beginning = "",
) -> Response:
    """Show a page of the images of a phase."""
    window = PageRange(after, before, PAGE)
    page = pictures.pictures_page(platform, actor, challenge, image_set, name.strip(), window)
    return _pictures(request, page, Form())


def _pictures(request: Request, page: PicturesPage, form: Form) -> Response:
    if page.source is not None:
        form.fill({"is_public": page.source.is_public, "draws_truth": page.source.draws_truth})
    return render(request, "images/pictures.html", page=page, form=form)


@router.get("/challenges/{challenge}/{image_set}/images.tar", dependencies=[READ, VIEW])
@marked(sends_file=True)
def archive(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    byte_range: ByteRange = None,
    if_range: IfRange = None,
) -> Response:
    """Download the images of a phase as they were imported, in one archive, whole or a range of bytes."""
    found = archives.start_download(platform, actor, challenge, image_set)
    return content_response(found, byte_range, if_range)


@router.get("/pictures/{challenge}/{image_set}/{name}/thumbnail.jpg", dependencies=[READ])
def thumbnail(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    name: str,
    v: Version = "",
) -> Response:
    """Return the thumbnail of an image as JPEG."""
    found = pictures.stored_picture(platform, actor, challenge, image_set, name, PictureSize.THUMBNAIL)
    return _image_response(request, found, v)


@router.get("/pictures/{challenge}/{image_set}/{name}/picture.jpg", dependencies=[READ])
def picture(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    name: str,
    v: Version = "",
) -> Response:
    """Return an image as JPEG, at most 1280 pixels wide and high."""
    found = pictures.stored_picture(platform, actor, challenge, image_set, name, PictureSize.VIEW)
    return _image_response(request, found, v)


@router.get("/pictures/{challenge}/{image_set}/{name}/labels.png", dependencies=[READ])
def labels(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    name: str,
    run: int | None = None,
    truth: int | None = None,
) -> Response:
    """Return a label image as PNG in the colours of the development kits, with a transparent background."""
    found = viewer.label_image(platform, actor, challenge, image_set, name, run_id=run, truth_id=truth)
    return _image_response(request, found, "none", "image/png")


def _image_response(
    request: Request, found: StoredPicture, version: str, media_type: str = "image/jpeg"
) -> Response:
    """Respond with the image or 304. A public image is cached for a year if the URL has its current version."""
    public_caching = (
        f"public, max-age={A_YEAR}, immutable" if version == found.version else "public, no-cache"
    )
    headers = {
        "ETag": found.etag,
        "Cache-Control": public_caching if found.is_public else "no-store",
        "Content-Disposition": "inline",
        **({} if found.is_public else {"Vary": "Cookie, Authorization"}),
    }
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    if found.etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=media_type)


@router.get("/pictures/{challenge}/{image_set}/{name}", dependencies=[READ, VIEW])
def of_image(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    name: str,
    competition: Competition = None,
    run: Runs = None,
    threshold: Annotated[str, Query(max_length=40, description="the lowest confidence to show")] = "",
) -> Response:
    """Show an image with its annotation and the predictions of some methods."""
    choice = ViewerChoice(competition, tuple(run or ()), number_or_none(threshold))
    return viewer_page(request, platform, actor, challenge, image_set, name, choice, Form())


def viewer_page(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    image_set: str,
    name: str,
    choice: ViewerChoice,
    form: Form,
) -> Response:
    """Show an image, and the form in which its labels are reported if it takes reports."""
    page = viewer.viewer(platform, actor, challenge, image_set, name, choice)
    reporting = label_reports.reporting(platform, actor, challenge, image_set, name)
    return render(
        request,
        "images/viewer.html",
        page=page,
        reporting=reporting,
        form=form,
        problems_of_labels=list(LabelProblem),
        longest=label_reports.LONGEST,
        query=request.url.query,
    )


def number_or_none(text: str) -> float | None:
    """Parse a finite number; None if the text is empty or anything else.

    >>> number_or_none("0.5"), number_or_none(""), number_or_none("nan")
    (0.5, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


@router.get("/runs/{run_id}/images", dependencies=[requires(Action.READ_SUBMISSION), VIEW])
def of_run(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    run_id: int,
    class_name: ClassName = None,
) -> Response:
    """Show true positives, near misses, false positives and missed objects of a run."""
    page = lists.examples_of_run(platform, actor, run_id, class_name)
    mark_as_of(request, page.phase.challenge)
    return render(request, "images/lists.html", page=page)


@router.get("/leaderboards/{challenge}/{image_set}/{competition}/images", dependencies=[READ, VIEW])
def of_board(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    competition: int,
    class_name: ClassName = None,
) -> Response:
    """Show the easiest, hardest and most confusing images for the methods of a board."""
    page = lists.hard_images(platform, actor, challenge, image_set, competition, class_name)
    return render(request, "images/lists.html", page=page)


@router.post("/organise/phases/{phase_id}/pictures", dependencies=[ORGANISE])
@marked(done="The rules of the images are saved.")
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    form: TheForm,
) -> Response:
    """Set who may see the images of a held-out phase."""
    with form.showing_errors():
        pictures.change(platform, actor, phase_id, form.read(PictureRules))
        return _back(platform, actor, phase_id)
    phase = pictures.organised(platform, actor, phase_id)
    page = pictures.pictures_page(platform, actor, phase.challenge, phase.image_set, "", PageRange())
    return _pictures(request, page, form)


@router.post("/organise/phases/{phase_id}/pictures/retry", dependencies=[ORGANISE])
def try_again(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Try again to make the missing images."""
    pictures.try_again(platform, actor, phase_id)
    return _back(platform, actor, phase_id)


@router.post("/organise/phases/{phase_id}/pictures/archive", dependencies=[ORGANISE])
@marked(done="The offer of the archive is changed.")
def offer_archive(platform: ThePlatform, actor: CurrentActor, phase_id: int, form: TheForm) -> Response:
    """Set whether everybody who sees the images can download them as one archive."""
    archives.offer(platform, actor, phase_id, is_offered=bool(form.text("is_offered")))
    return _back(platform, actor, phase_id)


@router.get("/challenges/{challenge}/picture.jpg", dependencies=[READ])
def cover(request: Request, platform: ThePlatform, challenge: str, v: Version = "") -> Response:
    """Return the picture of a challenge that its organisers chose, as JPEG of 1280 by 720 pixels."""
    return _image_response(request, covers.stored_cover(platform, challenge, is_small=False), v)


@router.get("/challenges/{challenge}/picture-small.jpg", dependencies=[READ])
def small_cover(request: Request, platform: ThePlatform, challenge: str, v: Version = "") -> Response:
    """Return the picture of a challenge in half the size."""
    return _image_response(request, covers.stored_cover(platform, challenge, is_small=True), v)


@router.get("/organise/challenges/{challenge}/picture", dependencies=[ORGANISE])
def cover_form(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Show the picture of a challenge with the form that changes it."""
    return _cover_form(request, platform, actor, challenge, Form())


@router.post("/organise/challenges/{challenge}/picture", dependencies=[ORGANISE, limited(Limited.UPLOAD)])
@marked(takes=Body.PICTURE, done="The image is set.")
def set_cover(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: FormWithFile
) -> Response:
    """Set the picture of a challenge, or only what it shows."""
    with form.showing_errors():
        new, file = form.read(NewPicture), form.file("picture")
        data = file.file.read(LARGEST_PICTURE + 1) if file else None
        covers.set_picture(platform, actor, challenge, new, data)
        return RedirectResponse(f"/organise/challenges/{quote(challenge)}/picture", status_code=303)
    return _cover_form(request, platform, actor, challenge, form)


@router.post("/organise/challenges/{challenge}/picture/remove", dependencies=[ORGANISE])
@marked(done="The image is removed.")
def remove_cover(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Remove the picture of a challenge."""
    covers.remove_picture(platform, actor, challenge)
    return RedirectResponse(f"/organise/challenges/{quote(challenge)}/picture", status_code=303)


@router.get("/challenges/{challenge}/text-images/{name}", dependencies=[READ])
def text_image(request: Request, platform: ThePlatform, challenge: str, name: str) -> Response:
    """Return an image of the texts of a challenge, as JPEG of at most 1280 pixels."""
    return _image_response(request, text_images.stored(platform, challenge, name), name)


@router.post("/organise/challenges/{challenge}/text-images", dependencies=[ORGANISE, limited(Limited.UPLOAD)])
@marked(takes=Body.PICTURE, done="The image is added. Copy its line into a text.")
def add_text_image(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: FormWithFile
) -> Response:
    """Add an image for the texts of a challenge."""
    with form.showing_errors():
        new, file = form.read(NewTextImage), form.file("image")
        data = file.file.read(LARGEST_PICTURE + 1) if file else None
        text_images.add(platform, actor, challenge, new, data)
        return _to_texts(challenge)
    return _cover_form(request, platform, actor, challenge, form)


@router.post("/organise/challenges/{challenge}/text-images/{name}/remove", dependencies=[ORGANISE])
@marked(done="The image is removed. Texts that name it show its words instead.")
def remove_text_image(platform: ThePlatform, actor: CurrentActor, challenge: str, name: str) -> Response:
    """Remove an image for the texts of a challenge."""
    text_images.remove(platform, actor, challenge, name)
    return _to_texts(challenge)


def _to_texts(challenge: str) -> Response:
    here = f"/organise/challenges/{quote(challenge)}/picture#text-images"
    return RedirectResponse(here, status_code=303)


def _cover_form(request: Request, platform: Platform, actor: Actor, challenge: str, form: Form) -> Response:
    page = covers.cover_page(platform, actor, challenge)
    return render(
        request,
        "images/cover.html",
        page=page,
        images=text_images.text_images(platform, actor, challenge),
        most=text_images.MOST,
        form=form.fill({"alt": page.cover.alt}),
    )


def _back(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    phase = pictures.organised(platform, actor, phase_id)
    return RedirectResponse(f"/pictures/{phase.challenge}/{phase.image_set}#organise", status_code=303)
