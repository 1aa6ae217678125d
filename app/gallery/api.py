"""The pictures of a phase for programs."""

from urllib.parse import quote

from fastapi import APIRouter

from app.access import Action
from app.gallery import service
from app.gallery.pages import After, Beginning
from app.gallery.queries import Window
from app.gallery.schemas import ImageList, ImageRow, PicturesPage
from app.pictures.schemas import PictureView
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/editions", tags=["editions"], dependencies=[requires(Action.READ_PUBLIC)])

LIMIT = 200


@router.get("/{edition}/{image_set}/images")
def images(
    platform: ThePlatform,
    actor: CurrentActor,
    edition: str,
    image_set: str,
    after: After = -1,
    name: Beginning = "",
) -> ImageList:
    """The images of a phase in the order of its image sets, 200 at a time; `next` leads to the others.

    On a held-out phase only where its organiser shows them.
    """
    page = service.pictures_page(platform, actor, edition, image_set, name, Window(after, None, LIMIT))
    rows = tuple(_row(page, picture) for picture in page.pictures)
    address = f"/api/v1/editions/{quote(edition)}/{quote(image_set)}/images"
    begins = f"&name={quote(name)}" if name else ""
    next_ = None if page.next is None else f"{address}?after={page.next}{begins}"
    return ImageList(edition, image_set, page.total, page.made, rows, next_)


def _row(page: PicturesPage, picture: PictureView) -> ImageRow:
    address = f"/pictures/{quote(page.phase.edition)}/{quote(page.phase.image_set)}/{quote(picture.name)}"
    is_made = picture.version is not None
    return ImageRow(
        picture.name,
        picture.width,
        picture.height,
        f"{address}/thumbnail.jpg?v={picture.version}" if is_made else None,
        f"{address}/picture.jpg?v={picture.version}" if is_made else None,
        picture.problem,
    )
