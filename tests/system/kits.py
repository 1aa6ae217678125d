"""A small development kit, and result archives with a known average precision."""

import io
import tarfile
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from tests.scoring.builders import Kit, annotation, thing

DATASET = "VOC2012"
CLASSES = ("cat", "dog")
IMAGES = tuple(f"{number:06d}" for number in range(1, 11))

CAT, DOG = (1, 1, 10, 10), (20, 5, 40, 30)
BOXES = {"cat": CAT, "dog": DOG}
KITS = count()


def small_kit(folder: Path, *, without: int = 0) -> Path:
    """Ten images with a cat and a dog in each; the last `without` dogs are left out.

    The last cats have other heights in each kit, because phases with the same hidden annotation share their quotas.
    """
    there, number = len(IMAGES) - without, next(KITS)
    left, top, right, bottom = CAT
    heights = {place: number // 5 ** (len(IMAGES) - 1 - place) % 5 for place in range(5, len(IMAGES))}
    images = {
        image: annotation(
            thing("cat", (left, top, right, bottom + heights.get(place, 0))),
            *([thing("dog", DOG)] if place < there else []),
        )
        for place, image in enumerate(IMAGES)
    }
    labels = {"cat": "1 " * len(IMAGES), "dog": "1 " * there + "-1 " * without}
    return Kit(folder / DATASET).main(images, labels).root


def results(*competitions: int, **found: int) -> bytes:
    """An archive that finds the first n objects of each named class and no others, for competition 3 or higher.

    The average precision as the area under all points is then found / annotated.
    """
    files = {
        f"results/{DATASET}/Main/comp{number}_det_test_{name}.txt": "".join(
            line(image, 0.9 - place / 100, BOXES[name]) for place, image in enumerate(IMAGES[:count])
        ).encode()
        for number in competitions or (3,)
        for name, count in found.items()
    }
    return packed(files)


def line(image: str, confidence: float, box: tuple[int, int, int, int]) -> str:
    return f"{image} {confidence:.6f} {' '.join(map(str, box))}\n"


def packed(files: Mapping[str, bytes]) -> bytes:
    """A `.tar.gz` archive of these files."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return archive.getvalue()
