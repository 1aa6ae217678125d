"""CVAT for images 1.1: XML with an element for each image, and in it boxes, polygons, masks and tags."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat  # a document type is refused, so that there are no entities

import numpy as np

from app.images.decoding import MAX_PIXELS
from app.images.matching import SUFFIXES, FileIndex
from app.intake.formats.drawn_objects import FEWEST_POINTS, DrawnObject, DrawnSet
from app.intake.formats.image_sets import set_of, set_of_file
from app.intake.formats.pictures import size_of_picture
from app.intake.formats.reading import CVAT, AnnotatedSet, Reading, Size, is_class_name
from app.intake.formats.voc_files import SIZE_IS_0, EncodingProblem, as_utf8, files_with_root
from heldout_scoring import Problem, Rule

_SKELETON: Final = "skeleton"
_SHAPES: Final = ("polyline", "points", "cuboid", "ellipse", _SKELETON)
_CORNERS: Final = ("xtl", "ytl", "xbr", "ybr")
_VIDEO: Final = "CVAT for video (tracks) is not read; export as CVAT for images 1.1 or as COCO 1.0"


class _WrongError(Exception):
    """An attribute is missing or wrong; the argument is a rule."""


def evidence(reading: Reading) -> list[Path]:
    """The XML files whose first element is that of CVAT."""
    return files_with_root(reading.with_suffix(".xml"), "annotations")


def read(reading: Reading) -> Iterator[AnnotatedSet]:
    """Read every file; each of its subsets is an image set. Pictures beside them join the others."""
    for path in reading.with_suffix(*SUFFIXES):
        reading.use_as_picture(path)
    for path in evidence(reading):
        reading.use(path)
        reader = _Reader(reading, path)
        reader.parse()
        for each in reader.sets.values():
            yield from each.read(reading, CVAT)


@dataclass
class _Reader:
    """Reads a file element by element. subsets: as the file calls the sets; groups: the polygons that are one object, by image, class and group."""

    reading: Reading
    path: Path
    sets: dict[str, DrawnSet] = field(default_factory=dict)
    subsets: dict[str, str] = field(default_factory=dict)
    parser: Any = None
    image: str = ""
    set: DrawnSet | None = None
    size: Size | None = None
    tracks: int = 0
    skeletons: int = 0  # that begin and do not end yet
    groups: dict[tuple[str, str, str], list[list[float]]] = field(default_factory=dict)

    def parse(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        try:
            self.parser.Parse(
                as_utf8(self.path.read_bytes(), partial(self.reading.other_encoding, self.path)), True
            )
        except EncodingProblem as error:
            self._say("not-xml", error.rule, error.line)
        except expat.ExpatError as error:
            rule = Rule(
                f"this is not well-formed XML: {expat.ErrorString(error.code)}, column {error.offset + 1} of this line"
            )
            self._say("not-xml", rule, error.lineno)
        except _WrongError as error:
            self._say("not-xml", error.args[0], self.parser.CurrentLineNumber)
        if self.tracks:
            self._say("cvat-video", Rule(f"{self.tracks:,} tracks: {_VIDEO}"))
        elif not self.sets and not self.image:
            self._say("no-image", Rule("there is no element <image>; expected CVAT for images 1.1"))

    def _refuse_doctype(self, *_: object) -> None:
        raise _WrongError(Rule("this is not plain XML: it has a document type or entities"))

    def _say(self, code: str, rule: Rule, line: int | None = None) -> None:
        self.reading.problems.add(Problem(code, rule, self.reading.name(self.path), line))

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self.tracks += name == "track"
        self.skeletons += name == _SKELETON
        try:
            if name == "image":
                self._take_image(attributes)
            elif self.set is not None and self.skeletons == (name == _SKELETON):
                self._take_shape(self.set, name, attributes)
        except _WrongError as error:
            self._say("bad-attribute", error.args[0], self.parser.CurrentLineNumber)

    def _end(self, name: str) -> None:
        self.skeletons -= name == _SKELETON
        if name == "image" and self.set is not None:
            for (image, label, _), polygons in self.groups.items():
                self.set.objects.append(DrawnObject.of_polygons(image, label, polygons))
            self.set, self.groups = None, {}

    def _take_image(self, attributes: Mapping[str, str]) -> None:
        self.image = _text(attributes, "name")
        subset = attributes.get("subset", "")
        of_file = set_of_file(self.path, self.reading.root, self.reading.set_name)
        name = set_of(subset, subset) if subset else of_file
        self.reading.note_set(self.reading.name(self.path), name)
        if (other := self.subsets.setdefault(name, subset)) != subset:
            words = "the subsets '{}' and '{}' would both be the image set {}; rename one of them"
            raise _WrongError(Rule(words, other, subset, name))
        self.size = self._size(attributes, name)
        self.set = self.sets.setdefault(name, DrawnSet(name, self.reading.name(self.path)))
        if self.image in self.set.images:
            raise _WrongError(Rule("the image {} is there twice", self.image))
        self.set.images[self.image] = self.size

    @cached_property
    def _pictures(self) -> FileIndex:
        return FileIndex.of(self.reading.unpacked.pictures)

    def _size(self, attributes: Mapping[str, str], image_set: str) -> Size:
        """The size of an image, or that of its picture where both sides are 0."""
        width, height = (_number(attributes, side) for side in ("width", "height"))
        if width == height == 0:  # of tools that did not have the image
            size = size_of_picture(
                self.reading.unpacked, self.reading.role, self.image, image_set, self._pictures
            )
            if size is None:
                raise _WrongError(SIZE_IS_0)
            return size
        if not (
            width.is_integer()
            and height.is_integer()
            and min(width, height) >= 1
            and width * height <= MAX_PIXELS
        ):
            raise _WrongError(
                Rule(
                    "expected 'width' and 'height' of an image in pixels, found {}",
                    f"{width:g} and {height:g}",
                )
            )
        return int(width), int(height)

    def _take_shape(self, found: DrawnSet, name: str, attributes: Mapping[str, str]) -> None:
        if name not in ("box", "polygon", "mask", "tag"):
            found.left[name if name in _SHAPES else "others"] += name != "attribute"
            return
        label = _text(attributes, "label")
        if not is_class_name(label):
            raise _WrongError(Rule("expected the name of a class as 'label', found {}", label))
        if name == "tag":
            found.tags.append((self.image, label))
        elif name == "box":
            found.rotated += _number(attributes, "rotation", "0") != 0
            corners = [_number(attributes, side) for side in _CORNERS]
            found.objects.append(DrawnObject.of_box(self.image, label, corners))
        elif name == "polygon":
            points, group = _points(attributes), attributes.get("group_id", "0")
            key = group if group != "0" else f"alone {len(self.groups)}"
            self.groups.setdefault((self.image, label, key), []).append(points)
        elif self.size is not None:
            found.objects.append(_of_mask(self.image, label, attributes, self.size))


def _text(attributes: Mapping[str, str], name: str) -> str:
    if not (text := attributes.get(name, "").strip()):
        raise _WrongError(Rule(f"'{name}' is missing"))
    return text


def _number(attributes: Mapping[str, str], name: str, otherwise: str = "") -> float:
    return _float(attributes.get(name, otherwise), name)


def _float(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not (isfinite(number) and abs(number) < 1e9):
        raise _WrongError(Rule(f"expected a number as '{name}', found {{}}", text or "nothing"))
    return number


def _points(attributes: Mapping[str, str]) -> list[float]:
    """The points of a polygon, `x,y;x,y;…`, one after the other."""
    points = [point.split(",") for point in _text(attributes, "points").split(";")]
    if len(points) < FEWEST_POINTS or any(len(point) != 2 for point in points):
        raise _WrongError(Rule(f"expected at least {FEWEST_POINTS} points x,y;x,y;… as 'points'"))
    return [_float(number, "points") for point in points for number in point]


def _of_mask(image: str, label: str, attributes: Mapping[str, str], size: Size) -> DrawnObject:
    """An object whose mask is given by run lengths along the rows of its box, beginning with pixels outside it."""
    left, top, width, height = (int(_number(attributes, side)) for side in ("left", "top", "width", "height"))
    try:
        counts = [int(each) for each in _text(attributes, "rle").split(",")]
    except ValueError:
        counts = []
    is_inside = min(left, top) >= 0 and left + width <= size[0] and top + height <= size[1]
    if (
        not is_inside
        or min(width, height) < 1
        or min(counts, default=-1) < 0
        or sum(counts) != width * height
    ):
        raise _WrongError(Rule("expected run lengths as 'rle' that cover a box within the image"))
    pixels = np.zeros(size[::-1], np.bool_)
    values = np.arange(len(counts)) % 2 == 1
    pixels[top : top + height, left : left + width] = np.repeat(values, counts).reshape(height, width)
    down = pixels.ravel(order="F")
    ends = [0, *(np.flatnonzero(down[1:] != down[:-1]) + 1).tolist(), down.size]
    runs = [end - start for start, end in pairwise(ends)]
    mask = {"size": [size[1], size[0]], "counts": [0, *runs] if down[0] else runs}
    box = float(left), float(top), float(left + width), float(top + height)
    return DrawnObject(image, label, box, float(np.count_nonzero(pixels)), mask)
