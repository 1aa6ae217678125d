"""Detections in the CSV form of the Open Images Challenge."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from scoring.data.arrays import Floats, Places
from scoring.data.boxes import BoxConvention
from scoring.data.description import Image
from scoring.data.detections import Detections
from scoring.readers.open_images import Hierarchy, Row, nothing_known, read_rows
from scoring.readers.voc.annotations import AnnotationError

_EDGES: Final = ("XMin", "YMin", "XMax", "YMax")
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
    for row in read_rows(data, ("ImageID", "LabelName", "Score", *_EDGES)):
        if row["ImageID"] in known and (names is None or row["LabelName"] in names):
            rows.append(row)
        elif other is None or (row["ImageID"] in known and other["ImageID"] not in known):
            other = row
    if other is not None and not rows:
        raise nothing_known(other, known, names)
    labels = [row["LabelName"] if names is None else names[row["LabelName"]] for row in rows]
    shares = np.array([[row.number(edge) for edge in _EDGES] for row in rows], np.float64).reshape(-1, 4)
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
        found = f"{row[_EDGES[place]]} as {_EDGES[place]}"
        message = f"expected edges as shares of the image's width and height, from 0 to 1, found {found}: are they pixels?"
        raise AnnotationError(message, row.line)


def expand_detections(detections: Detections, hierarchy: Hierarchy) -> Detections:
    """Detections of a class also as detections of every class above it, for detectors that give the most specific class only.

    The classes are labels of the hierarchy; those that it does not have stay as they are, and classes above that
    `detections.classes` does not have get none. Detections of the classes above are kept, a box that such a
    class already has in the image is not added again, and of equal boxes the one with the highest score is added.

    >>> from scoring.readers.open_images import read_hierarchy
    >>> tree = b'{"LabelName": "all", "Subcategory": [{"LabelName": "hat", "Subcategory": [{"LabelName": "cap"}]}]}'
    >>> caps = Detections.from_arrays(["a"], ["cap"], [0.9], [[0, 0, 9, 9]], classes=["cap", "hat"])
    >>> expanded = expand_detections(caps, read_hierarchy(tree))
    >>> [expanded.classes[label] for label in expanded.label]
    ['cap', 'hat']
    """
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
