"""Annotation of Open Images: CSV files with the boxes and the image-level labels of all images."""

from collections.abc import Iterable, Mapping
from typing import Final

from scoring.data.annotations import AnnotatedObject, Annotation, Box
from scoring.data.boxes import BoxConvention
from scoring.data.description import Image
from scoring.readers.open_images_csv import Row, read_rows
from scoring.readers.open_images_hierarchy import Hierarchy
from scoring.readers.voc.annotations import AnnotationError

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
    ends before it begins, a confidence other than 0 and 1, and a label that is not in the hierarchy.

    >>> text = b"ImageID,LabelName,XMin,XMax,YMin,YMax,IsGroupOf\na,/m/01yrx,0.5,1,0,0.25,1"
    >>> [thing] = read_open_images(text, [Image("a", 100, 80)], {"/m/01yrx": "cat"})["a"].objects
    >>> thing.name, thing.box, thing.group_of
    ('cat', Box(left=50.0, top=0.0, right=100.0, bottom=20.0), True)
    """
    known = {image.id: image for image in images}
    objects: dict[str, list[AnnotatedObject]] = {name: [] for name in known}
    for row in read_rows(data, ("ImageID", "LabelName", *_EDGES)):
        if (image := known.get(row["ImageID"])) is not None:
            expanded = _expand_box(row, hierarchy)
            objects[image.id] += [_object(row, name, image) for name in _named(expanded, names)]
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
