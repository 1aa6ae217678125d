"""Predictions after they have been compared with the ground truth, in memory and in a file.

The file is one of `heldout_scoring.stored` of the kind `matches`, version 1. Its facts are those of `Origin`, and for rankings `classes`
and `positives` (of each class), for pixels `labels`. The arrays of rankings: `first`, int64 (classes + 1,), where in the others
the predictions of a class begin, and the columns of `RankedPredictions`, `further` only where all have it; those of pixels are the arrays of `ImageCounts`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import as_path, read_file
from ..stored import ForeignFileError, Packed, complete, read_from, unpack, write
from .arrays import Bytes, Floats, Integers, Labels

Counts = NDArray[np.int64]

TRUE_POSITIVE: Final = 1
FALSE_POSITIVE: Final = 0
IGNORED: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class RankedPredictions:
    """The predictions of one class, the most confident first.

    positives: the number of objects (images, persons) that count; image: int32 (n,), into `Lists.images`, which begins with the
    Main set's; confidence: float64 (n,), -inf where a labelled image or person has no prediction; outcomes: int8 (n,), TRUE_POSITIVE (1),
    FALSE_POSITIVE (0) or IGNORED (-1); further: int8 (n, thresholds - 1), the outcomes at higher
    IoU thresholds, where a measure asks for several.
    """

    class_name: str
    positives: int
    image: Integers
    confidence: Floats
    outcomes: Labels
    further: Labels | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LabelPairs:
    """The pairs of labels that occur in one image: true, prediction: uint8 (pairs,); pixels: int32 (pairs,) of each pair."""

    true: Bytes
    prediction: Bytes
    pixels: Integers

    @classmethod
    def of(cls, counts: Counts) -> Self:
        """The pairs of a confusion matrix, int64 (labels, labels).

        >>> LabelPairs.of(np.array([[5, 0], [1, 2]])).pixels.tolist()
        [5, 1, 2]
        """
        true, prediction = np.nonzero(counts)
        pixels = counts[true, prediction].astype(np.int32)
        return cls(true.astype(np.uint8), prediction.astype(np.uint8), pixels)


NO_PAIRS: Final = LabelPairs.of(np.zeros((0, 0), np.int64))
"""Those of an image without a prediction."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageCounts:
    """The confusion matrix of each image, as the pairs of labels that occur in it.

    labels: their names from 0 on, the background first; first: int64 (images + 1,), where in the following an image's pairs
    begin, images in the order of the Segmentation set; true, prediction: uint8 (pairs,), into labels; pixels: int32 (pairs,).
    Void is left out.
    """

    labels: tuple[str, ...]
    first: Counts
    true: Bytes
    prediction: Bytes
    pixels: Integers

    @classmethod
    def of(cls, labels: Sequence[str], images: Sequence[Counts]) -> Self:
        """The counts of each image, int64 (labels, labels), the images in order.

        >>> ImageCounts.of(["background", "car"], [np.array([[5, 0], [1, 2]])]).pixels.tolist()
        [5, 1, 2]
        """
        return cls.of_pairs(labels, [LabelPairs.of(counts) for counts in images])

    @classmethod
    def of_pairs(cls, labels: Sequence[str], images: Sequence[LabelPairs]) -> Self:
        """The pairs of each image, the images in order.

        >>> ImageCounts.of_pairs(["background", "car"], [LabelPairs.of(np.array([[5, 0], [1, 2]]))]).first.tolist()
        [0, 3]
        """
        joined = [*images, NO_PAIRS]
        return cls(
            labels=tuple(labels),
            first=np.cumsum([0, *(len(each.pixels) for each in images)], dtype=np.int64),
            true=np.concatenate([each.true for each in joined]),
            prediction=np.concatenate([each.prediction for each in joined]),
            pixels=np.concatenate([each.pixels for each in joined]),
        )

    def __len__(self) -> int:
        """The number of images."""
        return len(self.first) - 1

    def by_image(self) -> Counts:
        """The confusion matrix of each image, int64 (images, labels, labels), by true and predicted label.

        >>> ImageCounts.of(["background", "car"], [np.array([[5, 0], [1, 2]])]).by_image().tolist()
        [[[5, 0], [1, 2]]]
        """
        counts = np.zeros((len(self), len(self.labels), len(self.labels)), np.int64)
        image = np.repeat(np.arange(len(self)), np.diff(self.first))
        counts[image, self.true, self.prediction] = self.pixels
        return counts

    def total(self) -> Counts:
        """The confusion matrix of all images together."""
        counts = np.zeros((len(self.labels), len(self.labels)), np.int64)
        np.add.at(counts, (self.true, self.prediction), self.pixels)
        return counts


AllMatches = tuple[RankedPredictions, ...] | ImageCounts
"""The ranked predictions of each class; of segmentation the pixel counts of each image."""


KIND: Final = "matches"

_COLUMNS: Final = ("image", "confidence", "outcomes")
_COUNTS: Final = ("first", "true", "prediction", "pixels")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where matches come from: task, protocol, scorer, the ground truth's fingerprint, and the receipt of the result."""

    task: str
    protocol: str
    scorer: str
    truth: str
    receipt: str


def save_matches(path: Path | str, origin: Origin, matches: AllMatches) -> None:
    """Write the file; the same matches give the same bytes. Raises PathError.

    >>> from tempfile import TemporaryDirectory
    >>> ranked = RankedPredictions("car", 1, np.zeros(1, np.int32), np.array([0.9]), np.ones(1, np.int8))
    >>> with TemporaryDirectory() as folder:
    ...     save_matches(Path(folder, "car"), Origin("detection", "voc2012", "1", "0f", "ab"), (ranked,))
    ...     origin, [again] = open_matches(Path(folder, "car"))
    >>> origin.protocol, again.class_name, again.outcomes.tolist()
    ('voc2012', 'car', [1])
    """
    packed = _pack_counts(matches) if isinstance(matches, ImageCounts) else _pack_rankings(matches)
    write(as_path(path), KIND, Packed({**asdict(origin), **packed.facts}, packed.arrays))


def open_matches(path: Path | str) -> tuple[Origin, AllMatches]:
    """Where matches come from, and the matches: what `save_matches` wrote.

    Raises PathError where there is no file, ForeignFileError for another file.

    >>> from tempfile import TemporaryDirectory
    >>> from heldout_scoring import Detections, GroundTruth, evaluate
    >>> truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 10, 10]], convention="inclusive")
    >>> found = Detections.from_arrays(["a"], ["cat"], [0.9], [[1, 1, 10, 10]])
    >>> with TemporaryDirectory() as folder:
    ...     evaluate(found, truth, protocol="voc2012").save_matches(Path(folder, "matches"))
    ...     origin, [cat] = open_matches(Path(folder, "matches"))
    >>> origin.protocol, cat.outcomes.tolist()
    ('voc2012', [1])
    """
    with read_from(path):
        return _unpacked(unpack(KIND, read_file(path)))


def _unpacked(packed: Packed) -> tuple[Origin, AllMatches]:
    facts, arrays = packed.facts, packed.arrays
    with complete(KIND):
        origin = Origin(**{field.name: facts[field.name] for field in fields(Origin)})
        if "labels" in facts:
            return origin, ImageCounts(tuple(facts["labels"]), **{name: arrays[name] for name in _COUNTS})
        return origin, _rankings(facts, arrays)


def open_rankings(path: Path | str) -> tuple[Origin, tuple[RankedPredictions, ...]]:
    """As `open_matches`, of a task whose predictions are ranked. Raises ForeignFileError for pixel counts."""
    origin, matches = open_matches(path)
    if isinstance(matches, ImageCounts):
        raise ForeignFileError("expected ranked predictions, found pixel counts")
    return origin, matches


def _pack_counts(counts: ImageCounts) -> Packed:
    return Packed({"labels": counts.labels}, {name: getattr(counts, name) for name in _COUNTS})


def _pack_rankings(rankings: tuple[RankedPredictions, ...]) -> Packed:
    facts = {
        "classes": [each.class_name for each in rankings],
        "positives": [each.positives for each in rankings],
    }
    empty = {"image": np.empty(0, np.int32), "confidence": np.empty(0), "outcomes": np.empty(0, np.int8)}
    columns = {
        name: np.concatenate([empty[name], *(getattr(each, name) for each in rankings)]) for name in _COLUMNS
    }
    further = [each.further for each in rankings if each.further is not None]
    if further:
        columns["further"] = np.concatenate(further)
    first = np.cumsum([0, *(len(each.image) for each in rankings)], dtype=np.int64)
    return Packed(facts, columns | {"first": first})


def _rankings(facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> tuple[RankedPredictions, ...]:
    first = arrays["first"].tolist()
    classes = zip(facts["classes"], facts["positives"], first, first[1:], strict=False)
    columns = (*_COLUMNS, *(["further"] if "further" in arrays else []))
    return tuple(
        RankedPredictions(name, positives, *(arrays[column][start:end] for column in columns))
        for name, positives, start, end in classes
    )
