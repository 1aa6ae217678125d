"""One data set of boxes in five formats, and what is read of it in each, in the same words."""

import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from app.intake.inspecting import CHOSEN
from heldout_scoring import BoxConvention, GroundTruth, labels_to_png
from tests.rules.formats.builders import Read
from tests.scoring.builders import annotation, thing

CLASSES: Final = ("bär", "cat", "traffic light")  # in the order of labels in every format
Box = tuple[float, ...]  # left, top, right and bottom, with half-open edges


@dataclass(frozen=True, slots=True)
class Scene:
    """An image with its objects, by class and box in whole pixels."""

    name: str
    width: int
    height: int
    objects: tuple[tuple[str, Box], ...]

    @property
    def picture(self) -> bytes:
        """A JPEG that no other image has."""
        return _picture(self.name, self.width, self.height)

    @property
    def labels(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
        """The boxes painted one over the other."""
        painted = np.zeros((self.height, self.width), np.uint8)
        for name, (left, top, right, bottom) in self.objects:
            painted[int(top) : int(bottom), int(left) : int(right)] = CLASSES.index(name) + 1
        return painted


@cache
def _picture(name: str, width: int, height: int) -> bytes:
    noise = random.Random(name).randbytes(width * height)
    stream = io.BytesIO()
    Image.frombytes("L", (width, height), noise).save(stream, "JPEG")
    return stream.getvalue()


def scenes(count: int, seed: int = 1) -> tuple[Scene, ...]:
    """Images of random sizes with random boxes; every fifth is empty, and the first has an object of each class."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        width, height = chance.randint(20, 60), chance.randint(20, 60)
        names = (
            CLASSES
            if number == 0
            else chance.choices(CLASSES, k=0 if number % 5 == 4 else chance.randint(1, 4))
        )
        objects = []
        for name in names:
            left, top = chance.randrange(width - 2), chance.randrange(height - 2)
            objects.append(
                (name, (left, top, chance.randint(left + 2, width), chance.randint(top + 2, height)))
            )
        found.append(Scene(f"Img_{number:02}", width, height, tuple(objects)))
    return tuple(found)


# writing


def as_voc(images: Sequence[Scene]) -> dict[str, bytes]:
    files = {f"V/JPEGImages/{each.name}.jpg": each.picture for each in images}
    for each in images:
        things = [f"\n{thing(name, (box[0] + 1, box[1] + 1, *box[2:]))}" for name, box in each.objects]  # type: ignore[arg-type]
        files[f"V/Annotations/{each.name}.xml"] = annotation(
            *things, width=each.width, height=each.height
        ).encode()
    files["V/ImageSets/Main/val.txt"] = "".join(f"{each.name}\n" for each in images).encode()
    return files


def as_coco(images: Sequence[Scene]) -> dict[str, bytes]:
    listed = [
        {"id": number, "file_name": f"{each.name}.jpg", "width": each.width, "height": each.height}
        for number, each in enumerate(images, 1)
    ]
    boxes = [
        (number, name, (left, top, right - left, bottom - top))
        for number, each in enumerate(images, 1)
        for name, (left, top, right, bottom) in each.objects
    ]
    annotations = [
        {"id": place, "image_id": number, "category_id": CLASSES.index(name) + 1, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
        for place, (number, name, box) in enumerate(boxes, 1)
    ]  # fmt: skip
    categories = [{"id": number, "name": name} for number, name in enumerate(CLASSES, 1)]
    page = {"images": listed, "annotations": annotations, "categories": categories}
    return {
        "annotations/instances_val.json": json.dumps(page, ensure_ascii=False, indent=0).encode(),
        **{f"images/{each.name}.jpg": each.picture for each in images},
    }


def as_yolo(images: Sequence[Scene]) -> dict[str, bytes]:
    files = {"classes.txt": "".join(f"{name}\n" for name in CLASSES).encode()}
    for each in images:
        lines = [
            f"{CLASSES.index(name)} {(left + right) / 2 / each.width:.6f} {(top + bottom) / 2 / each.height:.6f} "
            f"{(right - left) / each.width:.6f} {(bottom - top) / each.height:.6f}\n"
            for name, (left, top, right, bottom) in each.objects
        ]
        files |= {f"images/{each.name}.jpg": each.picture, f"labels/{each.name}.txt": "".join(lines).encode()}
    return files


def as_csv(images: Sequence[Scene]) -> dict[str, bytes]:
    lines = ["image,class,left,top,right,bottom"]
    for each in images:
        lines += [
            f"{each.name}.jpg,{name},{left + 1:g},{top + 1:g},{right:g},{bottom:g}"
            for name, (left, top, right, bottom) in each.objects
        ] or [f"{each.name}.jpg,,,,,"]
    pictures = {f"images/{each.name}.jpg": each.picture for each in images}
    return {"boxes.csv": "".join(f"{line}\n" for line in lines).encode(), **pictures}


def as_masks(images: Sequence[Scene]) -> dict[str, bytes]:
    files = {"classes.txt": "".join(f"{name}\n" for name in CLASSES).encode()}
    for each in images:
        files |= {
            f"images/{each.name}.jpg": each.picture,
            f"masks/{each.name}.png": labels_to_png(each.labels),
        }
    return files


FORMATS: Final = {"VOC": as_voc, "COCO": as_coco, "YOLO": as_yolo, "CSV": as_csv, "masks": as_masks}

# reading


@dataclass(frozen=True, slots=True)
class Shown:
    """What is read of an image: its objects by class and box to a tenth of a pixel, or its labels by class, and its picture."""

    objects: tuple[tuple[str, Box], ...] | bytes
    picture: bytes | None


Sets = Mapping[str, Mapping[str, Shown]]  # by image set and image


def expected(images: Sequence[Scene], *, masks: bool = False) -> Sets:
    """What is read of these images."""
    return {
        "val": {
            each.name: Shown(each.labels.tobytes() if masks else tuple(sorted(each.objects)), each.picture)
            for each in images
        }
    }


def sets_of(found: Read, folder: Path, images: Sequence[Scene]) -> Sets:
    """The image sets that were read, images of COCO's JSON by the names of their files. folder: in which they were read."""
    sets: dict[str, Mapping[str, Shown]] = {}
    for each in found.report.sets:
        name = each.name if each.name not in sets else f"{each.name} of {each.source}"
        sets[name] = dict(_images(found.truths[each.key], folder / "work" / CHOSEN / each.key, images))
    return sets


def _images(truth: GroundTruth, folder: Path, images: Sequence[Scene]) -> Iterator[tuple[str, Shown]]:
    lists, tables = truth.lists, truth.tables
    pictures = {path.stem: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}
    boxes = tables.convention.convert(tables.objects.boxes, BoxConvention.HALF_OPEN).round(1).tolist()
    classes = [lists.classes[name] for name in tables.objects.name.tolist()]
    for place, image in enumerate(lists.images):
        name = images[int(image) - 1].name if image.isdigit() and int(image) <= len(images) else image
        own = (number for number, of in enumerate(tables.objects.image.tolist()) if of == place)
        objects = tuple(sorted((classes[number], tuple(boxes[number])) for number in own))
        yield name, Shown(objects, pictures.get(image))
    place_of = np.array([0, *map(_label_of, lists.classes)], np.uint8)
    for place, image in enumerate(lists.segmentation):
        yield image, Shown(place_of[tables.masks[place]].tobytes(), pictures.get(image))


def _label_of(name: str) -> int:
    return CLASSES.index(name) + 1 if name in CLASSES else 99
