"""Development kits with pictures."""

from pathlib import Path

from PIL import Image

from app.intake.importing import Imported, TreeImport, import_tree
from app.models import Disclosure, ImageMode
from app.platform import Platform
from tests.system.kits import IMAGES, small_kit
from tests.working import do_all

SIZE = (50, 40)  # as in the small kit's annotation


def tree_with_pictures(folder: Path) -> Path:
    """The small kit with a differently coloured picture for each image."""
    tree = small_kit(folder)
    (tree / "JPEGImages").mkdir()
    for number, image in enumerate(IMAGES):
        Image.new("RGB", SIZE, (20 * number, 90, 160)).save(picture_file(tree, image))
    return tree


def picture_file(tree: Path, image: str) -> Path:
    """The path of an image's picture."""
    return tree / "JPEGImages" / f"{image}.jpg"


def loaded(
    platform: Platform,
    tree: Path,
    challenge: str,
    disclosure: Disclosure = Disclosure.FULL,
    mode: ImageMode = ImageMode.LINK,
) -> Imported:
    """Import a tree and make its pictures, as a worker does."""
    imported = import_tree(platform, TreeImport(tree, challenge, "test", disclosure=disclosure, images=mode))
    deliver(platform)
    return imported


def deliver(platform: Platform) -> None:
    """Run all waiting jobs, as a worker does."""
    do_all(platform)
