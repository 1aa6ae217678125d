"""JSON API: images of a phase, their overlays, and lists of notable images."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query

from app.core.access import Action
from app.images import lists, pictures, viewer
from app.images.lists import ExamplesPage
from app.images.pages import VIEW, After, Beginning, ClassName, Competition, Runs
from app.images.pictures import PageRange, PicturesPage, PictureView
from app.images.viewer import ViewerChoice, ViewerPage
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1")
READ = requires(Action.READ_PUBLIC)

LIMIT = 200


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image of a phase.

    thumbnail, picture: URLs, None if the image cannot be shown; problem: why it cannot; file: what people know its file by, where that does
    not follow from its name.
    """

    name: str
    width: int | None
    height: int | None
    thumbnail: str | None
    picture: str | None
    problem: str | None
    file: str = ""


@dataclass(frozen=True, slots=True)
class ImageList:
    """Some images of a phase. made: how many can be shown so far; next: the URL of the next part, None at the end."""

    challenge: str
    image_set: str
    total: int
    made: int
    images: tuple[ImageRow, ...]
    next: str | None


@router.get("/challenges/{challenge}/{image_set}/images", tags=["challenges"], dependencies=[READ])
def images(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    after: After = -1,
    name: Beginning = "",
) -> ImageList:
    """List the images of a phase in the order of its image sets, 200 at a time. `next` is the URL of the following ones.

    On a held-out phase this works only if its organisers have made the images public.
    """
    page = pictures.pictures_page(platform, actor, challenge, image_set, name, PageRange(after, None, LIMIT))
    rows = tuple(_row(page, picture) for picture in page.pictures)
    address = f"/api/v1/challenges/{quote(challenge)}/{quote(image_set)}/images"
    name_filter = f"&name={quote(name)}" if name else ""
    next_ = None if page.next is None else f"{address}?after={page.next}{name_filter}"
    return ImageList(challenge, image_set, page.total, page.made, rows, next_)


def _row(page: PicturesPage, picture: PictureView) -> ImageRow:
    address = f"/pictures/{quote(page.phase.challenge)}/{quote(page.phase.image_set)}/{quote(picture.name)}"
    is_made = picture.version is not None
    return ImageRow(
        picture.name,
        picture.width,
        picture.height,
        f"{address}/thumbnail.jpg?v={picture.version}" if is_made else None,
        f"{address}/picture.jpg?v={picture.version}" if is_made else None,
        picture.problem,
        picture.file,
    )


@router.get(
    "/challenges/{challenge}/{image_set}/images/{name}", tags=["challenges"], dependencies=[READ, VIEW]
)
def image(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    name: str,
    competition: Competition = None,
    run: Runs = None,
    threshold: Annotated[float | None, Query(allow_inf_nan=False)] = None,
) -> ViewerPage:
    """Return an image with its annotation and the predictions of some methods, in pixels from its upper left corner.

    On a held-out phase, annotation and predictions are left out.
    """
    choice = ViewerChoice(competition, tuple(run or ()), threshold)
    return viewer.viewer(platform, actor, challenge, image_set, name, choice)


@router.get(
    "/runs/{run_id}/images", tags=["leaderboards"], dependencies=[requires(Action.READ_SUBMISSION), VIEW]
)
def of_run(
    platform: ThePlatform, actor: CurrentActor, run_id: int, class_name: ClassName = None
) -> ExamplesPage:
    """Return true positives, near misses, false positives and missed objects of a class. Hidden on held-out phases."""
    return lists.examples_of_run(platform, actor, run_id, class_name)


@router.get(
    "/leaderboards/{challenge}/{image_set}/{competition}/images",
    tags=["leaderboards"],
    dependencies=[READ, VIEW],
)
def of_board(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    competition: int,
    class_name: ClassName = None,
) -> ExamplesPage:
    """Return the easiest, hardest and most confusing images of a class over the methods of a board."""
    return lists.hard_images(platform, actor, challenge, image_set, competition, class_name)
