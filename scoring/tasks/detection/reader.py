"""Detections read from result files and from arrays, class by class."""

import io
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Flags
from scoring.data.detections import ClassDetections, Detections
from scoring.data.ground_truth import GroundTruth
from scoring.errors import Problems, Severity
from scoring.readers.image_index import ImageIndex
from scoring.readers.lines.grammar import FIELDS, FURTHEST, Invalid, Row, check_box, parse_line
from scoring.readers.lines.line_reader import LineReader, Schema, lenient_table_of, parse_tidied, table_of
from scoring.tasks.matching_names import places_of
from scoring.tasks.task import Keyed

_BOX: Final = FIELDS[2:]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """How a file is read."""

    images: ImageIndex
    file: str
    problems: Problems

    @property
    def keeps_inverted(self) -> bool:
        """Whether boxes that end before they begin are read as the development kits read them, without a problem."""
        return self.problems.mistakes is not Severity.PROBLEM


def read_detections(data: bytes, images: ImageIndex, *, file: str, problems: Problems) -> ClassDetections:
    r"""Read a file of `<image> <confidence> <left> <top> <right> <bottom>`; numbers are exactly Python's float().

    Every invalid line becomes a problem with its number, and is left out. A byte order mark and line ends of other systems
    are accepted with a note, empty lines without. A box that ends before it begins is a problem, too; where `problems.mistakes`
    are notes it is kept, as in the development kits, and matches nothing.

    >>> from scoring.data.description import Description, Image
    >>> index = ImageIndex.of(Description("VOC2007", "test", (), (), (Image("000001", 353, 500),)))
    >>> read_detections(b"000001 0.5 10 20 110 220\n", index, file="comp3_det_test_dog.txt", problems=Problems()).boxes
    array([[ 10.,  20., 110., 220.]])
    """
    return join_detections(list(read_in_blocks(data, Reading(images, file, problems))))


def join_detections(parts: Sequence[ClassDetections]) -> ClassDetections:
    """All detections, one part after the other.

    >>> len(join_detections([]))
    0
    """
    if len(parts) == 1:
        return parts[0]
    return ClassDetections(
        np.concatenate([part.image for part in parts] or [np.empty(0, np.int32)]),
        np.concatenate([part.confidence for part in parts] or [np.empty(0)]),
        np.concatenate([part.boxes for part in parts] or [np.empty((0, 4))]),
    )


def read_in_blocks(data: bytes, reading: Reading) -> Iterator[ClassDetections]:
    r"""Read like `read_detections`, some lines at a time.

    >>> from scoring.data.description import Description, Image
    >>> index = ImageIndex.of(Description("VOC2007", "test", (), (), (Image("000001", 353, 500),)))
    >>> reading = Reading(index, "comp3_det_test_dog.txt", Problems())
    >>> [len(found) for found in read_in_blocks(b"000001 0.5 10 20 110 220\n", reading)]
    [1]
    """
    reading.images.require_names()
    reader = LineReader(
        len(FIELDS),
        partial(_read_fast, reading=reading),
        partial(_read_leniently, reading=reading),
        partial(_read_exactly, reading=reading),
        reading.images.max_lines,
    )
    return reader.read(data, reading.file, reading.problems)


def outside(found: ClassDetections, images: ImageIndex) -> NDArray[np.bool_]:
    """Which boxes extend beyond their image, with pixels counted from 1: bool (n,)."""
    width, height = (np.take(sizes, found.image) for sizes in images.sizes.T)
    left, top, right, bottom = found.boxes.T
    result: NDArray[np.bool_] = np.minimum(np.minimum(left, top), np.minimum(right, bottom)) < 1
    result |= np.maximum(left, right) > width
    result |= np.maximum(top, bottom) > height
    return result


def inverted(found: ClassDetections, images: ImageIndex) -> NDArray[np.bool_]:
    """Which boxes have no pixel from left to right or from top to bottom, both included: bool (n,).

    As in `grammar.check_box`, boxes with one edge clipped to the image do not count.
    """
    left, top, right, bottom = (found.boxes[:, edge] for edge in range(4))
    suspect = np.flatnonzero((right - left + 1 <= 0) | (bottom - top + 1 <= 0))
    low, high = found.boxes[:, :2], found.boxes[:, 2:]
    low, high, sizes = low[suspect], high[suspect], images.sizes[found.image[suspect]]
    result = np.zeros(len(found), np.bool_)
    result[suspect] = ((high - low + 1 <= 0) & (low > 1) & (high < sizes - 1)).any(axis=1)
    return result


def _read_fast(block: bytes, reading: Reading) -> ClassDetections | None:
    """Parse a block of valid lines; None if one may be invalid, or is written unusually."""
    found = parse_tidied(block, partial(_parse, images=reading.images))
    if found is None or reading.keeps_inverted:
        return found
    return None if inverted(found, reading.images).any() else found


def _read_leniently(block: bytes, reading: Reading) -> tuple[ClassDetections, Flags] | None:
    """A row for each regular line, and which rows are valid."""
    images = reading.images
    table = lenient_table_of(block, _schema(images))
    if table is None:
        return None
    image, known = images.names.known_places(table["image"])
    numbers = table.select(FIELDS[1:]).fill_null(np.nan)
    found = ClassDetections(image, numbers["confidence"].to_numpy(), numbers.select(_BOX).to_numpy())
    fine = known & np.isfinite(found.confidence) & (np.abs(found.boxes) <= FURTHEST).all(axis=1)
    if not reading.keeps_inverted:
        fine[fine] = ~inverted(found.where(fine), images)
    return found, fine


def _schema(images: ImageIndex) -> Schema:
    import polars as pl  # noqa: PLC0415 - polars takes longer to import than all of `scoring`

    return {"image": images.names.type} | dict.fromkeys(FIELDS[1:], pl.Float64)


def _parse(block: bytes, images: ImageIndex) -> ClassDetections | None:
    if block[: block.find(b" ")] not in images.places:
        return None  # also what the parser would take for a compressed file
    table = table_of(block, _schema(images))
    image = None if table is None else images.names.places(table["image"])
    if table is None or image is None:
        return None
    boxes = np.stack([table[edge].to_numpy() for edge in _BOX]).T
    found = ClassDetections(image, table["confidence"].to_numpy(), boxes)
    is_fair = _is_within(found.confidence, np.finfo(np.float64).max) and _is_within(found.boxes, FURTHEST)
    return found if is_fair else None


def _is_within(values: NDArray[np.float64], limit: float) -> bool:
    """Whether all values are numbers and none is beyond the limit; not a number, which the extremes become, is not less."""
    return bool(-limit <= values.min(initial=0) and values.max(initial=0) <= limit)


def _read_exactly(block: bytes, reading: Reading, *, first: int) -> tuple[ClassDetections, int]:
    """Read line by line: the valid rows, and the number of invalid lines."""
    rows, wrong = array("d"), 0
    for number, line in enumerate(io.BytesIO(block), first):
        line = line.removesuffix(b"\n")  # noqa: PLW2901
        row = parse_line(line, reading.images)
        if isinstance(row, Row):
            box = _check_box(row, reading)
            if box is None:
                rows.extend((row.image, row.confidence, *row.box))
            row = box
        if row is not None:
            reading.problems.add(row.at(reading.file, number, line))
            wrong += 1
    table = np.frombuffer(rows, np.float64).reshape(-1, len(FIELDS))
    return ClassDetections(table[:, 0].astype(np.int32), table[:, 1].copy(), table[:, 2:].copy()), wrong


def _check_box(row: Row, reading: Reading) -> Invalid | None:
    if reading.keeps_inverted:
        return None
    return check_box(row.box, reading.images.images[row.image])


def accepts(predictions: object) -> bool:
    """Whether these are detections."""
    return isinstance(predictions, Detections)


def split(predictions: Detections, truth: GroundTruth) -> Iterator[Keyed[ClassDetections]]:
    """The detections of every class of the ground truth, also of classes that have none.

    Raises DataError for detections in an image, or of a class, that the ground truth does not have.
    """
    lists = truth.lists
    image = places_of("image", predictions.image, predictions.images, lists.images[: lists.main])
    label = places_of("class", predictions.label, predictions.classes, lists.classes)
    convention = predictions.convention or truth.tables.convention
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(len(lists.classes) + 1))
    for number, name in enumerate(lists.classes):
        rows = order[ends[number] : ends[number + 1]]
        found = ClassDetections(image[rows], predictions.score[rows], predictions.boxes[rows], convention)
        yield Keyed(name, found)
