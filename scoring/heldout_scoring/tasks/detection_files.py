"""Files of detections: read and checked, one per class."""

import io
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..archives.plausibility import CORNERS, Signs, count_corners, count_forms, far_beyond, line_at
from ..archives.results import ResultFile
from ..data.arrays import Flags
from ..data.description import MAX_FILE_PROBLEMS
from ..data.predictions import ClassDetections
from ..errors import Problem, Problems, Severity, from_extra
from ..metrics.ranking import (
    rank,
)
from ..readers.image_index import ImageIndex
from ..readers.lines import (
    FIELDS,
    FURTHEST,
    INVERTED_BOX,
    UNKNOWN_IMAGE,
    Invalid,
    LineReader,
    Row,
    Schema,
    check_box,
    lenient_table_of,
    parse_line,
    parse_tidied,
    table_of,
)
from .files import Checked, Inspection, TaskFiles, digest_of, is_blank

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

    >>> from heldout_scoring.data.description import Description, Image
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

    >>> from heldout_scoring.data.description import Description, Image
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
    with from_extra("files"):
        import polars as pl  # noqa: PLC0415 - polars takes longer to import than the whole library

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


def check_detections(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check one class's detections and count them."""
    images, problems, data = inspection.images, inspection.problems, file.read()
    parts, signs = [], checked.signs
    before = {code: problems.count(code) for code in (UNKNOWN_IMAGE, INVERTED_BOX)}
    wrong = problems.total
    for found in read_in_blocks(data, Reading(images, file.name, problems)):
        parts.append(found)
        checked.outside += int(outside(found, images).sum())
    everything = join_detections(parts)
    checked.lines += len(everything)
    counts = np.bincount(everything.image, minlength=len(images.images))
    signs.seen, signs.faulty = counts > 0, problems.total > wrong
    signs.foreign += problems.count(UNKNOWN_IMAGE) - before[UNKNOWN_IMAGE]
    if problems.count(INVERTED_BOX) > before[INVERTED_BOX]:
        _look_for_a_form(data, file.name, images, signs)
    else:
        _look_at(everything, data, file.name, images, signs)
    crowded = np.flatnonzero(counts > inspection.max_boxes)[:MAX_FILE_PROBLEMS].tolist()
    inspection.check_boxes({(images.images[n].id, file.key): int(counts[n]) for n in crowded}, file.name)
    order = rank(everything.confidence)
    checked.digests[file.key] = digest_of(
        everything.image[order], everything.confidence[order], everything.boxes[order]
    )
    checked.add_list(file.key, everything.confidence, is_partial=len(everything) < len(images.images))
    if is_blank(data):
        problems.note(Problem("empty-file", f"no detection of '{file.key}': the file is empty", file.name))


def _look_at(found: ClassDetections, data: bytes, file: str, images: ImageIndex, signs: Signs) -> None:
    """Count boxes that are valid and probably not what is meant."""
    far = far_beyond(found.boxes, images.sizes[found.image])
    signs.boxes, signs.far = len(found), int(np.count_nonzero(far))
    signs.largest = float(np.abs(found.boxes).max(initial=0))
    count_corners(signs, found.boxes, images.sizes[found.image])
    if signs.reach_far:
        signs.suspects, signs.wrong = len(found), signs.far
        signs.forms = count_forms(found.boxes, images.sizes[found.image], but=CORNERS)
    if (signs.are_shares or signs.reach_far) and not signs.faulty:
        signs.example = line_at(data, int(np.argmax(far)), file)


def _look_for_a_form(data: bytes, file: str, images: ImageIndex, signs: Signs) -> None:
    """Count the boxes of a file in which some end before they begin, and how many would be right in another form."""
    reading = Reading(images, file, Problems(mistakes=Severity.NOTE))  # which keeps them
    found = join_detections(list(read_in_blocks(data, reading)))
    left, top, right, bottom = found.boxes.T
    is_inverted, sizes = inverted(found, images), images.sizes[found.image]
    signs.boxes = signs.suspects = len(found)
    signs.wrong = int(np.count_nonzero(is_inverted))
    signs.narrow = int(np.count_nonzero(is_inverted & (right < left)))
    signs.flat = int(np.count_nonzero(is_inverted & (bottom < top)))
    signs.forms = count_forms(found.boxes, sizes, but=CORNERS, confidence=found.confidence)


def remark_on_boxes(checked: Checked, inspection: Inspection) -> None:
    """Add one note for all boxes that extend beyond their image, unless a warning says why there are so many."""
    signs = checked.signs
    if checked.outside and not signs.reach_far and not signs.are_shares:
        message = (
            f"{checked.info.name}: {checked.outside:,} of {checked.lines:,} boxes extend beyond their image; "
            "they are scored as they are"
        )
        inspection.problems.note(Problem("box-outside", message, found=str(checked.outside)))


FILES: Final = TaskFiles(read_detections, check_detections, check_all=remark_on_boxes)
