"""Annotation and detections in the CSV files of Open Images."""

import csv
import io
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ..data.annotations import AnnotatedObject, Annotation, Box, BoxConvention
from ..data.arrays import Floats, Places, assert_kinds
from ..data.description import Image
from ..data.predictions import Detections
from ..errors import NOT_CSV, shown
from .coco_json.records import JsonError, parse_json
from .voc_annotations import AnnotationError

_NUMBER: Final = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_QUOTED: Final = 40


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the file: its number, and its fields by the names of their columns."""

    line: int
    fields: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        """The field of a column that the file is known to have."""
        return self.fields[column]

    def is_set(self, column: str) -> bool:
        """Whether the flag of this column is there and 1."""
        return self.fields.get(column) == "1"

    def number(self, column: str) -> float:
        """A finite number. Raises AnnotationError for anything else."""
        text = self.fields[column]
        if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            raise self._unexpected(column, "a number")
        return float(text)

    def share(self, column: str) -> float:
        """A number from 0 to 1. Raises AnnotationError for anything else."""
        text = self.fields[column]
        if not _NUMBER.fullmatch(text) or not 0 <= float(text) <= 1:
            raise self._unexpected(column, "a number from 0 to 1")
        return float(text)

    def _unexpected(self, column: str, expected: str) -> AnnotationError:
        found = shown(self.fields[column], _QUOTED)
        return AnnotationError(f"expected {expected} as {column}, found '{found}'", self.line)


def read_rows(data: bytes, columns: Sequence[str]) -> Iterator[Row]:
    r"""The lines behind the header, which has to have these columns, in any order and among others.

    Raises AnnotationError with the line for what is not UTF-8 or CSV, a missing column, and another number of fields.

    >>> [row["LabelName"] for row in read_rows(b"ImageID,LabelName\na,cat\n", ("LabelName",))]
    ['cat']
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AnnotationError("this is not UTF-8 text", data.count(b"\n", 0, error.start) + 1) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if missing := [name for name in columns if name not in header]:
            raise AnnotationError(f"expected a header with the columns {', '.join(missing)}", 1)
        for fields in reader:
            if fields and len(fields) != len(header):
                message = f"expected {len(header)} fields, found {len(fields)}"
                raise AnnotationError(message, reader.line_num)
            if fields:
                yield Row(reader.line_num, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise AnnotationError(NOT_CSV, reader.line_num) from error


def nothing_known(row: Row, images: Collection[str], names: Mapping[str, str] | None) -> AnnotationError:
    """The error that no line is of one of these images and labels, with what one line has in their place."""
    if row["ImageID"] not in images:
        column, known = "ImageID", images
        what = f"no line is of one of the {len(images):,} images"
    else:
        column, known = "LabelName", names or ()
        what = f"no line has one of the {len(known):,} labels"
    example, found = next(iter(known), ""), shown(row[column], _QUOTED)
    return AnnotationError(
        f"{what}, such as '{shown(example, _QUOTED)}'; this one has '{found}' as {column}", row.line
    )


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The classes above and below each class, by label, without the root that only collects them."""

    ancestors: Mapping[str, tuple[str, ...]]
    descendants: Mapping[str, tuple[str, ...]]

    def expand_box(self, label: str) -> tuple[str, ...]:
        """The labels of a box: a football helmet is a helmet as well. Raises KeyError for an unknown label.

        >>> read_hierarchy(b'{"LabelName": "all", "Subcategory": [{"LabelName": "helmet"}]}').expand_box("helmet")
        ('helmet',)
        """
        return (label, *self.ancestors[label])

    def expand_image_label(self, label: str, *, present: bool) -> tuple[str, ...]:
        """What a label of an image says: a class that is present has its ancestors with it, one that is absent its descendants.

        Raises KeyError for an unknown label.

        >>> tree = b'{"LabelName": "all", "Subcategory": [{"LabelName": "helmet", "Subcategory": [{"LabelName": "hat"}]}]}'
        >>> hierarchy = read_hierarchy(tree)
        >>> hierarchy.expand_image_label("helmet", present=True), hierarchy.expand_image_label("helmet", present=False)
        (('helmet',), ('helmet', 'hat'))
        """
        return (label, *(self.ancestors if present else self.descendants)[label])


def read_hierarchy(data: bytes) -> Hierarchy:
    """The hierarchy in a JSON file of Open Images, a tree of nodes with `LabelName` and perhaps `Subcategory`.

    A label may stand in several places of the tree. Its parts (`Part`) are no subclasses. Raises AnnotationError for what
    is not such a tree. Source: tf-models-research-object-detection 2.8.0, oid_hierarchical_labels_expansion.py.

    >>> tree = b'{"LabelName": "all", "Subcategory": [{"LabelName": "helmet", "Subcategory": [{"LabelName": "hat"}]}]}'
    >>> dict(read_hierarchy(tree).ancestors)
    {'helmet': (), 'hat': ('helmet',)}
    """
    try:
        root = parse_json(data)
    except JsonError as error:
        raise AnnotationError(str(error), error.line) from error
    _label_of(root)
    ancestors: dict[str, set[str]] = {}
    for path in _paths(root):
        ancestors.setdefault(path[-1], set()).update(path[:-1])
    descendants: dict[str, set[str]] = {label: set() for label in ancestors}
    for label, above in ancestors.items():
        for each in above:
            descendants[each].add(label)
    return Hierarchy(_sorted(ancestors), _sorted(descendants))


def _paths(root: Any) -> Iterator[tuple[str, ...]]:
    """The labels from below the root to each node."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), child) for child in _children(root)]
    while waiting:
        above, node = waiting.pop()
        path = (*above, _label_of(node))
        yield path
        waiting.extend((path, child) for child in _children(node))


def _label_of(node: Any) -> str:
    label = node.get("LabelName") if isinstance(node, dict) else None
    if not isinstance(label, str):
        raise AnnotationError("expected a tree of nodes with a 'LabelName'")
    return label


def _children(node: Any) -> Iterable[Any]:
    children = node.get("Subcategory", [])
    if not isinstance(children, list):
        raise AnnotationError(f"expected a list as 'Subcategory' of '{_label_of(node)}'")
    return children


def _sorted(related: Mapping[str, set[str]]) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({label: tuple(sorted(others - {label})) for label, others in related.items()})


_EDGES: Final = ("XMin", "XMax", "YMin", "YMax")


def read_open_images(
    data: bytes,
    images: Iterable[Image],
    names: Mapping[str, str] | None = None,
    *,
    labels: bytes | None = None,
    hierarchy: Hierarchy | None = None,
) -> dict[str, Annotation]:
    r"""The annotation of these images, in their order, from a file with a header and a line for each box.

    Edges are fractions of the image's width and height and become half-open boxes in pixels. A flag is true where it is 1; -1 stands for
    "not known". names: the class of each label; None takes the labels themselves. labels: a file with a line for each
    image-level label, whose `Confidence` is 1 for a class that is in the image and 0 for one that is not; None where every
    class is annotated in every image. hierarchy: boxes get the labels of all classes above theirs, image-level labels
    stand for all classes above (1) or below (0). Boxes and labels of other images, or without a name, are left out.
    Raises AnnotationError with the line for a missing column or field, an edge that is no number from 0 to 1, a box that
    ends before it begins, a confidence other than 0 and 1, a label that is not in the hierarchy, and if every line is left out
    because images or classes are spelt otherwise.

    >>> text = b"ImageID,LabelName,XMin,XMax,YMin,YMax,IsGroupOf\na,/m/01yrx,0.5,1,0,0.25,1"
    >>> [thing] = read_open_images(text, [Image("a", 100, 80)], {"/m/01yrx": "cat"})["a"].objects
    >>> thing.name, thing.box, thing.group_of
    ('cat', Box(left=50.0, top=0.0, right=100.0, bottom=20.0), True)
    """
    known = {image.id: image for image in images}
    objects: dict[str, list[AnnotatedObject]] = {name: [] for name in known}
    otherwise: Row | None = None
    for row in read_rows(data, ("ImageID", "LabelName", *_EDGES)):
        if otherwise is None and _is_spelt_otherwise(row, known, names):
            otherwise = row
        if (image := known.get(row["ImageID"])) is not None:
            expanded = _expand_box(row, hierarchy)
            objects[image.id] += [_object(row, name, image) for name in _named(expanded, names)]
    if otherwise is not None and not any(objects.values()):
        raise nothing_known(otherwise, known, names)
    verified = None if labels is None else _verified(labels, known, names, hierarchy)
    return {
        name: Annotation(
            image.width,
            image.height,
            tuple(objects[name]),
            BoxConvention.HALF_OPEN,
            None if verified is None else frozenset(verified[name]),
        )
        for name, image in known.items()
    }


def _is_spelt_otherwise(row: Row, images: Collection[str], names: Mapping[str, str] | None) -> bool:
    """Whether a line has an image's name with an ending or folder, or a class's name in place of its label.

    Some images of a large set may have no object at all, so that others are no error.
    """
    image, label = row["ImageID"], row["LabelName"]
    if image not in images:
        return image.rpartition("/")[2].partition(".")[0] in images
    return names is not None and label not in names and label in names.values()


def _named(labels: Iterable[str], names: Mapping[str, str] | None) -> list[str]:
    return list(labels) if names is None else [names[label] for label in labels if label in names]


def _expand_box(row: Row, hierarchy: Hierarchy | None) -> tuple[str, ...]:
    label = row["LabelName"]
    if hierarchy is None:
        return (label,)
    if label not in hierarchy.ancestors:
        raise AnnotationError(f"'{label}' is not in the hierarchy", row.line)
    return hierarchy.expand_box(label)


def _verified(
    data: bytes,
    known: Mapping[str, Image],
    names: Mapping[str, str] | None,
    hierarchy: Hierarchy | None,
) -> dict[str, set[str]]:
    """The classes of which the labels of each image say something."""
    verified: dict[str, set[str]] = {name: set() for name in known}
    for row in read_rows(data, ("ImageID", "LabelName", "Confidence")):
        if row["ImageID"] in known:
            confidence = row.number("Confidence")
            if confidence not in {0.0, 1.0}:
                raise AnnotationError(f"expected 0 or 1 as Confidence, found '{confidence:g}'", row.line)
            expanded = _expand_label(row, hierarchy, present=confidence == 1)
            verified[row["ImageID"]].update(_named(expanded, names))
    return verified


def _expand_label(row: Row, hierarchy: Hierarchy | None, *, present: bool) -> tuple[str, ...]:
    _expand_box(row, hierarchy)
    return (
        (row["LabelName"],)
        if hierarchy is None
        else hierarchy.expand_image_label(row["LabelName"], present=present)
    )


def _object(row: Row, name: str, image: Image) -> AnnotatedObject:
    left, right, top, bottom = (row.share(side) for side in _EDGES)
    if right < left or bottom < top:
        message = f"the box ends before it begins: {left:g} {right:g} {top:g} {bottom:g}"
        raise AnnotationError(message, row.line)
    box = Box(left * image.width, top * image.height, right * image.width, bottom * image.height)
    return AnnotatedObject(
        name,
        box,
        truncated=row.is_set("IsTruncated"),
        occluded=row.is_set("IsOccluded"),
        group_of=row.is_set("IsGroupOf"),
    )


_EDGES_OF_DETECTIONS: Final = ("XMin", "YMin", "XMax", "YMax")
_FURTHEST: Final = 2  # edges of most boxes, as shares of a side


def read_open_images_detections(
    data: bytes, images: Iterable[Image], names: Mapping[str, str] | None = None
) -> Detections:
    r"""The detections in these images from a file with a header and a line for each, in the order of the file.

    Edges are fractions of the image's width and height, perhaps outside [0, 1], and become half-open boxes in pixels. names: the class
    of each label, in the order of the classes; None takes the labels themselves, in alphabetical order. Detections in other images,
    or of a label without a name, are left out, as the evaluator of the challenge does.
    Raises AnnotationError with the line for a missing column or field, and what is no number; if all lines are left out, and if
    most boxes have an edge far beyond 1.

    >>> text = b"ImageID,LabelName,Score,XMin,XMax,YMin,YMax\na,cat,0.9,0.5,1,0,0.25\n"
    >>> found = read_open_images_detections(text, [Image("a", 100, 80)])
    >>> found.classes, found.boxes.tolist()
    (('cat',), [[50.0, 0.0, 100.0, 20.0]])
    """
    known = {image.id: image for image in images}
    rows, other = list[Row](), None
    for row in read_rows(data, ("ImageID", "LabelName", "Score", *_EDGES_OF_DETECTIONS)):
        if row["ImageID"] in known and (names is None or row["LabelName"] in names):
            rows.append(row)
        elif other is None or (row["ImageID"] in known and other["ImageID"] not in known):
            other = row
    if other is not None and not rows:
        raise nothing_known(other, known, names)
    labels = [row["LabelName"] if names is None else names[row["LabelName"]] for row in rows]
    shares = np.array(
        [[row.number(edge) for edge in _EDGES_OF_DETECTIONS] for row in rows], np.float64
    ).reshape(-1, 4)
    _check_shares(shares, rows)
    sizes = [(known[row["ImageID"]].width, known[row["ImageID"]].height) for row in rows]
    return Detections.from_arrays(
        [row["ImageID"] for row in rows],
        labels,
        [row.number("Score") for row in rows],
        shares * np.tile(np.array(sizes, np.float64).reshape(-1, 2), 2),
        images=list(known),
        classes=sorted(set(labels)) if names is None else list(dict.fromkeys(names.values())),
        convention=BoxConvention.HALF_OPEN,
    )


def _check_shares(shares: Floats, rows: Sequence[Row]) -> None:
    """Check that edges are shares of an image's sides, and not pixels: those of a box may lie outside its image, but not far."""
    beyond = np.abs(shares).max(axis=1, initial=0) > _FURTHEST
    if 2 * np.count_nonzero(beyond) > len(rows):
        row, place = rows[int(beyond.argmax())], int(np.abs(shares[beyond.argmax()]).argmax())
        found = f"{row[_EDGES_OF_DETECTIONS[place]]} as {_EDGES_OF_DETECTIONS[place]}"
        message = f"expected edges as shares of the image's width and height, from 0 to 1, found {found}: are they pixels?"
        raise AnnotationError(message, row.line)


def expand_detections(detections: Detections, hierarchy: Hierarchy) -> Detections:
    """Detections of a class also as detections of every class above it, for detectors that give the most specific class only.

    The classes are labels of the hierarchy; those that it does not have stay as they are, and classes above that
    `detections.classes` does not have get none. Detections of the classes above are kept, a box that such a
    class already has in the image is not added again, and of equal boxes the one with the highest score is added.

    >>> from heldout_scoring.readers.open_images import read_hierarchy
    >>> tree = b'{"LabelName": "all", "Subcategory": [{"LabelName": "hat", "Subcategory": [{"LabelName": "cap"}]}]}'
    >>> caps = Detections.from_arrays(["a"], ["cap"], [0.9], [[0, 0, 9, 9]], classes=["cap", "hat"])
    >>> expanded = expand_detections(caps, read_hierarchy(tree))
    >>> [expanded.classes[label] for label in expanded.label]
    ['cap', 'hat']
    """
    assert_kinds(detections=(detections, Detections), hierarchy=(hierarchy, Hierarchy))
    number = {name: place for place, name in enumerate(detections.classes)}
    above = [
        [number[name] for name in hierarchy.ancestors.get(label, ()) if name in number]
        for label in detections.classes
    ]
    count = np.array([len(each) for each in above], np.intp)[detections.label]
    source = np.concatenate([np.arange(len(detections)), np.repeat(np.arange(len(detections)), count)])
    added = [label for each in detections.label.tolist() for label in above[each]]
    label = np.concatenate([detections.label, np.array(added, np.int32)])
    rows = _without_repeated(detections, source, label)
    return replace(
        detections,
        image=detections.image[source[rows]],
        label=label[rows],
        score=detections.score[source[rows]],
        boxes=detections.boxes[source[rows]],
    )


def _without_repeated(detections: Detections, source: Places, label: Floats | Places) -> Places:
    """The rows that stay, in their order: all given ones, and the best of each added box that its class does not have."""
    given = np.arange(len(source)) < len(detections)
    keys = np.column_stack([detections.image[source], label, detections.boxes[source]])
    best_first = np.lexsort((np.arange(len(source)), -detections.score[source], ~given))
    _, first = np.unique(keys[best_first], axis=0, return_index=True)
    kept = given.copy()
    kept[best_first[first]] = True
    rows: Places = np.flatnonzero(kept)
    return rows
