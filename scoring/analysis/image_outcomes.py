"""Positives, true positives and false positives of a result in each image."""

from dataclasses import dataclass
from typing import Final, assert_never

import numpy as np

from scoring.array_files import ForeignFileError, Packed, pack, pack_words, unpack, unpack_words
from scoring.data.arrays import Integers
from scoring.data.matches import RankedPredictions
from scoring.metrics.ranking import FALSE_POSITIVE, TRUE_POSITIVE
from scoring.tasks.resampling import PixelSample, RankingSample, Sample

KIND: Final = "image-outcomes"
_COUNTS: Final = ("positives", "found", "false")


@dataclass(frozen=True, slots=True, eq=False)
class ImageOutcomes:
    """Positives, true positives and false positives by image, over all classes.

    images: their names; positives, found, false: int32 (images,). Of rankings the objects, labels or persons, with the
    predictions up to the confidence at which F1 of their class is highest; of segmentation the pixels without void, those
    with the right label, and 0.
    """

    images: tuple[str, ...]
    positives: Integers
    found: Integers
    false: Integers

    def errors(self) -> Integers:
        """False negatives and false positives, int32 (images,)."""
        return self.positives - self.found + self.false


def outcomes_by_image(sample: Sample) -> ImageOutcomes:
    """Positives, true positives and false positives in each image that the bootstrap draws from.

    >>> from scoring.metrics.averaging import mean_of_classes
    >>> from scoring.metrics.measures import AP_AREA
    >>> cat = RankedPredictions("cat", 2, np.array([0, 0, 1], np.int32), np.array([0.9, 0.8, 0.1]),
    ...     np.array([1, 0, 0], np.int8))
    >>> sample = RankingSample([cat], np.array([[1, 1]], np.int32), AP_AREA.weighted, mean_of_classes, ("a", "b"))
    >>> found = outcomes_by_image(sample)
    >>> found.found.tolist(), found.false.tolist(), found.errors().tolist()
    ([1, 0], [0, 0], [0, 1])
    """
    match sample:
        case RankingSample():
            return _of_rankings(sample)
        case PixelSample():
            return _of_pixels(sample)
    assert_never(sample)  # pragma: no cover - mypy knows that there is no other


def _of_rankings(sample: RankingSample) -> ImageOutcomes:
    images = len(sample.images)
    found, false = np.zeros(images, np.int32), np.zeros(images, np.int32)
    for ranking in sample.rankings[:: sample.together]:
        counted = _count_at_best_f1(ranking)
        image, outcomes = ranking.image[:counted], ranking.outcomes[:counted]
        found += np.bincount(image[outcomes == TRUE_POSITIVE], minlength=images).astype(np.int32)
        false += np.bincount(image[outcomes == FALSE_POSITIVE], minlength=images).astype(np.int32)
    positives = sample.positives.sum(axis=0, dtype=np.int32)
    return ImageOutcomes(tuple(sample.images), positives, found, false)


def _count_at_best_f1(ranking: RankedPredictions) -> int:
    """The number of predictions, the most confident first, with which F1 is highest; the fewest of several."""
    hits = np.cumsum(ranking.outcomes == TRUE_POSITIVE)
    false = np.cumsum(ranking.outcomes == FALSE_POSITIVE)
    if not len(hits) or not hits[-1]:
        return 0
    return int(np.argmax(2 * hits / (hits + false + max(ranking.positives, 1)))) + 1


def _of_pixels(sample: PixelSample) -> ImageOutcomes:
    counts = sample.counts
    image = np.repeat(np.arange(len(counts)), np.diff(counts.first))
    is_right = counts.true == counts.prediction
    pixels = np.bincount(image, counts.pixels, len(counts)).astype(np.int32)
    right = np.bincount(image[is_right], counts.pixels[is_right], len(counts)).astype(np.int32)
    return ImageOutcomes(tuple(sample.images), pixels, right, np.zeros_like(right))


def pack_outcomes(outcomes: ImageOutcomes) -> bytes:
    """The content of a file of them, of the kind `image-outcomes` of `scoring.array_files`.

    >>> one = np.ones(1, np.int32)
    >>> read_outcomes(pack_outcomes(ImageOutcomes(("000001",), one, one, one))).images
    ('000001',)
    """
    counts = {name: getattr(outcomes, name) for name in _COUNTS}
    return pack(KIND, Packed({}, {"names": pack_words(outcomes.images), **counts}))


def read_outcomes(data: bytes) -> ImageOutcomes:
    """Read what `pack_outcomes` made. Raises ForeignFileError for anything else.

    >>> one = np.ones(2, np.int32)
    >>> read_outcomes(pack_outcomes(ImageOutcomes(("a", "b"), one, one - 1, one))).errors().tolist()
    [2, 2]
    """
    arrays = unpack(KIND, data).arrays
    try:
        return ImageOutcomes(unpack_words(arrays["names"]), *(arrays[name] for name in _COUNTS))
    except KeyError as error:
        raise ForeignFileError(f"the file of the kind '{KIND}' has no {error}") from error
