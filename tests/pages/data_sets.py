"""Data sets in every layout, as organisers send them."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image

from heldout_scoring import labels_to_png
from tests.scoring.builders import annotation, thing

Files = Mapping[str, bytes]


def zipped(files: Files) -> bytes:
    """A zip archive of these files."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return archive.getvalue()


def jpeg(width: int = 50, height: int = 40, *, rotated: bool = False, shade: int = 0) -> bytes:
    stream = io.BytesIO()
    exif = Image.Exif()
    if rotated:
        exif[0x0112] = 6
    Image.new("RGB", (width, height), (shade, shade, shade)).save(stream, "JPEG", exif=exif)
    return stream.getvalue()


def kit(
    image_set: str = "test", classes: tuple[str, ...] = ("cat", "dog"), *, folder: str = "VOC2012/"
) -> Files:
    """A development kit of three images: cat and dog, dog, nothing; what is public elsewhere than in `test` is other annotation."""
    cat, dog = classes
    bottom = 10 if image_set == "test" else 9
    files = {
        f"ImageSets/Main/{image_set}.txt": "a\nb\nc\n",
        f"ImageSets/Main/{cat}_{image_set}.txt": "a 1\nb -1\nc -1\n",
        f"ImageSets/Main/{dog}_{image_set}.txt": "a 1\nb 1\nc -1\n",
        "Annotations/a.xml": annotation(thing(cat), thing(dog, (20, 5, 40, 30))),
        "Annotations/b.xml": annotation(thing(dog, (1, 1, 10, bottom))),
        "Annotations/c.xml": annotation(),
    }
    return {f"{folder}{name}": text.encode() for name, text in files.items()}


def coco(**changes: Any) -> dict[str, Any]:
    """COCO's JSON of two images with three objects."""
    box = {"area": 100, "iscrowd": 0}
    found = {
        "images": [
            {"id": 1, "file_name": "one.jpg", "width": 50, "height": 40},
            {"id": 2, "file_name": "two.jpg", "width": 50, "height": 40},
        ],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 10, 10], **box},
            {"id": 2, "image_id": 1, "category_id": 2, "bbox": [20, 5, 20, 20], **box},
            {"id": 3, "image_id": 2, "category_id": 2, "bbox": [5, 5, 9, 9], **box},
        ],
    }
    return found | changes


def coco_file(**changes: Any) -> bytes:
    return json.dumps(coco(**changes)).encode()


TABLE = b"""image,class,left,top,right,bottom
a.jpg,cat,1,1,10,10
a.jpg,dog,20,5,40,30
b.jpg,dog,5,5,30,30
c.jpg
"""

CLASS_FOLDERS = {
    "cat/a.jpg": jpeg(shade=1),
    "cat/b.jpg": jpeg(shade=2),
    "dog/c.jpg": jpeg(shade=3),
    "dog/d.jpg": jpeg(shade=4),
}


def label_images() -> Files:
    labels = np.zeros((40, 50), np.uint8)
    labels[:20, :20], labels[30:, 30:] = 1, 2
    return {
        "classes.txt": b"cat\ndog\n",
        "a.png": labels_to_png(labels),
        "b.png": labels_to_png(labels.T[:40, :40].copy()),
    }


def bomb() -> bytes:
    """A picture of 900 million pixels in a few bytes."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 30_000, 30_000, 8, 0, 0, 0, 0)
    rest = b"IDAT" + zlib.compress(b"\0" * 1000)
    chunks = b"".join(
        struct.pack(">I", len(each) - 4) + each + struct.pack(">I", zlib.crc32(each))
        for each in (header, rest, b"IEND")
    )
    return b"\x89PNG\r\n\x1a\n" + chunks
