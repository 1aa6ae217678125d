"""What organisers are told about pictures that cannot be made."""

from pathlib import Path

import pytest
from sqlalchemy import select

from app.core.errors import NotFoundError
from app.images import making
from app.intake.importing import TreeImport, import_tree
from app.models import Disclosure, ImageMode, PictureBatch, PictureSource
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.picture_trees import deliver, picture_file, tree_with_pictures
from tests.pages.test_pictures import rows
from tests.system.kits import IMAGES, small_kit


def test_a_picture_that_needs_too_much_memory_does_not_stop_others(
    platform: Platform, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tree_with_pictures(tmp_path)
    for image in IMAGES[2:]:
        picture_file(tree, image).unlink()
    import_tree(platform, TreeImport(tree, "stopped", "test", disclosure=Disclosure.FULL))
    monkeypatch.setattr(making, "MEMORY", 1 << 20)

    deliver(platform)

    problems = [row["problem"] for row in rows(browser(), "stopped")]
    assert problems[:2] == ["decoding was stopped: it needed more than 1 MiB of memory"] * 2
    assert problems[2] == "there is no such file"


def test_a_tree_without_pictures_is_imported_without_them(platform: Platform, tmp_path: Path) -> None:
    imported = import_tree(platform, TreeImport(small_kit(tmp_path), "without", "test"))

    assert imported.pictures is None
    assert making.mode_of(platform, imported.phase_id) is None
    with pytest.raises(NotFoundError):
        making.import_images(platform, 10**9, tmp_path, ImageMode.LINK)


def test_missing_copies_are_reported(platform: Platform, tmp_path: Path) -> None:
    tree = tree_with_pictures(tmp_path)
    phase = import_tree(platform, TreeImport(tree, "lost", "test", images=ImageMode.COPY)).phase_id
    with platform.transaction() as session:
        keys = session.scalars(select(PictureBatch.copy_key).where(PictureBatch.phase_id == phase)).all()
    for key in keys:
        platform.truths.delete(key or "")

    deliver(platform)
    making.make_next(platform, {"phase_id": 10**9})

    with platform.transaction() as session:
        problem = session.get_one(PictureSource, phase).problem
    assert problem == "The copies of the images are no longer in the private store"


def test_a_folder_that_lost_its_pictures_is_reported(platform: Platform, tmp_path: Path) -> None:
    tree = tree_with_pictures(tmp_path)
    phase = import_tree(platform, TreeImport(tree, "emptied", "test")).phase_id
    for image in IMAGES:
        picture_file(tree, image).unlink()

    deliver(platform)

    with platform.transaction() as session:
        problem = session.get_one(PictureSource, phase).problem
    assert problem == f"The folder {tree} no longer contains the images"
