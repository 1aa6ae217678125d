"""Pictures to show, in the database."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, func, select
from sqlalchemy.orm import Session

from app.models import Picture, PictureBatch
from app.pictures.queries import is_awaited, is_its_batch
from app.pictures.rules import NOT_MADE
from app.pictures.schemas import PictureView


@dataclass(frozen=True, slots=True)
class Window:
    """At most `limit` pictures, those after a position or, where that is given, before one."""

    after: int = -1
    before: int | None = None
    limit: int = 60


@dataclass(frozen=True, slots=True)
class MadePicture:
    """Where what was made of a picture lies: the batch and the place in it, from 0."""

    position: int
    batch: int
    place: int
    version: str


def _pictures(*conditions: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    return (
        select(
            Picture.position,
            Picture.name,
            Picture.width,
            Picture.height,
            PictureBatch.made,
            Picture.problem,
            is_awaited(),
        )
        .join(PictureBatch, is_its_batch())
        .where(*conditions)
    )


def _view(row: Row[*tuple[Any, ...]]) -> PictureView:
    position, name, width, height, made, problem, is_awaited = row
    if not (made or problem or is_awaited):
        problem = NOT_MADE
    return PictureView(position, name, width, height, made[:12] if made and not problem else None, problem)


def page(
    session: Session, phase_id: int, beginning: str, window: Window
) -> tuple[list[PictureView], int | None, int | None]:
    """Some pictures in order whose names begin so, and the positions to look before and after for others."""
    chosen = _pictures(Picture.phase_id == phase_id, Picture.name.startswith(beginning, autoescape=True))
    if window.before is not None:
        backwards = chosen.where(Picture.position < window.before).order_by(Picture.position.desc())
        rows = list(reversed(session.execute(backwards.limit(window.limit + 1)).all()))
        is_first, shown = len(rows) <= window.limit, rows[-window.limit :]
        previous = None if is_first or not shown else shown[0].position
        return [_view(row) for row in shown], previous, shown[-1].position if shown else None
    rows = list(
        session.execute(
            chosen.where(Picture.position > window.after).order_by(Picture.position).limit(window.limit + 1)
        )
    )
    shown = rows[: window.limit]
    previous = shown[0].position if shown and window.after >= 0 else None
    return [_view(row) for row in shown], previous, shown[-1].position if len(rows) > window.limit else None


def picture_of(session: Session, phase_id: int, name: str) -> PictureView | None:
    """A picture by the name of its image."""
    row = session.execute(_pictures(Picture.phase_id == phase_id, Picture.name == name)).one_or_none()
    return _view(row) if row else None


def pictures_of(session: Session, phase_id: int, names: Collection[str]) -> dict[str, PictureView]:
    """The pictures of these images, by name."""
    rows = session.execute(_pictures(Picture.phase_id == phase_id, Picture.name.in_(names)))
    return {view.name: view for view in map(_view, rows)}


def neighbours(session: Session, phase_id: int, position: int) -> tuple[str | None, str | None]:
    """The names of the images before and after a position."""
    statement = select(Picture.position, Picture.name).where(
        Picture.phase_id == phase_id, Picture.position.in_((position - 1, position + 1))
    )
    found = dict(session.execute(statement).all())
    return found.get(position - 1), found.get(position + 1)


def made_picture(session: Session, phase_id: int, name: str) -> MadePicture | None:
    """Where what was made of a picture lies; none before it is made, and where there is nothing to show."""
    first = (
        select(func.min(Picture.position))
        .where(Picture.phase_id == phase_id, Picture.batch == PictureBatch.number)
        .correlate(PictureBatch)
        .scalar_subquery()
    )
    statement = (
        select(Picture.position, PictureBatch.number, Picture.position - first, PictureBatch.made)
        .join(PictureBatch, is_its_batch())
        .where(
            Picture.phase_id == phase_id,
            Picture.name == name,
            Picture.problem.is_(None),
            PictureBatch.made.is_not(None),
        )
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    position, batch, place, made = row
    return MadePicture(position, batch, place, made or "")


def some_picture(session: Session, phase_id: int, names: Collection[str]) -> PictureView | None:
    """The first of these images that can be shown."""
    statement = _pictures(
        Picture.phase_id == phase_id,
        Picture.name.in_(names),
        Picture.problem.is_(None),
        PictureBatch.made.is_not(None),
    )
    row = session.execute(statement.order_by(Picture.position).limit(1)).one_or_none()
    return _view(row) if row else None
