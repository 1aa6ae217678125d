"""How alike two archives of results are, from what they predict alone: no ground truth is needed.

A sketch is a sample of a kilobyte of what an archive predicts, so that a new one is compared with thousands in a millisecond; only
those whose sketches are alike need be read again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.analysis.ranked_detections import RankedDetections
from scoring.analysis.similarity import VOID, centred_ranks, common_boxes, pixel_agreement, rank_correlation
from scoring.archives.result_files import competition_files
from scoring.competitions import CompetitionInfo, competition_of
from scoring.data.arrays import Bytes, Flags, Floats
from scoring.data.confidences import ClassConfidences
from scoring.data.description import Description
from scoring.data.detections import ClassDetections
from scoring.data.label_maps import LabelMap
from scoring.data.layouts import UNLISTED, LayoutTable
from scoring.data.limits import Limits
from scoring.data.matches import RankedPredictions
from scoring.errors import Problems, Severity
from scoring.protocols import TASKS
from scoring.readers.coco_json.detections import CocoResults
from scoring.readers.image_index import ImageIndex

SKETCHED: Final = 1024
"""Values in a sketch."""
SKETCHED_IMAGES: Final = 128
"""Images that the sketch of label images takes its pixels from, at most."""

_SEED: Final = 20261122
_FINEST: Final = 127


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
class _Lists:
    """The predictions of every class as lists of images (or persons), of which there are `subjects`."""

    subjects: int
    lists: Mapping[str, RankedDetections]


def sketch_of(
    archive: Path | str, description: Description, competition: int, *, limits: Limits | None = None
) -> bytes:
    r"""A sketch of the results of a competition: 1024 values of a byte each.

    Of rankings, the ranks of images in classes that are always the same; of segmentations, the labels of pixels that are. An
    archive that cannot be read gives the sketch of what could be.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import Image
    >>> phase = Description("VOC2012", "val", ("cat",), (), (Image("2008_000008", 500, 442),))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("2008_000008 0.9 1 1 10 10\n")
    ...     len(sketch_of(Path(folder), phase, 3))
    1024
    """
    info = competition_of(description.dataset, competition)
    if _is_of_pixels(info):
        return _sketch_of_pixels(archive, description, info, limits).tobytes()
    return _sketch_of_ranks(_lists(archive, description, info, limits), info, description).tobytes()


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


def compare_archives(
    one: Path | str,
    other: Path | str,
    description: Description,
    competition: int,
    *,
    limits: Limits | None = None,
) -> Likeness:
    r"""How alike the results of a competition are in two archives, class by class and image by image.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import Image
    >>> phase = Description("VOC2012", "val", ("cat",), (), (Image("2008_000008", 500, 442),))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("2008_000008 0.9 1 1 10 10\n")
    ...     compare_archives(Path(folder), Path(folder), phase, 3).common_boxes
    1.0
    """
    info = competition_of(description.dataset, competition)
    if _is_of_pixels(info):
        return Likeness(None, None, _common_pixels(one, other, description, info, limits))
    first, second = (_lists(each, description, info, limits) for each in (one, other))
    pairs = [(first.lists[key], second.lists[key]) for key in first.lists if key in second.lists]
    correlations = [rank_correlation(a.ranked, b.ranked, first.subjects) for a, b in pairs]
    return Likeness(_mean(correlations), _mean([common_boxes(a, b) for a, b in pairs]), None)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _is_of_pixels(info: CompetitionInfo) -> bool:
    return "{image}" in info.file_name


def _parsed(
    archive: Path | str,
    description: Description,
    info: CompetitionInfo,
    limits: Limits | None,
    keys: Any = None,
) -> Iterator[tuple[str, Any]]:
    """What each file says, by its class, action or image; keys: those that are read, None for all."""
    images, problems = ImageIndex.of(description), Problems(mistakes=Severity.NOTE)
    for file in competition_files(archive, description, info.number, problems=problems, limits=limits):
        if keys is None or file.key in keys:
            yield file.key, TASKS[info.task].read(file.read(), images, file=file.name, problems=problems)


def _lists(
    archive: Path | str, description: Description, info: CompetitionInfo, limits: Limits | None
) -> _Lists:
    lists: dict[str, RankedDetections] = {}
    subjects = len(description.acting if "{action}" in info.file_name else description.images)
    for key, parsed in _parsed(archive, description, info, limits):
        match parsed:
            case ClassConfidences():
                lists[key] = _list(key, parsed.subject, parsed.confidence)
            case ClassDetections():
                lists[key] = _list(key, parsed.image, parsed.confidence, parsed.boxes)
            case LayoutTable():
                subjects, listed = len(description.persons), parsed.person != UNLISTED
                lists[key] = _list(key, parsed.person[listed], parsed.confidence[listed])
            case _:
                lists |= _by_class(parsed, description.classes)
    return _Lists(subjects, lists)


def _list(key: str, image: Any, confidence: Floats, boxes: Floats | None = None) -> RankedDetections:
    outcomes = np.zeros(len(image), np.int8)  # nothing was matched
    corners = np.empty((0, 4)) if boxes is None else boxes
    return RankedDetections(RankedPredictions(key, 0, image, confidence, outcomes), corners)


def _by_class(found: CocoResults, classes: Sequence[str]) -> dict[str, RankedDetections]:
    detections = found.detections
    order = np.argsort(detections.label, kind="stable")
    ends = np.searchsorted(detections.label[order], np.arange(len(classes) + 1))
    rows = {classes[label]: order[ends[label] : ends[label + 1]] for label in range(len(classes))}
    return {
        name: _list(name, detections.image[mine], detections.confidence[mine], found.boxes[mine])
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
            ranks = centred_ranks(list_.ranked, found.subjects)[image[here]]
            sketch[here] = np.rint(ranks / found.subjects * _FINEST)
    return sketch


def _keys(info: CompetitionInfo, description: Description) -> Sequence[str]:
    if "{action}" in info.file_name:
        return description.actions
    return (info.only_key,) if info.task == "layout" else description.classes


def _sketch_of_pixels(
    archive: Path | str, description: Description, info: CompetitionInfo, limits: Limits | None
) -> NDArray[np.int8]:
    draw = np.random.default_rng(_SEED)
    images = draw.permutation(np.array(description.segmentation, object))[:SKETCHED_IMAGES].tolist()
    each = SKETCHED // max(len(images), 1)
    places = {name: draw.random((each, 2)) for name in images}
    found = {
        key: _pixels_at(parsed.labels, places[key])
        for key, parsed in _parsed(archive, description, info, limits, places)
        if isinstance(parsed, LabelMap)
    }
    sketch = np.zeros(SKETCHED, np.int8)
    for number, name in enumerate(images):
        if name in found:
            sketch[number * each : (number + 1) * each] = found[name]
    return sketch


def _pixels_at(labels: Bytes, places: Floats) -> Bytes:
    rows, columns = (places * labels.shape).astype(np.intp).T
    found: Bytes = labels[rows, columns]
    return found


def _common_pixels(
    one: Path | str, other: Path | str, description: Description, info: CompetitionInfo, limits: Limits | None
) -> float | None:
    first = {
        key: each.labels
        for key, each in _parsed(one, description, info, limits)
        if isinstance(each, LabelMap)
    }
    return pixel_agreement(
        (first[key], each.labels, np.where(_has_class(first[key], each.labels), 0, VOID))
        for key, each in _parsed(other, description, info, limits)
        if isinstance(each, LabelMap) and key in first and first[key].shape == each.labels.shape
    )


def _has_class(one: Bytes, other: Bytes) -> Flags:
    found: Flags = (one > 0) | (other > 0)
    return found
