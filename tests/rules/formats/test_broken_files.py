"""Broken and hostile files of every format: each is told as a problem, soon, and never ends the worker's child."""

import json
import struct
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.pages.data_sets import jpeg
from tests.rules.formats.builders import png, read

LABELS = np.pad([[1, 2]], 3)
IMAGE = {"id": 1, "file_name": "a.jpg", "width": 50, "height": 40}
OBJECT = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5], "area": 25, "iscrowd": 0}
LONG = 200_000  # a regular expression that tries every pair of its places would take minutes


def coco(name: str = "cat", **changes: object) -> bytes:
    categories = [{"id": 1, "name": name}]
    return json.dumps(
        {"images": [IMAGE], "annotations": [OBJECT | changes], "categories": categories}
    ).encode()


def labelme(**changes: object) -> bytes:
    shape = {"label": "cat", "points": [[1, 1], [5, 5]], "shape_type": "rectangle"}
    return json.dumps({"shapes": [shape], "imagePath": "a.jpg", **changes}).encode()


def cvat(encoding: str = "utf-8", image: str = "a.jpg", head: str = "") -> bytes:
    box = '<box label="cat" xtl="1" ytl="1" xbr="5" ybr="5"/>'
    images = f'<image name="{image}" width="50" height="40">{box}</image>'
    return f'<?xml version="1.0" encoding="{encoding}"?>{head}<annotations>{images}</annotations>'.encode()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def with_chunk(kind: bytes, data: bytes) -> bytes:
    """A label image with another chunk behind its header."""
    found = png(LABELS)
    return found[:33] + chunk(kind, data) + found[33:]


def masks(image: bytes, classes: str = "cat\ndog") -> dict[str, bytes]:
    return {"masks/a.png": image, "masks/b.png": png(LABELS), "classes.txt": classes.encode()}


def yolo(line: str = "0 .5 .5 .1 .1", names: str = "names: [cat]") -> dict[str, bytes]:
    return {"labels/a.txt": line.encode(), "images/a.jpg": jpeg(), "data.yaml": names.encode()}


def kit(page: str) -> dict[str, bytes]:
    return {"Annotations/a.xml": page.encode(), "ImageSets/Main/test.txt": b"a\n"}


BROKEN: Mapping[str, tuple[str, dict[str, bytes]]] = {
    "coco, large number": ("bad-bbox", {"f.json": coco(bbox=[10**400, 1, 5.5, 5], area="x")}),
    "coco, NUL in a class": ("class-name", {"f.json": coco("a\0b")}),
    "coco, half a character in a class": ("class-name", {"f.json": coco("a\ud800")}),
    "labelme, large point": ("bad-shape", {"a.json": labelme(shapes=[{"label": "cat", "points": [[10**400, 1]] * 3}])}),
    "labelme, line break in a flag": ("class-name", {"a.json": labelme(shapes=[], flags={"a\n": True, "b\nc": True})}),
    "labelme, line break in an image": ("image-name", {"a.json": labelme(shapes=[], imagePath="a\nb", flags={"a": True})}),
    "labelme, odd image": ("not-labelme", {"a.json": labelme(imagePath={"a": "b"})}),
    "cvat, unknown encoding": ("not-xml", {"a.xml": cvat("nonsense")}),
    "cvat, no encoding of text": ("not-xml", {"a.xml": cvat("hex")}),
    "cvat, utf-7": ("not-xml", {"a.xml": cvat("utf-7")}),
    "cvat, entities": ("not-xml", {"a.xml": cvat(head='<!DOCTYPE a [<!ENTITY b "c">]>')}),
    "cvat, entities in utf-16": ("not-xml", {"a.xml": cvat("utf-16", head="<!DOCTYPE a>").decode().encode("utf-16")}),
    "cvat, line break in an image": ("image-name", {"a.xml": cvat(image="a&#10;b")}),
    "table, long width": ("bad-number", {"a.csv": b"filename,width,height,class,xmin,ymin,xmax,ymax\na,%s,4,c,1,1,2,2" % (b"9" * 5000)}),
    "table, open quote": ("bad-row", {"a.csv": b'image,label\n"a,cat\nb,dog\n'}),
    "table, blanks in a box": ("bad-box", {"a.csv": b'image_id,bbox\na,"[%s1(]"\n' % (b" " * 100_000)}),
    "yolo, long number of a class": ("settings", yolo(names=f"names: {{{'9' * 5000}: cat}}")),
    "yolo, blanks behind a name": ("settings", yolo(names=f"names: [a{' ' * LONG}")),
    "yolo, blanks in a name": ("class-name", yolo(names=f"names: [a{' ' * LONG}b']")),
    "yolo, whole numbers": ("no-annotation", {"a.txt": f"0 {'1234567890 ' * 12}x".encode(), "a.jpg": jpeg()}),
    "label image, text of megabytes": ("mask", masks(with_chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(2 << 20))))),
    "label image, profile of megabytes": ("mask", masks(with_chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(2 << 20))))),
    "label image, short chunk": ("mask", masks(with_chunk(b"gAMA", b""))),
    "label image, frame beyond the image": ("mask", masks(with_chunk(b"fcTL", bytes(26)))),
    "colours, blanks": ("colour", masks(png(LABELS)) | {"labelmap.txt": f"cat:1{' ' * LONG}x".encode()}),
    "kit, open objects": ("annotation", kit("<annotation>" + "<object>" * 50_000)),
    "kit, open sizes": ("annotation", kit("<annotation><object/>" + "<size " * 50_000)),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_broken_files_are_told_soon(what: str, tmp_path: Path) -> None:
    code, files = BROKEN[what]
    start = time.process_time()

    found = read(tmp_path, files, role="hidden")

    assert code in {each.code for each in found.report.problems}
    assert time.process_time() - start < 5


def test_findings_have_nothing_that_a_database_cannot_store(tmp_path: Path) -> None:
    table = "image,class,left,top,right,bottom,a\x01b\na,cat,1,1,5,5,1\n"

    found = read(tmp_path, {"a.csv": table.encode()}, role="public")

    assert any("the columns a\N{REPLACEMENT CHARACTER}b are not read" in each for each in found.warnings)


def test_a_drawn_picture_that_is_broken_is_left_out(tmp_path: Path) -> None:
    broken = with_chunk(b"fcTL", bytes(26))

    found = read(tmp_path, {"cat/a.png": broken, "dog/b.jpg": jpeg()})

    assert found.problems == []
