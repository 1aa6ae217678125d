"""The pixels of every image by true label and answer, kept beside a score so that no later question needs a second one.

The file is one of `scoring.array_files` of the kind `counts`, version 1. Its facts: `competition`, `protocol`, `scorer`,
`truth` (the fingerprint), `receipt` (the report's) and `labels`, their names from 0 on, the background first. Its arrays: `first`, int64
(images + 1), where in the following an image's pairs begin, images in the order of the Segmentation set; then for each
pair of labels that occurs in the image `true` and `prediction`, uint8, and `pixels`, int32. Void is left out. Added up over
all images this is the confusion matrix.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from scoring.array_files import Packed, unpack, write
from scoring.data.arrays import Bytes, Integers
from scoring.metrics.confusion import Counts
from scoring.ranked_predictions import Origin

KIND: Final = "counts"


@dataclass(frozen=True, slots=True, eq=False)
class ImageCounts:
    """The pairs of labels in each image, as the module describes them."""

    labels: tuple[str, ...]
    first: Counts
    true: Bytes
    prediction: Bytes
    pixels: Integers

    @classmethod
    def of(cls, labels: Sequence[str], images: Sequence[Counts]) -> Self:
        """What was counted in each image, the images in order.

        >>> ImageCounts.of(["background", "car"], [np.array([[5, 0], [1, 2]])]).pixels.tolist()
        [5, 1, 2]
        """
        pairs = [np.nonzero(counts) for counts in images]
        pixels = [counts[pair] for counts, pair in zip(images, pairs, strict=True)]
        return cls(
            labels=tuple(labels),
            first=np.cumsum([0, *map(len, pixels)], dtype=np.int64),
            true=np.concatenate([*(true for true, _ in pairs), ()]).astype(np.uint8),
            prediction=np.concatenate([*(prediction for _, prediction in pairs), ()]).astype(np.uint8),
            pixels=np.concatenate([*pixels, ()]).astype(np.int32),
        )

    def __len__(self) -> int:
        """How many images there are."""
        return len(self.first) - 1

    def by_image(self) -> Counts:
        """What was counted in each image, int64 (images, labels, labels), by true label and answer.

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


def save_counts(path: Path, origin: Origin, counts: ImageCounts) -> None:
    """Write the file; the same counts give the same bytes."""
    arrays = {name: getattr(counts, name) for name in ("first", "true", "prediction", "pixels")}
    write(path, KIND, Packed(asdict(origin) | {"labels": counts.labels}, arrays))


def open_counts(path: Path) -> tuple[Origin, ImageCounts]:
    """Read what `save_counts` wrote. Raises ForeignFileError for another file.

    >>> from tempfile import TemporaryDirectory
    >>> counts = ImageCounts.of(["background", "car"], [np.array([[5, 0], [1, 2]])])
    >>> with TemporaryDirectory() as folder:
    ...     save_counts(Path(folder, "kept"), Origin(5, "voc2012", "1", "0f", "5a"), counts)
    ...     origin, again = open_counts(Path(folder, "kept"))
    >>> origin.competition, again.total().tolist()
    (5, [[5, 0], [1, 2]])
    """
    packed = unpack(KIND, path.read_bytes())
    facts = packed.facts
    return Origin.of_facts(facts), ImageCounts(tuple(facts["labels"]), **packed.arrays)
