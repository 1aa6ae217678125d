"""The files of images as they were sent, for workers that look at them again."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session

from app.core.errors import StorageDamagedError
from app.images.packs import parts_of
from app.images.pictures import BATCH
from app.models import GroundTruth, NextPictureBatch, NextPictures, Picture, PictureBatch, PictureSource
from app.platform import Platform


@dataclass(frozen=True, slots=True)
class _Original:
    """The file of an image: in a folder, or in a stored pack at a place."""

    name: str
    file: str
    folder: str
    copy_key: str | None
    place: int


def originals(
    platform: Platform, phase_id: int, version: int, names: Collection[str], folder: Path
) -> dict[str, Path]:
    """Return the files of these images, by name, that came last with a version or before it; those without one are left out.

    folder: where copies are unpacked. The files are as organisers sent them, so only child processes open them.
    """
    with platform.transaction() as session:
        found = list(_originals(session, phase_id, version, names))
    files = {each.name: Path(each.folder, each.file) for each in found if each.copy_key is None}
    for key in {each.copy_key for each in found if each.copy_key}:
        with suppress(StorageDamagedError):
            files |= _unpacked(platform, key, [each for each in found if each.copy_key == key], folder)
    return files


def _unpacked(platform: Platform, key: str, wanted: Iterable[_Original], folder: Path) -> dict[str, Path]:
    names = {each.place: each.name for each in wanted}
    files = {}
    with platform.truths.materialise(key) as pack, pack.open("rb") as stream:
        for place, content in enumerate(parts_of(stream)):
            if place in names and content:
                files[names[place]] = folder / f"{len(list(folder.iterdir()))}"
                files[names[place]].write_bytes(content)
    return files


def _originals(session: Session, phase_id: int, version: int, names: Collection[str]) -> Iterator[_Original]:
    waiting = _waiting(session, phase_id, version)
    if waiting is not None:
        of_names = or_(*(NextPictureBatch.pictures.contains([{"name": name}]) for name in names))
        batches = select(NextPictureBatch).where(
            NextPictureBatch.ground_truth_id == waiting.ground_truth_id, of_names
        )
        for batch in session.scalars(batches):
            for place, each in enumerate(batch.pictures):
                if each["name"] in names and each["file"]:
                    yield _Original(each["name"], each["file"], waiting.folder, batch.copy_key, place)
        return
    for picture, copy_key, folder, first in session.execute(_shown(phase_id, names)):
        if picture.file:
            yield _Original(picture.name, picture.file, folder, copy_key, picture.position - first)


def _waiting(session: Session, phase_id: int, version: int) -> NextPictures | None:
    """The images that came with a version or the last one before it, and that boards do not show yet."""
    statement = (
        select(NextPictures)
        .join(GroundTruth, GroundTruth.id == NextPictures.ground_truth_id)
        .where(GroundTruth.phase_id == phase_id, GroundTruth.version <= version)
        .order_by(GroundTruth.version.desc())
        .limit(1)
    )
    return session.scalar(statement)


def _shown(phase_id: int, names: Collection[str]) -> Select[Picture, str | None, str, int]:
    return (
        select(Picture, PictureBatch.copy_key, PictureSource.folder, Picture.batch * BATCH)
        .join(
            PictureBatch,
            (PictureBatch.phase_id == Picture.phase_id) & (PictureBatch.number == Picture.batch),
        )
        .join(PictureSource, PictureSource.phase_id == Picture.phase_id)
        .where(Picture.phase_id == phase_id, Picture.name.in_(names))
    )
