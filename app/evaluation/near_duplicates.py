"""How alike two archives of results are, from what they predict alone: no ground truth is needed.

A sketch is a sample of a kilobyte of what an archive predicts, so that a new one is compared with thousands in a millisecond; only
those whose sketches are alike need be read again.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from heldout_scoring import CompetitionInfo, Description, competition_of
from heldout_scoring.evaluation import read_predictions

SKETCHED: Final = 1024
"""Values in a sketch."""
SKETCHED_IMAGES: Final = 128
"""Images that the sketch of label images takes its pixels from, at most."""

_SEED: Final = 20261122
_FINEST: Final = 127

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two results are; each figure is the mean over the classes that it can be computed for, None without any.

    rank_correlation: Spearman's, of the images' confidences, in [-1, 1]; common_boxes: the fraction of equal boxes, in [0, 1];
    common_pixels: of the pixels with a class in either segmentation those with the same one in both, in [0, 1].
    """

    rank_correlation: float | None
    common_boxes: float | None
    common_pixels: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """The predictions of a class, in any order.

    image: of each its image or person, from 0, int (n,); confidence: float64 (n,); boxes: float64 (n, 4), or (0, 4) where there are none.
    """

    image: NDArray[Any]
    confidence: Floats
    boxes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Lists:
    """The predictions of every class as lists of images (or persons), of which there are `subjects`."""

    subjects: int
    lists: Mapping[str, Predicted]


def sketch(archive: Path, description: Path, competition: int) -> bytes:
    """The sketch of an archive's results in a competition; it does not depend on hidden annotation."""
    return sketch_of(archive, Description.from_json(description.read_text()), competition)


def likeness(one: Path, other: Path, description: Path, competition: int) -> bytes:
    """How alike two archives' results in a competition are, as JSON of a `Likeness`."""
    public = Description.from_json(description.read_text())
    return json.dumps(asdict(compare_archives(one, other, public, competition))).encode()


def sketch_of(archive: Path, description: Description, competition: int) -> bytes:
    r"""A sketch of the results of a competition: 1024 values of a byte each.

    Of rankings, the ranks of images in classes that are always the same; of segmentations, the labels of pixels that are. An
    archive that cannot be read gives the sketch of what could be.

    >>> from tempfile import TemporaryDirectory
    >>> from heldout_scoring import Image
    >>> phase = Description("VOC2012", "val", ("cat",), (), (Image("2008_000008", 500, 442),))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("2008_000008 0.9 1 1 10 10\n")
    ...     len(sketch_of(Path(folder), phase, 3))
    1024
    """
    info = competition_of(description.dataset, competition)
    if _is_of_pixels(info):
        return _sketch_of_pixels(archive, description, info).tobytes()
    return _sketch_of_ranks(_lists(archive, description, info), info, description).tobytes()


def similarity_of_sketches(sketch: bytes, others: Sequence[bytes], *, pixels: bool) -> Floats:
    """How alike a sketch is to each of the others, in [-1, 1], 0 where there is nothing to compare.

    Of ranks the cosine; of pixels the share of equal labels among those with a class in either: float64 (others,).

    >>> one, other = np.array([5, -5], np.int8).tobytes(), np.array([-5, 5], np.int8).tobytes()
    >>> similarity_of_sketches(one, [one, other], pixels=False).tolist()
    [1.0, -1.0]
    """
    if not others:
        return np.empty(0)
    own = np.frombuffer(sketch, np.int8).astype(np.float64)
    rows = np.frombuffer(b"".join(others), np.int8).reshape(len(others), -1).astype(np.float64)
    if pixels:
        either = (rows > 0) | (own > 0)
        counted, equal = either.sum(1), (either & (rows == own)).sum(1)
        return _quotients(equal, counted)
    # one root of whole numbers, so that equal sketches are exactly 1
    return _quotients(rows @ own, np.sqrt((rows**2).sum(1) * (own**2).sum()))


def _quotients(parts: NDArray[Any], wholes: NDArray[Any]) -> Floats:
    found: Floats = np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes > 0)
    return found


def compare_archives(one: Path, other: Path, description: Description, competition: int) -> Likeness:
    r"""How alike the results of a competition are in two archives, class by class and image by image.

    >>> from tempfile import TemporaryDirectory
    >>> from heldout_scoring import Image
    >>> phase = Description("VOC2012", "val", ("cat",), (), (Image("2008_000008", 500, 442),))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("2008_000008 0.9 1 1 10 10\n")
    ...     compare_archives(Path(folder), Path(folder), phase, 3).common_boxes
    1.0
    """
    info = competition_of(description.dataset, competition)
    if _is_of_pixels(info):
        return Likeness(None, None, _common_pixels(one, other, description, info))
    first, second = (_lists(each, description, info) for each in (one, other))
    pairs = [(first.lists[key], second.lists[key]) for key in first.lists if key in second.lists]
    correlations = [rank_correlation(a, b, first.subjects) for a, b in pairs]
    return Likeness(_mean(correlations), _mean([common_boxes(a, b) for a, b in pairs]), None)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _is_of_pixels(info: CompetitionInfo) -> bool:
    return "{image}" in info.file_name


def rank_correlation(one: Predicted, other: Predicted, images: int) -> float | None:
    """Spearman's rank correlation of the images' confidences, in [-1, 1]; None if one of them is constant.

    images: how many there are; an image has the confidence of its most confident prediction, or the lowest without any.

    >>> found = Predicted(np.array([1, 0]), np.array([0.9, 0.5]), np.empty((0, 4)))
    >>> rank_correlation(found, found, 2)
    1.0
    """
    first, second = (_centred_ranks(each, images) for each in (one, other))
    variances = _product(first, first), _product(second, second)
    return None if 0.0 in variances else _product(first, second) / (variances[0] * variances[1]) ** 0.5


def _centred_ranks(found: Predicted, images: int) -> Floats:
    """Twice the centred ranks of the images by confidence, whole numbers within ±images: float64 (images,)."""
    confidence = np.full(images, -np.inf)
    np.maximum.at(confidence, found.image, found.confidence)
    _, value, count = np.unique(confidence, return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    ranks: Floats = (2 * ends - count - images).astype(np.float64)[value]
    return ranks


def _product(one: Floats, other: Floats) -> float:
    return float(np.cumsum(one * other)[-1]) if len(one) else 0.0  # added up in order, on every machine alike


def common_boxes(one: Predicted, other: Predicted) -> float | None:
    """The fraction of the smaller set of boxes that is also in the other, in the same image: in [0, 1].

    Boxes are rounded to whole pixels; repeated boxes count as often as they are in both. None if a set is empty.

    >>> one = Predicted(np.zeros(2, int), np.array([0.9, 0.5]), np.array([[1.0, 1, 10, 10], [5, 5, 9, 9]]))
    >>> common_boxes(one, Predicted(one.image, one.confidence, one.boxes + [[0, 0, 0.2, 0], [0, 0, 0, 3]]))
    0.5
    """
    fewer = min(len(one.boxes), len(other.boxes))
    if fewer == 0:
        return None
    rows = np.concatenate([_rows(one), _rows(other)])
    _, number = np.unique(rows, axis=0, return_inverse=True)
    number = number.reshape(-1)
    first, second = np.split(number, [len(one.boxes)])
    counts = (np.bincount(each, minlength=int(number.max()) + 1) for each in (first, second))
    return int(np.minimum(*counts).sum()) / fewer


def _rows(found: Predicted) -> NDArray[np.int32]:
    return np.column_stack([found.image, np.rint(found.boxes)]).astype(np.int32)


def _lists(archive: Path, description: Description, info: CompetitionInfo) -> _Lists:
    lists: dict[str, Predicted] = {}
    without_boxes = np.empty((0, 4))
    subjects = len(description.acting if info.task == "action" else description.images)
    for each in read_predictions(archive, description, info.number):
        found = each.value
        match info.task:
            case "classification" | "action":
                lists[each.key] = Predicted(found.subject, found.confidence, without_boxes)
            case "detection":
                lists[each.key] = Predicted(found.image, found.confidence, found.boxes)
            case "layout":
                subjects, listed = len(description.persons), found.person >= 0  # in the Layout set
                lists[each.key] = Predicted(found.person[listed], found.confidence[listed], without_boxes)
            case _:
                lists |= _by_class(found, description.classes)
    return _Lists(subjects, lists)


def _by_class(found: Any, classes: Sequence[str]) -> dict[str, Predicted]:
    """The predictions of a file in COCO's JSON, which has those of all classes."""
    detections = found.detections
    order = np.argsort(detections.label, kind="stable")
    ends = np.searchsorted(detections.label[order], np.arange(len(classes) + 1))
    rows = {classes[label]: order[ends[label] : ends[label + 1]] for label in range(len(classes))}
    return {
        name: Predicted(detections.image[mine], detections.confidence[mine], found.boxes[mine])
        for name, mine in rows.items()
        if len(mine)
    }


def _sketch_of_ranks(found: _Lists, info: CompetitionInfo, description: Description) -> NDArray[np.int8]:
    """Ranks in [-127, 127] at places that are drawn alike for every archive; 0 in a class without a list."""
    keys = _keys(info, description)
    draw = np.random.default_rng(_SEED)
    key, image = draw.integers(len(keys), size=SKETCHED), draw.integers(max(found.subjects, 1), size=SKETCHED)
    sketch = np.zeros(SKETCHED, np.int8)
    for number in np.unique(key).tolist():
        list_ = found.lists.get(keys[number])
        if list_ is not None and found.subjects:
            here = key == number
            ranks = _centred_ranks(list_, found.subjects)[image[here]]
            sketch[here] = np.rint(ranks / found.subjects * _FINEST)
    return sketch


def _keys(info: CompetitionInfo, description: Description) -> Sequence[str]:
    if "{action}" in info.file_name:
        return description.actions
    return (info.only_key,) if info.task == "layout" else description.classes


def _sketch_of_pixels(archive: Path, description: Description, info: CompetitionInfo) -> NDArray[np.int8]:
    draw = np.random.default_rng(_SEED)
    images = draw.permutation(np.array(description.segmentation, object))[:SKETCHED_IMAGES].tolist()
    each = SKETCHED // max(len(images), 1)
    places = {name: draw.random((each, 2)) for name in images}
    found = {
        name: _pixels_at(labels, places[name])
        for name, labels in _label_images(archive, description, info, places)
    }
    sketch = np.zeros(SKETCHED, np.int8)
    for number, name in enumerate(images):
        if name in found:
            sketch[number * each : (number + 1) * each] = found[name]
    return sketch


def _label_images(
    archive: Path, description: Description, info: CompetitionInfo, images: Collection[str] | None = None
) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """The label image of each image; images: those that are read, None for all."""
    for each in read_predictions(archive, description, info.number, keys=images):
        if each.value is not None:
            yield each.key, each.value.labels


def _pixels_at(labels: NDArray[np.uint8], places: Floats) -> NDArray[np.uint8]:
    rows, columns = (places * labels.shape).astype(np.intp).T
    found: NDArray[np.uint8] = labels[rows, columns]
    return found


def _common_pixels(one: Path, other: Path, description: Description, info: CompetitionInfo) -> float | None:
    """The fraction of pixels with the same label among those with a class in either; None without such pixels."""
    first = dict(_label_images(one, description, info))
    equal = counted = 0
    for image, labels in _label_images(other, description, info, first):
        if first[image].shape == labels.shape:
            has_class = (first[image] > 0) | (labels > 0)
            counted += int(np.count_nonzero(has_class))
            equal += int(np.count_nonzero(has_class & (first[image] == labels)))
    return equal / counted if counted else None
