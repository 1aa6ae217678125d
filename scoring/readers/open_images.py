"""Annotation of Open Images: one CSV file for all boxes of all images."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from scoring.data.annotations import AnnotatedObject, Annotation, Box
from scoring.data.boxes import BoxConvention
from scoring.data.description import Image
from scoring.errors import shown
from scoring.readers.voc.annotations import AnnotationError

_NEEDED: Final = ("ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax")
_NUMBER: Final = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_QUOTED: Final = 40

_Row = Mapping[str, str]


def read_open_images(
    data: bytes, images: Iterable[Image], names: Mapping[str, str] | None = None
) -> dict[str, Annotation]:
    r"""The annotation of these images, in their order, from a file with a header and a line for each box.

    Edges, which the file has as shares of the image's sides, become pixels from its left and top edge: boxes are half-open. A flag is true
    where it is 1; -1 stands for "not known". names: what to call a label; None leaves all labels as they are. Boxes in other
    images, or with a label that has no name, are passed over. Raises AnnotationError with the line for a missing column
    or field, an edge that is no number from 0 to 1, and a box that ends before it begins.

    >>> text = b"ImageID,LabelName,XMin,XMax,YMin,YMax,IsGroupOf\na,/m/01yrx,0.5,1,0,0.25,1"
    >>> [thing] = read_open_images(text, [Image("a", 100, 80)], {"/m/01yrx": "cat"})["a"].objects
    >>> thing.name, thing.box, thing.group_of
    ('cat', Box(left=50.0, top=0.0, right=100.0, bottom=20.0), True)
    """
    known = {image.id: image for image in images}
    objects: dict[str, list[AnnotatedObject]] = {name: [] for name in known}
    for line, row in _rows(data):
        image, label = known.get(row["ImageID"]), row["LabelName"]
        name = label if names is None else names.get(label)
        if image is not None and name is not None:
            objects[image.id].append(_object(row, name, image, line))
    return {
        name: Annotation(image.width, image.height, tuple(objects[name]), BoxConvention.HALF_OPEN)
        for name, image in known.items()
    }


def _rows(data: bytes) -> Iterator[tuple[int, _Row]]:
    """The lines behind the header with their numbers; fields by the name of their column."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AnnotationError("this is not UTF-8 text", data.count(b"\n", 0, error.start) + 1) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if missing := [name for name in _NEEDED if name not in header]:
            raise AnnotationError(f"expected a header with the columns {', '.join(missing)}", 1)
        for fields in reader:
            if fields and len(fields) != len(header):
                message = f"expected {len(header)} fields, found {len(fields)}"
                raise AnnotationError(message, reader.line_num)
            if fields:
                yield reader.line_num, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        raise AnnotationError(f"this is not CSV: {error}", reader.line_num) from error


def _object(row: _Row, name: str, image: Image, line: int) -> AnnotatedObject:
    left, right, top, bottom = (_share(row, side, line) for side in islice(_NEEDED, 2, None))
    if right < left or bottom < top:
        raise AnnotationError(f"the box ends before it begins: {left:g} {right:g} {top:g} {bottom:g}", line)
    box = Box(left * image.width, top * image.height, right * image.width, bottom * image.height)
    return AnnotatedObject(
        name,
        box,
        truncated=row.get("IsTruncated") == "1",
        occluded=row.get("IsOccluded") == "1",
        group_of=row.get("IsGroupOf") == "1",
    )


def _share(row: _Row, column: str, line: int) -> float:
    text = row[column]
    if not _NUMBER.fullmatch(text) or not 0 <= float(text) <= 1:
        found = shown(text, _QUOTED)
        raise AnnotationError(f"expected a number from 0 to 1 as {column}, found '{found}'", line)
    return float(text)
